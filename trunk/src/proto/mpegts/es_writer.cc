#include "proto/mpegts/es_writer.h"

#include "media/avc.h"
#include "media/hevc.h"
#include "media/mp3.h"
#include "media/nal.h"
#include "media/opus.h"

namespace weir::mpegts {
namespace {

namespace avc = media::avc;
namespace hevc = media::hevc;
using media::Codec;

constexpr std::array<uint8_t, 4> kStartCode = {0, 0, 0, 1};
// Access unit delimiters that allow slices of all types, H.264 §7.3.2.4, H.265 §7.3.2.5.
constexpr std::array<uint8_t, 6> kAvcDelimiter = {0, 0, 0, 1, 0x09, 0xF0};
constexpr std::array<uint8_t, 7> kHevcDelimiter = {0, 0, 0, 1, 0x46, 0x01, 0x50};

// Of audio: its PES packets say their length in 16 bits. No frame of these codecs is that long.
constexpr size_t kMaxAudioFrame = 60'000;

constexpr uint8_t kMpeg1Audio = 3;  // stream types
constexpr uint8_t kMpeg2Audio = 4;

Content content_of(Codec codec) {
    switch (codec) {
        case Codec::kH264: return Content::kH264;
        case Codec::kHevc: return Content::kHevc;
        case Codec::kAac: return Content::kAac;
        case Codec::kMp3: return Content::kMpegAudio;
        case Codec::kAc3: return Content::kAc3;
        case Codec::kEac3: return Content::kEac3;
        case Codec::kOpus: return Content::kOpus;
        default: return Content::kUnknown;
    }
}

}  // namespace

bool EsWriter::carries(Codec codec) {
    return content_of(codec) != Content::kUnknown;
}

bool EsWriter::set_config(ByteSpan config) {
    switch (codec_) {
        case Codec::kH264:
        case Codec::kHevc: ready_ = set_video_config(config); break;
        case Codec::kAac: {
            const auto header = media::adts::Header::from_config(config);
            ready_ = header.has_value();
            adts_ = header.value_or(adts_);
            break;
        }
        case Codec::kOpus: {
            // More channels than two need a mapping that the extension descriptor has no place for.
            const auto channels = media::opus::head_channels(config);
            ready_ = channels && *channels <= 2;
            channels_ = channels.value_or(channels_);
            break;
        }
        default: ready_ = true; break;  // they have none
    }
    return ready_;
}

bool EsWriter::set_video_config(ByteSpan record) {
    const auto take = [this](const auto& config) {
        if (!config) {
            return false;
        }
        length_size_ = config->length_size();
        parameter_sets_.clear();
        config->for_each_parameter_set([this](ByteSpan nal) {
            if (codec_ == Codec::kH264 || hevc::is_parameter_set(hevc::nal_type(nal[0]))) {
                ByteWriter(parameter_sets_).bytes(kStartCode).bytes(nal);
            }
        });
        return true;
    };
    return codec_ == Codec::kH264 ? take(avc::ConfigView::parse(record))
                                  : take(hevc::ConfigView::parse(record));
}

std::optional<StreamInfo> EsWriter::stream() const {
    const bool needs_no_config =
        codec_ == Codec::kMp3 || codec_ == Codec::kAc3 || codec_ == Codec::kEac3;
    if (!ready_ && !needs_no_config) {
        return std::nullopt;
    }
    StreamInfo info;
    info.content = content_of(codec_);
    info.stream_type = codec_ == Codec::kMp3 ? stream_type_ : uint8_t{0};
    info.channels = codec_ == Codec::kOpus ? channels_ : uint8_t{0};
    return info;
}

std::span<const ByteSpan> EsWriter::write(ByteSpan frame, bool key) {
    parts_.clear();
    const bool video = codec_ == Codec::kH264 || codec_ == Codec::kHevc;
    if (frame.empty() || !stream() || (!video && frame.size() > kMaxAudioFrame)) {
        return {};
    }
    bool good = true;
    switch (codec_) {
        case Codec::kH264:
        case Codec::kHevc: good = add_nals(frame, key); break;
        case Codec::kAac:
            adts_.frame_size = media::adts::kHeaderSize + frame.size();
            good = adts_.frame_size <= media::adts::kMaxFrame;
            header_.resize(media::adts::kHeaderSize);
            adts_.write(header_.data());
            parts_.emplace_back(header_);
            break;
        case Codec::kOpus: add_control_header(frame.size()); break;
        case Codec::kMp3:
            if (const auto header = media::mp3::parse_header(frame)) {
                stream_type_ = header->mpeg1 ? kMpeg1Audio : kMpeg2Audio;
            }
            break;
        default: break;
    }
    if (!good) {
        return {};
    }
    if (!video) {
        parts_.push_back(frame);
    }
    return parts_;
}

bool EsWriter::is_left_out(ByteSpan nal) const {
    if (codec_ == Codec::kH264) {
        return avc::nal_type(nal[0]) == avc::NalType::kDelimiter;
    }
    return nal.size() <= hevc::kNalHeaderSize ||
           hevc::nal_type(nal[0]) == hevc::NalType::kDelimiter;
}

bool EsWriter::is_sps(ByteSpan nal) const {
    return codec_ == Codec::kH264 ? avc::nal_type(nal[0]) == avc::NalType::kSps
                                  : hevc::nal_type(nal[0]) == hevc::NalType::kSps;
}

bool EsWriter::add_nals(ByteSpan frame, bool key) {
    parts_.emplace_back(codec_ == Codec::kH264 ? ByteSpan(kAvcDelimiter)
                                               : ByteSpan(kHevcDelimiter));
    const size_t place_of_sets = parts_.size();
    parts_.emplace_back();
    bool sets_inside = false;
    bool any = false;
    media::NalReader nals(frame, length_size_);
    for (ByteSpan nal; nals.next(nal);) {
        if (is_left_out(nal)) {
            continue;
        }
        any = true;
        sets_inside = sets_inside || is_sps(nal);
        parts_.emplace_back(kStartCode);
        parts_.push_back(nal);
    }
    if (key && !sets_inside) {
        parts_[place_of_sets] = parameter_sets_;
    }
    return nals.ok() && any;
}

// opus_control_header() without trims: prefix 11, flags 5 | size, in bytes of 255 and a last one.
void EsWriter::add_control_header(size_t size) {
    header_.clear();
    ByteWriter writer(header_);
    writer.u16(0x7FE0);
    for (; size >= 255; size -= 255) {
        writer.u8(255);
    }
    writer.u8(static_cast<uint8_t>(size));
    parts_.emplace_back(header_);
}

}  // namespace weir::mpegts
