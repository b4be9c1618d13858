// One RTMP connection as a conversation: handshake, commands, publishing. Runs in a coroutine of
// the server.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/object_count.h"
#include "base/plant.h"
#include "io/tcp.h"
#include "net/admission.h"
#include "net/client_probe.h"
#include "net/ingress.h"
#include "net/rate_guard.h"
#include "net/services.h"
#include "proto/rtmp/server_session.h"
#include "session/rtmp/rtmp_line.h"
#include "session/rtmp/rtmp_player.h"
#include "session/rtmp/rtmp_vod.h"
#include "stream/publisher.h"

namespace weir::io {
class Deadline;
}

namespace weir::stream {
class Stream;
}

namespace weir::session {

class RtmpServer;
class RtmpConnection;

// One stream that the connection publishes.
class RtmpPublish final : public stream::Publisher, private Counted<RtmpPublish> {
  public:
    static constexpr ObjectName kObjectName{"rtmp_publish", "rtmp"};

    RtmpPublish(RtmpConnection& connection,
                uint32_t stream_id,
                stream::Stream& stream,
                const net::PublishRules& rules)
        : connection_(connection),
          stream_id_(stream_id),
          stream_(stream),
          rules_(rules),
          rate_(rules.max_bits_per_second) {}

    std::string describe() const override;
    std::string_view client_id() const override;
    std::string_view client_ip() const override;

    std::string_view client_transport() const override { return "rtmp"; }

    void on_taken_over() override;

    uint32_t stream_id() const { return stream_id_; }

    stream::Stream& stream() { return stream_; }

    const net::PublishRules& rules() const { return rules_; }

    // Of what hook servers allowed.
    net::HookTicket ticket;

    // When the connection gives up waiting for media of this stream.
    MonoTime deadline() const {
        return last_media_ + (seen_media_ ? rules_.silent : rules_.first_packet);
    }

    // False: the publisher sends more than it may (max_publish_bitrate).
    bool publish(rtmp::MediaMessage&& message, MonoTime now);

    void begin(MonoTime now) { last_media_ = now; }

    // Nothing was read from its connection for so long.
    void postpone(Micros time) { last_media_ += time; }

    bool seen_media() const { return seen_media_; }

  private:
    void publish_body(media::TrackKind kind, uint32_t timestamp, Bytes body, MonoTime now);

    RtmpConnection& connection_;
    uint32_t stream_id_;
    stream::Stream& stream_;
    net::PublishRules rules_;
    net::RateGuard rate_;
    MonoTime last_media_{};
    bool seen_media_ = false;
    bool told_of_dropped_ = false;  // one line per publisher
};

class RtmpConnection final : private net::ClientProbe, private Counted<RtmpConnection> {
  public:
    // From its first byte until it has ended or plays.
    static constexpr ObjectName kObjectName{"rtmp_connection", "rtmp"};

    // Of a new connection, accepted at `since`, or of one that stopped playing.
    RtmpConnection(RtmpServer& server,
                   std::unique_ptr<io::TcpStream> stream,
                   std::unique_ptr<net::Client> client,
                   MonoTime since);
    ~RtmpConnection();
    RtmpConnection(const RtmpConnection&) = delete;
    RtmpConnection& operator=(const RtmpConnection&) = delete;

    // Yields. Until the connection has ended or was handed over to its pump. `ingress`: what comes
    // before RTMP; null: nothing.
    void run(const net::Ingress* ingress);

    // Before run_again(): what the connection knew before it played.
    void remember(std::unique_ptr<RtmpConnectFacts> facts) { facts_ = std::move(facts); }

    // The same for one that stopped playing and talks on; `unread` came behind its last command.
    void run_again(rtmp::ServerSession session, Bytes unread);

    // Ends what is left of it, with the summary line; run() does so itself.
    void close(Error why);

#if WEIR_PLANTS
    // Planted: the connection, which has ended, stays for ever.
    static void tie_session_into_a_cycle(const std::shared_ptr<RtmpConnection>& self);
#endif

  private:
    friend class RtmpPublish;

    enum class Next : uint8_t { kGoOn, kHandedOver };

    // What was read and not heard yet. It begins in the buffer that all connections share, so it is
    // kept before the coroutine yields: nothing more is read until a command is answered.
    class Unread {
      public:
        explicit Unread(ByteSpan bytes) : rest_(bytes) {}

        Unread(const Unread&) = delete;
        Unread& operator=(const Unread&) = delete;

        ByteSpan rest() const { return rest_; }

        void skip(size_t bytes) { rest_ = rest_.subspan(bytes); }

        void keep() {
            if (own_.empty()) {
                own_.assign(rest_.begin(), rest_.end());
                rest_ = own_;
            }
        }

      private:
        ByteSpan rest_;
        Bytes own_;
    };

    const io::TcpStream* tcp() const override { return stream_.get(); }

    std::optional<net::LagFacts> lag_facts() const override {
        return vod_ ? std::optional(vod_->lag_facts()) : std::nullopt;
    }

    // What it was told from its first byte on, for the process that may take it over.
    struct Told : private Counted<Told> {
        static constexpr ObjectName kObjectName{"rtmp_told", "rtmp"};
        static constexpr size_t kMaxBytes = 32 * 1024;

        Bytes bytes;
        size_t last = 0;  // where the newest feed of the session began
    };

    void note_told(ByteSpan bytes);
    RtmpConnectFacts& facts();
    Result<Next> handshake(io::Deadline deadline);
    Result<Next> converse();
    Result<Next> hear_more();
    Result<Next> hear_in_turns();
    Result<Next> hear_on_line();
    Result<Next> hear_beside_recording();
    Result<Next> hear(ByteSpan bytes);
    Result<bool> take_in(Unread& unread, rtmp::Event& command);
    Result<bool> take_in_all(Unread& unread, rtmp::Event& command);
    void note_stray();
    Error handle(rtmp::Event& event);
    Error handle_media(rtmp::Event& event);
    Result<Next> obey(rtmp::Event& command, const Unread& unread);
    Result<Next> handle_connect(const rtmp::ConnectRequest& request);
    Error open_line(const rtmp::ConnectRequest& request);
    Error ask_to_connect(const stream::StreamKey& key, const rtmp::ConnectRequest& request);
    Result<Next> handle_publish(uint32_t stream_id, const rtmp::PublishRequest& request);
    Result<Next> handle_play(uint32_t stream_id,
                             const rtmp::PlayRequest& request,
                             const Unread& unread);
    Result<Next> play_recording(uint32_t stream_id,
                                const rtmp::PlayRequest& request,
                                std::string_view path);
    net::NewcomerView newcomer(const stream::StreamKey& key,
                               std::string_view token,
                               std::string_view query);
    Result<Next> refuse(net::HookAction action, uint32_t stream_id, Error why);
    bool move_to_its_stream(const stream::StreamKey& key, const Unread& unread);
    Error flush_before_asking(net::HookAction action, const stream::StreamKey& key);
    template <typename Question>
    auto in_our_time(Question&& question);
    std::string_view tc_url() const;
    Error check_connected(const stream::StreamKey& key) const;
    void stop_recording();
    void play_on_line(uint32_t stream_id, net::AdmittedPlayer admitted);
    void stop_playing();

    const io::SocketAddress& peer() const { return line_ ? line_->peer() : stream_->peer(); }

    void hand_over(uint32_t stream_id,
                   int64_t duration_ms,
                   const net::PlayRules& rules,
                   ByteSpan rest);
    void end_publish(uint32_t stream_id, net::EndClass why, std::string_view detail);
    Error flush();
    MonoTime deadline() const;
    Error explain_timeout() const;
    void end_by(net::EndClass why, std::string detail);

    RtmpServer& server_;
    std::unique_ptr<io::TcpStream> stream_;  // null while a line plays
    std::unique_ptr<net::Client> client_;
    rtmp::ServerSession session_;
    std::unique_ptr<RtmpLine> line_;  // null: it is no telephone
    std::vector<std::unique_ptr<RtmpPublish>> publishes_;
    std::unique_ptr<RtmpVod> vod_;  // null: it plays no recording
    Bytes unsent_;                  // of one that it played before
    std::unique_ptr<Told> told_;    // null: it stays in this process
    bool connected_ = false;
    MonoTime phase_since_;
    net::EndClass ended_why_ = net::EndClass::kPeerClosed;
    uint32_t refusals_ = 0;  // of its commands
    uint64_t stray_noted_ = 0;
    bool told_of_stray_ = false;
    bool refused_ = false;  // its connect: the peer is expected to leave
    std::unique_ptr<RtmpConnectFacts> facts_;
    std::string ended_by_;  // kick, takeover, stall: why, where the error does not say it; or empty
#if WEIR_PLANTS
    std::function<void()> planted_callback_;
#endif
};

}  // namespace weir::session
