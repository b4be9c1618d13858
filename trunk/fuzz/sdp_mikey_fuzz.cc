// MIKEY messages, bare and in the fields of descriptions and requests: what is read is a key that
// can be used, and reads back as it was when it is written.
#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "base/random.h"
#include "proto/sdp/mikey.h"

namespace sdp = weir::sdp;

namespace {

class Zeros final : public weir::RandomSource {
  public:
    void fill(std::span<uint8_t> out) override { std::ranges::fill(out, 0); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const weir::ByteSpan input(data, size);
    Zeros random;
    for (const auto& line : {sdp::parse_mikey(input), sdp::parse_key_mgmt(weir::as_text(input)),
                             sdp::parse_key_mgmt_field(weir::as_text(input))}) {
        if (line) {
            WEIR_CHECK(line->key_and_salt.size() == 30);
            WEIR_CHECK(sdp::parse_mikey(sdp::write_mikey(*line, {1, random, 2})) == line);
        }
    }
    return 0;
}
