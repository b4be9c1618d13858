#include "proto/rtp/payload_nal.h"

#include <algorithm>
#include <utility>

#include "media/nal.h"

namespace weir::rtp {
namespace {

constexpr size_t kAggregatedSizeField = 2;

// Header, then size and unit each.
constexpr size_t kMaxAggregated = (kMaxPayloadParts - 1) / 2;

}  // namespace

// The frame that is being cut: units that wait to be sent in one aggregation packet. Only spans;
// what they point at lives until the frame is done.
struct NalPacketizer::Output {
    PayloadSink& sink;
    size_t max_payload;
    size_t count = 0;
    size_t size = 0;  // of an aggregation packet of all that wait
    std::array<ByteSpan, kMaxAggregated> waiting{};
};

void NalPacketizer::begin_config(size_t length_size) {
    length_size_ = length_size;
    parameter_sets_.clear();
}

void NalPacketizer::add_parameter_set(ByteSpan nal) {
    ByteWriter(parameter_sets_).u32(static_cast<uint32_t>(nal.size())).bytes(nal);
}

bool NalPacketizer::packetize(ByteSpan frame, size_t max_payload, PayloadSink& sink) {
    const FrameKind kind = inspect(frame, length_size_);
    if (!kind.whole) {
        return false;
    }
    Output out{sink, max_payload};
    ByteSpan held;  // sent when it is known whether another one follows
    const auto take_all = [&](media::NalReader nals) {
        for (ByteSpan nal; nals.next(nal);) {
            if (nal.size() <= header_size_ || is_superfluous(nal)) {
                continue;
            }
            if (!held.empty()) {
                put(out, held, false);
            }
            held = nal;
        }
    };
    if (kind.key && !kind.parameter_sets) {
        take_all(media::NalReader(parameter_sets_, kNalLengthSize));
    }
    take_all(media::NalReader(frame, length_size_));
    if (held.empty()) {
        return false;
    }
    put(out, held, true);
    return true;
}

void NalPacketizer::put(Output& out, ByteSpan nal, bool last) const {
    const size_t grown = out.size + kAggregatedSizeField + nal.size();
    const bool fits = out.count > 0 && out.count < kMaxAggregated && grown <= out.max_payload;
    if (!fits) {
        flush(out, false);
    }
    if (nal.size() > out.max_payload) {
        put_fragments(out, nal, last);
        return;
    }
    out.waiting[out.count++] = nal;
    out.size = fits ? grown : header_size_ + kAggregatedSizeField + nal.size();
    if (last) {
        flush(out, true);
    }
}

void NalPacketizer::put_fragments(Output& out, ByteSpan nal, bool last) const {
    std::array<uint8_t, kMaxNalHeader + 1> header{};
    const size_t size = header_size_ + 1;
    const ByteSpan body = nal.subspan(header_size_);
    const EqualParts cut(body.size(), out.max_payload - size);
    for (size_t i = 0; i < cut.count; i++) {
        const bool end = i + 1 == cut.count;
        write_fragment_header(nal, i == 0, end, header.data());
        const size_t at = i * cut.size;
        const std::array<ByteSpan, 2> parts = {
            ByteSpan(header).first(size), body.subspan(at, std::min(cut.size, body.size() - at))};
        out.sink.on_payload(parts, last && end);
    }
}

void NalPacketizer::flush(Output& out, bool last) const {
    if (out.count == 1) {
        out.sink.on_payload(std::span(out.waiting).first(1), last);
    } else if (out.count > 1) {
        std::array<uint8_t, kMaxNalHeader> header{};
        std::array<std::array<uint8_t, kAggregatedSizeField>, kMaxAggregated> sizes;
        std::array<ByteSpan, kMaxPayloadParts> parts;
        size_t used = 0;
        parts[used++] = ByteSpan(header).first(header_size_);
        for (size_t i = 0; i < out.count; i++) {
            const ByteSpan nal = out.waiting[i];
            mark_aggregation(nal, i == 0, header.data());
            store_u16(sizes[i].data(), static_cast<uint16_t>(nal.size()));
            parts[used++] = sizes[i];
            parts[used++] = nal;
        }
        out.sink.on_payload(std::span(parts).first(used), last);
    }
    out.count = 0;
    out.size = 0;
}

bool NalDepacketizer::add_nal(ByteSpan nal) {
    if (in_fragment_ || nal.empty()) {
        return false;  // a unit in pieces has no end
    }
    switch (use_of(nal)) {
        case NalUse::kLeaveOut: return true;
        case NalUse::kParameterSet: return keep(nal);
        case NalUse::kKeep: break;
    }
    std::array<uint8_t, kNalLengthSize> length;
    store_u32(length.data(), static_cast<uint32_t>(nal.size()));
    note(nal);
    return append(length) && append(nal);
}

bool NalDepacketizer::add_aggregated(ByteSpan units, size_t between) {
    ByteReader reader(units);
    bool good = !units.empty();
    while (good && !reader.empty()) {
        if (reader.position() > 0) {
            reader.skip(between);
        }
        const ByteSpan nal = reader.take(reader.u16());
        good = reader.ok() && add_nal(nal);
    }
    return good;
}

// RFC 6184 §5.5, RFC 7798 §4.4: numbers wrap. One that goes back counts from there on, so that a
// source that begins anew is refused once only.
bool NalDepacketizer::take_order(uint16_t number) {
    const bool forward = !ordered_ || static_cast<int16_t>(number - order_) >= 0;
    ordered_ = true;
    order_ = number;
    return forward;
}

bool NalDepacketizer::add_fragment(ByteSpan header, ByteSpan piece, bool start, bool end) {
    if (start == in_fragment_) {
        return false;  // a second start, or no start
    }
    if (start) {
        fragment_at_ = data().size();
        static constexpr std::array<uint8_t, kNalLengthSize> kRoomForLength{};
        if (!append(kRoomForLength) || !append(header)) {
            return false;
        }
        in_fragment_ = true;
    }
    if (!append(piece)) {
        return false;
    }
    if (!end) {
        return true;
    }
    in_fragment_ = false;
    const ByteSpan nal = ByteSpan(data()).subspan(fragment_at_ + kNalLengthSize);
    const NalUse use = use_of(nal);
    if (use == NalUse::kKeep) {
        store_u32(data().data() + fragment_at_, static_cast<uint32_t>(nal.size()));
        note(nal);
        return true;
    }
    const bool good = use == NalUse::kLeaveOut || keep(nal);
    data().resize(fragment_at_);
    return good;
}

bool NalDepacketizer::add_parameter_set(ByteSpan nal) {
    const uint32_t kinds = kinds_in_frame_;
    const bool kept = !nal.empty() && use_of(nal) == NalUse::kParameterSet && keep(nal);
    kinds_in_frame_ = kinds;
    return kept;
}

bool NalDepacketizer::keep(ByteSpan nal) {
    ParameterSet set;
    if (nal.size() > kMaxParameterSetSize || !identify(nal, set)) {
        return false;
    }
    kinds_in_frame_ |= 1U << (set.type % 32U);
    const auto same = std::find_if(sets_.begin(), sets_.end(), [&](const ParameterSet& s) {
        return s.type == set.type && s.id == set.id;
    });
    if (same != sets_.end()) {
        if (!std::equal(nal.begin(), nal.end(), same->nal.begin(), same->nal.end())) {
            same->nal.assign(nal.begin(), nal.end());
            config_changed_ = true;
        }
        return true;
    }
    const auto of_type = std::count_if(sets_.begin(), sets_.end(),
                                       [&](const ParameterSet& s) { return s.type == set.type; });
    if (of_type >= static_cast<std::ptrdiff_t>(kMaxParameterSets)) {
        return false;
    }
    set.nal.assign(nal.begin(), nal.end());
    sets_.push_back(std::move(set));
    config_changed_ = true;
    return true;
}

std::vector<ByteSpan> NalDepacketizer::parameter_sets(uint8_t type) const {
    std::vector<ByteSpan> found;
    for (const ParameterSet& set : sets_) {
        if (set.type == type) {
            found.emplace_back(set.nal);
        }
    }
    return found;
}

void NalDepacketizer::reset() {
    in_fragment_ = false;
    kinds_in_frame_ = 0;
}

}  // namespace weir::rtp
