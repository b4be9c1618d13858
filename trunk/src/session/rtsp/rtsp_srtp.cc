#include "session/rtsp/rtsp_srtp.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "proto/rtcp/report.h"
#include "proto/sdp/mikey.h"

namespace weir::session {
namespace {

using srtp::Profile;

constexpr std::string_view kSuite80 = "AES_CM_128_HMAC_SHA1_80";
constexpr std::string_view kSuite32 = "AES_CM_128_HMAC_SHA1_32";
constexpr size_t kKeyAndSalt = srtp::kKeySize + 14;
constexpr size_t kBufferBytes =
    stream::RtpRun::kMaxRunBytes + stream::RtpRun::kMaxPackets * srtp::kMaxOverhead;

// What is made, and what is opened. One for the process: nothing is kept in it.
std::span<uint8_t> scratch() {
    alignas(8) static std::array<uint8_t, kBufferBytes> buffer;
    return buffer;
}

// A copy that may be changed; empty: it is too long.
std::span<uint8_t> copy_of(ByteSpan packet) {
    if (packet.size() > kBufferBytes) {
        return {};
    }
    std::ranges::copy(packet, scratch().begin());
    return scratch().first(packet.size());
}

ByteSpan plain(std::span<uint8_t> packet, const srtp::Unprotected& result) {
    return result.ok() ? ByteSpan(packet).first(result.size) : ByteSpan();
}

}  // namespace

RtspSrtpKey make_rtsp_srtp_key(RandomSource& random) {
    RtspSrtpKey key;
    random.fill(key.master.key);
    random.fill(key.master.salt);
    return key;
}

sdp::CryptoLine rtsp_crypto_line(const RtspSrtpKey& key) {
    sdp::CryptoLine line;
    line.tag = 1;
    line.suite = key.profile == Profile::kAes128CmSha1_32 ? kSuite32 : kSuite80;
    line.key_and_salt.assign(key.master.key.begin(), key.master.key.end());
    line.key_and_salt.insert(line.key_and_salt.end(), key.master.salt.begin(),
                             key.master.salt.end());
    return line;
}

std::string rtsp_key_mgmt(const RtspSrtpKey& key, RandomSource& random) {
    return sdp::write_key_mgmt(
        rtsp_crypto_line(key),
        {.ntp_time = rtcp::ntp_from_unix_us(wall_time_us()), .random = random});
}

std::optional<RtspSrtpKey> find_rtsp_srtp_key(const std::vector<sdp::CryptoLine>& lines) {
    for (const sdp::CryptoLine& line : lines) {
        const bool known = line.suite == kSuite80 || line.suite == kSuite32;
        if (!known || line.has_mki || line.key_and_salt.size() != kKeyAndSalt) {
            continue;
        }
        RtspSrtpKey key;
        key.profile =
            line.suite == kSuite32 ? Profile::kAes128CmSha1_32 : Profile::kAes128CmSha1_80;
        std::copy_n(line.key_and_salt.begin(), srtp::kKeySize, key.master.key.begin());
        std::copy(line.key_and_salt.begin() + srtp::kKeySize, line.key_and_salt.end(),
                  key.master.salt.begin());
        return key;
    }
    return std::nullopt;
}

// ---- a player ----

RtspSrtpSender::RtspSrtpSender(const RtspSrtpKey& key,
                               const ReportKeys& reports,
                               srtp::ControlCipher& control,
                               RandomSource& random)
    : protector_(key.profile, key.master, control), unprotector_(key.profile, key.master, control) {
    for (size_t i = 0; i < kTracks; i++) {
        if (reports[i]) {
            by_track_[i] = std::make_unique<srtp::RtcpUnprotector>(reports[i]->profile,
                                                                   reports[i]->master, control);
        }
    }
    for (Track& track : tracks_) {
        std::array<uint8_t, 2> bytes;
        random.fill(bytes);
        // In the lower half: no wrap at the start, where a lost packet would hide it.
        track.first_index = ByteReader(bytes).u16() & 0x7FFFU;
    }
}

RtspSrtpSender::Sealed RtspSrtpSender::seal(const stream::RtpRun& run) {
    if (run.track >= kTracks) {
        return {};
    }
    Track& track = tracks_[run.track];
    if (!track.origin) {
        track.origin = run.first_packet;
    }
    // A packet has one index for ever: the same key stream never covers other bytes.
    if (run.first_packet < *track.origin) {
        return {};
    }
    const uint64_t first = track.first_index + (run.first_packet - *track.origin);
    const std::span<uint8_t> out = scratch();
    Sealed sealed;
    size_t used = 0;
    for (size_t i = 0; i < run.packets; i++) {
        const ByteSpan packet = run.packet(i);
        std::array<uint8_t, 12> header;
        if (packet.size() < header.size()) {
            return {};
        }
        std::copy_n(packet.begin(), header.size(), header.begin());
        header[2] = static_cast<uint8_t>((first + i) >> 8);
        header[3] = static_cast<uint8_t>(first + i);
        const size_t size = protector_.protect_rtp({header, {}, packet.subspan(header.size())},
                                                   first + i, out.subspan(used));
        if (size == 0) {
            return {};
        }
        sealed.packet_bytes = i == 0 ? size : sealed.packet_bytes;
        used += size;
    }
    sealed.bytes = ByteSpan(out).first(used);
    return sealed;
}

ByteSpan RtspSrtpSender::open_rtcp(uint8_t track, ByteSpan packet) {
    const std::span<uint8_t> copy = copy_of(packet);
    const bool own = track < kTracks && by_track_[track];
    return plain(copy, (own ? *by_track_[track] : unprotector_).unprotect(copy));
}

// ---- a publisher ----

Result<std::unique_ptr<RtspSrtpReceiver>> RtspSrtpReceiver::create(const RtspSrtpKey& key,
                                                                   srtp::ControlCipher& control) {
    WEIR_TRY_ASSIGN(std::unique_ptr<srtp::Unprotector> unprotector,
                    srtp::Unprotector::create(key.profile, key.master));
    return std::make_unique<RtspSrtpReceiver>(key, control, std::move(unprotector));
}

ByteSpan RtspSrtpReceiver::open_rtp(ByteSpan packet) {
    const std::span<uint8_t> copy = copy_of(packet);
    return plain(copy, unprotector_->unprotect_rtp(copy));
}

ByteSpan RtspSrtpReceiver::open_rtcp(ByteSpan packet) {
    const std::span<uint8_t> copy = copy_of(packet);
    return plain(copy, unprotector_->unprotect_rtcp(copy));
}

}  // namespace weir::session
