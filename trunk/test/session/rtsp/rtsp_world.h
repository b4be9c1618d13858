// An RTSP server over real sockets, clients that say what a test wants, and an encoder.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/deadline.h"
#include "media/opus.h"
#include "session/rtsp/rtsp_server.h"

#include "test/session/world.h"
#include "test/support/codec_samples.h"
#include "test/support/media_packets.h"
#include "test/support/payloads.h"

namespace weir::session {

// One connection of a client.
class RtspPeer {
  public:
    explicit RtspPeer(const io::SocketAddress& server) {
        auto stream = io::TcpStream::connect(server, io::soon());
        WEIR_CHECK(stream.ok());
        stream_ = std::move(*stream);
    }

    void send(std::string_view text) {
        (void)stream_->write_all(as_bytes(text), io::soon());  // the server may have ended it
    }

    // A request with the next CSeq; its answer.
    std::string ask(std::string_view method,
                    std::string_view url,
                    std::string_view fields = "",
                    std::string_view body = "") {
        send(fmt::format("{} {} RTSP/1.0\r\nCSeq: {}\r\n{}{}\r\n{}", method, url, ++cseq_, fields,
                         body.empty() ? "" : fmt::format("Content-Length: {}\r\n", body.size()),
                         body));
        return answer();
    }

    // Up to the end of a head, interleaved frames before it are left out; empty: the connection has
    // ended.
    std::string answer() {
        std::string text;
        while (!text.ends_with("\r\n\r\n")) {
            const std::string byte = read(1);
            if (byte.empty()) {
                return {};
            }
            text += byte;
            if (text == "$") {
                const std::string head = read(3);
                const size_t size =
                    head.size() < 3 ? 0U : static_cast<uint8_t>(head[1]) * 256U + uint8_t(head[2]);
                (void)read(size);
                text.clear();
            }
        }
        return text;
    }

    // What DESCRIBE gets; empty: no description.
    std::string describe(std::string_view url) {
        constexpr std::string_view kLength = "Content-Length: ";
        const std::string head = ask("DESCRIBE", url, "Accept: application/sdp\r\n");
        const size_t at = head.find(kLength);
        return at == std::string::npos ? "" : read(std::stoul(head.substr(at + kLength.size())));
    }

    // The next interleaved frame of that channel; empty: the connection has ended.
    Bytes frame(uint8_t channel) {
        for (;;) {
            const std::string head = read(4);
            if (head.size() < 4) {
                return {};
            }
            const std::string payload =
                read(static_cast<uint8_t>(head[2]) * 256U + static_cast<uint8_t>(head[3]));
            if (static_cast<uint8_t>(head[1]) == channel) {
                return {payload.begin(), payload.end()};
            }
        }
    }

    bool reads_to_end() {
        std::array<uint8_t, 512> bytes;
        for (;;) {
            const Result<size_t> got = stream_->read_some(bytes, io::soon());
            if (!got.ok()) {
                return got.error().code() == ErrorCode::kClosed;
            }
        }
    }

    // The value of the Session field of an answer, without its timeout.
    static std::string session_of(std::string_view answer) {
        const size_t at = answer.find("Session: ");
        const size_t begin = at == std::string_view::npos ? answer.size() : at + 9;
        return std::string(answer.substr(begin, answer.find_first_of(";\r", begin) - begin));
    }

    const io::TcpStream& stream() const { return *stream_; }

  private:
    // So many bytes, fewer at the end.
    std::string read(size_t size) {
        std::string text;
        std::array<uint8_t, 512> bytes;
        while (text.size() < size) {
            const Result<size_t> got = stream_->read_some(
                std::span(bytes).first(std::min(bytes.size(), size - text.size())), io::soon());
            if (!got.ok()) {
                break;
            }
            text += as_text(ByteSpan(bytes.data(), *got));
        }
        return text;
    }

    std::unique_ptr<io::TcpStream> stream_;
    uint32_t cseq_ = 0;
};

// Publishes H.264 and AAC, without a connection; or H.264 and Opus, as a browser by WebRTC.
class RtspEncoder final : public stream::Publisher {
  public:
    explicit RtspEncoder(stream::Stream& stream, media::Codec audio = media::Codec::kAac)
        : stream_(stream), audio_(audio) {
        EXPECT_FALSE(
            stream.start_publish(*this, stream::PublishConflict::kRefuse, MonoClock::now()));
        config(media::Codec::kH264, test::kAvcBaselineConfig);
        config(audio,
               audio == media::Codec::kOpus ? media::opus::build_head(2) : test::from_hex("1210"));
        frame(true);
        sound();
    }

    ~RtspEncoder() { stream_.end_publish(*this, MonoClock::now()); }

    std::string describe() const override { return "the test"; }

    std::string_view client_id() const override { return "test"; }

    void on_taken_over() override {}

    void config(media::Codec codec, ByteSpan payload) {
        publish(codec, test::tag_body(codec, test::BodyKind::kConfig, payload));
    }

    void frame(bool key, size_t size = 500) {
        time_ms_ += 40;
        publish(media::Codec::kH264,
                test::tag_body(
                    media::Codec::kH264, key ? test::BodyKind::kKeyFrame : test::BodyKind::kFrame,
                    test::nal_frame({test::counted({uint8_t(key ? 0x65 : 0x41), 0x88}, size)})));
    }

    void sound() {
        const Bytes frame =
            audio_ == media::Codec::kOpus ? test::counted({0x78}, 60) : Bytes(100, 0x21);
        publish(audio_, test::tag_body(audio_, test::BodyKind::kFrame, frame));
    }

    stream::Stream& stream() { return stream_; }

  private:
    void publish(media::Codec codec, Bytes body) {
        const media::TrackKind kind = codec <= media::Codec::kOtherVideo ? media::TrackKind::kVideo
                                                                         : media::TrackKind::kAudio;
        const auto audience =
            codec == media::Codec::kOpus ? media::Audience::kWebRtc : media::Audience::kEverybody;
        stream_.publish(*this, test::packet(kind, time_ms_, std::move(body), audience),
                        MonoClock::now());
    }

    stream::Stream& stream_;
    media::Codec audio_;
    uint32_t time_ms_ = 0;
};

// The two ports of a client for a track by UDP, neighbours.
struct RtspUdpClient {
    explicit RtspUdpClient(const io::SocketAddress& of = io::loopback()) {
        for (int tries = 0; tries < 100 && !rtcp; tries++) {
            auto first = io::UdpSocket::bind(of, {.receive_buffer_bytes = 4 << 20});
            WEIR_CHECK(first.ok());
            rtp = std::move(*first);
            auto second = io::UdpSocket::bind(
                io::loopback(static_cast<uint16_t>(rtp->local().port() + 1)), {});
            if (second.ok()) {
                rtcp = std::move(*second);
            }
        }
        WEIR_CHECK(rtcp != nullptr);
    }

    std::string transport() const {
        return fmt::format("Transport: RTP/AVP;unicast;client_port={}-{}\r\n", rtp->local().port(),
                           rtcp->local().port());
    }

    // Whether a packet of that RTCP type comes. Yields.
    bool gets_rtcp(uint8_t type) const {
        for (const io::Deadline deadline = io::soon(); !deadline.passed();) {
            bool found = false;
            rtcp->receive([&](std::span<uint8_t> datagram, const io::UdpPath&) {
                for (size_t at = 0; at + 4 <= datagram.size();
                     at += 4 * (size_t{datagram[at + 2]} * 256 + datagram[at + 3] + 1)) {
                    found = found || datagram[at + 1] == type;
                }
            });
            if (found || rtcp->wait_readable(deadline)) {
                return found;
            }
        }
        return false;
    }

    std::unique_ptr<io::UdpSocket> rtp;
    std::unique_ptr<io::UdpSocket> rtcp;
};

class RtspWorld : public World {
  public:
    static constexpr std::string_view kPublisherSdp =
        "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=video 0 RTP/AVP 96\r\n"
        "a=rtpmap:96 H264/90000\r\na=control:streamid=0\r\n";

  protected:
    RtspWorld() {
        rtsp_ = std::make_unique<RtspServer>(services_, options_rtsp_);
        auto listener = io::TcpListener::listen(io::loopback());
        WEIR_CHECK(listener.ok());
        address_ = (*listener)->local();
        EXPECT_FALSE(rtsp_->acceptors().serve(std::move(*listener)));
        for (net::DatagramPorts* ports : {&rtsp_->udp().rtp(), &rtsp_->udp().rtcp()}) {
            auto socket = io::UdpSocket::bind(io::loopback(), {});
            WEIR_CHECK(socket.ok());
            (ports == &rtsp_->udp().rtp() ? rtp_ : rtcp_) = (*socket)->local();
            EXPECT_FALSE(ports->serve(std::move(*socket)));
        }
        url_ = fmt::format("rtsp://{}/live/a", address_.to_string());
    }

    ~RtspWorld() override {
        Error late = rtsp_->stop(io::soon());
        EXPECT_FALSE(late) << late.to_string();
    }

    // From now on the server has little patience with who neither plays nor records.
    void hurry() {
        options_rtsp_.first_command = Millis(400);
        rtsp_->reconfigure(options_rtsp_);
    }

    // Publishes `a`; its control connection.
    std::unique_ptr<RtspPeer> publisher(std::string_view transport) {
        auto peer = std::make_unique<RtspPeer>(address_);
        EXPECT_THAT(peer->ask("ANNOUNCE", url_, "Content-Type: application/sdp\r\n", kPublisherSdp),
                    testing::HasSubstr(" 200 "));
        EXPECT_THAT(
            peer->ask("SETUP", url_ + "/streamid=0", fmt::format("Transport: {}\r\n", transport)),
            testing::HasSubstr(" 200 "));
        EXPECT_THAT(peer->ask("RECORD", url_), testing::HasSubstr(" 200 "));
        return peer;
    }

    static stream::StreamKey key() { return {std::string(stream::kDefaultVhost), "live", "a"}; }

    // The encoder of `a`, and the hold on its stream.
    std::unique_ptr<RtspEncoder> encoder(media::Codec audio = media::Codec::kAac) {
        return std::make_unique<RtspEncoder>(
            registry_.get_or_create(key(), policy_.publish.stream, MonoClock::now()), audio);
    }

    void end(std::unique_ptr<RtspEncoder> encoder) {
        stream::Stream& stream = encoder->stream();
        encoder.reset();
        registry_.release(stream);
    }

    // Has set up the tracks of `a` by that Transport field (empty: interleaved) and plays.
    std::unique_ptr<RtspPeer> player(std::string_view video, std::string_view audio) {
        auto peer = std::make_unique<RtspPeer>(address_);
        for (const auto& [track, transport] :
             {std::pair("/trackID=0", video), std::pair("/trackID=1", audio)}) {
            if (!transport.empty()) {
                EXPECT_THAT(peer->ask("SETUP", url_ + track, transport),
                            testing::HasSubstr(" 200 "));
            }
        }
        EXPECT_THAT(peer->ask("PLAY", url_), testing::HasSubstr(" 200 "));
        return peer;
    }

    static constexpr std::string_view kVideoByTcp =
        "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n";
    static constexpr std::string_view kAudioByTcp =
        "Transport: RTP/AVP/TCP;unicast;interleaved=2-3\r\n";

    static io::UdpPath to(const io::SocketAddress& address) { return {address.net_address(), {}}; }

    RtspServerOptions options_rtsp_;
    std::unique_ptr<RtspServer> rtsp_;
    io::SocketAddress address_;
    io::SocketAddress rtp_;
    io::SocketAddress rtcp_;
    std::string url_;
};

}  // namespace weir::session
