// The parameter sets of an H.264 or HEVC track that are in force: those of its configuration, and
// those that its pictures bring along, which replace the ones of the same kind and number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "media/codec.h"

namespace weir::media {

class ParameterSets {
  public:
    // So many sets of each kind are kept; the oldest goes when another one comes.
    static constexpr size_t kMaxSets = 16;
    static constexpr size_t kMaxSetSize = 1024;

    // For a track that announces no configuration. Sets of the same codec are kept.
    void begin(Codec codec);

    // Forgets what it has and takes the sets of a configuration (avcC, hvcC).
    void set_config(Codec codec, ByteSpan record);

    enum class Taken : uint8_t {
        kKnown,     // it is in force already
        kSequence,  // another sequence (HEVC: or video) parameter set than before
        kPicture,   // another picture parameter set, or the same sequence by another number
        kRefused,   // cannot be read
    };

    // A parameter set NAL unit of a picture. It comes first of its kind, as decoders and players
    // take the first sequence parameter set for the stream's; of too many the oldest one goes.
    Taken take(ByteSpan nal);

    // The configuration record; empty while a kind is missing.
    Bytes build() const;

  private:
    struct Set {
        uint8_t type = 0;
        uint32_t id = 0;
        Bytes nal;
    };

    bool identify(ByteSpan nal, Set& out) const;
    bool renames(const Set& set) const;
    std::vector<ByteSpan> of_type(uint8_t type) const;

    Codec codec_ = Codec::kUnknown;
    std::vector<Set> sets_;
};

}  // namespace weir::media
