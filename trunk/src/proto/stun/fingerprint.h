// The FINGERPRINT of STUN (RFC 8489 §14.7): CRC-32 (ITU V.42) xor "STUN".
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace weir::stun {

// CRC-32 with the polynomial of ITU V.42 (that of Ethernet, zip and PNG).
uint32_t crc32(ByteSpan bytes);

// The value of a FINGERPRINT behind these bytes. The length in the header must already include it.
uint32_t fingerprint_of(ByteSpan message);

}  // namespace weir::stun
