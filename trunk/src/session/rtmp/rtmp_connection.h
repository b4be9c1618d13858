// One RTMP connection as a conversation: handshake, commands, publishing. Runs in a coroutine of
// the server.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/object_count.h"
#include "base/plant.h"
#include "io/tcp.h"
#include "net/services.h"
#include "proto/rtmp/server_session.h"

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
        : connection_(connection), stream_id_(stream_id), stream_(stream), rules_(rules) {}

    std::string describe() const override;
    std::string_view client_id() const override;
    void on_taken_over() override;

    uint32_t stream_id() const { return stream_id_; }

    stream::Stream& stream() { return stream_; }

    const net::PublishRules& rules() const { return rules_; }

    // When the connection gives up waiting for media of this stream.
    MonoTime deadline() const {
        return last_media_ + (seen_media_ ? rules_.silent : rules_.first_packet);
    }

    void publish(rtmp::MediaMessage&& message, MonoTime now);

    void begin(MonoTime now) { last_media_ = now; }

    bool seen_media() const { return seen_media_; }

  private:
    RtmpConnection& connection_;
    uint32_t stream_id_;
    stream::Stream& stream_;
    net::PublishRules rules_;
    MonoTime last_media_{};
    bool seen_media_ = false;
    bool told_of_dropped_ = false;  // one line per publisher
};

class RtmpConnection : private Counted<RtmpConnection> {
  public:
    // From the accept until it has ended or plays.
    static constexpr ObjectName kObjectName{"rtmp_connection", "rtmp"};

    // Of a new connection.
    RtmpConnection(RtmpServer& server,
                   std::unique_ptr<io::TcpStream> stream,
                   std::unique_ptr<net::Client> client);
    ~RtmpConnection();
    RtmpConnection(const RtmpConnection&) = delete;
    RtmpConnection& operator=(const RtmpConnection&) = delete;

    // Yields. Until the connection has ended or was handed over to its pump.
    void run();

    // The same for one that stopped playing and talks on; `unread` came behind its last command.
    void run_again(rtmp::ServerSession session, Bytes unread);

#if WEIR_PLANTS
    // Planted: the connection, which has ended, stays for ever.
    static void tie_session_into_a_cycle(const std::shared_ptr<RtmpConnection>& self);
#endif

  private:
    friend class RtmpPublish;

    enum class Next : uint8_t { kGoOn, kHandedOver };

    Result<Next> handshake(io::Deadline deadline);
    Result<Next> converse();
    Result<Next> take_in(ByteSpan bytes);
    Result<Next> handle(rtmp::Event& event, ByteSpan rest);
    void handle_publish(uint32_t stream_id, const rtmp::PublishRequest& request);
    bool handle_play(uint32_t stream_id, const rtmp::PlayRequest& request, ByteSpan rest);
    void hand_over(uint32_t stream_id, const net::PlayRules& rules, ByteSpan rest);
    void end_publish(uint32_t stream_id);
    Error flush();
    MonoTime deadline() const;
    Error explain_timeout() const;
    void close(Error why);
    void end_by(std::string reason);

    RtmpServer& server_;
    std::unique_ptr<io::TcpStream> stream_;
    std::unique_ptr<net::Client> client_;
    rtmp::ServerSession session_;
    std::vector<std::unique_ptr<RtmpPublish>> publishes_;
    bool connected_ = false;
    MonoTime phase_since_;
    std::string ended_by_;  // kick, takeover: why the socket was shut down from outside
#if WEIR_PLANTS
    std::function<void()> planted_callback_;
#endif
};

}  // namespace weir::session
