// What a publisher's message holds of a picture of H.264, HEVC or AV1: whole units, broken ones,
// slices. No decoding; a look at the first bytes of each unit.
//
// Not every encoder sends whole pictures, and not every one sends whole units. What a decoder could
// make nothing of is named here and left out by append_good_units().
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "media/codec.h"

namespace weir::media {

// Whether messages of this codec are looked into; of others nothing is known but that they are
// frames.
constexpr bool has_units(Codec codec) {
    return codec == Codec::kH264 || codec == Codec::kHevc || codec == Codec::kAv1;
}

struct PictureMessage {
    uint32_t units = 0;     // that are good
    uint32_t left_out = 0;  // that are not: empty, cut off, with a forbidden bit, unreadable sets
    uint32_t slices = 0;    // of the good ones; of AV1 frames and tile groups
    bool annex_b = false;   // start codes stand where lengths belong (H.264 annex B)
    bool begins = false;    // the first slice is the first one of a picture
    bool damaged = false;   // a slice is among those left out
    bool key = false;       // has a slice of an IDR or IRAP picture; of AV1 not looked at
    bool sets = false;      // has parameter sets, of AV1 a sequence header

    bool is_clean() const { return left_out == 0 && !annex_b; }
};

// How units stand in the messages of a track.
struct UnitForm {
    size_t length_size = 4;    // bytes of a NAL unit's length, 1 to 4 (of AV1 without meaning)
    bool has_lengths = false;  // seen: 0 0 1 is the beginning of a length, and no start code
};

PictureMessage look_into_message(Codec codec, ByteSpan payload, const UnitForm& form);

// Appends the units that are good, with lengths of the same size. `message`: of this payload.
void append_good_units(
    Codec codec, ByteSpan payload, const UnitForm& form, const PictureMessage& message, Bytes& out);

}  // namespace weir::media
