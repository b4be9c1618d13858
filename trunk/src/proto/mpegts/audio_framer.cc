#include "proto/mpegts/audio_framer.h"

#include "media/ac3.h"
#include "media/adts.h"
#include "media/bit_reader.h"
#include "media/mp3.h"
#include "media/opus.h"
#include "proto/mpegts/packet.h"
#include "proto/rtp/payload_latm.h"

namespace weir::mpegts {
namespace {

constexpr size_t kLoasHeader = 3;
constexpr uint32_t kAacSamples = 1024;

}  // namespace

// A frame says how long it is: the end of a packet means nothing.
size_t AudioFramer::cut(bool) {
    size_t at = 0;
    while (at < data().size()) {
        const ByteSpan bytes = data().subspan(at);
        Frame frame;
        Found found = look(bytes, frame);
        if (found == Found::kFrame && frame.size > bytes.size()) {
            found = Found::kNeedMore;
        }
        if (found == Found::kFrame && !in_step_ && !is_followed(bytes.subspan(frame.size))) {
            found = Found::kNone;
        }
        if (found == Found::kNeedMore) {
            break;
        }
        if (found == Found::kNone) {
            if (in_step_) {
                count_malformed();
            }
            in_step_ = false;
            at++;
            continue;
        }
        in_step_ = true;
        take(at, frame);
        at += frame.size;
    }
    return at;
}

// Whether what stands behind a frame may be the next: the bytes of a header may be anywhere.
bool AudioFramer::is_followed(ByteSpan behind) {
    Frame next;
    return behind.empty() || look(behind, next) != Found::kNone;
}

void AudioFramer::take(size_t at, const Frame& frame) {
    if (Cut* const newest = this->newest(); frame.belongs_to_last) {
        if (newest != nullptr && newest->first + newest->count == at) {
            newest->count += frame.size;
        }
        return;
    }
    const Stamp stamp = take_stamp(at);
    if (stamp.times.pts) {
        base_ = stamp.times.pts;
        ticks_ = 0;
    }
    if (!base_) {
        return;
    }
    if (frame.clock_hz != clock_hz_ && clock_hz_ != 0) {
        *base_ += static_cast<int64_t>(ticks_ * kClockHz / clock_hz_);
        ticks_ = 0;
    }
    clock_hz_ = frame.clock_hz;
    Cut cut;
    cut.pts = *base_ + (clock_hz_ == 0 ? 0 : static_cast<int64_t>(ticks_ * kClockHz / clock_hz_));
    cut.dts = cut.pts;
    cut.first = at + frame.data_at;
    cut.count = frame.size - frame.data_at;
    cut.random_access = stamp.random_access;
    ticks_ += frame.ticks;
    add(cut);
}

AudioFramer::Found AudioFramer::look(ByteSpan bytes, Frame& out) {
    switch (content_) {
        case Content::kAac: return look_adts(bytes, out);
        case Content::kAacLatm: return look_loas(bytes, out);
        case Content::kMpegAudio: return look_mpeg(bytes, out);
        case Content::kOpus: return look_opus(bytes, out);
        default: return look_ac3(bytes, out);
    }
}

AudioFramer::Found AudioFramer::look_adts(ByteSpan bytes, Frame& out) const {
    if (bytes.size() < media::adts::kHeaderSize) {
        return Found::kNeedMore;
    }
    const auto header = media::adts::Header::parse(bytes);
    if (!header) {
        return Found::kNone;
    }
    out.size = header->frame_size;
    out.ticks = kAacSamples * header->blocks;
    out.clock_hz = header->sample_rate();
    return Found::kFrame;
}

// AudioSyncStream(), ISO/IEC 14496-3 §1.7.2.
AudioFramer::Found AudioFramer::look_loas(ByteSpan bytes, Frame& out) {
    if (bytes.size() < kLoasHeader) {
        return Found::kNeedMore;
    }
    if (bytes[0] != 0x56 || (bytes[1] & 0xE0) != 0xE0) {
        return Found::kNone;
    }
    out.size = kLoasHeader + ((bytes[1] & size_t{0x1F}) << 8U | bytes[2]);
    out.data_at = kLoasHeader;
    if (out.size <= bytes.size()) {
        media::BitReader bits(bytes.subspan(kLoasHeader, out.size - kLoasHeader));
        if (!bits.flag()) {
            const auto config = rtp::LatmConfig::read(bits, kClockHz);
            latm_ticks_ = config ? config->frame_ticks * config->frames : latm_ticks_;
        }
    }
    out.ticks = latm_ticks_;
    out.clock_hz = kClockHz;
    return Found::kFrame;
}

AudioFramer::Found AudioFramer::look_mpeg(ByteSpan bytes, Frame& out) const {
    if (bytes.size() < media::mp3::kHeaderSize) {
        return Found::kNeedMore;
    }
    const auto header = media::mp3::parse_any_layer(bytes);
    if (!header) {
        return Found::kNone;
    }
    out.size = header->size;
    out.ticks = header->samples;
    out.clock_hz = header->sample_rate;
    return Found::kFrame;
}

AudioFramer::Found AudioFramer::look_ac3(ByteSpan bytes, Frame& out) const {
    if (bytes.size() < media::ac3::kHeaderSize) {
        return Found::kNeedMore;
    }
    const auto header = media::ac3::parse_header(bytes);
    if (!header) {
        return Found::kNone;
    }
    out.size = header->size;
    out.ticks = header->samples;
    out.clock_hz = header->sample_rate;
    out.belongs_to_last = header->dependent;
    return Found::kFrame;
}

// opus_control_header(): prefix 11, start trim 1, end trim 1, extension 1, reserved 2 | size, in
// bytes of 255 and a last one | trims 16 each | extension: size 8 ...
AudioFramer::Found AudioFramer::look_opus(ByteSpan bytes, Frame& out) const {
    if (bytes.size() < 2) {
        return Found::kNeedMore;
    }
    if (bytes[0] != 0x7F || (bytes[1] & 0xE0) != 0xE0) {
        return Found::kNone;
    }
    ByteReader reader(bytes);
    reader.skip(1);
    const uint8_t flags = reader.u8();
    size_t size = 0;
    uint8_t byte = 255;
    while (byte == 255 && reader.ok()) {
        byte = reader.u8();
        size += byte;
    }
    reader.skip((flags & 0x10) != 0 ? 2 : 0);
    reader.skip((flags & 0x08) != 0 ? 2 : 0);
    if ((flags & 0x04) != 0) {
        reader.skip(reader.u8());
    }
    if (!reader.ok()) {
        return Found::kNeedMore;
    }
    out.data_at = reader.position();
    out.size = out.data_at + size;
    const auto samples = out.size <= bytes.size()
                             ? media::opus::packet_samples(bytes.subspan(out.data_at, size))
                             : std::optional<uint32_t>(0);
    out.ticks = samples.value_or(0);
    out.clock_hz = media::opus::kClockHz;
    return samples ? Found::kFrame : Found::kNone;
}

void AudioFramer::view(const Cut& cut, Unit& out) const {
    out.data = data().subspan(cut.first, cut.count);
}

void AudioFramer::forget() {
    in_step_ = false;
}

}  // namespace weir::mpegts
