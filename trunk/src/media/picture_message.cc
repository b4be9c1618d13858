#include "media/picture_message.h"

#include <algorithm>

#include "media/av1.h"
#include "media/avc.h"
#include "media/hevc.h"

namespace weir::media {
namespace {

constexpr uint8_t kForbiddenBit = 0x80;  // H.264 §7.4.1, H.265 §7.4.2.2

enum class Unit : uint8_t { kBad, kOther, kSet, kSlice };

struct Looked {
    Unit what = Unit::kBad;
    bool is_slice = false;  // also of a bad one
    bool first = false;     // of a picture
    bool key = false;
};

Looked look_into_avc(ByteSpan nal) {
    using avc::NalType;
    const NalType type = avc::nal_type(nal[0]);
    Looked unit;
    unit.is_slice = avc::is_slice(type);
    unit.key = type == NalType::kIdr;
    const bool header_alone = type == NalType::kEndOfSequence || type == NalType::kEndOfStream;
    if ((nal[0] & kForbiddenBit) != 0 || (nal.size() < 2 && !header_alone)) {
        return unit;
    }
    if (unit.is_slice) {
        unit.what = Unit::kSlice;
        // first_mb_in_slice is the first code; 0 is the code of one bit.
        unit.first = (nal[1] & 0x80) != 0;
    } else if (type == NalType::kSps) {
        unit.what = avc::parse_sps(nal) ? Unit::kSet : Unit::kBad;
    } else if (type == NalType::kPps) {
        unit.what = avc::parse_pps_ids(nal) ? Unit::kSet : Unit::kBad;
    } else {
        unit.what = Unit::kOther;
    }
    return unit;
}

Looked look_into_hevc(ByteSpan nal) {
    using hevc::NalType;
    Looked unit;
    const NalType type = hevc::nal_type(nal[0]);
    unit.is_slice = hevc::is_slice(type);
    unit.key = hevc::is_irap(type);
    const bool header_alone = type == NalType::kEndOfSequence || type == NalType::kEndOfBitstream;
    const size_t least = hevc::kNalHeaderSize + (header_alone ? 0 : 1);
    if ((nal[0] & kForbiddenBit) != 0 || nal.size() < least || (nal[1] & 7) == 0) {
        return unit;
    }
    if (unit.is_slice) {
        unit.what = Unit::kSlice;
        unit.first = hevc::is_first_slice(nal);
    } else if (type == NalType::kSps) {
        unit.what = hevc::parse_sps(nal) ? Unit::kSet : Unit::kBad;
    } else {
        unit.what = hevc::is_parameter_set(type) ? Unit::kSet : Unit::kOther;
    }
    return unit;
}

Looked look_into(Codec codec, ByteSpan nal) {
    return codec == Codec::kH264 ? look_into_avc(nal) : look_into_hevc(nal);
}

// ---- NAL units ----

// Annex B: units behind 0 0 1, zero bytes before and behind them.
template <typename Visit>
void for_each_annex_b(ByteSpan payload, Visit&& visit) {
    static constexpr uint8_t kStartCode[] = {0, 0, 1};
    const auto find = [&payload](size_t from) {
        const auto at = std::search(payload.begin() + static_cast<std::ptrdiff_t>(from),
                                    payload.end(), std::begin(kStartCode), std::end(kStartCode));
        return static_cast<size_t>(at - payload.begin());
    };
    for (size_t at = find(0); at < payload.size();) {
        const size_t begin = at + std::size(kStartCode);
        at = find(begin);
        ByteSpan nal = payload.subspan(begin, at - begin);
        while (!nal.empty() && nal.back() == 0) {
            nal = nal.first(nal.size() - 1);
        }
        visit(nal);
    }
}

// Lengths and units; the last one may be cut off.
template <typename Visit>
void for_each_with_length(ByteSpan payload, size_t length_size, Visit&& visit) {
    while (!payload.empty()) {
        size_t size = 0;
        const size_t header = std::min(length_size, payload.size());
        for (size_t i = 0; i < header; i++) {
            size = size << 8U | payload[i];
        }
        payload = payload.subspan(header);
        const bool whole = header == length_size && size <= payload.size();
        const ByteSpan nal = payload.first(std::min(size, payload.size()));
        payload = payload.subspan(nal.size());
        visit(nal, whole);
    }
}

// The short form looks like the length of a unit of 256 to 511 bytes.
bool has_start_code(ByteSpan payload, bool short_one) {
    return payload.size() > 4 && payload[0] == 0 && payload[1] == 0 &&
           ((short_one && payload[2] == 1) || (payload[2] == 0 && payload[3] == 1));
}

bool has_whole_lengths(ByteSpan payload, size_t length_size) {
    bool whole = true;
    for_each_with_length(payload, length_size,
                         [&whole](ByteSpan, bool is) { whole = whole && is; });
    return whole;
}

template <typename Visit>
void for_each_nal(bool annex_b, ByteSpan payload, size_t length_size, Visit&& visit) {
    if (annex_b) {
        for_each_annex_b(payload, [&visit](ByteSpan nal) { visit(nal, true); });
    } else {
        for_each_with_length(payload, length_size, visit);
    }
}

bool is_annex_b(ByteSpan payload, const UnitForm& form) {
    return has_start_code(payload, !form.has_lengths) &&
           !has_whole_lengths(payload, form.length_size);
}

PictureMessage look_into_nals(Codec codec, ByteSpan payload, const UnitForm& form) {
    PictureMessage message;
    message.annex_b = is_annex_b(payload, form);
    for_each_nal(message.annex_b, payload, form.length_size, [&](ByteSpan nal, bool whole) {
        const Looked unit = nal.empty() ? Looked() : look_into(codec, nal);
        if (!whole || unit.what == Unit::kBad) {
            message.left_out++;
            message.damaged = message.damaged || unit.is_slice;
            return;
        }
        message.units++;
        message.sets = message.sets || unit.what == Unit::kSet;
        if (unit.what == Unit::kSlice) {
            message.begins = message.slices == 0 ? unit.first : message.begins;
            message.slices++;
            message.key = message.key || unit.key;
        }
    });
    return message;
}

void append_length(size_t size, size_t length_size, Bytes& out) {
    for (size_t i = length_size; i > 0; i--) {
        out.push_back(static_cast<uint8_t>(size >> (8 * (i - 1))));
    }
}

// ---- OBUs ----

PictureMessage look_into_obus(ByteSpan payload) {
    using av1::ObuType;
    PictureMessage message;
    av1::ObuReader reader(payload);
    for (av1::ObuView obu; reader.next(obu);) {
        const bool slice = obu.type == ObuType::kFrame || obu.type == ObuType::kFrameHeader ||
                           obu.type == ObuType::kTileGroup;
        message.units++;
        message.sets = message.sets || obu.type == ObuType::kSequenceHeader;
        if (slice) {
            message.begins = message.slices == 0 ? obu.type != ObuType::kTileGroup : message.begins;
            message.slices++;
        }
    }
    message.left_out = reader.ok() ? 0 : 1;
    message.damaged = !reader.ok();
    return message;
}

}  // namespace

PictureMessage look_into_message(Codec codec, ByteSpan payload, const UnitForm& form) {
    return codec == Codec::kAv1 ? look_into_obus(payload) : look_into_nals(codec, payload, form);
}

void append_good_units(Codec codec,
                       ByteSpan payload,
                       const UnitForm& form,
                       const PictureMessage& message,
                       Bytes& out) {
    if (codec == Codec::kAv1) {
        av1::ObuReader reader(payload);
        for (av1::ObuView obu; reader.next(obu);) {
            out.insert(out.end(), obu.whole.begin(), obu.whole.end());
        }
        return;
    }
    const size_t length_size = form.length_size;
    const size_t most = length_size >= 4 ? UINT32_MAX : (size_t{1} << (8 * length_size)) - 1;
    for_each_nal(message.annex_b, payload, length_size, [&](ByteSpan nal, bool whole) {
        if (whole && !nal.empty() && nal.size() <= most &&
            look_into(codec, nal).what != Unit::kBad) {
            append_length(nal.size(), length_size, out);
            out.insert(out.end(), nal.begin(), nal.end());
        }
    });
}

}  // namespace weir::media
