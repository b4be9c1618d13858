// WebRTC over TCP: a peer that frames its checks, its handshake and what it gets, and peers that do
// none of that.
#include "session/webrtc/rtc_tcp.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "proto/dtls/transport.h"
#include "proto/rtp/header.h"
#include "proto/sdp/negotiate.h"
#include "proto/srtp/unprotector.h"
#include "proto/stun/message.h"
#include "session/webrtc/rtc_server.h"

#include "test/proto/ice/support.h"
#include "test/session/world.h"
#include "test/support/codec_samples.h"
#include "test/support/media_packets.h"

namespace weir::session {
namespace {

const dtls::Identity& peer_identity() {
    static const std::unique_ptr<dtls::Identity> identity =
        std::move(dtls::Identity::create()).value();
    return *identity;
}

std::string offer() {
    return fmt::format(
        "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n"
        "m=video 9 UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\na=recvonly\r\n"
        "a=rtcp-mux\r\na=ice-ufrag:peer\r\na=ice-pwd:0123456789012345678901\r\n"
        "a=fingerprint:sha-256 {}\r\na=setup:actpass\r\na=rtpmap:96 H264/90000\r\n"
        "a=fmtp:96 packetization-mode=1;profile-level-id=42e01f\r\na=rtcp-fb:96 nack\r\n",
        peer_identity().fingerprint().to_string());
}

std::string line_of(const std::string& sdp, const std::string& name) {
    const size_t at = sdp.find("a=" + name + ":");
    EXPECT_NE(at, std::string::npos) << name;
    const size_t begin = at + name.size() + 3;
    return sdp.substr(begin, sdp.find("\r\n", begin) - begin);
}

// The stream's publisher: an H.264 encoder.
class Encoder final : public stream::Publisher {
  public:
    std::string describe() const override { return "the test"; }

    std::string_view client_id() const override { return "test"; }

    void on_taken_over() override {}

    void begin(stream::Stream& stream) {
        stream_ = &stream;
        EXPECT_FALSE(
            stream.start_publish(*this, stream::PublishConflict::kRefuse, MonoClock::now()));
        Bytes config = {0x17, 0, 0, 0, 0};
        config.insert(config.end(), test::kAvcBaselineConfig.begin(),
                      test::kAvcBaselineConfig.end());
        publish(std::move(config));
    }

    void frame(bool key, size_t size) {
        Bytes body = {static_cast<uint8_t>(key ? 0x17 : 0x27), 1, 0, 0, 0};
        ByteWriter(body).u32(static_cast<uint32_t>(size)).u8(key ? 0x65 : 0x61).u8(0x88);
        body.resize(body.size() + size - 2, 0x55);
        time_ms_ += 40;
        publish(std::move(body));
    }

    void end() { stream_->end_publish(*this, MonoClock::now()); }

  private:
    void publish(Bytes body) {
        stream_->publish(*this, test::packet(media::TrackKind::kVideo, time_ms_, std::move(body)),
                         MonoClock::now());
    }

    stream::Stream* stream_ = nullptr;
    uint32_t time_ms_ = 0;
};

// A browser on TCP. Nothing here waits but connect().
class Peer {
  public:
    explicit Peer(const io::SocketAddress& server, const std::string& answer = "") {
        auto stream = io::TcpStream::connect(server, io::soon());
        WEIR_CHECK(stream.ok());
        stream_ = std::move(*stream);
        if (!answer.empty()) {
            check_.username = line_of(answer, "ice-ufrag") + ":peer";
            check_.password = line_of(answer, "ice-pwd");
            check_.use_candidate = true;
            dtls::TransportOptions options;
            options.role = dtls::Role::kClient;
            std::string print = line_of(answer, "fingerprint");
            options.remote = *dtls::Fingerprint::parse(print.substr(print.find(' ') + 1));
            dtls_ = std::make_unique<dtls::Transport>(peer_identity(), options, MonoClock::now());
        }
    }

    static Bytes framed(ByteSpan datagram) {
        Bytes frame(2);
        ice::write_frame_header(frame.data(), datagram.size());
        frame.insert(frame.end(), datagram.begin(), datagram.end());
        return frame;
    }

    void say(ByteSpan bytes) {
        const Error error = stream_->write_all(bytes, io::soon());
        EXPECT_FALSE(error) << error.to_string();
    }

    void check() { say(framed(check_.bytes())); }

    void read() {
        for (;;) {
            const io::IoResult got = stream_->try_read(buffer_);
            if (got.status == io::IoStatus::kWouldBlock) {
                break;
            }
            if (got.status != io::IoStatus::kDone) {
                closed = true;
                break;
            }
            ByteSpan bytes(buffer_.data(), got.bytes);
            while (!bytes.empty()) {
                bytes = bytes.subspan(reader_.feed(bytes));
                ByteSpan frame;
                while (reader_.next(frame) == ice::FrameReader::Status::kDatagram) {
                    take(frame);
                }
            }
        }
        send_dtls();
    }

    void send_dtls() {
        while (dtls_) {
            const ByteSpan datagram = dtls_->poll_transmit();
            if (datagram.empty()) {
                return;
            }
            say(framed(datagram));
        }
    }

    // Checks, then the handshake. Yields.
    void connect() {
        check();
        EXPECT_TRUE(io::eventually([&] {
            read();
            return srtp_ != nullptr;
        }));
    }

    size_t checks_answered = 0;
    size_t packets = 0;  // of RTP, that opened
    size_t unauthentic = 0;
    size_t markers = 0;
    uint64_t gaps = 0;  // in sequence numbers
    bool closed = false;
    std::unique_ptr<io::TcpStream> stream_;

  private:
    // Not on a coroutine's stack.
    Bytes buffer_ = Bytes(8192);
    Bytes copy_ = Bytes(2048);

    void take(ByteSpan frame) {
        if (frame[0] <= 3) {
            stun::MessageView message;
            if (stun::MessageView::parse(frame, message) == stun::ParseStatus::kDone &&
                message.message_class == stun::MessageClass::kSuccess) {
                checks_answered++;
            }
        } else if (frame[0] >= 20 && frame[0] <= 63 && dtls_) {
            dtls_->handle_packet(MonoClock::now(), frame);
            if (dtls_->poll_event() == dtls::Event::kConnected) {
                const srtp::Keys keys = dtls_->take_keys();
                srtp_ = std::move(srtp::Unprotector::create(keys.profile, keys.remote)).value();
            }
        } else if (srtp_ && !rtp::is_rtcp(frame)) {
            std::ranges::copy(frame, copy_.begin());
            const srtp::Unprotected plain =
                srtp_->unprotect_rtp(std::span(copy_).first(frame.size()));
            unauthentic += plain.ok() ? 0U : 1U;
            if (const auto packet = rtp::PacketView::parse({copy_.data(), plain.size})) {
                gaps += packets > 0 && packet->sequence() != static_cast<uint16_t>(last_ + 1);
                last_ = packet->sequence();
                packets++;
                markers += packet->marker() ? 1U : 0U;
            }
        }
    }

    ice::test::Check check_;
    ice::FrameReader reader_;
    std::unique_ptr<dtls::Transport> dtls_;
    std::unique_ptr<srtp::Unprotector> srtp_;
    uint16_t last_ = 0;
};

class RtcTcp : public World {
  protected:
    explicit RtcTcp(Millis patience = Millis(10'000)) {
        RtcServerOptions options;
        options.tcp_proof_timeout = patience;
        options.max_tcp_connections = 4;
        options.candidates = {*NetAddress::parse_ip("127.0.0.1", 0)};
        rtc_ = std::make_unique<RtcServer>(services_, options);
        auto socket = io::UdpSocket::bind(io::loopback(), {});
        auto listener = io::TcpListener::listen(io::loopback());
        WEIR_CHECK(socket.ok() && listener.ok());
        address_ = (*listener)->local();
        EXPECT_FALSE(rtc_->start(nullptr));
        EXPECT_FALSE(rtc_->transport().serve(std::move(*socket)));
        EXPECT_FALSE(rtc_->transport().serve(std::move(*listener)));
    }

    ~RtcTcp() override {
        if (stream_ != nullptr) {
            encoder_.end();
            registry_.release(*stream_);
        }
        const Error late = rtc_->stop(io::soon());
        EXPECT_FALSE(late) << late.to_string();
        rtc_.reset();
    }

    void publish() {
        stream_ = &registry_.get_or_create(key_, {}, MonoClock::now());
        encoder_.begin(*stream_);
        encoder_.frame(true, 3000);
    }

    std::string play() {
        auto client = std::make_unique<net::Client>(clients_, "webrtc", "127.0.0.1");
        client->key = key_;
        const Result<RtcAnswer> answer = rtc_->play(offer(), key_, {}, {std::move(client), {}, {}});
        EXPECT_TRUE(answer.ok()) << answer.error().message();
        session_id_ = answer->session_id;
        return answer->sdp;
    }

    RtcSession* session() { return rtc_->find(session_id_); }

    const stream::StreamKey key_{std::string(stream::kDefaultVhost), "live", "a"};
    std::unique_ptr<RtcServer> rtc_;
    io::SocketAddress address_;
    stream::Stream* stream_ = nullptr;
    Encoder encoder_;
    std::string session_id_;
};

TEST_F(RtcTcp, NamesItsCandidateBehindThoseOfUdp) {
    publish();
    const std::string sdp = play();
    const size_t udp = sdp.find(" udp ");
    const size_t tcp =
        sdp.find(fmt::format(" 127.0.0.1 {} typ host tcptype passive", address_.port()));
    ASSERT_NE(udp, std::string::npos) << sdp;
    ASSERT_NE(tcp, std::string::npos) << sdp;
    EXPECT_LT(udp, tcp);
}

TEST_F(RtcTcp, PlaysToAPeerThatChecksAndShakesHands) {
    publish();
    Peer peer(address_, play());
    peer.connect();
    EXPECT_GE(peer.checks_answered, 1U);
    for (int i = 0; i < 20; i++) {
        encoder_.frame(false, 20'000);
        EXPECT_TRUE(io::eventually([&] {
            peer.read();
            return peer.markers >= static_cast<size_t>(i) + 2;
        }));
    }
    EXPECT_EQ(peer.gaps, 0U);
    EXPECT_EQ(peer.unauthentic, 0U);
    EXPECT_EQ(rtc_->transport().udp_stats().sent, 0U);
    EXPECT_EQ(rtc_->transport().tcp_connections(), 1U);
}

TEST_F(RtcTcp, TakesFramesThatComeInPieces) {
    publish();
    const std::string answer = play();
    Peer peer(address_, answer);
    ice::test::Check check;
    check.username = line_of(answer, "ice-ufrag") + ":peer";
    check.password = line_of(answer, "ice-pwd");
    const Bytes whole = Peer::framed(check.bytes());
    for (const uint8_t byte : whole) {
        peer.say({&byte, 1});
        io::yield();
    }
    EXPECT_TRUE(io::eventually([&] {
        peer.read();
        return peer.checks_answered == 1;
    }));
}

TEST_F(RtcTcp, ClosesWhatIsNotFramed) {
    Peer peer(address_);
    peer.say(as_bytes("GET / HTTP/1.1\r\n\r\n"));  // a frame of 18,245 bytes
    EXPECT_TRUE(io::eventually([&] {
        peer.read();
        return peer.closed;
    }));
    EXPECT_EQ(rtc_->stats().tcp_malformed, 1U);
    EXPECT_TRUE(io::eventually([&] { return rtc_->transport().tcp_connections() == 0; }));
}

TEST_F(RtcTcp, CountsGarbageInFramesAndAnswersNothing) {
    Peer peer(address_);
    peer.say(Peer::framed(Bytes(100, 0x80)));  // RTP of nobody
    peer.say(Peer::framed(Bytes(100, 0x16)));  // DTLS of nobody
    peer.say(Peer::framed(Bytes(100, 0x00)));
    peer.say(Peer::framed({}));
    EXPECT_TRUE(io::eventually([&] {
        peer.read();
        return rtc_->stats().unknown_datagrams == 2 && rtc_->stats().malformed == 1;
    }));
    EXPECT_FALSE(peer.closed) << "it has some seconds to do better";
    EXPECT_EQ(rtc_->transport().udp_stats().sent, 0U);
}

TEST_F(RtcTcp, TakesNoMoreConnectionsThanItMay) {
    std::vector<std::unique_ptr<Peer>> peers;
    for (int i = 0; i < 5; i++) {
        peers.push_back(std::make_unique<Peer>(address_));
    }
    EXPECT_TRUE(io::eventually([&] {
        size_t closed = 0;
        for (auto& peer : peers) {
            peer->read();
            closed += peer->closed ? 1U : 0U;
        }
        return closed == 1;
    }));
    EXPECT_EQ(rtc_->stats().tcp_refused, 1U);
    peers.clear();
    EXPECT_TRUE(io::eventually([&] { return rtc_->transport().tcp_connections() == 0; }));
    Peer peer(address_);
    EXPECT_TRUE(io::eventually([&] { return rtc_->transport().tcp_connections() == 1; }));
}

class RtcTcpInAHurry : public RtcTcp {
  protected:
    RtcTcpInAHurry() : RtcTcp(Millis(2'000)) {}
};

TEST_F(RtcTcpInAHurry, ClosesAConnectionThatProvesNothing) {
    publish();
    Peer player(address_, play());
    player.connect();
    Peer idle(address_);
    Peer half(address_);
    const Bytes frame = Peer::framed(Bytes(50, 1));
    half.say(ByteSpan(frame).first(20));
    EXPECT_TRUE(io::eventually([&] {
        idle.read();
        half.read();
        return idle.closed && half.closed;
    }));
    EXPECT_EQ(rtc_->stats().tcp_unproven, 2U);
    player.read();
    EXPECT_FALSE(player.closed) << "it has a session";
    session()->end(net::EndClass::kKicked, "test");
    EXPECT_TRUE(io::eventually([&] {
        player.read();
        return player.closed;
    })) << "it has none any more";
}

// A closed connection takes its path from the session, which waits for another one.
TEST_F(RtcTcp, SessionGoesOnByAnotherConnection) {
    publish();
    const std::string answer = play();
    auto peer = std::make_unique<Peer>(address_, answer);
    peer->connect();
    peer.reset();
    EXPECT_TRUE(io::eventually([&] {
        return rtc_->transport().tcp_connections() == 0 && session()->agent().path_count() == 0;
    }));
    EXPECT_EQ(session()->agent().selected(), nullptr);
    Peer next(address_, answer);
    next.check();
    EXPECT_TRUE(io::eventually([&] {
        next.read();
        return next.checks_answered == 1;
    }));
    EXPECT_NE(session()->agent().selected(), nullptr);
}

// A peer that reads nothing gets fewer pictures and costs no memory; what it gets is whole.
TEST_F(RtcTcp, SlowReaderGetsFewerPictures) {
    publish();
    Peer peer(address_, play());
    peer.connect();
    size_t frames = 1;
    for (; rtc_->stats().tcp_blocked == 0 && frames < 2000; frames++) {
        encoder_.frame(frames % 25 == 0, 40'000);
        for (int i = 0; i < 20; i++) {
            io::yield();
        }
        if (frames % 5 == 0) {
            EXPECT_FALSE(io::sleep_for(Millis(2)));
        }
    }
    ASSERT_GT(rtc_->stats().tcp_blocked, 0U) << "the kernel takes everything";
    for (int i = 0; i < 100; i++, frames++) {
        encoder_.frame(frames % 25 == 0, 40'000);
        EXPECT_FALSE(io::sleep_for(Millis(1)));
    }
    EXPECT_TRUE(io::eventually([&] {
        peer.read();
        return session()->client().resyncs > 0 && peer.markers > 0;
    }));
    encoder_.frame(true, 4000);
    const size_t before = peer.markers;
    EXPECT_TRUE(io::eventually([&] {
        peer.read();
        return peer.markers > before;
    }));
    EXPECT_LT(peer.markers, frames);
    // What was left out has no numbers, but for the rest of a frame that was gone.
    EXPECT_TRUE(io::eventually([&] { return peer.gaps <= session()->client().resyncs; }))
        << peer.gaps << " gaps, " << session()->client().resyncs << " resyncs";
    EXPECT_EQ(peer.unauthentic, 0U);
}

}  // namespace
}  // namespace weir::session
