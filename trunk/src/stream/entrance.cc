#include "stream/entrance.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "media/av1.h"
#include "media/captions.h"
#include "media/hevc.h"
#include "media/nal.h"

namespace weir::stream {
namespace {

using media::Codec;
using media::MediaPacket;
using media::PacketInfo;
using media::PictureMessage;
using media::TrackKind;

// FLV tag bodies, Adobe FLV 10.1 E.4.3 and Enhanced RTMP v2 "Enhanced Video".
constexpr uint8_t kEnhanced = 0x80;
constexpr uint8_t kKeyFrameBits = 0x10;

std::string_view four_cc(Codec codec) {
    switch (codec) {
        case Codec::kHevc: return "hvc1";
        case Codec::kAv1: return "av01";
        default: return "avc1";
    }
}

// What stands before a configuration record in a message, in the publisher's own form.
Bytes config_header(ByteSpan picture, Codec codec) {
    Bytes header;
    ByteWriter writer(header);
    if ((picture[0] & kEnhanced) != 0) {
        writer.u8(kEnhanced | kKeyFrameBits).text(four_cc(codec));  // packet type 0: sequence start
    } else {
        writer.u8(static_cast<uint8_t>(kKeyFrameBits | (picture[0] & 0x0F))).u32(0);
    }
    return header;
}

// Nothing: all pictures are frames.
std::optional<media::avc::Sps> sps_with_fields(Codec codec, ByteSpan record) {
    const auto config =
        codec == Codec::kH264 ? media::avc::ConfigView::parse(record) : std::nullopt;
    auto sps = config ? media::avc::parse_sps(config->sps()) : std::nullopt;
    return sps && sps->interlaced ? sps : std::nullopt;
}

// avcC and hvcC, ISO/IEC 14496-15 §5.3.3.1 and §8.3.3.1: the lowest bits of a byte.
void set_length_size(Codec codec, size_t size, Bytes& record) {
    const size_t at = codec == Codec::kH264 ? 4 : 21;
    if (codec != Codec::kAv1 && record.size() > at) {
        record[at] = static_cast<uint8_t>((record[at] & 0xFC) | (size - 1));
    }
}

// Of legacy and enhanced messages: a frame, and no key frame.
void make_no_key(PacketInfo& info, Bytes& body) {
    info.key = false;
    body[0] = static_cast<uint8_t>((body[0] & 0x8F) | 0x20);
}

constexpr auto kFrameStructure = static_cast<uint8_t>(media::avc::Structure::kFrame);

bool has_same_picture(const media::av1::SequenceHeader& a, const media::av1::SequenceHeader& b) {
    return a.profile == b.profile && a.level_idx == b.level_idx && a.width == b.width &&
           a.height == b.height && a.high_bitdepth == b.high_bitdepth &&
           a.twelve_bit == b.twelve_bit && a.monochrome == b.monochrome;
}

std::optional<media::av1::SequenceHeader> sequence_header_of(ByteSpan units) {
    media::av1::ObuReader reader(units);
    for (media::av1::ObuView obu; reader.next(obu);) {
        if (obu.type == media::av1::ObuType::kSequenceHeader) {
            return media::av1::parse_sequence_header(obu.payload);
        }
    }
    return std::nullopt;
}

}  // namespace

void Entrance::take_config(Ref<MediaPacket> packet, Ready& ready) {
    const auto is_same = [&packet](const media::PacketRef& other) {
        return other && std::ranges::equal(other->body(), packet->body());
    };
    // There are encoders that repeat their first configuration for ever, whatever their pictures
    // have brought along since.
    if (is_same(announced_) && config_ != announced_) {
        return;
    }
    form_ = {media::nal_length_size(packet->info().codec, packet->payload())};
    fields_sps_ = sps_with_fields(packet->info().codec, packet->payload());
    if (packet->info().codec != Codec::kAv1) {
        sets_.set_config(packet->info().codec, packet->payload());
    }
    sets_changed_ = false;
    sequence_header_.clear();
    config_ = announced_ = packet;
    ready.add(std::move(packet));
}

void Entrance::note_sets(const MediaPacket& packet, ByteSpan units) {
    const Codec codec = packet.info().codec;
    if (std::abs(packet.time_ms() - changes_since_ms_) > kForgetChangesMs) {
        changes_since_ms_ = packet.time_ms();
        picture_set_changes_ = 0;
    }
    if (!config_) {
        // None was announced: those of the pictures will be.
        sets_.begin(codec);
    }
    media::NalReader nals(units, form_.length_size);
    for (ByteSpan nal; nals.next(nal);) {
        const bool is_set = codec == Codec::kH264
                                ? media::avc::nal_type(nal[0]) == media::avc::NalType::kSps ||
                                      media::avc::nal_type(nal[0]) == media::avc::NalType::kPps
                                : media::hevc::is_parameter_set(media::hevc::nal_type(nal[0]));
        if (!is_set) {
            continue;
        }
        switch (sets_.take(nal)) {
            case media::ParameterSets::Taken::kSequence: sets_changed_ = true; break;
            case media::ParameterSets::Taken::kPicture:
                picture_set_changes_++;
                sets_changed_ = sets_changed_ || picture_set_changes_ <= kMaxPictureSetChanges;
                break;
            default: break;
        }
    }
}

void Entrance::note_sequence_header(ByteSpan units) {
    const auto found = sequence_header_of(units);
    const auto record = config_ ? media::av1::parse_config(config_->payload()) : std::nullopt;
    const auto known = record ? sequence_header_of(*record) : std::nullopt;
    if (found && (!known || !has_same_picture(*found, *known))) {
        const ByteSpan obu = media::av1::find_sequence_header(units);
        sequence_header_.assign(obu.begin(), obu.end());
        sets_changed_ = true;
    }
}

// The sets that came along are announced before the key picture that needs them.
void Entrance::announce_sets(const MediaPacket& packet, Ready& ready) {
    const PacketInfo& of = packet.info();
    Bytes record =
        of.codec == Codec::kAv1 ? media::av1::build_config(sequence_header_) : sets_.build();
    if (record.empty()) {
        return;
    }
    set_length_size(of.codec, form_.length_size, record);
    sets_changed_ = false;
    Bytes body = config_ ? Bytes(config_->body().begin(),
                                 config_->body().begin() + config_->info().payload_offset)
                         : config_header(packet.body(), of.codec);
    PacketInfo info = of;
    info.config = true;
    info.key = false;
    info.composition_ms = 0;
    info.payload_offset = static_cast<uint16_t>(body.size());
    body.insert(body.end(), record.begin(), record.end());
    auto config = make_ref<MediaPacket>(info, packet.time_ms(), std::move(body));
    fields_sps_ = sps_with_fields(of.codec, config->payload());
    config_ = config;
    stats_.configs_made++;
    ready.add(std::move(config));
}

void Entrance::give(Ref<MediaPacket> packet, Ready& ready) {
    if (sets_changed_ && packet->info().key) {
        announce_sets(*packet, ready);
    }
    last_time_ms_ = packet->time_ms();
    last_key_ = packet->info().key;
    begun_ = true;
    ready.add(std::move(packet));
}

void Entrance::release(Ready& ready) {
    if (waiting_) {
        Picture picture = std::move(*waiting_);
        waiting_.reset();
        give(make_ref<MediaPacket>(picture.info, picture.time_ms, std::move(picture.body)), ready);
    }
}

// Units without a slice, of the picture that is to come.
void Entrance::keep_front(ByteSpan units) {
    split_seen_ = true;
    stats_.messages_joined++;
    if (front_.size() + units.size() > kMaxFrontBytes) {
        stats_.messages_dropped++;
        return;
    }
    front_.insert(front_.end(), units.begin(), units.end());
}

// Of the first slice; a frame where there are no fields.
uint8_t Entrance::structure_of(ByteSpan units) const {
    media::NalReader nals(units, form_.length_size);
    for (ByteSpan nal; fields_sps_ && nals.next(nal);) {
        if (media::avc::is_slice(media::avc::nal_type(nal[0]))) {
            const auto structure = media::avc::parse_structure(nal.subspan(1), *fields_sps_);
            return static_cast<uint8_t>(structure.value_or(media::avc::Structure::kFrame));
        }
    }
    return kFrameStructure;
}

// A slice of it was lost with its whole message.
void Entrance::note_damage(const MediaPacket& packet) {
    stats_.pictures_damaged++;
    if (waiting_ && waiting_->time_ms == packet.time_ms()) {
        make_no_key(waiting_->info, waiting_->body);
    } else if (!waiting_ && last_time_ms_ == packet.time_ms()) {
        broken_key_ = broken_key_ || last_key_;
    }
}

bool Entrance::belongs_to_waiting(const MediaPacket& packet,
                                  const PictureMessage& message,
                                  uint8_t structure) const {
    if (!waiting_ || waiting_->time_ms != packet.time_ms() ||
        waiting_->body.size() + packet.payload().size() > kMaxPictureBytes) {
        return false;
    }
    // Both fields of a frame are one sample, as every demuxer gives them.
    return !message.begins || (waiting_->fields & structure) == 0;
}

void Entrance::take_units(Ref<MediaPacket> packet, const PictureMessage& message, Ready& ready) {
    const Codec codec = packet->info().codec;
    Bytes mended;
    if (!message.is_clean()) {
        media::append_good_units(codec, packet->payload(), form_, message, mended);
    }
    const ByteSpan units = message.is_clean() ? packet->payload() : ByteSpan(mended);
    const uint8_t structure = structure_of(units);
    const bool belongs = message.slices > 0 ? belongs_to_waiting(*packet, message, structure)
                                            : waiting_ && waiting_->time_ms == packet->time_ms();
    if (!belongs) {
        release(ready);  // before sets that are not its own are
    }
    if (message.sets) {
        codec == Codec::kAv1 ? note_sequence_header(units) : note_sets(*packet, units);
    }
    if (message.slices == 0) {
        keep_front(units);
        return;
    }
    if (belongs) {
        in_pieces_ = true;
        stats_.messages_joined++;
        waiting_->body.insert(waiting_->body.end(), front_.begin(), front_.end());
        front_.clear();
        waiting_->body.insert(waiting_->body.end(), units.begin(), units.end());
        waiting_->fields |= message.begins ? structure : uint8_t{0};
        if (message.damaged) {
            make_no_key(waiting_->info, waiting_->body);
        }
        return;
    }
    const bool goes_on = last_time_ms_ == packet->time_ms();
    if (goes_on && (!message.begins || structure != kFrameStructure)) {
        in_pieces_ = true;
    }
    if (goes_on && !message.begins) {
        // The rest of a picture that was taken for a whole one.
        broken_key_ = broken_key_ || last_key_;
        stats_.pictures_damaged++;
        stats_.messages_dropped++;
        return;
    }
    PacketInfo info = packet->info();
    const bool damaged = message.damaged || !message.begins;
    stats_.pictures_damaged += damaged ? 1U : 0U;
    info.key = info.key && !damaged;
    const bool waits =
        in_pieces_ || (!begun_ && !info.whole_picture && (split_seen_ || message.units == 1));
    if (!waits && message.is_clean() && front_.empty() && info.key == packet->info().key) {
        give(std::move(packet), ready);
        return;
    }
    const ByteSpan header = packet->body().first(info.payload_offset);
    Bytes body;
    body.reserve(header.size() + front_.size() + units.size());
    body.insert(body.end(), header.begin(), header.end());
    body.insert(body.end(), front_.begin(), front_.end());
    body.insert(body.end(), units.begin(), units.end());
    front_.clear();
    if (packet->info().key && !info.key) {
        make_no_key(info, body);
    }
    if (body.size() > kMaxBodyBytes) {
        stats_.messages_dropped++;
        return;
    }
    if (waits) {
        begun_ = true;
        waiting_ = Picture{info, packet->time_ms(), std::move(body), structure, false};
        return;
    }
    give(make_ref<MediaPacket>(info, packet->time_ms(), std::move(body)), ready);
}

void Entrance::take(Ref<MediaPacket> packet, Ready& ready) {
    const PacketInfo& info = packet->info();
    if (info.multitrack) {
        ready.add(std::move(packet));
        return;
    }
    if (info.config || info.metadata || info.end || !media::has_units(info.codec)) {
        release(ready);
        if (info.config && media::has_units(info.codec)) {
            take_config(std::move(packet), ready);
        } else {
            ready.add(std::move(packet));
        }
        return;
    }
    PictureMessage message = media::look_into_message(info.codec, packet->payload(), form_);
    form_.has_lengths = form_.has_lengths || (message.is_clean() && message.units > 0);
    // Where no slice has ever been the first of a picture, nothing is known of where they begin.
    starts_seen_ = starts_seen_ || (message.begins && message.slices > 0);
    message.begins = message.begins || !starts_seen_;
    stats_.units_left_out += message.left_out;
    stats_.start_codes += message.annex_b ? 1U : 0U;
    if (message.units == 0 || (message.damaged && message.slices == 0)) {
        stats_.messages_dropped++;
        if (message.damaged) {
            note_damage(*packet);
        }
        return;
    }
    take_units(std::move(packet), message, ready);
}

}  // namespace weir::stream
