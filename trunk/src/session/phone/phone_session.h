// One page that is a telephone: its WebSocket, its line, and the names of the two streams of its
// calls.
//
// run() is the coroutine of the WebSocket. What the line tells is kept as frames until that
// coroutine writes them.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "base/object_count.h"
#include "io/signal.h"
#include "io/tcp.h"
#include "net/client_table.h"
#include "net/http/detached_connection.h"
#include "net/http/exchange.h"
#include "net/phone_lines.h"
#include "net/private_streams.h"
#include "proto/ws/message_reader.h"
#include "session/phone/phone_messages.h"
#include "session/phone/phone_server.h"

namespace weir::session {

class PhoneSession final : private net::PhoneLineObserver,
                           private io::EventHandler,
                           private Counted<PhoneSession> {
  public:
    static constexpr ObjectName kObjectName{"phone_session", "phone"};
    static constexpr size_t kMaxUnsaid = 64 * 1024;  // bytes that wait to be written
    static constexpr size_t kMaxPerSecond = 20;      // messages of a page, pings and pongs included

    // `server` outlives this.
    PhoneSession(PhoneServer& server,
                 net::DetachedConnection detached,
                 const io::SocketAddress& peer);
    ~PhoneSession();
    PhoneSession(const PhoneSession&) = delete;
    PhoneSession& operator=(const PhoneSession&) = delete;

    // Yields until the page has gone. `head`: the answer to its request.
    void run(std::string_view head);

    // Ends it soon; from elsewhere.
    void end(std::string_view why, ws::CloseCode code = ws::CloseCode::kGoingAway);

  private:
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

    Error converse();
    Error hear();
    void hear_message(ws::Message message);
    Error say_all();
    Error wait();
    void on_time(MonoTime now);
    MonoTime due() const;
    Error read();
    bool is_within_rate(MonoTime now);

    void obey(std::string_view text);
    Error act(const PhoneWish& wish);
    Error open(const PhoneWish& wish);
    Error check_password(const PhoneWish& wish);
    void fail(std::string_view reason);
    void tell_list();
    void tell(const net::Json& event);
    void say(Bytes frame);
    void end_streams();
    void finish(const Error& why);

    PhoneServer& server_;
    PhoneTimes times_;
    std::unique_ptr<io::TcpStream> stream_;
    net::ConnectionPermit permit_;
    io::SocketAddress peer_;
    std::unique_ptr<net::Client> client_;
    ws::MessageReader reader_{ws::Role::kServer, kMaxPhoneMessage};
    Bytes out_;
    io::Signal changed_;
    MonoTime since_;
    MonoTime heard_;
    MonoTime pinged_{};
    MonoTime second_;  // in which messages are counted
    size_t in_second_ = 0;
    bool over_ = false;
    std::string why_over_;
    net::EndClass class_over_ = net::EndClass::kPeerClosed;
    ws::CloseCode close_code_ = ws::CloseCode::kNormal;

    std::string user_;
    bool own_domain_ = true;
    bool ready_ = false;
    stream::StreamKey local_;
    stream::StreamKey remote_;
    std::string secret_;  // what opens both of them
    std::array<net::PrivateStreams::Place, 2> places_;
    std::unique_ptr<net::PhoneLine> line_;
};

}  // namespace weir::session
