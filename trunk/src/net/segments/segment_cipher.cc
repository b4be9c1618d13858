#include "net/segments/segment_cipher.h"

#include <algorithm>

#include "base/random.h"

namespace weir::net {
namespace {

// In network order, at the end of `out`.
template <size_t N>
void put_number(uint64_t number, std::array<uint8_t, N>& out) {
    out.fill(0);
    for (size_t i = 0; i < sizeof(number); i++) {
        out[N - 1 - i] = static_cast<uint8_t>(number >> (8 * i));
    }
}

}  // namespace

SegmentCipher::SegmentCipher(uint64_t first_number, uint32_t segments_per_key)
    : first_number_(first_number), segments_per_key_(std::max<uint32_t>(segments_per_key, 1)) {
    system_random().fill(secret_);
}

uint64_t SegmentCipher::key_id(uint64_t number) const {
    return number - (number - first_number_) % segments_per_key_;
}

SegmentCipher::Key SegmentCipher::key(uint64_t id) const {
    std::array<uint8_t, sizeof(id)> name;
    put_number(id, name);
    const Sha256Digest digest = hmac_sha256(secret_, name);
    Key key;
    std::copy_n(digest.begin(), key.size(), key.begin());
    return key;
}

void SegmentCipher::begin(uint64_t number) {
    CbcEncryptor::Block vector;
    put_number(number, vector);
    encryptor_.begin(key(key_id(number)), vector);
}

Bytes SegmentCipher::encrypt(ByteSpan piece) {
    Bytes out;
    encryptor_.update(piece, out);
    return out;
}

Bytes SegmentCipher::finish() {
    Bytes out;
    encryptor_.finish(out);
    return out;
}

}  // namespace weir::net
