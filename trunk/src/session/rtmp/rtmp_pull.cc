#include "session/rtmp/rtmp_pull.h"

#include "io/deadline.h"
#include "session/rtmp/rtmp_client.h"

namespace weir::session {
namespace {

constexpr uint32_t kChunkSize = 4096;  // of what we send, which is little

Error pull(RtmpClient& client, net::SourceRun& run) {
    WEIR_TRY(client.open());
    bool connected = false;
    const auto handle = [&](rtmp::ClientEvent& event) -> Error {
        switch (event.kind) {
            case rtmp::ClientEventKind::kConnected:
                connected = true;
                run.connected();
                return {};
            case rtmp::ClientEventKind::kMedia: {
                rtmp::MediaMessage& media = event.media();
                if (!connected) {
                    return make_error(ErrorCode::kMalformed, "media before connect was answered");
                }
                return run.publish(media.kind, media.timestamp, std::move(media.body));
            }
            case rtmp::ClientEventKind::kEnded:
                return make_error(ErrorCode::kClosed, "the origin's stream ended");
            case rtmp::ClientEventKind::kStarted:
            case rtmp::ClientEventKind::kStatus: return {};
        }
        return {};
    };
    for (;;) {
        const io::Deadline deadline = connected ? run.media_deadline() : run.connect_deadline();
        Error failed = client.converse(deadline, handle);
        // An origin that talks without a pause, but not of media, is silent as well.
        const bool late = failed.code() == ErrorCode::kTimeout ||
                          (!failed && (connected ? run.media_deadline() : deadline).passed());
        if (late) {
            return connected ? run.silence()
                             : make_error(ErrorCode::kTimeout, "the origin did not answer connect");
        }
        WEIR_TRY(std::move(failed));
    }
}

}  // namespace

Error RtmpPull::run(net::SourceRun& run) {
    RtmpClient client(run, rtmp::ClientRole::kPlay, kChunkSize);
    Error ended = pull(client, run);
    client.close();
    return ended;
}

}  // namespace weir::session
