#include "session/rtmp/rtmp_forward.h"

#include <optional>
#include <utility>

#include "base/object_count.h"
#include "io/deadline.h"
#include "net/fanout.h"
#include "net/player_protocol.h"
#include "net/source/source_spec.h"
#include "session/rtmp/rtmp_client.h"
#include "session/rtmp/rtmp_muxer.h"
#include "session/rtmp/rtmp_server.h"
#include "stream/stream.h"

namespace weir::session {
namespace {

constexpr Millis kCountPeriod{1'000};  // sent bytes are noted this often

// What the run's coroutine and its player know of each other. On the coroutine's stack.
struct Flow {
    net::SourceRun& run;
    net::Client* client = nullptr;  // null once the player has ended
    uint64_t noted = 0;
    std::optional<Error> ended = {};
    io::Signal changed = {};

    void note_sent() {
        if (client != nullptr) {
            run.note_bytes(client->sent_bytes - noted);
            noted = client->sent_bytes;
        }
    }

    void end(Error why) {
        note_sent();
        client = nullptr;
        ended = std::move(why);
        changed.notify_all();
    }
};

class ForwardPlayer final : public net::PlayerProtocol, private Counted<ForwardPlayer> {
  public:
    static constexpr ObjectName kObjectName{"rtmp_forward", "rtmp"};

    ForwardPlayer(rtmp::ClientSession session, Flow& flow)
        : session_(std::move(session)), flow_(&flow) {}

    ~ForwardPlayer() override {
        if (flow_ != nullptr) {
            flow_->end(make_error(ErrorCode::kSystem, "no pump for the stream"));
        }
    }

    void on_start(const stream::Stream&,
                  const stream::Muxer& muxer,
                  bool first,
                  Bytes& out) override {
        session_.append_output(out);
        // The pump's muxer is of our format.
        static_cast<const RtmpMuxer&>(muxer).front(session_.stream_id(), out,
                                                   RtmpMuxer::For::kServer);
        if (first && flow_ != nullptr) {
            flow_->run.live();
        }
    }

    net::PlayerVerdict on_data(ByteSpan data, Bytes& out) override {
        net::PlayerVerdict verdict = net::PlayerVerdict::kGoOn;
        for (;;) {
            rtmp::ClientEvent event;
            while (session_.next_event(event)) {
                if (event.kind == rtmp::ClientEventKind::kEnded) {
                    verdict = net::PlayerVerdict::kClose;
                }
            }
            if (session_.failed()) {
                refusal_ = session_.take_error();
                return net::PlayerVerdict::kError;
            }
            if (data.empty()) {
                break;
            }
            data = data.subspan(session_.feed(data));
        }
        session_.append_output(out);
        return verdict;
    }

    void on_end(net::EndReason reason, bool, Bytes& out) override {
        session_.stop();
        session_.append_output(out);
        if (Flow* const flow = std::exchange(flow_, nullptr)) {
            flow->end(refusal_ ? std::move(refusal_)
                               : make_error(ErrorCode::kClosed, "the connection ended: {}",
                                            net::to_string(reason)));
        }
    }

  private:
    rtmp::ClientSession session_;
    Flow* flow_;  // null once it has been told of the end
    Error refusal_;
};

Error start_publishing(RtmpClient& client, net::SourceRun& run) {
    WEIR_TRY(client.open());
    const auto ignore = [](rtmp::ClientEvent&) { return Error(); };
    while (!client.session().started()) {
        if (run.connect_deadline().passed()) {
            return make_error(ErrorCode::kTimeout, "the server did not answer publish");
        }
        Error failed = client.converse(run.connect_deadline(), ignore);
        if (failed && failed.code() != ErrorCode::kTimeout) {
            return failed;
        }
    }
    run.connected();
    return {};
}

}  // namespace

Error RtmpForward::run(net::SourceRun& run) {
    const net::Services& services = server_.services();
    const stream::StreamKey& key = run.spec().key;
    const uint32_t chunk_size = server_.options().chunk_size;
    RtmpClient connection(run, rtmp::ClientRole::kPublish, chunk_size);
    if (Error failed = start_publishing(connection, run)) {
        connection.close();
        return failed;
    }
    const RtmpTracks tracks =
        connection.session().takes_multitrack() ? RtmpTracks::kAll : RtmpTracks::kOneAudio;
    Flow flow{run};
    std::unique_ptr<io::TcpStream> stream = connection.take_stream();
    auto client = std::make_unique<net::Client>(services.clients, "rtmp", stream->peer().host());
    client->role = net::ClientRole::kPlayer;
    client->key = key;
    client->encrypted = stream->encrypted();
    flow.client = client.get();
    auto player = std::make_unique<ForwardPlayer>(connection.take_session(), flow);
    services.fanout.play(services.policy.rules_of_forward(key), server_.format(chunk_size, tracks),
                         std::move(stream), std::move(player), std::move(client));
    bool interrupted = false;
    while (!flow.ended) {
        const Error woken =
            interrupted ? flow.changed.wait_even_interrupted(io::Deadline::after(kCountPeriod))
                        : flow.changed.wait_until(io::Deadline::after(kCountPeriod));
        flow.note_sent();
        if (woken.code() == ErrorCode::kInterrupted) {
            interrupted = true;
            if (flow.client != nullptr && flow.client->kick) {
                const std::function<void()> kick = flow.client->kick;
                kick();
            }
        }
    }
    return std::move(*flow.ended);
}

}  // namespace weir::session
