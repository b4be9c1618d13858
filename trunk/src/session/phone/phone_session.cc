#include "session/phone/phone_session.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/log.h"
#include "base/random.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "net/http/detached_connection.h"
#include "net/phone_streams.h"
#include "net/policy.h"

namespace weir::session {
namespace {

constexpr int kDeclined = 603;           // of a reject that names no status
constexpr size_t kMaxList = 48u * 1024;  // bytes of the list, which has to fit into what may wait
constexpr size_t kEntryBytes = 64;       // of an entry, besides its texts
constexpr size_t kReadBytes = 2048;
// Letters and digits: more than 128 bits each.
constexpr size_t kNameLength = 26;
constexpr size_t kSecretLength = 32;

Error not_yet() {
    return make_error(ErrorCode::kBusy, "there is no line yet");
}

// Of reasons as net::PhoneLineObserver has them.
bool says_wrong_password(std::string_view reason) {
    return reason.starts_with("401") || reason.starts_with("403") || reason.starts_with("407");
}

std::string signalling_path(std::string_view kind,
                            const stream::StreamKey& key,
                            std::string_view secret) {
    return fmt::format("/rtc/v1/{}/?app={}&stream={}&key={}", kind, key.app, key.name, secret);
}

}  // namespace

PhoneSession::PhoneSession(PhoneServer& server,
                           net::DetachedConnection detached,
                           const io::SocketAddress& peer)
    : server_(server),
      times_(server.times()),
      stream_(std::move(detached.stream)),
      permit_(std::move(detached.permit)),
      peer_(peer),
      client_(std::make_unique<net::Client>(server.services().clients, "phone", peer.host())),
      since_(MonoClock::now()),
      heard_(since_),
      second_(since_) {
    client_->encrypted = detached.encrypted;
    client_->kick = [this] {
        class_over_ = net::EndClass::kKicked;
        end("kicked by the API");
    };
    reader_.feed(detached.unread);
}

PhoneSession::~PhoneSession() = default;

// Yields.
void PhoneSession::run(std::string_view head) {
    io::set_log_id(client_->id());
    Error why = stream_->write_all(as_bytes(head), io::Deadline::after(times_.take));
    if (!why) {
        why = converse();
    }
    finish(why);
}

void PhoneSession::end(std::string_view why, ws::CloseCode code) {
    if (!over_) {
        over_ = true;
        why_over_ = why;
        close_code_ = code;
        changed_.notify_all();
    }
}

// The line first: it plays and publishes the two streams. Then whoever else does, as the names are
// not private any more.
void PhoneSession::finish(const Error& why) {
    line_.reset();
    end_streams();
    for (net::PrivateStreams::Place& place : places_) {
        place = {};
    }
    if (why.code() == ErrorCode::kInterrupted) {
        close_code_ = ws::CloseCode::kGoingAway;
    }
    (void)stream_->try_write(ws::make_close(close_code_, why_over_));
    const net::EndClass end_class = why ? net::end_class(why.code()) : class_over_;
    const std::string detail = why ? std::string(why.message()) : why_over_;
    if (!user_.empty()) {
        log::info("phone ended user={} ip={}: {}", log::token(user_), peer_.host(),
                  log::escaped(detail));
    }
    client_->kick = nullptr;
    client_->end_quietly(end_class, detail);
    stream_->close();
}

// They would go on as streams that anybody may play. The line's own end of them goes with its call.
void PhoneSession::end_streams() {
    if (secret_.empty()) {
        return;
    }
    std::vector<std::string> ids;
    net::ClientTable& clients = server_.services().clients;
    clients.for_each([&](const net::Client& client) {
        const bool is_line = std::string_view(client.transport()) == "sip";
        if (!is_line && (client.key == local_ || client.key == remote_)) {
            ids.emplace_back(client.id());
        }
    });
    for (const std::string& id : ids) {
        net::Client* const client = clients.find(id);
        if (client != nullptr && client->kick) {
            client->kick();
        }
    }
}

// ---- the WebSocket ----

// Yields. Success: over_ says the rest.
Error PhoneSession::converse() {
    for (;;) {
        WEIR_TRY(hear());
        WEIR_TRY(say_all());
        if (over_) {
            return {};
        }
        WEIR_TRY(wait());
        WEIR_TRY(read());
    }
}

Error PhoneSession::hear() {
    while (!over_) {
        ws::Message message;
        const ws::ReadStatus status = reader_.next(message);
        if (status == ws::ReadStatus::kNeedMore) {
            return {};
        }
        if (status == ws::ReadStatus::kError) {
            class_over_ = net::EndClass::kError;
            end(reader_.error(), reader_.close_code());
        } else if (!is_within_rate(MonoClock::now())) {
            class_over_ = net::EndClass::kError;
            end("too many messages in a second", ws::CloseCode::kPolicy);
        } else {
            hear_message(std::move(message));
        }
    }
    return {};
}

void PhoneSession::hear_message(ws::Message message) {
    switch (message.opcode) {
        case ws::Opcode::kText: obey(as_text(message.payload)); return;
        case ws::Opcode::kPing: say(ws::make_frame(ws::Opcode::kPong, message.payload)); return;
        case ws::Opcode::kPong: return;
        case ws::Opcode::kClose: end("closed by the page", ws::CloseCode::kNormal); return;
        default:
            class_over_ = net::EndClass::kError;
            end("messages are texts", ws::CloseCode::kUnsupportedData);
            return;
    }
}

bool PhoneSession::is_within_rate(MonoTime now) {
    if (now - second_ >= Seconds(1)) {
        second_ = now;
        in_second_ = 0;
    }
    return ++in_second_ <= kMaxPerSecond;
}

// Yields.
Error PhoneSession::say_all() {
    while (!out_.empty()) {
        const Bytes now = std::exchange(out_, {});
        WEIR_TRY(stream_->write_all(now, io::Deadline::after(times_.take)));
        client_->sent_bytes += now.size();
    }
    return {};
}

// Yields. Until there is something to hear or to say, or it is over.
Error PhoneSession::wait() {
    stream_->set_handler(this);
    Error why;
    while (!stream_->readable() && out_.empty() && !over_ && !why) {
        why = changed_.wait_until(io::Deadline::at(due()), "a phone page", stream_->fd());
        if (why.code() == ErrorCode::kTimeout) {
            why = {};
            on_time(MonoClock::now());
        }
    }
    stream_->set_handler(nullptr);
    return why;
}

MonoTime PhoneSession::due() const {
    const MonoTime next =
        std::min(std::max(heard_, pinged_) + times_.ping, heard_ + times_.silence);
    return ready_ ? next : std::min(next, since_ + times_.open_wait);
}

void PhoneSession::on_time(MonoTime now) {
    class_over_ = net::EndClass::kTimeout;
    if (!ready_ && now >= since_ + times_.open_wait) {
        fail(line_ ? "408 Request Timeout: the registration was not answered"
                   : "408 Request Timeout: no line was opened");
    } else if (now >= heard_ + times_.silence) {
        end("the page does not answer");
    } else {
        class_over_ = net::EndClass::kPeerClosed;
        pinged_ = now;
        say(ws::make_frame(ws::Opcode::kPing, {}));
    }
}

Error PhoneSession::read() {
    if (!stream_->readable()) {
        return {};
    }
    std::array<uint8_t, kReadBytes> buffer;
    const io::IoResult got = stream_->try_read(buffer);
    switch (got.status) {
        case io::IoStatus::kDone:
            heard_ = MonoClock::now();
            client_->received_bytes += got.bytes;
            reader_.feed({buffer.data(), got.bytes});
            return {};
        case io::IoStatus::kWouldBlock: return {};
        case io::IoStatus::kClosed: return make_error(ErrorCode::kClosed, "closed by the page");
        case io::IoStatus::kFailed: break;
    }
    return make_error(ErrorCode::kSystem, "the connection of the page failed");
}

void PhoneSession::say(Bytes frame) {
    if (out_.size() + frame.size() > kMaxUnsaid) {
        class_over_ = net::EndClass::kStalled;
        end("the page does not take what it is told");
        return;
    }
    out_.insert(out_.end(), frame.begin(), frame.end());
    changed_.notify_all();
}

void PhoneSession::tell(const net::Json& event) {
    const std::string text = net::dumped(event);
    say(ws::make_frame(ws::Opcode::kText, as_bytes(text)));
}

// ---- what the page wants ----

void PhoneSession::obey(std::string_view text) {
    const Result<PhoneWish> wish = read_phone_wish(text);
    Error refused;
    if (!wish.ok()) {
        tell({{"event", "error"}, {"do", nullptr}, {"reason", wish.error().message()}});
        return;
    }
    if (wish->kind == PhoneWish::Kind::kOpen) {
        refused =
            line_ ? make_error(ErrorCode::kBusy, "this page has its line already") : open(*wish);
        if (refused && !line_) {
            server_.log_refused(peer_, wish->user, refused.message());
            class_over_ = net::EndClass::kRefused;
            fail(refused.message());
            return;
        }
    } else {
        refused = act(*wish);
    }
    if (refused) {
        tell({{"event", "error"}, {"do", to_string(wish->kind)}, {"reason", refused.message()}});
    }
}

Error PhoneSession::act(const PhoneWish& wish) {
    using Kind = PhoneWish::Kind;
    if (!ready_ || !line_) {
        return not_yet();
    }
    switch (wish.kind) {
        case Kind::kInvite:
            return wish.to.empty() ? make_error(ErrorCode::kMalformed, "\"to\": whom to call")
                                   : line_->invite(wish.to, wish.codecs);
        case Kind::kAccept: return line_->accept(wish.codecs);
        case Kind::kReject: return line_->reject(wish.status != 0 ? wish.status : kDeclined);
        case Kind::kBye: return line_->hang_up();
        case Kind::kHold: return line_->hold(wish.on);
        case Kind::kDigits: return line_->send_digits(wish.digits);
        case Kind::kList: tell_list(); return {};
        case Kind::kOpen: break;
    }
    return {};
}

// Of this server's users the password is proven before anything else happens. That of another
// domain is for its server to judge, which on_line_failed() tells.
Error PhoneSession::check_password(const PhoneWish& wish) {
    if (wish.user.empty() || wish.password.empty()) {
        return make_error(ErrorCode::kMalformed, "400 Bad Request: user and password are needed");
    }
    if (const Millis pause = server_.wait_for(peer_); pause > Millis(0)) {
        return make_error(ErrorCode::kDenied,
                          "429 Too Many Requests: too many wrong passwords from this address; try "
                          "again in {} s",
                          pause.count() / 1000 + 1);
    }
    if (wish.domain.empty() && !server_.book().proves(wish.user, wish.password)) {
        server_.count_wrong(peer_);
        return make_error(ErrorCode::kDenied, "403 Forbidden: wrong user or password");
    }
    return {};
}

Error PhoneSession::open(const PhoneWish& wish) {
    const net::Services& services = server_.services();
    net::PhoneLines* const lines = services.phones != nullptr ? services.phones->lines() : nullptr;
    if (lines == nullptr || services.private_streams == nullptr) {
        return make_error(ErrorCode::kDenied, "503 Service Unavailable: SIP is off (sip_server)");
    }
    if (!wish.domain.empty() && !lines->allows(wish.domain)) {
        return make_error(ErrorCode::kDenied,
                          "403 Forbidden: there are no telephone lines of this domain here");
    }
    WEIR_TRY(check_password(wish));
    user_ = wish.user;
    own_domain_ = wish.domain.empty();
    const std::string app = std::string(net::kPhoneApps) + random_id(system_random(), kNameLength);
    local_ = services.policy.key_of("", app, "local");
    remote_ = services.policy.key_of("", app, "remote");
    secret_ = random_id(system_random(), kSecretLength);
    places_ = {services.private_streams->add(local_, secret_),
               services.private_streams->add(remote_, secret_)};
    WEIR_TRY_ASSIGN(line_, lines->open({.user = wish.user,
                                        .domain = wish.domain,
                                        .login = {},
                                        .password = wish.password,
                                        .display = wish.display,
                                        .local = local_,
                                        .remote = remote_,
                                        .peer = peer_.net_address()},
                                       *this));
    return {};
}

void PhoneSession::fail(std::string_view reason) {
    tell({{"event", "failed"}, {"reason", reason}});
    end(reason, ws::CloseCode::kPolicy);
}

void PhoneSession::tell_list() {
    net::Json entries = net::Json::array();
    size_t bytes = 0;
    for (const PhoneBookEntry& each : server_.book().entries(user_)) {
        bytes += kEntryBytes + each.number.size() + each.name.size();
        if (bytes > kMaxList) {
            break;
        }
        entries.push_back({{"number", each.number},
                           {"kind", each.kind},
                           {"name", each.name},
                           {"here", each.here}});
    }
    const bool more = bytes > kMaxList;
    tell({{"event", "list"}, {"entries", std::move(entries)}, {"more", more}});
}

// ---- what the line tells ----

void PhoneSession::on_line_ready() {
    ready_ = true;
    server_.counters().opened++;
    log::info_as(client_->id(), "phone line user={} ip={} stream={}", log::token(user_),
                 peer_.host(), log::token(local_.to_string()));
    tell({{"event", "ready"},
          {"user", user_},
          {"whip", signalling_path("whip", local_, secret_)},
          {"whep", signalling_path("whep", remote_, secret_)}});
}

void PhoneSession::on_line_failed(std::string_view reason) {
    if (!ready_) {
        server_.log_refused(peer_, user_, reason);
        if (!own_domain_ && says_wrong_password(reason)) {
            server_.count_wrong(peer_);
        }
    }
    class_over_ = net::EndClass::kRefused;
    fail(reason.empty() ? "the line has failed" : reason);
}

void PhoneSession::on_ringing(std::string_view reason) {
    tell({{"event", "ringing"}, {"reason", reason}});
}

void PhoneSession::on_rejected(std::string_view reason) {
    tell({{"event", "rejected"}, {"reason", reason}});
}

void PhoneSession::on_invited(std::string_view from, std::string_view to) {
    tell({{"event", "invited"}, {"from", from}, {"to", to}});
}

void PhoneSession::on_cancelled(std::string_view from, std::string_view to) {
    tell({{"event", "cancelled"}, {"from", from}, {"to", to}});
}

void PhoneSession::on_accepted(std::string_view audio, std::string_view video) {
    tell({{"event", "accepted"}, {"audio", audio}, {"video", video}});
}

void PhoneSession::on_ended() {
    tell({{"event", "ended"}});
}

void PhoneSession::on_held(bool held) {
    tell({{"event", "held"}, {"on", held}});
}

void PhoneSession::on_digit(char digit) {
    tell({{"event", "digit"}, {"digit", std::string(1, digit)}});
}

}  // namespace weir::session
