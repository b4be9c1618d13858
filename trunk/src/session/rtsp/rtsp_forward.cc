#include "session/rtsp/rtsp_forward.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/object_count.h"
#include "base/random.h"
#include "base/version.h"
#include "net/fanout.h"
#include "net/player_protocol.h"
#include "net/source/forward_flow.h"
#include "net/source/source_spec.h"
#include "net/source/source_url.h"
#include "proto/rtsp/client_session.h"
#include "session/rtsp/rtsp_muxer.h"
#include "session/rtsp/rtsp_profile.h"
#include "session/rtsp/rtsp_server.h"
#include "session/rtsp/rtsp_tracks.h"
#include "stream/registry.h"

namespace weir::session {
namespace {

constexpr size_t kReadBytes = 16 * 1024;
constexpr Millis kCodecPoll{20};

// Shared by all of them: nothing yields between a read and its use.
std::span<uint8_t> read_buffer() {
    static std::array<uint8_t, kReadBytes> buffer;
    return buffer;
}

rtsp::ClientOptions options_of(const net::SourceUrl& url) {
    rtsp::ClientOptions options;
    options.url = url.rtsp();
    options.user_agent = fmt::format("Weir/{}", kVersion);
    // The operator has written the password for this server.
    options.allow_basic = true;
    return options;
}

class ForwardPlayer final : public net::PlayerProtocol, private Counted<ForwardPlayer> {
  public:
    static constexpr ObjectName kObjectName{"rtsp_forward", "rtsp"};

    // `terms`: that the other server was told.
    ForwardPlayer(rtsp::ClientSession session, const RtspTerms& terms, net::ForwardFlow& flow)
        : session_(std::move(session)), terms_(terms), flow_(&flow) {}

    ~ForwardPlayer() override {
        if (flow_ != nullptr) {
            flow_->end(make_error(ErrorCode::kSystem, "no pump for the stream"));
        }
    }

    void on_start(const stream::Stream&,
                  const stream::Muxer& muxer,
                  bool first,
                  Bytes& out) override {
        append_output(out);
        // The pump's muxer is of our format.
        muxer_ = static_cast<const RtspMuxer*>(&muxer);
        muxer_->write_reports(MonoClock::now(), out);
        if (first && flow_ != nullptr) {
            flow_->live();
        }
    }

    // A description is given once: with another one, the forward connects again.
    bool fits(const stream::Muxer& muxer) const override {
        return still_holds(terms_, static_cast<const RtspMuxer&>(muxer).terms());
    }

    // Receiver reports, and answers to what keeps the session alive. A server that says nothing is
    // told nothing: the media itself shows it that we are here.
    net::PlayerVerdict on_data(ByteSpan data, Bytes& out) override {
        const MonoTime now = MonoClock::now();
        for (;;) {
            switch (session_.next(now, data)) {
                case rtsp::ClientEvent::kNeedMore:
                    session_.handle_timeout(now);
                    append_output(out);
                    return net::PlayerVerdict::kGoOn;
                case rtsp::ClientEvent::kError:
                    refusal_ = session_.take_error();
                    return net::PlayerVerdict::kError;
                case rtsp::ClientEvent::kEnded:
                case rtsp::ClientEvent::kRedirected: return net::PlayerVerdict::kClose;
                default: break;
            }
        }
    }

    void on_end(net::EndReason reason, bool started, Bytes& out) override {
        if (started && muxer_ != nullptr && reason != net::EndReason::kWriteStalled) {
            muxer_->write_byes(out);
        }
        session_.teardown();
        append_output(out);
        if (net::ForwardFlow* const flow = std::exchange(flow_, nullptr)) {
            flow->end(refusal_ ? std::move(refusal_)
                               : make_error(ErrorCode::kClosed, "the connection ended: {}",
                                            net::to_string(reason)));
        }
    }

  private:
    void append_output(Bytes& out) {
        const std::string text = session_.take_output();
        out.insert(out.end(), text.begin(), text.end());
    }

    rtsp::ClientSession session_;
    RtspTerms terms_;
    net::ForwardFlow* flow_;            // null once it has been told of the end
    const RtspMuxer* muxer_ = nullptr;  // of the pump, from the first start on
    Error refusal_;
};

// One try, up to the consent of the other server.
class Publishing {
  public:
    Publishing(net::SourceRun& run, RtspServer& server)
        : run_(run), server_(server), session_(options_of(run.spec().url), system_random()) {}

    // Yields.
    Error open() {
        WEIR_TRY(announce());
        WEIR_TRY_ASSIGN(stream_, run_.connect());
        while (!session_.started()) {
            Error failed = converse();
            if (failed.code() == ErrorCode::kTimeout) {
                return make_error(ErrorCode::kTimeout, "the server did not answer");
            }
            WEIR_TRY(std::move(failed));
        }
        WEIR_TRY_ASSIGN(format_, choose_format());
        run_.connected();
        return {};
    }

    // Never yields.
    void close() {
        if (stream_) {
            session_.teardown();
            (void)stream_->try_write(as_bytes(session_.take_output()));
            stream_->close();
        }
    }

    std::unique_ptr<io::TcpStream> take_stream() { return std::move(stream_); }

    rtsp::ClientSession take_session() { return std::move(session_); }

    const RtspFormat& format() const { return *format_; }

    const RtspTerms& terms() const { return terms_; }

  private:
    // Yields until the codecs of the stream are known.
    Error announce() {
        const stream::StreamKey& key = run_.spec().key;
        stream::Registry& registry = server_.services().registry;
        const net::PlayRules rules = server_.services().policy.rules_of_forward(key);
        stream::Stream& stream = registry.get_or_create(key, rules.stream, MonoClock::now());
        Error failed = describe(stream);
        registry.release(stream);
        return failed;
    }

    Error describe(stream::Stream& stream) {
        RtspTracks tracks(stream, MonoClock::now());
        while (!tracks.complete(MonoClock::now())) {
            if (run_.connect_deadline().passed()) {
                return make_error(ErrorCode::kTimeout, "the codecs of the stream are not known");
            }
            WEIR_TRY(io::sleep_for(kCodecPoll));
        }
        if (!tracks.any()) {
            return make_error(ErrorCode::kUnsupported,
                              "the stream has nothing that RTSP carries, only {}",
                              tracks.left_out());
        }
        std::vector<rtsp::ClientTrack> wanted;
        for (const uint8_t index : {net::kRtpVideoTrack, net::kRtpAudioTrack}) {
            if (tracks.has(index)) {
                rtsp::Transport tcp;
                const auto channel = static_cast<uint8_t>(2 * wanted.size());
                tcp.tcp = true;
                tcp.interleaved = rtsp::ChannelPair{channel, static_cast<uint8_t>(channel + 1)};
                wanted.push_back({std::string(control_of(index)), {std::move(tcp)}});
                order_.push_back(index);
            }
        }
        terms_ = tracks.terms();
        session_.publish(tracks.describe("0.0.0.0"), std::move(wanted));
        return {};
    }

    // Yields. Sends what is to be sent, and hears what comes.
    Error converse() {
        const io::Deadline deadline = run_.connect_deadline();
        if (session_.has_output()) {
            const std::string output = session_.take_output();
            WEIR_TRY(stream_->write_all(as_bytes(output), deadline));
        }
        WEIR_TRY(stream_->wait_readable(deadline));
        const io::IoResult got = stream_->try_read(read_buffer());
        switch (got.status) {
            case io::IoStatus::kWouldBlock: return {};
            case io::IoStatus::kClosed:
                return make_error(ErrorCode::kClosed, "the server closed the connection");
            case io::IoStatus::kFailed: return Error::from_errno(got.error_number, "read");
            case io::IoStatus::kDone: break;
        }
        ByteSpan bytes(read_buffer().data(), got.bytes);
        for (;;) {
            switch (session_.next(MonoClock::now(), bytes)) {
                case rtsp::ClientEvent::kNeedMore: return {};
                case rtsp::ClientEvent::kError: return session_.take_error();
                case rtsp::ClientEvent::kEnded:
                    return make_error(ErrorCode::kClosed, "the server ended the session");
                case rtsp::ClientEvent::kRedirected: return follow();
                default: break;
            }
        }
    }

    // Yields.
    Error follow() {
        WEIR_TRY_ASSIGN(const net::SourceUrl to, net::SourceUrl::parse(session_.url().full()));
        stream_->close();
        WEIR_TRY_ASSIGN(stream_, run_.follow(to));
        return {};
    }

    // The other server may have given us other channels than those that we asked for.
    Result<const RtspFormat*> choose_format() {
        RtspChannels channels;
        for (size_t i = 0; i < order_.size(); i++) {
            const std::optional<rtsp::Transport>& agreed = session_.transport(i);
            if (!agreed || !agreed->tcp || !agreed->interleaved) {
                return make_error(ErrorCode::kUnsupported,
                                  "the server does not take media within the connection "
                                  "(RTP/AVP/TCP)");
            }
            channels[order_[i]] = agreed->interleaved;
        }
        const RtspFormat* const format = server_.format(channels);
        return format != nullptr
                   ? Result<const RtspFormat*>(format)
                   : make_error(ErrorCode::kFull, "too many different channels are in use");
    }

    net::SourceRun& run_;
    RtspServer& server_;
    rtsp::ClientSession session_;
    std::unique_ptr<io::TcpStream> stream_;
    std::vector<uint8_t> order_;  // of the tracks of the session
    RtspTerms terms_{};           // that the other server was told
    const RtspFormat* format_ = nullptr;
};

}  // namespace

Error RtspForward::run(net::SourceRun& run) {
    const net::Services& services = server_.services();
    const stream::StreamKey& key = run.spec().key;
    // Not on the stack, which is small.
    const auto publishing = std::make_unique<Publishing>(run, server_);
    if (Error failed = publishing->open()) {
        publishing->close();
        return failed;
    }
    net::ForwardFlow flow(run);
    std::unique_ptr<io::TcpStream> stream = publishing->take_stream();
    auto client = std::make_unique<net::Client>(services.clients, "rtsp", stream->peer().host());
    client->role = net::ClientRole::kPlayer;
    client->key = key;
    client->encrypted = stream->encrypted();
    flow.begin(*client);
    auto player =
        std::make_unique<ForwardPlayer>(publishing->take_session(), publishing->terms(), flow);
    services.fanout.play(services.policy.rules_of_forward(key), publishing->format(),
                         std::move(stream), std::move(player), std::move(client));
    return flow.wait();
}

}  // namespace weir::session
