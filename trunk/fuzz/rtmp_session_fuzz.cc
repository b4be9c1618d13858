// Server session: any bytes behind the handshake. The first byte chooses how the input is cut,
// whether publish and play are accepted, and whether anybody reads the answers.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "proto/rtmp/server_session.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data,
                                      size_t size);  // NOLINT(readability-identifier-naming)

namespace weir::rtmp {
namespace {

void answer(ServerSession& session, Event& event, bool accept) {
    switch (event.kind) {
        case EventKind::kConnect:
            WEIR_CHECK(event.connect().app.size() <= kMaxAppSize);
            accept ? session.accept_connect()
                   : session.reject_connect(status::kConnectRejected, "no");
            break;
        case EventKind::kPublish:
            WEIR_CHECK(!event.publish().name.stream.empty() && !event.publish().name.app.empty());
            accept ? session.accept_publish(event.stream_id)
                   : session.reject(event.stream_id, status::kPublishDenied, "no");
            break;
        case EventKind::kPlay:
            WEIR_CHECK(!event.play().name.stream.empty() && !event.play().name.app.empty());
            accept ? session.accept_play(event.stream_id)
                   : session.reject(event.stream_id, status::kPlayFailed, "no");
            break;
        case EventKind::kPause: session.answer_pause(event.stream_id, event.pause().on); break;
        default: break;
    }
}

void converse(uint8_t choices, ByteSpan bytes) {
    const size_t step = size_t{choices & 0x3Fu} + 1;
    const bool take = choices & 0x40;  // whether the output is read
    const bool refuse = choices & 0x80;
    ServerSession session;
    while (!bytes.empty() && !session.failed()) {
        bytes = bytes.subspan(session.feed(bytes.first(std::min(step, bytes.size()))));
        Event event;
        while (session.next_event(event)) {
            answer(session, event, !refuse || event.kind == EventKind::kConnect);
        }
        if (take) {
            WEIR_CHECK(session.take_output().size() <=
                       ServerSession::kMaxOutput + ServerSession::kMaxCommandSize);
        }
    }
    WEIR_CHECK(!session.failed() || bool(session.take_error()));
}

}  // namespace
}  // namespace weir::rtmp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size > 0) {
        weir::rtmp::converse(data[0], {data + 1, size - 1});
    }
    return 0;
}
