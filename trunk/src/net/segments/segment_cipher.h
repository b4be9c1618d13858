// SegmentCipher: encrypts the segments of one stream as HLS has it (METHOD=AES-128, RFC 8216
// §4.3.2.4): each whole segment by itself, with its media sequence number as the initialization
// vector. Keys change with time, and are never kept: they follow from a secret of this object and
// the number of the first segment that has them.
#pragma once

#include <cstdint>

#include "base/cbc_encryptor.h"
#include "base/hmac.h"

namespace weir::net {

class SegmentCipher {
  public:
    using Key = CbcEncryptor::Block;

    // `first_number`: of all segments; `segments_per_key`: at least 1.
    SegmentCipher(uint64_t first_number, uint32_t segments_per_key);

    // Of the key that this segment is encrypted with: the number of the first one that is.
    // `number`: not before the first.
    uint64_t key_id(uint64_t number) const;

    // Some segment from the first one on may have it.
    bool is_key_id(uint64_t id) const { return id >= first_number_ && key_id(id) == id; }

    Key key(uint64_t id) const;

    // The bytes of a segment, piece by piece.
    void begin(uint64_t number);
    Bytes encrypt(ByteSpan piece);
    Bytes finish();

  private:
    uint64_t first_number_;
    uint32_t segments_per_key_;
    Sha256Digest secret_;
    CbcEncryptor encryptor_;
};

}  // namespace weir::net
