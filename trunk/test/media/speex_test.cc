#include "media/speex.h"

#include <gtest/gtest.h>

#include "test/support/codec_samples.h"

namespace weir::media::speex {
namespace {

// A tone of 440 Hz at 8 kHz, one frame of mode 5 (300 bits): libspeex 1.2.1 by way of
// libavcodec 59.
const Bytes kNarrow =
    test::from_hex("28549822d0a6259f9dbf0f7d505c6caaced2c7aa4b25767bc960969d55b2bb3a1c7c682baa07");
const Bytes kNarrowNext =
    test::from_hex("28548220d0b91cd5ba9fb878db810ee80ade6bbd3765514f8daf36fe9ff95ea3d31fffedbed7");

constexpr size_t kBits = 300;

bool bit(const Bytes& bytes, size_t at) {
    return (bytes[at / 8] >> (7 - at % 8) & 1U) != 0;
}

void append(Bytes& out, size_t& used, bool value) {
    if (used % 8 == 0) {
        out.push_back(0);
    }
    out.back() = static_cast<uint8_t>(out.back() | (value ? 1U : 0U) << (7 - used % 8));
    used++;
}

class BitString {
  public:
    BitString& add(uint32_t value, size_t count) {
        while (count-- > 0) {
            append(bytes_, used_, (value >> count & 1U) != 0);
        }
        return *this;
    }

    BitString& add(const Bytes& from, size_t count) {
        for (size_t i = 0; i < count; i++) {
            append(bytes_, used_, bit(from, i));
        }
        return *this;
    }

    BitString& zeros(size_t count) {
        while (count-- > 0) {
            append(bytes_, used_, false);
        }
        return *this;
    }

    Bytes padded() {
        for (bool value = false; used_ % 8 != 0; value = true) {
            append(bytes_, used_, value);
        }
        return bytes_;
    }

  private:
    Bytes bytes_;
    size_t used_ = 0;
};

TEST(SpeexTest, CountsFramesOfNarrowband) {
    EXPECT_EQ(count_frames(kNarrow), 1U);
    EXPECT_EQ(sample_rate(kNarrow), 8000U);
    const Bytes two = BitString().add(kNarrow, kBits).add(kNarrowNext, kBits).padded();
    EXPECT_EQ(count_frames(two), 2U);
    EXPECT_EQ(count_frames(Bytes{0x06}), 1U) << "mode 0: silence, and two bits of padding";
}

TEST(SpeexTest, TellsTheBandByItsLayers) {
    // Mode 5 with a layer of mode 3, and another of mode 1: sizes with their heads.
    const Bytes wide = BitString().add(kNarrow, kBits).add(0b1011, 4).zeros(188).padded();
    EXPECT_EQ(count_frames(wide), 1U);
    EXPECT_EQ(sample_rate(wide), 16'000U);
    const Bytes ultra =
        BitString().add(kNarrow, kBits).add(0b1011, 4).zeros(188).add(0b1001, 4).zeros(32).padded();
    EXPECT_EQ(sample_rate(ultra), 32'000U);
    EXPECT_EQ(count_frames(ultra), 1U);
}

TEST(SpeexTest, EndsAtTheTerminator) {
    EXPECT_EQ(count_frames(BitString().add(kNarrow, kBits).add(15, 5).zeros(40).padded()), 1U);
    EXPECT_EQ(count_frames(BitString().add(15, 5).padded()), 0U);
}

TEST(SpeexTest, LeavesMessagesOut) {
    // An in-band request of type 2 has 4 bits; one of a user with 2 bytes.
    const Bytes packet = BitString()
                             .add(14, 5)
                             .add(2, 4)
                             .zeros(4)
                             .add(kNarrow, kBits)
                             .add(13, 5)
                             .add(2, 4)
                             .zeros(5 + 16)
                             .add(kNarrowNext, kBits)
                             .padded();
    EXPECT_EQ(count_frames(packet), 2U);
    EXPECT_EQ(split(packet, 1), (std::vector<Bytes>{kNarrow, kNarrowNext}));
}

TEST(SpeexTest, RejectsWhatIsCutOrHasNoSuchMode) {
    EXPECT_EQ(count_frames({}), 0U);
    for (size_t size = 1; size < kNarrow.size(); size++) {
        EXPECT_EQ(count_frames(ByteSpan(kNarrow).first(size)), 0U) << size;
    }
    EXPECT_EQ(count_frames(Bytes{9 << 3, 0}), 0U) << "reserved mode";
    EXPECT_EQ(count_frames(Bytes(20, 0xFF)), 0U) << "a layer without narrowband";
    const Bytes cut = BitString().add(kNarrow, kBits).add(0b1011, 4).zeros(100).padded();
    EXPECT_EQ(count_frames(cut), 0U);
    EXPECT_TRUE(split(cut, 1).empty());
}

TEST(SpeexTest, RejectsMoreFramesThanTheLimit) {
    BitString packet;
    for (size_t i = 0; i < kMaxFrames; i++) {
        packet.add(0, 5);
    }
    EXPECT_EQ(count_frames(packet.padded()), kMaxFrames);
    packet.add(0, 8);
    EXPECT_EQ(count_frames(packet.padded()), 0U);
}

TEST(SpeexTest, SplitsIntoPacketsOfWholeFrames) {
    const Bytes three =
        BitString().add(kNarrow, kBits).add(kNarrowNext, kBits).add(kNarrow, kBits).padded();
    EXPECT_EQ(split(three, 1), (std::vector<Bytes>{kNarrow, kNarrowNext, kNarrow}));
    EXPECT_EQ(split(three, 2),
              (std::vector<Bytes>{BitString().add(kNarrow, kBits).add(kNarrowNext, kBits).padded(),
                                  kNarrow}));
    EXPECT_EQ(split(three, 3), (std::vector<Bytes>{three}));
    EXPECT_TRUE(split(three, 0).empty());
}

}  // namespace
}  // namespace weir::media::speex
