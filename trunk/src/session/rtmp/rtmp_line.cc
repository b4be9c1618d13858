#include "session/rtmp/rtmp_line.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/check.h"
#include "io/deadline.h"
#include "net/client.h"
#include "session/rtmp/rtmp_muxer.h"
#include "stream/stream.h"

namespace weir::session {
namespace {

constexpr std::string_view kApp = "sip/";
constexpr int kDeclined = 603;  // of a reject that names no status
constexpr int kLeastRefusal = 300;
constexpr int kGreatestRefusal = 699;

// USER and DOMAIN of "sip/USER@DOMAIN"; empty: it is none.
std::pair<std::string_view, std::string_view> user_and_domain(std::string_view app) {
    if (!app.starts_with(kApp)) {
        return {};
    }
    app.remove_prefix(kApp.size());
    const size_t at = app.rfind('@');
    if (at == 0 || at == std::string_view::npos || at + 1 == app.size() ||
        app.find('/') != std::string_view::npos) {
        return {};
    }
    return {app.substr(0, at), app.substr(at + 1)};
}

// "486 Busy Here", or a number.
int refusal_in(const amf::Value& value) {
    int status = static_cast<int>(std::clamp(value.as_number(), 0.0, 1000.0));
    const std::string_view text = value.as_string();
    if (!text.empty() &&
        std::from_chars(text.data(), text.data() + text.size(), status).ec != std::errc()) {
        status = 0;
    }
    return status >= kLeastRefusal && status <= kGreatestRefusal ? status : kDeclined;
}

std::string digits_in(const amf::Value& value) {
    const bool digit = value.is_number() && value.as_number() >= 0 && value.as_number() <= 9;
    return digit ? std::to_string(static_cast<int>(value.as_number()))
                 : std::string(value.as_string());
}

}  // namespace

// The line's player at the pump.
class RtmpLinePlayer final : public net::PlayerProtocol {
  public:
    RtmpLinePlayer(RtmpLine& line, uint32_t stream_id) : line_(&line), stream_id_(stream_id) {}

    RtmpLinePlayer(const RtmpLinePlayer&) = delete;
    RtmpLinePlayer& operator=(const RtmpLinePlayer&) = delete;

    ~RtmpLinePlayer() override {
        if (line_ != nullptr) {  // it never came to a pump
            line_->on_player_end(net::EndReason::kSystemError);
        }
    }

    void on_joined(net::PlayerLink& link) override { line_->link_ = &link; }

    void on_start(const stream::Stream&, const stream::Muxer& muxer, bool, Bytes& out) override {
        // The pump's muxer is of our format.
        static_cast<const RtmpMuxer&>(muxer).front(stream_id_, out);
    }

    // The pump's first word, without data, brings the answer to the play.
    net::PlayerVerdict on_data(ByteSpan data, Bytes& out) override {
        line_->session_.append_output(out);
        return data.empty() || line_->take(data) ? net::PlayerVerdict::kGoOn
                                                 : net::PlayerVerdict::kError;
    }

    void on_end(net::EndReason reason, bool, Bytes&) override {
        std::exchange(line_, nullptr)->on_player_end(reason);
    }

    void on_released(std::unique_ptr<PlayerProtocol>,
                     std::unique_ptr<io::TcpStream> stream,
                     std::unique_ptr<net::Client> client) override {
        std::exchange(line_, nullptr)->on_player_released(std::move(stream), std::move(client));
    }

  private:
    RtmpLine* line_;  // null when it has ended
    uint32_t stream_id_;
};

RtmpLine::~RtmpLine() {
    WEIR_CHECK(!player_);
}

bool RtmpLine::is_one(const rtmp::ConnectRequest& request) {
    return !request.arguments.empty() && !user_and_domain(request.app).first.empty();
}

// Yields.
Error RtmpLine::open(net::PhoneLines* lines,
                     const rtmp::ConnectRequest& request,
                     const stream::StreamKey& local,
                     const stream::StreamKey& remote,
                     io::TcpStream& stream) {
    const auto [user, domain] = user_and_domain(request.app);
    if (lines == nullptr || !lines->allows(domain)) {
        return make_error(ErrorCode::kDenied,
                          "there are no telephone lines of this domain here (rtmp_lines)");
    }
    local_ = local;
    remote_ = remote;
    const auto argument = [&](size_t index) {
        return index < request.arguments.size() ? request.arguments[index] : std::string();
    };
    WEIR_TRY_ASSIGN(line_, lines->open({.user = std::string(user),
                                        .domain = std::string(domain),
                                        .login = argument(0),
                                        .password = argument(1),
                                        .display = argument(2),
                                        .local = local,
                                        .remote = remote,
                                        .peer = peer_.net_address()},
                                       *this));
    const io::Deadline deadline = io::Deadline::after(kRegisterWait);
    stream.set_handler(this);
    Error why;
    while (!ready_ && failed_.empty() && !why && !stream.hangup()) {
        why = changed_.wait_until(deadline, "a registration");
    }
    stream.set_handler(nullptr);
    if (stream.hangup()) {
        return make_error(ErrorCode::kClosed, "closed by the peer");
    }
    if (!failed_.empty()) {
        return make_error(ErrorCode::kDenied, "{}", failed_);
    }
    return why.code() == ErrorCode::kTimeout
               ? make_error(ErrorCode::kDenied, "408 Request Timeout: the domain does not answer")
               : std::move(why);
}

// ---- commands ----

void RtmpLine::obey(rtmp::CallRequest& call) {
    const Error refused = act(call);
    session_.answer_call(call.transaction, refused ? refused.message() : std::string_view());
    // Clients of siprtmp wait for a word of the call, and not for an answer to the command.
    if (refused && call.name == "invite") {
        on_rejected(refused.message());
    }
}

Error RtmpLine::act(const rtmp::CallRequest& call) {
    const auto argument = [&](size_t index) -> const amf::Value& {
        static const amf::Value kNull;
        return index < call.arguments.size() ? call.arguments[index] : kNull;
    };
    const auto codecs_from = [&](size_t index) {
        std::vector<std::string> names;
        for (; index < std::min(call.arguments.size(), kMaxCodecs); index++) {
            names.emplace_back(call.arguments[index].as_string());
        }
        return names;
    };
    if (call.name == "invite") {
        return line_->invite(argument(0).as_string(), codecs_from(1));
    }
    if (call.name == "accept") {
        return line_->accept(codecs_from(0));
    }
    if (call.name == "reject") {
        return line_->reject(refusal_in(argument(0)));
    }
    if (call.name == "bye") {
        return line_->hang_up();
    }
    if (call.name == "hold") {
        return line_->hold(argument(0).as_boolean(true));
    }
    if (call.name == "sendDTMF") {
        return line_->send_digits(digits_in(argument(0)));
    }
    return make_error(ErrorCode::kUnsupported, "Method not found.");
}

void RtmpLine::tell(std::string_view name, std::initializer_list<std::string_view> arguments) {
    std::vector<amf::Value> values;
    for (const std::string_view each : arguments) {
        values.push_back(amf::Value::string(each));
    }
    session_.call(name, values);
    changed_.notify_all();
}

void RtmpLine::on_line_ready() {
    ready_ = true;
    changed_.notify_all();
}

void RtmpLine::on_line_failed(std::string_view reason) {
    failed_ = reason.empty() ? "the line has failed" : reason;
    changed_.notify_all();
}

void RtmpLine::on_ringing(std::string_view reason) {
    tell("ringing", {reason});
}

void RtmpLine::on_rejected(std::string_view reason) {
    tell("rejected", {reason});
}

void RtmpLine::on_invited(std::string_view from, std::string_view to) {
    tell("invited", {from, to});
}

void RtmpLine::on_cancelled(std::string_view from, std::string_view to) {
    tell("cancelled", {from, to});
}

void RtmpLine::on_accepted(std::string_view audio, std::string_view video) {
    tell("accepted", {audio, video});
}

void RtmpLine::on_ended() {
    tell("byed", {});
}

void RtmpLine::on_held(bool held) {
    const amf::Value value = amf::Value::boolean(held);
    session_.call("holded", {&value, 1});
    changed_.notify_all();
}

void RtmpLine::on_digit(char digit) {
    tell("digit", {std::string_view(&digit, 1)});
}

// ---- the connection ----

// Yields.
Error RtmpLine::wait(io::TcpStream* stream) {
    const auto nothing = [&] {
        return !ended() && !session_.has_output() && unheard_.empty() && plays() == !stream &&
               !(stream && stream->readable());
    };
    if (stream != nullptr) {
        stream->set_handler(this);
    }
    Error why;
    while (nothing() && !why) {
        const MonoTime asked = std::max(heard_, pinged_);
        const MonoTime due = std::min(asked + kPing, heard_ + kSilence);
        why = changed_.wait_until(io::Deadline::at(due), "a telephone's client");
        const MonoTime now = MonoClock::now();
        if (why.code() == ErrorCode::kTimeout && now < heard_ + kSilence) {
            why = Error();
            pinged_ = now;
            session_.make_ping(static_cast<uint32_t>(
                std::chrono::duration_cast<Millis>(now.time_since_epoch()).count()));
        }
    }
    if (stream != nullptr) {
        stream->set_handler(nullptr);
    }
    return why.code() == ErrorCode::kTimeout
               ? make_error(ErrorCode::kTimeout, "the peer was silent for {} s",
                            std::chrono::duration_cast<Seconds>(kSilence).count())
               : std::move(why);
}

Error RtmpLine::ended() const {
    if (!failed_.empty()) {
        return make_error(ErrorCode::kClosed, "the telephone line has ended: {}", failed_);
    }
    if (player_ended_) {
        const ErrorCode code = *player_ended_ == net::EndReason::kServerStopping
                                   ? ErrorCode::kInterrupted
                                   : ErrorCode::kClosed;
        return make_error(code, "{}", net::to_string(*player_ended_));
    }
    return {};
}

std::unique_ptr<net::PlayerProtocol> RtmpLine::make_player(uint32_t stream_id) {
    auto made = std::make_unique<RtmpLinePlayer>(*this, stream_id);
    player_ = made.get();
    return made;
}

bool RtmpLine::say(ByteSpan bytes) {
    return link_ != nullptr && link_->say(bytes);
}

bool RtmpLine::take(ByteSpan bytes) {
    if (unheard_.size() + bytes.size() > kMaxUnheard) {
        return false;
    }
    unheard_.insert(unheard_.end(), bytes.begin(), bytes.end());
    changed_.notify_all();
    return true;
}

Bytes RtmpLine::take_unheard() {
    return std::exchange(unheard_, {});
}

std::unique_ptr<io::TcpStream> RtmpLine::stop_playing() {
    if (link_ != nullptr) {
        link_->release();
    }
    return std::move(released_);
}

void RtmpLine::leave(net::EndReason reason, std::string_view detail) {
    if (link_ != nullptr) {
        link_->leave(reason, detail);
    }
}

void RtmpLine::on_player_end(net::EndReason reason) {
    player_ = nullptr;
    link_ = nullptr;
    player_ended_ = reason;
    changed_.notify_all();
}

void RtmpLine::on_player_released(std::unique_ptr<io::TcpStream> stream,
                                  std::unique_ptr<net::Client> client) {
    player_ = nullptr;
    link_ = nullptr;
    released_ = std::move(stream);
    client->log_summary(net::EndClass::kPeerClosed, "stopped by the client");
}

}  // namespace weir::session
