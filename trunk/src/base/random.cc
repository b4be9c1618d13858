#include "base/random.h"

#include <array>
#include <string_view>

#include <sys/random.h>

#include "base/bytes.h"
#include "base/check.h"

namespace weir {
namespace {

class SystemRandom final : public RandomSource {
  public:
    void fill(std::span<uint8_t> out) override {
        size_t done = 0;
        while (done < out.size()) {
            ssize_t got = getrandom(out.data() + done, out.size() - done, 0);
            WEIR_CHECK(got > 0);
            done += static_cast<size_t>(got);
        }
    }
};

}  // namespace

RandomSource& system_random() {
    static SystemRandom instance;
    return instance;
}

uint32_t random_u32(RandomSource& source) {
    std::array<uint8_t, 4> bytes;
    source.fill(bytes);
    return ByteReader(bytes).u32();
}

std::string random_id(RandomSource& source, size_t length) {
    static constexpr std::string_view kAlphabet = "0123456789abcdefghijklmnopqrstuvwxyz";
    std::string id(length, '0');
    std::array<uint8_t, 16> bytes{};
    for (size_t i = 0; i < length; i++) {
        if (i % bytes.size() == 0) {
            source.fill(bytes);
        }
        id[i] = kAlphabet[bytes[i % bytes.size()] % kAlphabet.size()];
    }
    return id;
}

}  // namespace weir
