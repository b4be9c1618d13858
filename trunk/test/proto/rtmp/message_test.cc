#include "proto/rtmp/message.h"

#include "test/proto/rtmp/support.h"

namespace weir::rtmp {
namespace {

using test::hex;
using test::join;
using test::pattern;

TEST(ControlMessageTest, HaveTheExactBytesOfTheSpecification) {
    Bytes out;
    write_set_chunk_size(60000, out);
    EXPECT_EQ(out, hex("02 000000 000004 01 00000000 0000ea60"));
    out.clear();
    write_abort(65599, out);
    EXPECT_EQ(out, hex("02 000000 000004 02 00000000 0001003f"));
    out.clear();
    write_acknowledgement(0xFFFFFFFF, out);
    EXPECT_EQ(out, hex("02 000000 000004 03 00000000 ffffffff"));
    out.clear();
    write_window_ack_size(2500000, out);
    EXPECT_EQ(out, hex("02 000000 000004 05 00000000 002625a0"));
    out.clear();
    write_set_peer_bandwidth(2500000, BandwidthLimit::kDynamic, out);
    EXPECT_EQ(out, hex("02 000000 000005 06 00000000 002625a0 02"));
    out.clear();
    write_user_control({kStreamBegin, 1, 0}, out);
    EXPECT_EQ(out, hex("02 000000 000006 04 00000000 0000 00000001"));
    out.clear();
    write_user_control({kSetBufferLength, 1, 3000}, out);
    EXPECT_EQ(out, hex("02 000000 00000a 04 00000000 0003 00000001 00000bb8"));
}

TEST(ControlMessageTest, FirstFourBytesAreRead) {
    EXPECT_EQ(parse_u32(hex("0000ea60")), 60000u);
    EXPECT_EQ(parse_u32(hex("0000ea60 ff")), 60000u);
    for (const char* shorter : {"", "00", "0000", "0000ea"}) {
        EXPECT_FALSE(parse_u32(hex(shorter)));
    }
}

TEST(UserControlTest, EveryEventRoundTrips) {
    for (const uint16_t event : {kStreamBegin, kStreamEof, kStreamDry, kSetBufferLength,
                                 kStreamIsRecorded, kPingRequest, kPingResponse}) {
        Bytes out;
        write_user_control({event, 0x01020304, 500}, out);
        const std::vector<Message> messages = test::read_all(out);
        ASSERT_EQ(messages.size(), 1u);
        const auto control = parse_user_control(messages[0].body);
        ASSERT_TRUE(control) << event;
        EXPECT_EQ(control->event, event);
        EXPECT_EQ(control->value, 0x01020304u);
        EXPECT_EQ(control->buffer_ms, event == kSetBufferLength ? 500u : 0u);
    }
}

TEST(UserControlTest, TruncatedEventsAreNothing) {
    const Bytes ping = hex("0006 00000001");
    const Bytes buffer = hex("0003 00000001 00000bb8");
    for (size_t size = 0; size < ping.size(); size++) {
        EXPECT_FALSE(parse_user_control(ByteSpan(ping).first(size))) << size;
    }
    for (size_t size = 0; size < buffer.size(); size++) {
        EXPECT_FALSE(parse_user_control(ByteSpan(buffer).first(size))) << size;
    }
}

TEST(UserControlTest, UnknownEventsNeedNoValue) {
    EXPECT_EQ(parse_user_control(hex("001a"))->event, 26);
    EXPECT_EQ(parse_user_control(hex("001f 00000009"))->value, 9u);
}

Bytes part(uint8_t type, uint32_t timestamp, ByteSpan body) {
    Bytes out;
    ByteWriter(out).u8(type).u24(static_cast<uint32_t>(body.size())).u24(timestamp & 0xFFFFFF);
    ByteWriter(out)
        .u8(static_cast<uint8_t>(timestamp >> 24))
        .u24(0)
        .bytes(body)
        .u32(static_cast<uint32_t>(body.size() + 11));
    return out;
}

std::vector<AggregateSplitter::PartView> split(uint32_t timestamp, ByteSpan aggregate) {
    std::vector<AggregateSplitter::PartView> parts;
    AggregateSplitter splitter(timestamp);
    while (const auto next = splitter.next(aggregate)) {
        parts.push_back(*next);
    }
    return parts;
}

TEST(AggregateSplitterTest, TimesAreRelativeToTheMessage) {
    const Bytes aggregate = join(
        {part(kAudio, 5000, hex("aa")), part(kVideo, 5010, hex("bbcc")), part(kAudio, 4990, {})});
    const auto parts = split(100, aggregate);
    ASSERT_EQ(parts.size(), 3u);
    EXPECT_EQ(parts[0].timestamp, 100u);
    EXPECT_EQ(parts[0].type, kAudio);
    EXPECT_EQ(parts[1].timestamp, 110u);
    EXPECT_TRUE(std::ranges::equal(parts[1].body, hex("bbcc")));
    EXPECT_EQ(parts[2].timestamp, 90u);
    EXPECT_TRUE(parts[2].body.empty());
}

TEST(AggregateSplitterTest, TimesWrap) {
    const auto parts = split(0xFFFFFFFF, join({part(kAudio, 0xFFFFFFFE, {}), part(kAudio, 3, {})}));
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(parts[0].timestamp, 0xFFFFFFFFu);
    EXPECT_EQ(parts[1].timestamp, 4u);
}

TEST(AggregateSplitterTest, LastTrailerMayBeMissing) {
    Bytes aggregate = join({part(kAudio, 1, hex("aa")), part(kVideo, 2, hex("bb"))});
    for (int i = 0; i < 4; i++) {
        aggregate.pop_back();
        EXPECT_EQ(split(0, aggregate).size(), 2u);
    }
    aggregate.pop_back();
    EXPECT_EQ(split(0, aggregate).size(), 1u);
}

TEST(AggregateSplitterTest, EveryTruncationGivesWholePartsOnly) {
    const Bytes aggregate = join({part(kAudio, 1, pattern(10)), part(kVideo, 2, pattern(20))});
    for (size_t size = 0; size <= aggregate.size(); size++) {
        for (const auto& p : split(0, ByteSpan(aggregate).first(size))) {
            EXPECT_TRUE(p.body.size() == 10 || p.body.size() == 20);
        }
    }
}

TEST(AggregateSplitterTest, StopsAtTheLimitOfParts) {
    Bytes aggregate;
    for (size_t i = 0; i < AggregateSplitter::kMaxParts + 10; i++) {
        const Bytes one = part(kAudio, 0, {});
        aggregate.insert(aggregate.end(), one.begin(), one.end());
    }
    EXPECT_EQ(split(0, aggregate).size(), AggregateSplitter::kMaxParts);
}

}  // namespace
}  // namespace weir::rtmp
