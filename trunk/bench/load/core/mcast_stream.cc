#include "bench/load/core/mcast_stream.h"

#include <algorithm>
#include <cstring>

#include "proto/mpegts/psi.h"
#include "proto/rtp/header.h"

namespace weir::load {
namespace {

constexpr uint8_t kSync = 0x47;
constexpr uint8_t kUnitStart = 0x40;  // with the PID's upper bits
constexpr uint8_t kPayloadOnly = 0x10;
constexpr uint8_t kWithAdaptation = 0x30;
constexpr uint8_t kRandomAccess = 0x40;  // flags of an adaptation field, ISO/IEC 13818-1 §2.4.3.4
constexpr uint8_t kHasPcr = 0x10;
constexpr uint8_t kHasPrivate = 0x02;
constexpr uint8_t kFiller = 0xAA;
constexpr uint8_t kRtpTransportStream = 33;  // RFC 3551
constexpr size_t kHeader = 4;
constexpr size_t kPcrBytes = 6;
constexpr size_t kSevenBits = 10;  // bytes of a 64-bit number

// An access unit delimiter and the start of an IDR slice (H.264 Annex B).
constexpr std::array<uint8_t, 11> kKeyFrame = {0, 0, 0, 1, 0x09, 0x10, 0, 0, 0, 1, 0x65};

void put_number(uint64_t value, uint8_t* out) {
    for (size_t i = kSevenBits; i-- > 0; value >>= 7) {
        out[i] = static_cast<uint8_t>(0x80U | (value & 0x7FU));
    }
}

uint64_t get_number(const uint8_t* in) {
    uint64_t value = 0;
    for (size_t i = 0; i < kSevenBits; i++) {
        value = value << 7 | (in[i] & 0x7FU);
    }
    return value;
}

void put_short(uint32_t value, uint8_t* out) {
    out[0] = static_cast<uint8_t>(0x80U | (value >> 7 & 0x7FU));
    out[1] = static_cast<uint8_t>(0x80U | (value & 0x7FU));
}

uint32_t get_short(const uint8_t* in) {
    return (in[0] & 0x7FU) << 7 | (in[1] & 0x7FU);
}

void put_header(uint16_t pid, uint8_t start, uint8_t control, uint8_t& continuity, uint8_t* out) {
    out[0] = kSync;
    out[1] = static_cast<uint8_t>(start | pid >> 8);
    out[2] = static_cast<uint8_t>(pid);
    out[3] = static_cast<uint8_t>(control | continuity);
    continuity = static_cast<uint8_t>((continuity + 1) & 0x0F);
}

// §2.4.3.5: 33 bits of 90 kHz, 6 reserved bits, 9 bits of 27 MHz.
void put_pcr(uint64_t now_ns, uint8_t* out) {
    const uint64_t ticks = now_ns / 1000 * 27;
    const uint64_t base = ticks / 300 & 0x1'FFFF'FFFFU;
    const uint64_t value = base << 15 | 0x7E00U | ticks % 300;
    for (size_t i = 0; i < kPcrBytes; i++) {
        out[i] = static_cast<uint8_t>(value >> (40 - 8 * i));
    }
}

// Header of a PES packet of video without length, with a PTS (§2.4.3.6).
size_t put_pes_header(uint64_t now_ns, uint8_t* out) {
    const uint64_t pts = now_ns / 1000 * 9 / 100 & 0x1'FFFF'FFFFU;
    const std::array<uint8_t, 14> header = {0,
                                            0,
                                            1,
                                            0xE0,
                                            0,
                                            0,
                                            0x80,
                                            0x80,
                                            5,
                                            static_cast<uint8_t>(0x21U | (pts >> 29 & 0x0EU)),
                                            static_cast<uint8_t>(pts >> 22),
                                            static_cast<uint8_t>(pts >> 14 | 1U),
                                            static_cast<uint8_t>(pts >> 7),
                                            static_cast<uint8_t>(pts << 1 | 1U)};
    std::copy(header.begin(), header.end(), out);
    return header.size();
}

}  // namespace

void McastStamp::write(uint8_t* out) const {
    out[0] = 'W';
    out[1] = 'm';
    put_short(group, out + 2);
    put_short(session, out + 4);
    put_number(sequence, out + 6);
    put_number(sent_ns, out + 6 + kSevenBits);
}

std::optional<McastStamp> McastStamp::of(ByteSpan ts_packet) {
    if (ts_packet.size() < kTsPacketBytes || ts_packet[0] != kSync) {
        return std::nullopt;
    }
    size_t at = kHeader;
    if ((ts_packet[3] & 0x20U) != 0) {
        // Length, flags, PCR, length of the private data.
        const size_t end = kHeader + 1 + ts_packet[kHeader];
        if (ts_packet[kHeader] == 0 || (ts_packet[kHeader + 1] & kHasPrivate) == 0) {
            return std::nullopt;
        }
        at = kHeader + 2 + ((ts_packet[kHeader + 1] & kHasPcr) != 0 ? kPcrBytes : 0) + 1;
        if (at + kBytes > end || end > kTsPacketBytes) {
            return std::nullopt;
        }
    }
    const uint8_t* in = ts_packet.data() + at;
    if (in[0] != 'W' || in[1] != 'm' || in[2] < 0x80 || in[3] < 0x80) {
        return std::nullopt;
    }
    McastStamp stamp;
    stamp.group = get_short(in + 2);
    stamp.session = get_short(in + 4);
    stamp.sequence = get_number(in + 6);
    stamp.sent_ns = get_number(in + 6 + kSevenBits);
    return stamp;
}

McastStream::McastStream(uint32_t group, uint32_t session, bool rtp)
    : group_(group % McastStamp::kGroups), session_(session % McastStamp::kSessions), rtp_(rtp) {
    mpegts::Pat pat;
    pat.transport_stream = 1;
    pat.programs = {{.program = 1, .pid = kPmtPid}};
    pat.write(pat_);
    mpegts::Pmt pmt;
    pmt.program = 1;
    pmt.pcr_pid = kVideoPid;
    pmt.streams = {{.pid = kVideoPid, .stream_type = 0x1B, .content = mpegts::Content::kH264}};
    pmt.write(pmt_);
}

void McastStream::write(uint64_t now_ns, std::span<uint8_t> out) {
    now_ns_ = now_ns;
    uint8_t* at = out.data();
    if (rtp_) {
        write_rtp(now_ns, at);
        at += kRtpHeader;
    }
    size_t packets = kTsPackets;
    if (now_ns >= access_at_ns_) {
        access_at_ns_ = now_ns + kAccessEveryNs;
        pcr_at_ns_ = now_ns + kPcrEveryNs;
        write_table(0, pat_continuity_, pat_, at);
        write_table(kPmtPid, pmt_continuity_, pmt_, at + kTsPacketBytes);
        write_access(now_ns, at + 2 * kTsPacketBytes);
        at += 3 * kTsPacketBytes;
        packets -= 3;
    }
    for (; packets > 0; packets--, at += kTsPacketBytes) {
        const bool with_pcr = now_ns >= pcr_at_ns_;
        if (with_pcr) {
            pcr_at_ns_ = now_ns + kPcrEveryNs;
        }
        write_video(now_ns, with_pcr, at);
    }
}

void McastStream::write_rtp(uint64_t now_ns, uint8_t* out) {
    rtp::Header header;
    header.payload_type = kRtpTransportStream;
    header.sequence = rtp_sequence_++;
    header.timestamp = static_cast<uint32_t>(now_ns / 1000 * 9 / 100);
    header.ssrc = 0x57656972U + group_;
    rtp::write_header(header, out);
}

void McastStream::write_stamp(uint8_t* out) {
    McastStamp{.group = group_, .session = session_, .sequence = sequence_++, .sent_ns = now_ns_}
        .write(out);
}

void McastStream::write_table(uint16_t pid, uint8_t& continuity, ByteSpan section, uint8_t* out) {
    put_header(pid, kUnitStart, kWithAdaptation, continuity, out);
    out[4] = static_cast<uint8_t>(2 + McastStamp::kBytes);
    out[5] = kHasPrivate;
    out[6] = McastStamp::kBytes;
    write_stamp(out + 7);
    uint8_t* at = out + 7 + McastStamp::kBytes;
    *at++ = 0;  // pointer_field
    at = std::copy(section.begin(), section.end(), at);
    std::fill(at, out + kTsPacketBytes, uint8_t{0xFF});
}

void McastStream::write_access(uint64_t now_ns, uint8_t* out) {
    put_header(kVideoPid, kUnitStart, kWithAdaptation, video_continuity_, out);
    out[4] = static_cast<uint8_t>(2 + kPcrBytes + McastStamp::kBytes);
    out[5] = kRandomAccess | kHasPcr | kHasPrivate;
    put_pcr(now_ns, out + 6);
    out[12] = McastStamp::kBytes;
    write_stamp(out + 13);
    uint8_t* at = out + 13 + McastStamp::kBytes;
    at += put_pes_header(now_ns, at);
    at = std::copy(kKeyFrame.begin(), kKeyFrame.end(), at);
    std::fill(at, out + kTsPacketBytes, kFiller);
}

void McastStream::write_video(uint64_t now_ns, bool with_pcr, uint8_t* out) {
    uint8_t* at = out + kHeader;
    if (with_pcr) {
        put_header(kVideoPid, 0, kWithAdaptation, video_continuity_, out);
        out[4] = static_cast<uint8_t>(2 + kPcrBytes + McastStamp::kBytes);
        out[5] = kHasPcr | kHasPrivate;
        put_pcr(now_ns, out + 6);
        out[12] = McastStamp::kBytes;
        at = out + 13;
    } else {
        put_header(kVideoPid, 0, kPayloadOnly, video_continuity_, out);
    }
    write_stamp(at);
    std::memset(at + McastStamp::kBytes, kFiller,
                static_cast<size_t>(out + kTsPacketBytes - at) - McastStamp::kBytes);
}

}  // namespace weir::load
