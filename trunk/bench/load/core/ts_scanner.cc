#include "bench/load/core/ts_scanner.h"

#include <algorithm>
#include <array>

#include "media/adts.h"
#include "media/avc.h"
#include "media/hevc.h"
#include "proto/rtmp/message.h"

#include "bench/load/core/flv_head.h"

namespace weir::load {
namespace {

using mpegts::Content;

constexpr size_t kNalLength = 4;

media::Codec codec_of(Content content) {
    switch (content) {
        case Content::kH264: return media::Codec::kH264;
        case Content::kHevc: return media::Codec::kHevc;
        case Content::kAac: return media::Codec::kAac;
        case Content::kMpegAudio: return media::Codec::kMp3;
        case Content::kOpus: return media::Codec::kOpus;
        default: return media::Codec::kUnknown;
    }
}

// Of no frame: delimiters and parameter sets.
bool is_added(Content content, ByteSpan nal) {
    if (content == Content::kHevc) {
        const media::hevc::NalType type = media::hevc::nal_type(nal[0]);
        return media::hevc::is_parameter_set(type) || type == media::hevc::NalType::kDelimiter;
    }
    const auto type = static_cast<uint8_t>(media::avc::nal_type(nal[0]));
    return type >= static_cast<uint8_t>(media::avc::NalType::kSps) &&
           type <= static_cast<uint8_t>(media::avc::NalType::kDelimiter);
}

ScannedMessage message_of(uint8_t type, const mpegts::Unit& unit, size_t length) {
    ScannedMessage message;
    message.type = type;
    message.timestamp = static_cast<uint32_t>(unit.dts / (mpegts::kClockHz / 1000));
    message.length = static_cast<uint32_t>(length);
    return message;
}

uint64_t faults_of(const mpegts::Reader& reader) {
    const mpegts::ReaderCounters counters = reader.counters();
    return counters.continuity_errors + counters.malformed + counters.transport_errors +
           counters.sync_losses;
}

}  // namespace

bool TsScanner::feed(ByteSpan bytes, PlayerCheck& check) {
    while (!bytes.empty() && error_.empty()) {
        bytes = bytes.subspan(reader_->feed(bytes));
        take_units(check);
    }
    return error_.empty();
}

bool TsScanner::end_file(PlayerCheck& check) {
    reader_->finish();
    const bool fine = take_units(check);
    faults_ += faults_of(*reader_);
    reader_.emplace();
    return fine;
}

bool TsScanner::take_units(PlayerCheck& check) {
    mpegts::Unit unit;
    size_t index = 0;
    mpegts::Reader::Event event = mpegts::Reader::Event::kNeedMore;
    while ((event = reader_->next(unit, index)) != mpegts::Reader::Event::kNeedMore) {
        if (event == mpegts::Reader::Event::kError) {
            error_ = reader_->take_error().message();
            break;
        }
        if (event == mpegts::Reader::Event::kTracks) {
            continue;
        }
        const mpegts::Track& track = reader_->tracks()[index];
        if (mpegts::is_video(track.info.content)) {
            take_video(track, unit, check);
        } else {
            take_audio(track, unit, check);
        }
    }
    return error_.empty();
}

void TsScanner::take_video(const mpegts::Track& track,
                           const mpegts::Unit& unit,
                           PlayerCheck& check) {
    const Content content = track.info.content;
    std::array<uint8_t, kMaxFlvHead> head{};
    write_flv_head(head, codec_of(content), unit.key);
    size_t size = head.size();
    for (const ByteSpan nal : unit.nals) {
        size += is_added(content, nal) ? 0 : kNalLength + nal.size();
    }
    const ScannedMessage message = message_of(rtmp::kVideo, unit, size);
    check.begin(message);
    check.part(message, head);
    for (const ByteSpan nal : unit.nals) {
        if (!is_added(content, nal)) {
            std::array<uint8_t, kNalLength> length;
            store_u32(length.data(), static_cast<uint32_t>(nal.size()));
            check.part(message, length);
            check.part(message, nal);
        }
    }
    check.end(message);
}

void TsScanner::take_audio(const mpegts::Track& track,
                           const mpegts::Unit& unit,
                           PlayerCheck& check) {
    const media::Codec codec = codec_of(track.info.content);
    ByteSpan data = unit.data;
    if (const auto header = codec == media::Codec::kAac ? media::adts::Header::parse(data)
                                                        : std::optional<media::adts::Header>()) {
        data = data.subspan(std::min(header->size(), data.size()));
    }
    std::array<uint8_t, kMaxFlvHead> room{};
    const std::span<uint8_t> head = std::span(room).first(flv_head_size(codec));
    write_flv_head(head, codec, false);
    const ScannedMessage message = message_of(rtmp::kAudio, unit, head.size() + data.size());
    check.begin(message);
    check.part(message, head);
    check.part(message, data);
    check.end(message);
}

uint64_t TsScanner::faults() const {
    return faults_ + faults_of(*reader_);
}

}  // namespace weir::load
