#include "proto/rtp/payload_hevc.h"

#include <gtest/gtest.h>

#include "media/hevc.h"

#include "test/support/codec_samples.h"
#include "test/support/payloads.h"

namespace weir::rtp {
namespace {

using test::counted;
using test::from_hex;
using test::nal_frame;
using test::Payload;
using test::Receiver;

const Bytes kVps = test::kHevcVps;
const Bytes kSps = test::kHevcSps;
const Bytes kPps = test::kHevcPps;

// The first bytes of slices of x265: IDR_N_LP, TRAIL_R, TRAIL_N.
Bytes idr(size_t size) {
    return counted(from_hex("2801af563277981a8a2f"), size);
}

Bytes trail(size_t size) {
    return counted(from_hex("0201d011578431cc5c5e"), size);
}

Bytes leaf(size_t size) {
    return counted(from_hex("0001e024bf864b133bef"), size);
}

Bytes config() {
    const std::vector<ByteSpan> vps = {kVps};
    const std::vector<ByteSpan> sps = {kSps};
    const std::vector<ByteSpan> pps = {kPps};
    return media::hevc::build_config(vps, sps, pps);
}

std::vector<Payload> packets(const Bytes& frame, size_t room = 1000, bool with_config = false) {
    HevcPacketizer packetizer;
    if (with_config) {
        EXPECT_TRUE(packetizer.set_config(config()));
    }
    return test::packetize(packetizer, frame, room);
}

TEST(HevcPacketizerTest, CutsALargeUnitIntoFragmentsOfEqualSize) {
    for (size_t size : {1001U, 1999U, 5000U, 12'345U}) {
        const std::vector<Payload> all = packets(nal_frame({trail(size)}));
        EXPECT_TRUE(test::are_equal_sizes(all, 1000)) << size;
        // RFC 7798 §4.4.3: type 49 in the header, then S, E and the type.
        EXPECT_EQ(all.front().bytes[0], 49 << 1);
        EXPECT_EQ(all.front().bytes[1], 1);
        EXPECT_EQ(all.front().bytes[2], 0x80 | 1);
        EXPECT_EQ(all.back().bytes[2], 0x40 | 1);
    }
}

TEST(HevcPacketizerTest, AggregatesSmallUnitsWithTheLowestTemporalId) {
    Bytes layer_two = trail(20);
    layer_two[1] = 3;
    Bytes expected = from_hex("6001 0004 4e010504 0014");  // type 48, temporal id of the SEI
    ByteWriter(expected).bytes(layer_two);
    EXPECT_EQ(packets(nal_frame({from_hex("4e010504"), layer_two})),
              (std::vector<Payload>{{expected, true}}));
}

TEST(HevcPacketizerTest, PutsParameterSetsBeforeAKeyFrame) {
    const std::vector<Payload> all = packets(nal_frame({idr(2500)}), 1000, true);
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(all[0].bytes[0] >> 1, 48);
    EXPECT_EQ(all[0].bytes.size(), 2 + 3 * 2 + kVps.size() + kSps.size() + kPps.size());
    EXPECT_TRUE(test::are_equal_sizes({all.begin() + 1, all.end()}, 1000));
    EXPECT_EQ(packets(nal_frame({trail(100)}), 1000, true).size(), 1U);
}

TEST(HevcPacketizerTest, LeavesDelimitersOutAndRefusesFramesThatAreNotWhole) {
    const Bytes slice = trail(100);
    EXPECT_EQ(packets(nal_frame({from_hex("460150"), slice})),
              (std::vector<Payload>{{slice, true}}));
    EXPECT_TRUE(packets(from_hex("00000009 0201")).empty());
    EXPECT_TRUE(packets({}).empty());
    HevcPacketizer packetizer;
    EXPECT_FALSE(packetizer.set_config(from_hex("02")));
}

TEST(HevcDepacketizerTest, ReadsBackWhatThePacketizerMade) {
    HevcDepacketizer depacketizer;
    Receiver receiver(depacketizer);
    for (size_t room : {kMinPayloadRoom, size_t{100}, size_t{1200}}) {
        for (uint32_t seed = 1; seed < 40; seed++) {
            std::vector<Bytes> nals;
            for (uint32_t i = 0; i < seed % 20 + 1; i++) {
                nals.push_back(trail(12 + (seed * 37 + i * 101) % (3 * room)));
            }
            receiver.frames.clear();
            const std::vector<Payload> all = packets(nal_frame(nals), room);
            for (const Payload& payload : all) {
                EXPECT_LE(payload.bytes.size(), room);
            }
            receiver.frame(all);
            ASSERT_EQ(receiver.frames.size(), 1U);
            EXPECT_EQ(receiver.frames[0].data, nal_frame(nals));
        }
    }
}

TEST(HevcDepacketizerTest, GivesParameterSetsAsTheConfiguration) {
    HevcDepacketizer depacketizer;
    Receiver receiver(depacketizer);
    receiver.frame(packets(nal_frame({kVps, kSps, kPps, idr(3000)})));
    receiver.frame(packets(nal_frame({leaf(100)})));
    ASSERT_EQ(receiver.frames.size(), 2U);
    EXPECT_TRUE(receiver.frames[0].key);
    EXPECT_EQ(receiver.frames[0].config, config());
    EXPECT_EQ(receiver.frames[0].width, test::kSampleWidth);
    EXPECT_EQ(receiver.frames[0].data, nal_frame({idr(3000)}));
    EXPECT_TRUE(receiver.frames[1].discardable);
    EXPECT_FALSE(receiver.frames[1].key);
}

TEST(HevcDepacketizerTest, SaysTheTemporalLayer) {
    HevcDepacketizer depacketizer;
    Receiver receiver(depacketizer);
    Bytes slice = trail(100);
    slice[1] = 3;
    receiver.frame(packets(nal_frame({slice})));
    ASSERT_EQ(receiver.frames.size(), 1U);
    EXPECT_EQ(receiver.frames[0].temporal_id, 2);
}

TEST(HevcDepacketizerTest, NeverGivesAFrameOutThatLostAPacket) {
    const std::vector<Payload> key = packets(nal_frame({kVps, kSps, kPps, idr(3000)}));
    for (size_t lost = 0; lost < key.size(); lost++) {
        HevcDepacketizer depacketizer;
        Receiver receiver(depacketizer);
        receiver.frame(key);
        receiver.frame(key, {lost});
        receiver.frame(packets(nal_frame({trail(2000)})));
        ASSERT_EQ(receiver.frames.size(), 2U) << lost;
        EXPECT_TRUE(receiver.frames[1].after_loss);
        EXPECT_FALSE(receiver.frames[1].key);
    }
}

PayloadParameters numbered() {
    PayloadParameters parameters;
    parameters.decoding_order_numbers = true;
    return parameters;
}

TEST(HevcDepacketizerTest, ReadsPacketsWithDecodingOrderNumbers) {
    HevcDepacketizer depacketizer(0, numbered());
    Receiver receiver(depacketizer);
    // RFC 7798 §4.4.2: DONL, size, unit; DOND, size, unit ...
    Bytes aggregation = from_hex("6001 fffe");
    ByteWriter out(aggregation);
    bool first = true;
    for (const Bytes& nal : {kVps, kSps, kPps, idr(40)}) {
        if (!std::exchange(first, false)) {
            out.u8(0);
        }
        out.u16(static_cast<uint16_t>(nal.size())).bytes(nal);
    }
    receiver.next_time();
    EXPECT_EQ(receiver.one(aggregation, true), FeedStatus::kTaken);
    // §4.4.1: DONL behind the header.
    const Bytes slice = trail(50);
    Bytes single = {slice[0], slice[1], 0, 1};
    ByteWriter(single).bytes(ByteSpan(slice).subspan(2));
    receiver.next_time();
    EXPECT_EQ(receiver.one(single, true), FeedStatus::kTaken);
    // §4.4.3: DONL in the first fragment only.
    Bytes start = from_hex("6201 81 0002");
    ByteWriter(start).bytes(ByteSpan(slice).subspan(2, 20));
    Bytes end = from_hex("6201 41");
    ByteWriter(end).bytes(ByteSpan(slice).subspan(22));
    receiver.next_time();
    receiver.lose();  // a fragment that begins a frame is known as such
    EXPECT_EQ(receiver.one(start, false), FeedStatus::kLost);
    EXPECT_EQ(receiver.one(end, true), FeedStatus::kTaken);
    ASSERT_EQ(receiver.frames.size(), 3U);
    EXPECT_EQ(receiver.frames[0].config, config());
    EXPECT_EQ(receiver.frames[0].data, nal_frame({idr(40)}));
    EXPECT_EQ(receiver.frames[1].data, nal_frame({slice}));
    EXPECT_EQ(receiver.frames[2].data, nal_frame({slice}));
    // Back in the order: interleaved.
    receiver.next_time();
    EXPECT_EQ(receiver.one(single, true), FeedStatus::kMalformed);
}

TEST(HevcDepacketizerTest, RefusesBrokenPayloadsWithDecodingOrderNumbers) {
    for (const char* hex : {"0201", "0201 00", "0201 0001", "6001 0001", "6001 0001 0002",
                            "6001 0001 0003 0201d0 00", "6201 81", "6201 81 00", "6201 81 0001"}) {
        HevcDepacketizer depacketizer(0, numbered());
        Receiver receiver(depacketizer);
        receiver.next_time();
        receiver.one(from_hex(hex), true);
        EXPECT_TRUE(receiver.frames.empty()) << hex;
    }
}

TEST(HevcDepacketizerTest, RefusesPaciAndBrokenPayloads) {
    for (const char* hex : {"6401 00 00", "6001", "6001 0009 0201", "6201", "620180", "62010100",
                            "6601 0000", "02", "0201"}) {
        HevcDepacketizer depacketizer;
        Receiver receiver(depacketizer);
        receiver.frame(packets(nal_frame({trail(50)})));
        receiver.next_time();
        EXPECT_EQ(receiver.one(from_hex(hex), true), FeedStatus::kMalformed) << hex;
        EXPECT_EQ(receiver.frames.size(), 1U) << hex;
    }
}

}  // namespace
}  // namespace weir::rtp
