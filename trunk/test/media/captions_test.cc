#include "media/captions.h"

#include <cstddef>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::media {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// One caption byte pair each: type (0 and 1 are the fields of CEA-608, 2 and 3 CEA-708) and data.
struct Triplet {
    uint8_t type;
    uint8_t first;
    uint8_t second;
    bool valid = true;
};

Bytes user_data(const std::vector<Triplet>& triplets) {
    Bytes out = {0xB5, 0x00, 0x31, 'G', 'A', '9', '4', 0x03};
    out.push_back(static_cast<uint8_t>(0x40 | triplets.size()));
    out.push_back(0xFF);
    for (const Triplet& each : triplets) {
        out.push_back(static_cast<uint8_t>(0xF8 | (each.valid ? 4 : 0) | each.type));
        out.push_back(each.first);
        out.push_back(each.second);
    }
    out.push_back(0xFF);
    return out;
}

Bytes escaped(const Bytes& bytes) {
    Bytes out;
    size_t zeros = 0;
    for (const uint8_t byte : bytes) {
        if (zeros >= 2 && byte <= 3) {
            out.push_back(3);
            zeros = 0;
        }
        out.push_back(byte);
        zeros = byte == 0 ? zeros + 1 : 0;
    }
    return out;
}

// Of SEI messages: type and payload.
Bytes sei(const std::vector<std::pair<uint8_t, Bytes>>& messages, Bytes header = {0x06}) {
    Bytes body;
    for (const auto& [type, payload] : messages) {
        body.push_back(type);
        body.push_back(static_cast<uint8_t>(payload.size()));
        body.insert(body.end(), payload.begin(), payload.end());
    }
    body.push_back(0x80);
    const Bytes safe = escaped(body);
    header.insert(header.end(), safe.begin(), safe.end());
    return header;
}

Bytes frame(const std::vector<Bytes>& units) {
    Bytes out;
    for (const Bytes& unit : units) {
        ByteWriter(out).u32(static_cast<uint32_t>(unit.size())).bytes(unit);
    }
    return out;
}

std::vector<std::string> found(const Bytes& frame, Codec codec = Codec::kH264) {
    CaptionChannels channels;
    find_captions(codec, frame, 4, channels);
    return channels.names();
}

const Bytes kSlice = {0x65, 0x88, 0x84};

TEST(CaptionsTest, FieldsAndServicesAreFound) {
    EXPECT_THAT(found(frame({sei({{4, user_data({{0, 0x14, 0x2C}})}}), kSlice})),
                ElementsAre("CC1"));
    EXPECT_THAT(found(frame({sei({{4, user_data({{1, 0x15, 0x2C}, {0, 0x80, 0x80}})}}), kSlice})),
                ElementsAre("CC3"));
    EXPECT_THAT(found(frame({sei({{4, user_data({{3, 0x02, 0x22}, {3, 0x42, 0x41}})}}), kSlice})),
                ElementsAre("SERVICE1", "SERVICE2"));
}

TEST(CaptionsTest, PaddingAndWhatIsNotValidAreNone) {
    EXPECT_THAT(found(frame({sei({{4, user_data({{0, 0x80, 0x80},
                                                 {1, 0x00, 0x00},
                                                 {0, 0x14, 0x2C, false},
                                                 {2, 0x22, 0x22},
                                                 {3, 0x02, 0x00},
                                                 {3, 0x02, 0x20},
                                                 {3, 0x02, 0xE1}})}}),
                             kSlice})),
                IsEmpty());
}

TEST(CaptionsTest, OtherMessagesAreGoneOver) {
    const Bytes timing(17, 1);
    const Bytes other = {0xB5, 0x00, 0x31, 'D', 'T', 'G', '1', 0x03, 0x41, 0xFF, 0xFC, 0x14, 0x2C};
    EXPECT_THAT(found(frame({{0x67, 1, 2}, sei({{1, timing}, {4, other}}), kSlice})), IsEmpty());
    EXPECT_THAT(found(frame({sei({{1, timing},
                                  {4, other},
                                  {5, Bytes(20, 0)},  // with escapes
                                  {4, user_data({{0, 0x00, 0x01}})}}),
                             kSlice})),
                ElementsAre("CC1"));
    EXPECT_THAT(found(frame({kSlice, sei({{4, user_data({{0, 0x14, 0x2C}})}})})), IsEmpty())
        << "behind the picture there are none";
}

TEST(CaptionsTest, HevcHasThemInPrefixMessages) {
    const Bytes slice = {0x26, 0x01, 0xAF};
    const Bytes unit = sei({{4, user_data({{0, 0x14, 0x2C}})}}, {0x4E, 0x01});
    EXPECT_THAT(found(frame({unit, slice}), Codec::kHevc), ElementsAre("CC1"));
    EXPECT_THAT(found(frame({unit, slice}), Codec::kH264), IsEmpty());
    EXPECT_THAT(found(frame({unit, slice}), Codec::kAv1), IsEmpty());
}

// Whatever is cut off or longer than it says: nothing is read beyond it.
TEST(CaptionsTest, EveryBeginningIsHarmless) {
    const Bytes whole = frame({sei({{4, user_data({{0, 0x14, 0x2C}, {3, 0x02, 0x22}})}}), kSlice});
    for (size_t size = 0; size <= whole.size(); size++) {
        (void)found(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
    }
    for (size_t at = 0; at < whole.size(); at++) {
        Bytes spoilt = whole;
        spoilt[at] = 0xFF;
        (void)found(spoilt);
        (void)found(spoilt, Codec::kHevc);
    }
}

TEST(CaptionsTest, TheConfigurationSaysHowLongLengthsAre) {
    const Bytes config = {1, 0x64, 0, 0x1F, 0xFD, 0xE0, 0};
    EXPECT_EQ(nal_length_size(Codec::kH264, config), 2U);
    EXPECT_EQ(nal_length_size(Codec::kH264, {}), 4U);
    EXPECT_EQ(nal_length_size(Codec::kVp9, config), 4U);
}

}  // namespace
}  // namespace weir::media
