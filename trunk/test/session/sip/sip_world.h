// A SIP server over real sockets, and a telephone that is a user agent of its own.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.h"
#include "base/random.h"
#include "proto/rtp/header.h"
#include "proto/sdp/phone.h"
#include "session/sip/sip_server.h"

#include "test/session/world.h"
#include "test/support/media_packets.h"

namespace weir::session {

inline constexpr size_t kPhoneFrame = 160;  // 20 ms of G.711

inline std::unique_ptr<io::UdpSocket> udp_socket(const char* address = "127.0.0.1:0") {
    auto socket = io::UdpSocket::bind(*io::SocketAddress::parse(address), {});
    WEIR_CHECK(socket.ok());
    return std::move(*socket);
}

// Publishes PCMU.
class Speaker final : public stream::Publisher {
  public:
    explicit Speaker(stream::Stream& stream,
                     stream::PublishConflict conflict = stream::PublishConflict::kRefuse)
        : stream_(stream) {
        EXPECT_FALSE(stream.start_publish(*this, conflict, MonoClock::now()));
        say();
    }

    ~Speaker() { stream_.end_publish(*this, MonoClock::now()); }

    void say() {
        Bytes body(1 + kPhoneFrame, 0x55);
        body[0] = 0x82;
        time_ms_ += 20;
        stream_.publish(*this, test::packet(media::TrackKind::kAudio, time_ms_, std::move(body)),
                        MonoClock::now());
    }

    std::string describe() const override { return "the test"; }

    std::string_view client_id() const override { return "test"; }

    void on_taken_over() override {}

    void on_key_frame_wanted() override { key_frames_wanted++; }

    int key_frames_wanted = 0;

  private:
    stream::Stream& stream_;
    uint32_t time_ms_ = 0;
};

class Phone {
  public:
    explicit Phone(const NetAddress& server)
        : socket_(udp_socket()), media_(udp_socket()), agent_({}, system_random()) {
        flow_.connection = 1;
        flow_.remote = server;
        flow_.local = socket_->local().net_address();
    }

    sdp::PhoneOptions options(const NetAddress& media) const {
        sdp::PhoneOptions options;
        options.address = media.with_port(0);
        options.audio.codecs = codecs;
        options.audio.telephone_events = telephone_events;
        options.audio.port = media.port();
        return options;
    }

    void call(const std::string& uri,
              const std::string& user = "",
              const std::string& password = "") {
        sip::CallTarget target;
        target.flow = flow_;
        target.uri = uri;
        target.from = "sip:alice@example.org";
        target.login = {user, password};
        target.sdp = sdp::write_phone_offer(options(media_->local().net_address()));
        if (comfort_noise) {
            target.sdp.insert(target.sdp.find("\r\n", target.sdp.find("m=audio")), " 13");
            target.sdp += "a=rtpmap:13 CN/8000\r\n";
        }
        id_ = agent_.call(MonoClock::now(), target);
        turn();
    }

    // Of the offer and later; before call().
    bool telephone_events = true;
    bool comfort_noise = false;
    std::vector<sdp::PhoneCodec> codecs{{media::Codec::kG711U, 8000, 0}};

    void info(const std::string& type, const std::string& text) {
        agent_.send_info(MonoClock::now(), id_, type, text);
        turn();
    }

    void hang_up() {
        agent_.hang_up(MonoClock::now(), id_);
        turn();
    }

    void offer(sdp::Direction direction) {
        sdp::PhoneOptions now = options(media_->local().net_address());
        now.version = 2;
        now.audio.direction = direction;
        agent_.offer(MonoClock::now(), id_, sdp::write_phone_offer(now));
        turn();
    }

    // True once an event of that kind has come; it is in `last`.
    bool has(sip::CallEvent::Kind kind) {
        turn();
        while (!events_.empty()) {
            last = std::move(events_.front());
            events_.pop_front();
            if (last.kind == kind) {
                return true;
            }
        }
        return false;
    }

    bool waits_for(sip::CallEvent::Kind kind) {
        return io::eventually([&] { return has(kind); });
    }

    NetAddress media_of_server() const {
        const auto answer = sdp::read_phone_description(last.sdp);
        const sdp::PhoneMedia* const audio =
            answer.ok() ? answer->find(media::TrackKind::kAudio) : nullptr;
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

    static Bytes packet(uint16_t sequence) {
        Bytes bytes(rtp::kFixedHeaderSize + kPhoneFrame, 0x7F);
        rtp::write_header({0, false, sequence, sequence * uint32_t{kPhoneFrame}, 4711},
                          bytes.data());
        return bytes;
    }

    void send(const NetAddress& to, ByteSpan bytes) { (void)media_->send({to, {}}, bytes); }

    void say(const NetAddress& to, uint16_t sequence) {
        (void)media_->send({to, {}}, packet(sequence));
    }

    sip::CallEvent last;

  private:
    void turn() {
        socket_->receive([&](std::span<uint8_t> bytes, const io::UdpPath&) {
            agent_.on_parsed(MonoClock::now(), sip::parse_datagram(bytes), flow_);
        });
        agent_.handle_timeout(MonoClock::now());
        while (auto out = agent_.poll_transmit()) {
            (void)socket_->send({flow_.remote, {}}, as_bytes(out->bytes));
        }
        while (auto event = agent_.poll_event()) {
            events_.push_back(std::move(*event));
        }
    }

    std::unique_ptr<io::UdpSocket> socket_;
    std::unique_ptr<io::UdpSocket> media_;
    sip::UserAgent agent_;
    sip::Flow flow_;
    sip::CallId id_ = 0;
    std::deque<sip::CallEvent> events_;
};

class SipWorld : public World {
  protected:
    SipWorld() {
        SipServerOptions options;
        options.trunks.push_back({NetAddress::parse_ip("127.0.0.1", 0)->v6(), 128});
        options.dial.push_back({"100", "live/stage", "talk/desk"});
        start(std::move(options));
    }

    ~SipWorld() override {
        if (speaker_) {
            speaker_.reset();
            registry_.release(*stream_);
        }
        const Error failed = server_->stop(io::soon());
        EXPECT_FALSE(failed) << failed.to_string();
        fanout_.stop(io::soon());
        server_.reset();
    }

    void start(SipServerOptions options) {
        if (server_) {
            EXPECT_FALSE(server_->stop(io::soon()));
        }
        server_ = std::make_unique<SipServer>(services_, std::move(options));
        auto socket = udp_socket();
        address_ = socket->local().net_address();
        EXPECT_FALSE(server_->wires().serve(std::move(socket)));
    }

    void publish() {
        stream_ = &registry_.get_or_create({std::string(stream::kDefaultVhost), "live", "stage"},
                                           {}, MonoClock::now());
        speaker_ = std::make_unique<Speaker>(*stream_);
    }

    std::vector<SipCallFacts> calls() const {
        std::vector<SipCallFacts> all;
        server_->for_each_call(
            [&](const SipParty& call) { all.push_back(call.facts(MonoClock::now())); });
        return all;
    }

    std::string number(const std::string& user) const {
        return fmt::format("sip:{}@127.0.0.1", user);
    }

    std::unique_ptr<SipServer> server_;
    NetAddress address_;
    stream::Stream* stream_ = nullptr;
    std::unique_ptr<Speaker> speaker_;
};

}  // namespace weir::session
