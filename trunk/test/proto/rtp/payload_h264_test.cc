#include "proto/rtp/payload_h264.h"

#include <gtest/gtest.h>

#include "media/avc.h"

#include "test/support/codec_samples.h"
#include "test/support/payloads.h"

namespace weir::rtp {
namespace {

using test::counted;
using test::from_hex;
using test::nal_frame;
using test::Payload;
using test::Receiver;

const Bytes kSps = test::kAvcHighSps;
const Bytes kPps = test::kAvcHighPps;

// The first bytes of slices of x264: an IDR, a P-frame, a B-frame that nothing refers to.
Bytes idr(size_t size) {
    return counted(from_hex("658884004f5de7960eaa"), size);
}

Bytes p_slice(size_t size) {
    return counted(from_hex("419a246c4fffd7bd5247"), size);
}

Bytes unreferenced_b(size_t size) {
    return counted(from_hex("019e6174467fee6162fd"), size);
}

std::vector<Payload> packets(const Bytes& frame, size_t room = 1000, ByteSpan config = {}) {
    H264Packetizer packetizer;
    if (!config.empty()) {
        EXPECT_TRUE(packetizer.set_config(config));
    }
    return test::packetize(packetizer, frame, room);
}

TEST(H264PacketizerTest, SendsASmallUnitAsItIs) {
    const Bytes slice = p_slice(100);
    EXPECT_EQ(packets(nal_frame({slice})), (std::vector<Payload>{{slice, true}}));
}

TEST(H264PacketizerTest, CutsALargeUnitIntoFragmentsOfEqualSize) {
    for (size_t size : {1001U, 1999U, 5000U, 12'345U}) {
        const Bytes slice = p_slice(size);
        const std::vector<Payload> all = packets(nal_frame({slice}));
        EXPECT_TRUE(test::are_equal_sizes(all, 1000)) << size;
        EXPECT_EQ(all.size(), (size - 1 + 997) / 998) << size;
        // RFC 6184 §5.8: indicator with F, NRI and type 28; header with S, E and the type.
        EXPECT_EQ(all.front().bytes[0], 0x40 | 28);
        EXPECT_EQ(all.front().bytes[1], 0x80 | 1);
        EXPECT_EQ(all.back().bytes[1], 0x40 | 1);
        if (all.size() > 2) {
            EXPECT_EQ(all[1].bytes[1], 1);
        }
    }
}

TEST(H264PacketizerTest, AggregatesSmallUnits) {
    // RFC 6184 §5.7.1: F is the OR, NRI the largest.
    const Bytes sei = from_hex("0605ff01");
    const Bytes slice = p_slice(20);
    Bytes expected = from_hex("58 0004 0605ff01 0014");
    expected.insert(expected.end(), slice.begin(), slice.end());
    EXPECT_EQ(packets(nal_frame({sei, slice})), (std::vector<Payload>{{expected, true}}));
}

TEST(H264PacketizerTest, PutsParameterSetsBeforeAKeyFrame) {
    const std::vector<Payload> all = packets(nal_frame({idr(3000)}), 1000, test::kAvcHighConfig);
    ASSERT_EQ(all.size(), 5U);
    Bytes sets = {0x60 | 24, 0, static_cast<uint8_t>(kSps.size())};
    ByteWriter(sets).bytes(kSps).u16(static_cast<uint16_t>(kPps.size())).bytes(kPps);
    EXPECT_EQ(all[0], (Payload{sets, false}));
    EXPECT_TRUE(test::are_equal_sizes({all.begin() + 1, all.end()}, 1000));
    // Not before others, and not where the frame brings its own.
    EXPECT_EQ(packets(nal_frame({p_slice(100)}), 1000, test::kAvcHighConfig).size(), 1U);
    EXPECT_EQ(packets(nal_frame({kSps, kPps, idr(100)}), 1000, test::kAvcHighConfig),
              packets(nal_frame({kSps, kPps, idr(100)})));
}

TEST(H264PacketizerTest, LeavesDelimitersAndFillerOut) {
    const Bytes slice = p_slice(100);
    EXPECT_EQ(packets(nal_frame({from_hex("09f0"), slice, from_hex("0cffff80")})),
              (std::vector<Payload>{{slice, true}}));
    EXPECT_TRUE(packets(nal_frame({from_hex("09f0")})).empty());
}

TEST(H264PacketizerTest, TakesTheSizeOfLengthsFromTheConfiguration) {
    Bytes config = test::kAvcBaselineConfig;
    config[4] = 0xFD;  // two bytes
    const Bytes slice = p_slice(300);
    Bytes frame;
    ByteWriter(frame).u16(300).bytes(slice);
    EXPECT_EQ(packets(frame, 1000, config), (std::vector<Payload>{{slice, true}}));
}

TEST(H264PacketizerTest, RefusesFramesThatAreNotWhole) {
    const Bytes frame = nal_frame({p_slice(100), p_slice(50)});
    for (size_t size = 0; size < frame.size(); size++) {
        if (size != 104) {
            EXPECT_TRUE(packets({frame.begin(), frame.begin() + static_cast<long>(size)}).empty());
        }
    }
    H264Packetizer packetizer;
    EXPECT_FALSE(packetizer.set_config(from_hex("02")));
}

TEST(H264PacketizerTest, NeverGoesOverTheRoomWhateverTheUnitsAre) {
    for (size_t room : {kMinPayloadRoom, size_t{100}, size_t{1200}}) {
        for (uint32_t seed = 1; seed < 60; seed++) {
            std::vector<Bytes> nals;
            for (uint32_t i = 0; i < seed % 20 + 1; i++) {
                nals.push_back(p_slice(10 + (seed * 37 + i * 101) % (3 * room)));
            }
            const Bytes frame = nal_frame(nals);
            H264Depacketizer depacketizer;
            Receiver receiver(depacketizer);
            const std::vector<Payload> all = packets(frame, room);
            for (const Payload& payload : all) {
                EXPECT_LE(payload.bytes.size(), room);
                EXPECT_EQ(payload.marker, &payload == &all.back());
            }
            receiver.frame(all);
            ASSERT_EQ(receiver.frames.size(), 1U);
            EXPECT_EQ(receiver.frames[0].data, frame);
        }
    }
}

TEST(H264DepacketizerTest, GivesParameterSetsAsTheConfiguration) {
    H264Depacketizer depacketizer(5);
    Receiver receiver(depacketizer);
    receiver.frame(packets(nal_frame({kSps, kPps, idr(5000)})));
    receiver.frame(packets(nal_frame({p_slice(2000)})));
    receiver.frame(packets(nal_frame({unreferenced_b(20)})));
    receiver.frame(packets(nal_frame({kSps, kPps, idr(5000)})));
    ASSERT_EQ(receiver.frames.size(), 4U);
    const Frame& key = receiver.frames[0];
    EXPECT_TRUE(key.key);
    EXPECT_EQ(key.config, test::kAvcHighConfig);
    EXPECT_EQ(key.width, test::kSampleWidth);
    EXPECT_EQ(key.height, test::kSampleHeight);
    Bytes expected(5, 0);
    ByteWriter(expected).bytes(nal_frame({idr(5000)}));
    EXPECT_EQ(key.data, expected);
    EXPECT_FALSE(receiver.frames[1].key || receiver.frames[1].discardable);
    EXPECT_TRUE(receiver.frames[2].discardable);
    EXPECT_TRUE(receiver.frames[3].key);
    EXPECT_TRUE(receiver.frames[3].config.empty());  // the same as before
    EXPECT_EQ(receiver.frames[3].rtp_time, 0xFFFF'F000U + 4 * 3000U);
    EXPECT_EQ(receiver.frames[1].width, test::kSampleWidth);
    EXPECT_FALSE(receiver.frames[3].after_loss);
}

TEST(H264DepacketizerTest, GivesAnotherConfigurationWhenTheSetsChange) {
    H264Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.frame(packets(nal_frame({kSps, kPps, idr(100)})));
    receiver.frame(packets(nal_frame({test::kAvcBaselineSps, test::kAvcBaselinePps, idr(100)})));
    ASSERT_EQ(receiver.frames.size(), 2U);
    EXPECT_EQ(receiver.frames[1].config, test::kAvcBaselineConfig);
}

TEST(H264DepacketizerTest, TakesSetsAsSinglePacketsOfTheirOwn) {
    H264Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.next_time();
    EXPECT_EQ(receiver.one(kSps, true), FeedStatus::kTaken);
    EXPECT_EQ(receiver.one(kPps, false), FeedStatus::kTaken);
    receiver.next_time();
    EXPECT_EQ(receiver.one(idr(100), true), FeedStatus::kTaken);
    ASSERT_EQ(receiver.frames.size(), 1U);
    EXPECT_EQ(receiver.frames[0].config, test::kAvcHighConfig);
    EXPECT_EQ(depacketizer.dropped_frames(), 0U);
}

TEST(H264DepacketizerTest, TakesParameterSetsThatCameWithTheSdp) {
    H264Depacketizer depacketizer;
    EXPECT_TRUE(depacketizer.add_parameter_set(kSps));
    EXPECT_TRUE(depacketizer.add_parameter_set(kPps));
    EXPECT_FALSE(depacketizer.add_parameter_set(idr(20)));
    EXPECT_FALSE(depacketizer.add_parameter_set({}));
    Receiver receiver(depacketizer);
    receiver.frame(packets(nal_frame({idr(100)})));
    ASSERT_EQ(receiver.frames.size(), 1U);
    EXPECT_EQ(receiver.frames[0].config, test::kAvcHighConfig);
}

TEST(H264DepacketizerTest, NeverGivesAFrameOutThatLostAPacket) {
    const Bytes key = nal_frame({kSps, kPps, idr(5000)});
    const Bytes inter = nal_frame({p_slice(2500), p_slice(2500)});
    const std::vector<Payload> key_packets = packets(key);
    const std::vector<Payload> inter_packets = packets(inter);
    for (size_t lost = 0; lost < inter_packets.size(); lost++) {
        H264Depacketizer depacketizer;
        Receiver receiver(depacketizer);
        receiver.frame(key_packets);
        receiver.frame(inter_packets, {lost});
        receiver.frame(packets(nal_frame({p_slice(100)})));
        receiver.frame(key_packets);
        ASSERT_EQ(receiver.frames.size(), 3U) << lost;
        EXPECT_EQ(receiver.frames[1].data, nal_frame({p_slice(100)})) << lost;
        EXPECT_TRUE(receiver.frames[1].after_loss) << lost;
        EXPECT_FALSE(receiver.frames[2].after_loss) << lost;
        EXPECT_EQ(depacketizer.dropped_frames(), 1U) << lost;
    }
}

TEST(H264DepacketizerTest, TellsTheCallerOfLossAtOnce) {
    H264Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    const std::vector<Payload> inter = packets(nal_frame({p_slice(2900)}));
    receiver.frame(packets(nal_frame({kSps, kPps, idr(100)})));
    EXPECT_EQ(receiver.frame(inter, {1}), (std::vector{FeedStatus::kTaken, FeedStatus::kLost}));
    EXPECT_EQ(receiver.frame(inter),
              (std::vector{FeedStatus::kTaken, FeedStatus::kTaken, FeedStatus::kTaken}));
}

TEST(H264DepacketizerTest, DropsAKeyFrameThatMayHaveLostItsSets) {
    H264Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    const std::vector<Payload> key = packets(nal_frame({kSps, kPps, idr(3000)}));
    receiver.frame(key);
    receiver.frame(key, {0});  // the packet with SPS and PPS
    EXPECT_EQ(receiver.frames.size(), 1U);
    receiver.frame(key);
    ASSERT_EQ(receiver.frames.size(), 2U);
    EXPECT_TRUE(receiver.frames[1].after_loss);
}

TEST(H264DepacketizerTest, BeginsWithNoKeyFrameThatHasNoSets) {
    H264Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    const std::vector<Payload> key = packets(nal_frame({kSps, kPps, idr(3000)}));
    // SPS and PPS were in the first packet, and nobody knows that there was one.
    const std::vector<Payload> rest(key.begin() + 1, key.end());
    EXPECT_EQ(receiver.frame(rest).back(), FeedStatus::kLost);
    EXPECT_TRUE(receiver.frames.empty());
    receiver.frame(key);
    ASSERT_EQ(receiver.frames.size(), 1U);
    EXPECT_EQ(receiver.frames[0].config, test::kAvcHighConfig);
}

TEST(H264DepacketizerTest, StartsInTheMiddleOfAStreamOnlyAtTheStartOfAFrame) {
    H264Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.frame(packets(nal_frame({p_slice(2900)})), {0});
    Bytes second_slice = p_slice(100);
    second_slice[1] = 0x26;  // first_mb_in_slice is not 0
    EXPECT_TRUE(receiver.frames.empty());
    receiver.lose();
    receiver.frame(packets(nal_frame({second_slice})));
    EXPECT_TRUE(receiver.frames.empty());
    receiver.frame(packets(nal_frame({p_slice(2900)})));
    EXPECT_EQ(receiver.frames.size(), 1U);
}

TEST(H264DepacketizerTest, EndsAFrameAtAnotherTimeWhenNoMarkerCame) {
    H264Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    for (int i = 0; i < 3; i++) {
        receiver.next_time();
        receiver.one(p_slice(50), false);
    }
    EXPECT_EQ(receiver.frames.size(), 2U);
    receiver.next_time();
    receiver.one(p_slice(60), true);  // ends two frames at once
    EXPECT_EQ(receiver.frames.size(), 4U);
}

// Payloads of packetization-mode 2, RFC 6184 §5.7 and §5.8: a type, a decoding order number, and
// what the format puts behind it.
Bytes ordered(uint8_t type, uint16_t order, const std::vector<Bytes>& parts) {
    Bytes payload = {static_cast<uint8_t>(0x60 | type)};
    ByteWriter out(payload);
    out.u16(order);
    for (const Bytes& part : parts) {
        out.bytes(part);
    }
    return payload;
}

Bytes sized(const Bytes& nal, std::string_view between = "") {
    Bytes out;
    ByteWriter(out).u16(static_cast<uint16_t>(nal.size())).bytes(from_hex(between)).bytes(nal);
    return out;
}

TEST(H264DepacketizerTest, ReadsPacketsWithDecodingOrderNumbersWhileTheyAreInOrder) {
    Bytes second = p_slice(40);
    second[1] = 0x26;  // first_mb_in_slice is not 0
    H264Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.next_time();
    receiver.one(ordered(25, 0xFFFE, {sized(kSps), sized(kPps), sized(idr(50))}), true);  // STAP-B
    receiver.next_time();
    receiver.one(ordered(26, 0xFFFF, {sized(p_slice(60), "000000"), sized(second, "010000")}),
                 true);  // MTAP16, over the wrap
    receiver.next_time();
    receiver.one(ordered(27, 1, {sized(p_slice(70), "00000000")}), true);  // MTAP24
    receiver.next_time();
    const Bytes slice = p_slice(80);
    const Bytes head(slice.begin() + 1, slice.begin() + 41);
    const Bytes tail(slice.begin() + 41, slice.end());
    Bytes fu_b = {0x5D, 0x81, 0, 2};
    ByteWriter(fu_b).bytes(head);
    Bytes fu_a = {0x5C, 0x41};
    ByteWriter(fu_a).bytes(tail);
    EXPECT_EQ(receiver.one(fu_b, false), FeedStatus::kTaken);
    EXPECT_EQ(receiver.one(fu_a, true), FeedStatus::kTaken);
    ASSERT_EQ(receiver.frames.size(), 4U);
    EXPECT_EQ(receiver.frames[0].data, nal_frame({idr(50)}));
    EXPECT_EQ(receiver.frames[1].data, nal_frame({p_slice(60), second}));
    EXPECT_EQ(receiver.frames[2].data, nal_frame({p_slice(70)}));
    EXPECT_EQ(receiver.frames[3].data, nal_frame({slice}));
}

TEST(H264DepacketizerTest, BeginsAfterALossWithAnyKindOfPacketThatBeginsAFrame) {
    Bytes fu_b = {0x5D, 0x81, 0, 2};
    ByteWriter(fu_b).bytes(ByteSpan(p_slice(30)).subspan(1));
    for (const Bytes& payload :
         {ordered(25, 5, {sized(p_slice(20))}), ordered(26, 5, {sized(p_slice(20), "000000")}),
          ordered(27, 5, {sized(p_slice(20), "00000000")}), fu_b}) {
        H264Depacketizer depacketizer;
        Receiver receiver(depacketizer);
        receiver.frame(packets(nal_frame({p_slice(50)})));
        receiver.lose();
        receiver.next_time();
        receiver.one(payload, false);
        EXPECT_EQ(depacketizer.dropped_frames(), 0U) << int{payload[0]};
    }
}

TEST(H264DepacketizerTest, RefusesUnitsThatAreInterleaved) {
    H264Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.next_time();
    EXPECT_EQ(receiver.one(ordered(25, 10, {sized(p_slice(60))}), true), FeedStatus::kTaken);
    receiver.next_time();
    EXPECT_EQ(receiver.one(ordered(25, 9, {sized(p_slice(60))}), true), FeedStatus::kMalformed);
    receiver.next_time();
    // Of another time than its packet.
    EXPECT_EQ(receiver.one(ordered(26, 11, {sized(p_slice(60), "000bb8")}), true),
              FeedStatus::kMalformed);
    receiver.next_time();
    EXPECT_EQ(receiver.one(from_hex("5d 01 0001 ff"), true), FeedStatus::kMalformed);  // FU-B, no S
    EXPECT_EQ(receiver.frames.size(), 1U);
}

TEST(H264DepacketizerTest, RefusesBrokenPayloads) {
    for (const char* hex : {"1a 0001 0004 00 0000 41ff", "1b 0001 0002 00 0000 41", "19 00", "19",
                            "19 0001 0004 41ff", "1a00", "1b00", "1d 81 0001", "1e00", "1f00", "00",
                            "18", "18 0005 4101", "18 0000", "1c", "1c 81", "1c 41 00"}) {
        H264Depacketizer depacketizer;
        Receiver receiver(depacketizer);
        receiver.frame(packets(nal_frame({p_slice(50)})));
        receiver.next_time();
        EXPECT_EQ(receiver.one(from_hex(hex), true), FeedStatus::kMalformed) << hex;
        EXPECT_EQ(receiver.frames.size(), 1U);
        receiver.frame(packets(nal_frame({p_slice(50)})));
        ASSERT_EQ(receiver.frames.size(), 2U) << hex;
        EXPECT_TRUE(receiver.frames[1].after_loss) << hex;
    }
}

TEST(H264DepacketizerTest, RefusesAUnitWhosePiecesHaveNoEnd) {
    H264Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    std::vector<Payload> all = packets(nal_frame({p_slice(2900)}));
    all[2].bytes[1] = 1;  // no E
    receiver.frame(all);
    EXPECT_EQ(receiver.frame(packets(nal_frame({p_slice(50)}))).back(), FeedStatus::kLost);
    all = packets(nal_frame({p_slice(2900)}));
    all[1].bytes[1] = 0x81;  // S again
    EXPECT_EQ(receiver.frame(all)[1], FeedStatus::kMalformed);
    EXPECT_EQ(receiver.frames.size(), 1U) << "the short one";
    EXPECT_TRUE(depacketizer.trusts_markers());
}

// RFC 6184 §5.1: a receiver must not rely on the marker.

Bytes later_slice(Bytes slice) {
    slice[1] = 0x26;  // first_mb_in_slice is not 0
    return slice;
}

// A packet and a marker for each NAL unit.
std::vector<Payload> one_by_one(const std::vector<Bytes>& nals) {
    std::vector<Payload> all;
    for (const Bytes& nal : nals) {
        all.push_back({nal, true});
    }
    return all;
}

TEST(H264DepacketizerTest, SlicesWithAMarkerEachAreOnePicture) {
    H264Depacketizer depacketizer;
    depacketizer.hold_first_frame();
    Receiver receiver(depacketizer);
    const Bytes key = idr(100);
    const std::vector<Bytes> inter = {p_slice(60), later_slice(p_slice(70))};
    receiver.frame(one_by_one({kSps, kPps, key, later_slice(idr(90))}));
    receiver.frame(one_by_one(inter));
    receiver.frame(one_by_one(inter));
    EXPECT_FALSE(depacketizer.trusts_markers());
    EXPECT_EQ(depacketizer.dropped_frames(), 0U);
    ASSERT_EQ(receiver.frames.size(), 2U) << "the third one waits for the next";
    EXPECT_EQ(receiver.frames[0].data, nal_frame({key, later_slice(idr(90))}));
    EXPECT_EQ(receiver.frames[0].config, test::kAvcHighConfig);
    EXPECT_EQ(receiver.frames[1].data, nal_frame(inter));
}

TEST(H264DepacketizerTest, ThePictureThatShowsAWrongMarkerCountsAsLost) {
    H264Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.frame(packets(nal_frame({kSps, kPps, idr(100)})));
    const std::vector<Bytes> inter = {p_slice(60), later_slice(p_slice(70))};
    EXPECT_EQ(receiver.frame(one_by_one(inter)),
              (std::vector{FeedStatus::kTaken, FeedStatus::kLost}));
    EXPECT_EQ(depacketizer.dropped_frames(), 1U);
    receiver.frame(one_by_one(inter));
    receiver.frame(one_by_one(inter));
    ASSERT_EQ(receiver.frames.size(), 3U);
    EXPECT_TRUE(receiver.frames[2].after_loss);
    EXPECT_EQ(receiver.frames[2].data, nal_frame(inter));
}

TEST(H264DepacketizerTest, AMarkerOnEachFragmentDoesNotEndAPicture) {
    H264Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    const Bytes frame = nal_frame({kSps, kPps, idr(5000)});
    std::vector<Payload> all = packets(frame);
    for (Payload& payload : all) {
        payload.marker = true;
    }
    receiver.frame(all);
    receiver.frame(all);
    ASSERT_EQ(receiver.frames.size(), 1U);
    EXPECT_EQ(receiver.frames[0].data, nal_frame({idr(5000)}));
    EXPECT_EQ(depacketizer.dropped_frames(), 0U);
}

TEST(H264DepacketizerTest, MessagesWithoutASliceBelongToThePictureThatFollows) {
    H264Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    const Bytes sei = from_hex("0605ff01");
    receiver.frame(one_by_one({from_hex("09f0"), kSps, kPps, sei}));
    receiver.frame(one_by_one({idr(100)}));
    ASSERT_EQ(receiver.frames.size(), 1U) << "right away: its markers are right";
    EXPECT_EQ(receiver.frames[0].data, nal_frame({sei, idr(100)}));
    EXPECT_TRUE(depacketizer.trusts_markers());
}

TEST(H264DepacketizerTest, AHeldFirstFrameIsGivenOutByTheNextTimeOrWhenItIsFlushed) {
    H264Depacketizer depacketizer;
    depacketizer.hold_first_frame();
    Receiver receiver(depacketizer);
    receiver.frame(packets(nal_frame({kSps, kPps, idr(100)})));
    EXPECT_TRUE(receiver.frames.empty());
    EXPECT_TRUE(depacketizer.holds_frame());
    depacketizer.flush();
    Frame frame;
    EXPECT_TRUE(depacketizer.next(frame));
    receiver.frame(packets(nal_frame({p_slice(100)})));
    EXPECT_EQ(receiver.frames.size(), 1U) << "only the first is held";
    EXPECT_TRUE(depacketizer.trusts_markers());
}

TEST(H264DepacketizerTest, PicturesOfAClockThatStandsStillAreNotJoined) {
    H264Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.next_time();
    for (const Payload& payload : packets(nal_frame({kSps, kPps, idr(100)}))) {
        receiver.one(payload.bytes, payload.marker);
    }
    for (int i = 0; i < 3; i++) {
        receiver.one(p_slice(60), true);
        receiver.one(later_slice(p_slice(60)), true);
    }
    receiver.one(p_slice(60), true);
    // The first of them was given out in part.
    ASSERT_EQ(receiver.frames.size(), 4U);
    EXPECT_EQ(receiver.frames[3].data, nal_frame({p_slice(60), later_slice(p_slice(60))}));
}

TEST(H264DepacketizerTest, BoundsFramesAndParameterSets) {
    H264Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.next_time();
    const Bytes slice = p_slice(60'000);
    FeedStatus status = FeedStatus::kTaken;
    size_t taken = 0;
    while (status == FeedStatus::kTaken && taken < 1000) {
        status = receiver.one(slice, false);
        taken++;
    }
    EXPECT_EQ(status, FeedStatus::kMalformed);
    EXPECT_LE(taken * slice.size(), kMaxFrameSize + 2 * slice.size());
    receiver.next_time();
    EXPECT_EQ(receiver.one(counted(kSps, kMaxParameterSetSize + 1), true), FeedStatus::kMalformed);
    FeedStatus last = FeedStatus::kTaken;
    for (uint32_t id = 0; id < 20; id++) {
        receiver.next_time();
        // Ids of 11 bits of Exp-Golomb code, then sps id 0: 000001 xxxxx 1
        last = receiver.one(
            Bytes{0x68, static_cast<uint8_t>(0x04 | id >> 3), static_cast<uint8_t>(id << 5 | 0x10)},
            true);
    }
    EXPECT_EQ(last, FeedStatus::kMalformed);
}

TEST(H264DepacketizerTest, TakesProbesForNothing) {
    H264Depacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.frame(packets(nal_frame({p_slice(50)})));
    EXPECT_EQ(receiver.one({}, false), FeedStatus::kTaken);
    receiver.lose();
    EXPECT_EQ(receiver.one({}, false), FeedStatus::kLost);
    receiver.frame(packets(nal_frame({p_slice(50)})));
    ASSERT_EQ(receiver.frames.size(), 2U);
    EXPECT_TRUE(receiver.frames[1].after_loss);
}

TEST(H264DepacketizerTest, RecoveryPointsAreKeyFramesWhereThatIsWanted) {
    const Bytes intra = test::counted({0x61, 0x88, 0x84}, 300);  // no IDR; slice type 7: I
    const Bytes inter = test::counted({0x41, 0x9A, 0x24}, 300);
    const Bytes recovery = test::from_hex("0606018480");
    for (const bool wanted : {false, true}) {
        PayloadParameters parameters;
        parameters.recovery_points = wanted;
        const auto depacketizer = make_depacketizer(media::Codec::kH264, 0, parameters);
        uint32_t time = 0;
        const auto key = [&](const std::vector<Bytes>& nals) {
            time += 3'600;
            for (const Bytes& nal : nals) {
                depacketizer->feed(nal, {time, &nal == &nals.back(), false});
            }
            Frame frame;
            EXPECT_TRUE(depacketizer->next(frame));
            return frame.key && (time > 3'600 || !frame.config.empty());
        };
        EXPECT_EQ(key({test::kAvcHighSps, test::kAvcHighPps, recovery, intra}), wanted);
        EXPECT_FALSE(key({recovery, inter}));  // refers to others
        EXPECT_FALSE(key({intra}));
        EXPECT_EQ(key({recovery, intra, inter}), wanted);  // two fields
    }
}

}  // namespace
}  // namespace weir::rtp
