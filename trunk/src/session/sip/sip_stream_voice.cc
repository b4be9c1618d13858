#include "session/sip/sip_stream_voice.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/random.h"
#include "media/aac.h"
#include "proto/rtcp/report.h"
#include "proto/rtcp/writer.h"

namespace weir::session {
namespace {

using media::Codec;

constexpr size_t kMaxPacket = 1500;
constexpr size_t kAacHead = 4;  // RFC 3640 §3.3.6: bits of the headers, then one

uint64_t noise_seed() {
    return uint64_t{random_u32(system_random())} << 32U | random_u32(system_random());
}

}  // namespace

net::RtpIngestTrack SipStreamVoice::track_of(const sdp::PhoneTrack& agreed) {
    const VoiceOptions voice = stream_voice(agreed.codec, agreed.clock_hz);
    net::RtpIngestTrack track;
    track.kind = media::TrackKind::kAudio;
    track.codec = voice.to;
    track.payload_type = agreed.own_payload_type;
    track.clock_hz = voice_clock_hz(voice);
    track.channels = 1;
    if (voice.to == Codec::kAac) {
        track.config = media::aac::build_lc_config(voice.to_rate, 1);
    }
    return track;
}

SipStreamVoice::SipStreamVoice(const sdp::PhoneTrack& agreed,
                               io::WorkerPool* workers,
                               std::string name,
                               Output out)
    : options_(stream_voice(agreed.codec, agreed.clock_hz)),
      payload_type_(agreed.own_payload_type),
      out_(std::move(out)),
      ssrc_(random_u32(system_random()) | 1U),
      reception_(agreed.clock_hz),
      voice_(options_,
             workers,
             std::move(name),
             noise_seed(),
             [this](MonoTime now, ByteSpan frame, uint32_t skipped) {
                 on_frame(now, frame, skipped);
             }) {}

void SipStreamVoice::on_packet(MonoTime now,
                               const rtp::PacketView& packet,
                               rtp::PlayoutPacketView::Content content) {
    reception_.on_packet(now, packet);
    voice_.handle_packet(now, {content, packet.marker(), packet.sequence(), packet.timestamp(),
                               packet.ssrc(), 0, packet.payload()});
}

size_t SipStreamVoice::report(MonoTime now, uint32_t local_ssrc, std::span<uint8_t> out) {
    if (!reception_.started() || !reception_.due(now)) {
        return 0;
    }
    rtcp::CompoundWriter writer(out);
    const std::array<rtcp::ReportBlock, 1> block{reception_.block(now)};
    const bool written =
        writer.receiver_report(local_ssrc, block) && writer.source_description(local_ssrc, "weir");
    return written ? writer.size() : 0;
}

void SipStreamVoice::on_frame(MonoTime now, ByteSpan frame, uint32_t skipped) {
    const size_t head = rtp::kFixedHeaderSize + (options_.to == Codec::kAac ? kAacHead : 0);
    if (head + frame.size() > kMaxPacket) {
        return;
    }
    time_ += skipped * (voice_clock_hz(options_) / 50);
    std::array<uint8_t, kMaxPacket> packet;
    const bool aac = options_.to == Codec::kAac;
    rtp::write_header({payload_type_, aac, sequence_++, time_, ssrc_}, packet.data());
    if (aac) {
        store_u16(packet.data() + rtp::kFixedHeaderSize, 16);
        store_u16(packet.data() + rtp::kFixedHeaderSize + 2,
                  static_cast<uint16_t>(frame.size() << 3U));
    }
    std::copy(frame.begin(), frame.end(), packet.begin() + static_cast<std::ptrdiff_t>(head));
    time_ += voice_frame_ticks(options_);
    out_(now, ByteSpan(packet).first(head + frame.size()));
}

}  // namespace weir::session
