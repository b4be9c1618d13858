// What a delivered packet costs: RtcSender::flush() of a shared RtpLog beside a loop that only
// protects packets and sends them in bursts. Both write the same packets of 1,200 bytes to the same
// sockets, the sender's through io::UdpSocket (GSO), the peers' on loopback and emptied while the
// clock stands. Compare the time per item of equal arguments: peers, packets in a burst.
#include <array>
#include <memory>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include "base/check.h"
#include "io/runtime.h"
#include "io/socket_address.h"
#include "io/udp.h"
#include "proto/rtp/header.h"
#include "session/webrtc/rtc_sender.h"

namespace weir::session {
namespace {

constexpr size_t kPacket = 1200;
constexpr uint8_t kTwccId = 3;
constexpr size_t kHeader = 20;  // with the transport-wide number
constexpr size_t kPayload = kPacket - kHeader;
constexpr uint64_t kFramesPerGop = 50;
constexpr Millis kFrame{100};  // of the player's clock, so that its pace never holds it back

srtp::MasterKey some_key() {
    srtp::MasterKey key;
    key.key.fill(7);
    key.salt.fill(9);
    return key;
}

// One server socket and its peers.
class Sockets {
  public:
    explicit Sockets(size_t peers) {
        static const bool started = !io::init_runtime();
        WEIR_CHECK(started);
        io::UdpOptions options;
        options.send_buffer_bytes = 4 << 20;
        auto socket = io::UdpSocket::bind(*io::SocketAddress::parse("127.0.0.1:0"), options);
        WEIR_CHECK(socket.ok());
        server_ = std::move(*socket);
        for (size_t i = 0; i < peers; i++) {
            add_peer();
        }
    }

    ~Sockets() {
        for (const int fd : fds_) {
            close(fd);
        }
    }

    Sockets(const Sockets&) = delete;
    Sockets& operator=(const Sockets&) = delete;

    void send(size_t peer, ByteSpan packets) {
        const io::IoResult result =
            server_->send({peers_[peer], {}}, packets, kPacket + srtp::kMaxOverhead - 4);
        WEIR_CHECK(result.status == io::IoStatus::kDone);
    }

    void drain() {
        for (const int fd : fds_) {
            while (recv(fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT) > 0) {
            }
        }
    }

    size_t peers() const { return peers_.size(); }

  private:
    void add_peer() {
        const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int on = 1;
        setsockopt(fd, IPPROTO_UDP, 104, &on, sizeof on);  // UDP_GRO, as players on loopback
        socklen_t size = sizeof address;
        WEIR_CHECK(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
        WEIR_CHECK(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
        fds_.push_back(fd);
        peers_.push_back(NetAddress::from_sockaddr(reinterpret_cast<sockaddr&>(address)));
    }

    std::unique_ptr<io::UdpSocket> server_;
    std::vector<NetAddress> peers_;
    std::vector<int> fds_;
    std::array<uint8_t, 65'536> buffer_{};
};

static_assert(srtp::rtp_overhead(srtp::Profile::kAeadAes128Gcm) == srtp::kMaxOverhead - 4);

void count(benchmark::State& state, size_t peers, size_t packets) {
    state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(peers * packets));
}

void BM_ProtectAndSend(benchmark::State& state) {
    const auto packets = static_cast<size_t>(state.range(1));
    Sockets sockets(static_cast<size_t>(state.range(0)));
    srtp::ControlCipher control;
    std::vector<std::unique_ptr<srtp::Protector>> protectors;
    for (size_t i = 0; i < sockets.peers(); i++) {
        protectors.push_back(
            std::make_unique<srtp::Protector>(srtp::Profile::kAeadAes128Gcm, some_key(), control));
    }
    const Bytes payload(kPayload, 0x5A);
    std::array<uint8_t, 65'536> out;
    uint64_t next = 0;
    for (auto _ : state) {
        for (size_t peer = 0; peer < sockets.peers(); peer++) {
            size_t used = 0;
            for (size_t i = 0; i < packets; i++) {
                std::array<uint8_t, kHeader> header;
                const std::array<uint8_t, 2> number{};
                const rtp::Extension extension{kTwccId, number};
                rtp::write_header({96, false, static_cast<uint16_t>(next + i), 0, 0xCAFE},
                                  {&extension, 1}, header.data());
                used += protectors[peer]->protect_rtp({header, {}, payload}, next + i,
                                                      std::span(out).subspan(used));
            }
            sockets.send(peer, ByteSpan(out).first(used));
        }
        next += packets;
        state.PauseTiming();
        sockets.drain();
        state.ResumeTiming();
    }
    count(state, sockets.peers(), packets);
}

class Sender final : public net::RtpOutlet {
  public:
    Sender(Sockets& sockets, size_t peer) : sockets_(sockets), peer_(peer) {}

    bool send_burst(ByteSpan packets, size_t) override {
        sockets_.send(peer_, packets);
        return true;
    }

  private:
    Sockets& sockets_;
    size_t peer_;
};

sdp::NegotiatedMedia video() {
    sdp::NegotiatedMedia media;
    media.kind = media::TrackKind::kVideo;
    media.accepted = true;
    media.direction = sdp::Direction::kSendOnly;
    media.codec = media::Codec::kH264;
    media.payload_type = 96;
    media.rtx_payload_type = 97;
    media.clock_hz = 90'000;
    media.feedback.nack = true;
    media.feedback.transport_cc = true;
    media.extensions.set(sdp::Extension::kTransportCc, kTwccId);
    media.ssrc = 0xCAFE;
    media.rtx_ssrc = 0xCAFF;
    return media;
}

void BM_FlushPlayers(benchmark::State& state) {
    const auto packets = static_cast<size_t>(state.range(1));
    Sockets sockets(static_cast<size_t>(state.range(0)));
    srtp::ControlCipher control;
    stream::RtpLog log;
    const sdp::NegotiatedMedia media = video();
    MonoTime now = MonoClock::now();
    std::vector<std::unique_ptr<srtp::Protector>> protectors;
    std::vector<std::unique_ptr<RtcSender>> players;
    std::vector<Sender> senders;
    for (size_t i = 0; i < sockets.peers(); i++) {
        protectors.push_back(
            std::make_unique<srtp::Protector>(srtp::Profile::kAeadAes128Gcm, some_key(), control));
        players.push_back(std::make_unique<RtcSender>(log, *protectors.back(), nullptr, &media,
                                                      system_random(), now));
        senders.emplace_back(sockets, i);
    }
    const Bytes payload(kPayload, 0x5A);
    uint64_t frame = 0;
    for (auto _ : state) {
        log.begin_frame({1, 0, frame % kFramesPerGop == 0, false,
                         static_cast<uint32_t>(frame * 9000),
                         static_cast<int64_t>(frame) * kFrame.count()});
        for (size_t i = 0; i < packets; i++) {
            log.add_packet({}, payload);
        }
        log.end_frame();
        frame++;
        now += kFrame;
        for (size_t i = 0; i < players.size(); i++) {
            benchmark::DoNotOptimize(MonoClock::now());  // as the pump asks it
            WEIR_CHECK(players[i]->flush(now, senders[i], 8) == net::RtpFlush::kCaughtUp);
        }
        state.PauseTiming();
        sockets.drain();
        state.ResumeTiming();
    }
    uint64_t sent = 0;
    for (const auto& each : players) {
        sent += each->stats().packets;
    }
    WEIR_CHECK(sent == frame * packets * players.size());
    count(state, sockets.peers(), packets);
}

// A frame of 1 Mbit/s is four packets, sound is one, a key frame forty.
void arguments(benchmark::internal::Benchmark* bench) {
    bench->ArgNames({"peers", "burst"});
    for (const int64_t burst : {1, 4, 40}) {
        bench->Args({500, burst});
    }
}

BENCHMARK(BM_ProtectAndSend)->Apply(arguments);
BENCHMARK(BM_FlushPlayers)->Apply(arguments);

}  // namespace
}  // namespace weir::session
