// A telephone for tests: a user agent of its own over a socket of loopback, which calls, registers
// and answers.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "base/check.h"
#include "base/random.h"
#include "io/udp.h"
#include "proto/rtp/header.h"
#include "proto/sdp/phone.h"
#include "proto/sip/registration.h"
#include "proto/sip/user_agent.h"

#include "test/support/io/loopback.h"

namespace weir::session {

class SipPhone {
  public:
    using Kind = sip::CallEvent::Kind;

    static constexpr size_t kFrame = 160;  // 20 ms of G.711

    explicit SipPhone(const NetAddress& server)
        : socket_(udp_socket()), media_(udp_socket()), agent_({}, system_random()) {
        flow_.connection = 1;
        flow_.remote = server;
        flow_.local = socket_->local().net_address();
    }

    static std::unique_ptr<io::UdpSocket> udp_socket() {
        auto socket = io::UdpSocket::bind(*io::SocketAddress::parse("127.0.0.1:0"), {});
        WEIR_CHECK(socket.ok());
        return std::move(*socket);
    }

    NetAddress address() const { return socket_->local().net_address(); }

    NetAddress media_address() const { return media_->local().net_address(); }

    sdp::PhoneOptions options() const {
        sdp::PhoneOptions options;
        options.address = media_address().with_port(0);
        options.audio.codecs = {
            {codec, 8000, codec == media::Codec::kG711A ? uint8_t{8} : uint8_t{0}}};
        options.audio.port = media_address().port();
        return options;
    }

    // Registers as that user. True: it was taken.
    bool registers(const std::string& user, const std::string& password) {
        sip::RegistrationOptions options;
        options.registrar = "sip:127.0.0.1";
        options.aor = "sip:" + user + "@127.0.0.1";
        options.contact_user = user;
        options.login = {user, password};
        options.servers = {flow_};
        registration_ = std::make_unique<sip::Registration>(options, system_random());
        registration_->start(MonoClock::now());
        return io::eventually([&] {
            turn();
            return registration_->state() == sip::Registration::State::kRegistered;
        });
    }

    void call(const std::string& uri,
              const std::string& user = "",
              const std::string& password = "") {
        sip::CallTarget target;
        target.flow = flow_;
        target.uri = uri;
        target.from = "sip:alice@example.org";
        target.login = {user, password};
        target.sdp = sdp::write_phone_offer(options());
        id_ = agent_.call(MonoClock::now(), target);
        turn();
    }

    void ring() { agent_.ring(MonoClock::now(), id_), turn(); }

    // Of the call that came last.
    bool accept() {
        const auto offer = sdp::read_phone_description(last.sdp);
        if (!offer.ok()) {
            return false;
        }
        const auto agreed = sdp::answer_phone(*offer, options());
        const bool done = agreed.ok() && agent_.accept(MonoClock::now(), id_, agreed->answer);
        turn();
        return done;
    }

    void reject(int status) { agent_.reject(MonoClock::now(), id_, status), turn(); }

    void hang_up() { agent_.hang_up(MonoClock::now(), id_), turn(); }

    void offer(sdp::Direction direction) {
        sdp::PhoneOptions now = options();
        now.version = ++version_;
        now.audio.direction = direction;
        agent_.offer(MonoClock::now(), id_, sdp::write_phone_offer(now));
        turn();
    }

    void answer_offer(const std::string& sdp) {
        const auto offer = sdp::read_phone_description(sdp);
        sdp::PhoneOptions now = options();
        now.version = ++version_;
        const auto agreed = sdp::answer_phone(*offer, now);
        agent_.answer_offer(MonoClock::now(), id_, agreed->answer);
        turn();
    }

    // True once an event of that kind has come; it is in `last`.
    bool has(Kind kind) {
        turn();
        while (!events_.empty()) {
            last = std::move(events_.front());
            events_.pop_front();
            if (last.kind == Kind::kInvited) {
                id_ = last.call;
            }
            if (last.kind == kind) {
                return true;
            }
        }
        return false;
    }

    bool waits_for(Kind kind) {
        return io::eventually([&] { return has(kind); });
    }

    // Where its last description wants audio.
    static NetAddress audio_of(const std::string& sdp) {
        const auto read = sdp::read_phone_description(sdp);
        const sdp::PhoneMedia* const audio =
            read.ok() ? read->find(media::TrackKind::kAudio) : nullptr;
        return audio == nullptr ? NetAddress() : audio->to;
    }

    // The next packet of RTP; empty: none has come.
    Bytes hear() {
        Bytes heard;
        media_->receive([&](std::span<uint8_t> bytes, const io::UdpPath&) {
            heard.assign(bytes.begin(), bytes.end());
        });
        return heard;
    }

    void say(const NetAddress& to, uint16_t sequence, uint8_t value = 0x7F) {
        Bytes bytes(rtp::kFixedHeaderSize + kFrame, value);
        rtp::write_header({0, false, sequence, sequence * uint32_t{kFrame}, 4711}, bytes.data());
        (void)media_->send({to, {}}, bytes);
    }

    void turn() {
        socket_->receive([&](std::span<uint8_t> bytes, const io::UdpPath&) {
            agent_.on_parsed(MonoClock::now(), sip::parse_datagram(bytes), flow_);
        });
        agent_.handle_timeout(MonoClock::now());
        if (registration_) {
            registration_->handle_timeout(MonoClock::now());
            while (auto out = registration_->poll_request()) {
                agent_.send_request(MonoClock::now(), std::move(out->request), out->flow, 1);
            }
        }
        while (auto out = agent_.poll_transmit()) {
            (void)socket_->send({out->flow.remote, {}}, as_bytes(out->bytes));
        }
        while (auto event = agent_.poll_event()) {
            if (event->kind == Kind::kResponse && registration_) {
                registration_->on_response(MonoClock::now(), event->response);
                turn();
            } else if (event->kind == Kind::kRequest) {
                requests.push_back(event->request);
                answer(*event);
            } else {
                events_.push_back(std::move(*event));
            }
        }
        while (auto out = agent_.poll_transmit()) {
            (void)socket_->send({out->flow.remote, {}}, as_bytes(out->bytes));
        }
    }

    // How it answers a REGISTER, as a PBX.
    int register_status = 200;

    sip::CallEvent last;
    media::Codec codec = media::Codec::kG711U;
    std::deque<sip::Request> requests;  // outside of calls

  private:
    void answer(const sip::CallEvent& event) {
        http::Fields fields;
        if (event.request.method == sip::Method::kRegister) {
            fields.add("Contact", std::string(event.request.header("Contact")));
        }
        agent_.respond(MonoClock::now(), event.transaction, register_status, fields);
    }

    std::unique_ptr<io::UdpSocket> socket_;
    std::unique_ptr<io::UdpSocket> media_;
    sip::UserAgent agent_;
    std::unique_ptr<sip::Registration> registration_;
    sip::Flow flow_;
    sip::CallId id_ = 0;
    uint64_t version_ = 1;
    std::deque<sip::CallEvent> events_;
};

}  // namespace weir::session
