// A connection that is a telephone (the commands of siprtmp): its line, and its playing, which goes
// on while the connection publishes and talks.
//
// The connection keeps its coroutine. While it plays, its socket is the player's: what the peer
// says comes here as bytes, for the coroutine, and what the coroutine says goes out between two
// entries of the log.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/object_count.h"
#include "io/signal.h"
#include "io/tcp.h"
#include "net/phone_lines.h"
#include "net/player_protocol.h"
#include "proto/rtmp/server_session.h"

namespace weir::net {
class Client;
}

namespace weir::session {

class RtmpLinePlayer;

class RtmpLine final : private net::PhoneLineObserver,
                       private io::EventHandler,
                       private Counted<RtmpLine> {
  public:
    static constexpr ObjectName kObjectName{"rtmp_line", "rtmp"};
    static constexpr size_t kMaxUnheard = 1024 * 1024;  // bytes that wait for the coroutine
    static constexpr size_t kMaxCodecs = 16;            // of one command
    static constexpr Millis kRegisterWait{20'000};      // for the answer of the domain's server
    // A peer that says nothing is asked, and has gone when it does not answer that.
    static constexpr Millis kPing{20'000};
    static constexpr Millis kSilence{60'000};

    // "sip/USER@DOMAIN" with arguments behind the command object is a line.
    static bool is_one(const rtmp::ConnectRequest& request);

    // `session`: of the connection, outlives this.
    RtmpLine(rtmp::ServerSession& session, const io::SocketAddress& peer)
        : session_(session), peer_(peer), heard_(MonoClock::now()) {}

    ~RtmpLine();  // the player must have gone
    RtmpLine(const RtmpLine&) = delete;
    RtmpLine& operator=(const RtmpLine&) = delete;

    // Yields until the line is registered. `stream` is watched for its end. kDenied, kBusy ...
    Error open(net::PhoneLines* lines,
               const rtmp::ConnectRequest& request,
               const stream::StreamKey& local,
               const stream::StreamKey& remote,
               io::TcpStream& stream);

    // A command of the peer; answered here.
    void obey(rtmp::CallRequest& call);

    // Yields. Until there is something to hear or to say, or the line has ended. `stream`: null
    // while it plays. kTimeout: the peer has gone.
    Error wait(io::TcpStream* stream);

    // Bytes came.
    void note_heard(MonoTime now) { heard_ = now; }

    // Why the connection has to end; or success.
    Error ended() const;

    const io::SocketAddress& peer() const { return peer_; }

    const stream::StreamKey& local() const { return local_; }

    const stream::StreamKey& remote() const { return remote_; }

    // ---- while it plays ----

    // What goes to the pump in place of the connection's coroutine.
    std::unique_ptr<net::PlayerProtocol> make_player(uint32_t stream_id);

    bool plays() const { return player_ != nullptr; }

    bool say(ByteSpan bytes);
    Bytes take_unheard();

    // Gives the connection back; null: it has ended by that.
    std::unique_ptr<io::TcpStream> stop_playing();
    void leave(net::EndReason reason, std::string_view detail);

  private:
    friend class RtmpLinePlayer;

    void on_ready(uint8_t) override { changed_.notify_all(); }

    // net::PhoneLineObserver
    void on_line_ready() override;
    void on_line_failed(std::string_view reason) override;
    void on_ringing(std::string_view reason) override;
    void on_rejected(std::string_view reason) override;
    void on_invited(std::string_view from, std::string_view to) override;
    void on_cancelled(std::string_view from, std::string_view to) override;
    void on_accepted(std::string_view audio, std::string_view video) override;
    void on_ended() override;
    void on_held(bool held) override;
    void on_digit(char digit) override;

    Error act(const rtmp::CallRequest& call);
    void tell(std::string_view name, std::initializer_list<std::string_view> arguments);

    // Of the player.
    bool take(ByteSpan bytes);
    void on_player_end(net::EndReason reason);
    void on_player_released(std::unique_ptr<io::TcpStream> stream,
                            std::unique_ptr<net::Client> client);

    rtmp::ServerSession& session_;
    io::SocketAddress peer_;
    stream::StreamKey local_;
    stream::StreamKey remote_;
    std::unique_ptr<net::PhoneLine> line_;
    RtmpLinePlayer* player_ = nullptr;  // the pump's
    net::PlayerLink* link_ = nullptr;
    Bytes unheard_;
    std::unique_ptr<io::TcpStream> released_;
    std::optional<net::EndReason> player_ended_;
    std::string failed_;
    io::Signal changed_;
    MonoTime heard_;
    MonoTime pinged_{};
    bool ready_ = false;
};

}  // namespace weir::session
