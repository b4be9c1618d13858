// Reports and feedback: what CompoundWriter writes, byte by byte, and what the parsers make of it.
#include "proto/rtcp/writer.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weir::rtcp {
namespace {

Bytes write(const std::function<void(CompoundWriter&)>& use) {
    std::array<uint8_t, 1200> out{};
    CompoundWriter writer(out);
    use(writer);
    return {writer.written().begin(), writer.written().end()};
}

PacketView only(const Bytes& bytes) {
    CompoundReader reader(bytes);
    PacketView packet;
    EXPECT_TRUE(reader.next(packet));
    EXPECT_EQ(packet.body.size() + kHeaderSize, bytes.size());
    return packet;
}

// A packet of each kind with its exact bytes; the layouts are those of the cited sections.
struct Case {
    const char* name;
    std::function<bool(CompoundWriter&)> write;
    Bytes bytes;
};

const ReportBlock kBlock = {0x0A0B0C0D, 128, -2, 0x00010002, 77, 0x11223344, 0x00010000};
const Bytes kBlockBytes = {0x0A, 0x0B, 0x0C, 0x0D, 128,  0xFF, 0xFF, 0xFE, 0, 1, 0, 2,
                           0,    0,    0,    77,   0x11, 0x22, 0x33, 0x44, 0, 1, 0, 0};

Bytes operator+(Bytes a, const Bytes& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

std::vector<Case> cases() {
    static constexpr std::array<uint16_t, 4> kLost = {0xFFFE, 0xFFFF, 14, 100};
    static constexpr std::array<uint32_t, 2> kSources = {5, 6};
    return {
        {"SR, RFC 3550 6.4.1",
         [](CompoundWriter& w) {
             return w.sender_report({1, 0x0102030405060708, 9, 10, 11}, {&kBlock, 1});
         },
         Bytes{0x81, 200, 0, 12, 0, 0, 0, 1, 1, 2,  3, 4, 5, 6,
               7,    8,   0, 0,  0, 9, 0, 0, 0, 10, 0, 0, 0, 11} +
             kBlockBytes},
        {"RR, RFC 3550 6.4.2", [](CompoundWriter& w) { return w.receiver_report(1, {&kBlock, 1}); },
         Bytes{0x81, 201, 0, 7, 0, 0, 0, 1} + kBlockBytes},
        {"SDES, RFC 3550 6.5",
         [](CompoundWriter& w) { return w.source_description(1, "abcde"); },
         {0x81, 202, 0, 3, 0, 0, 0, 1, 1, 5, 'a', 'b', 'c', 'd', 'e', 0}},
        {"SDES whose text ends on a word",
         [](CompoundWriter& w) { return w.source_description(1, "ab"); },
         {0x81, 202, 0, 3, 0, 0, 0, 1, 1, 2, 'a', 'b', 0, 0, 0, 0}},
        {"BYE, RFC 3550 6.6",
         [](CompoundWriter& w) { return w.bye(1); },
         {0x81, 203, 0, 1, 0, 0, 0, 1}},
        {"BYE with a reason",
         [](CompoundWriter& w) { return w.bye(1, "end"); },
         {0x81, 203, 0, 2, 0, 0, 0, 1, 3, 'e', 'n', 'd'}},
        {"NACK, RFC 4585 6.2.1",
         [](CompoundWriter& w) { return w.nack({1, 2}, kLost) == kLost.size(); },
         {0x81, 205, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0xFF, 0xFE, 0x80, 1, 0, 100, 0, 0}},
        {"PLI, RFC 4585 6.3.1",
         [](CompoundWriter& w) { return w.picture_loss({1, 2}); },
         {0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2}},
        {"FIR, RFC 5104 4.3.1",
         [](CompoundWriter& w) { return w.full_intra_request(1, {2, 3}); },
         {0x84, 206, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 3, 0, 0, 0}},
        {"REMB, draft-alvestrand-rmcat-remb-03 2.2",
         [](CompoundWriter& w) { return w.bitrate_limit(1, 1'000'000, kSources); },
         {0x8F, 206, 0, 6,    0,    0,    0, 1, 0, 0, 0, 0, 'R', 'E',
          'M',  'B', 2, 0x0B, 0xD0, 0x90, 0, 0, 0, 5, 0, 0, 0,   6}},
    };
}

TEST(RtcpWriterTest, WritesEachPacketAsItsSpecificationDrawsIt) {
    for (const Case& c : cases()) {
        EXPECT_EQ(write([&](CompoundWriter& w) { EXPECT_TRUE(c.write(w)); }), c.bytes) << c.name;
    }
}

TEST(RtcpWriterTest, WritesAWholePacketOrNothing) {
    for (const Case& c : cases()) {
        for (size_t room = 0; room < c.bytes.size(); room++) {
            Bytes out(room);
            CompoundWriter writer(out);
            const bool written = c.write(writer);
            if (std::string(c.name).starts_with("NACK") && room == c.bytes.size() - 1) {
                EXPECT_EQ(writer.size(), c.bytes.size() - 4);  // fewer of the lost packets
                continue;
            }
            EXPECT_FALSE(written) << c.name << room;
            if (!std::string(c.name).starts_with("NACK")) {
                EXPECT_EQ(writer.size(), 0U) << c.name << room;
            }
        }
    }
}

TEST(RtcpWriterTest, AppendsPacketsToACompound) {
    std::array<uint8_t, 64> out{};
    CompoundWriter writer(out);
    EXPECT_TRUE(writer.receiver_report(1, {}));
    EXPECT_TRUE(writer.source_description(1, "c"));
    EXPECT_TRUE(writer.picture_loss({1, 2}));
    EXPECT_EQ(writer.size(), 8U + 12U + 12U);
    EXPECT_EQ(writer.room(), 32U);
    std::vector<int> types;
    CompoundReader reader(writer.written());
    for (PacketView packet; reader.next(packet);) {
        types.push_back(static_cast<int>(packet.type));
    }
    EXPECT_TRUE(reader.ok());
    EXPECT_EQ(types, (std::vector{201, 202, 206}));
}

TEST(RtcpReportTest, ReadsASenderReport) {
    const Bytes bytes = cases()[0].bytes;
    auto report = parse_sender_report(only(bytes));
    ASSERT_TRUE(report);
    EXPECT_EQ(report->ssrc, 1U);
    EXPECT_EQ(report->ntp_time, 0x0102030405060708U);
    EXPECT_EQ(report->rtp_time, 9U);
    EXPECT_EQ(report->packets, 10U);
    EXPECT_EQ(report->octets, 11U);
    ASSERT_EQ(report->blocks.size(), 1U);
    auto block = report->blocks.find(kBlock.ssrc);
    ASSERT_TRUE(block);
    EXPECT_EQ(block->fraction_lost, 128);
    EXPECT_EQ(block->cumulative_lost, -2);
    EXPECT_EQ(block->highest_sequence, 0x00010002U);
    EXPECT_EQ(block->jitter, 77U);
    EXPECT_EQ(block->last_sr, 0x11223344U);
    EXPECT_EQ(block->delay_since_sr, 0x00010000U);
    EXPECT_FALSE(report->blocks.find(99));
}

TEST(RtcpReportTest, RefusesReportsShorterThanTheirCount) {
    for (size_t which : {0U, 1U}) {
        const Bytes bytes = cases()[which].bytes;
        const PacketView whole = only(bytes);
        for (size_t size = 0; size <= whole.body.size(); size++) {
            PacketView cut = whole;
            cut.body = whole.body.first(size);
            EXPECT_EQ(parse_sender_report(cut).has_value(),
                      which == 0 && size == whole.body.size());
            EXPECT_EQ(parse_receiver_report(cut).has_value(),
                      which == 1 && size == whole.body.size());
        }
    }
}

TEST(RtcpReportTest, IgnoresProfileExtensionsBehindTheBlocks) {
    Bytes bytes = {0x80, 201, 0, 2, 0, 0, 0, 1, 9, 9, 9, 9};
    auto report = parse_receiver_report(only(bytes));
    ASSERT_TRUE(report);
    EXPECT_EQ(report->blocks.size(), 0U);
}

TEST(RtcpReportTest, KeepsTheCumulativeLossWithin24Bits) {
    ReportBlock block;
    for (const auto& [value, expected] : std::vector<std::pair<int32_t, int32_t>>{
             {0x7FFFFFFF, 0x7FFFFF}, {-0x7FFFFFFF, -0x800000}}) {
        block.cumulative_lost = value;
        const Bytes bytes =
            write([&](CompoundWriter& w) { EXPECT_TRUE(w.receiver_report(1, {&block, 1})); });
        EXPECT_EQ(parse_receiver_report(only(bytes))->blocks[0].cumulative_lost, expected);
    }
}

TEST(RtcpReportTest, FindsTheCnameOfASource) {
    // Two chunks: the first has a NAME and a CNAME, the second a CNAME.
    const Bytes bytes = {0x82, 202, 0, 7,                                      //
                         0,    0,   0, 1, 2, 1, 'n', 1,   3,   'a', 'b', 'c',  //
                         0,    0,   0, 0,                                      // end, on a word
                         0,    0,   0, 2, 1, 4, 'w', 'x', 'y', 'z', 0,   0};
    EXPECT_EQ(find_cname(only(bytes), 1), "abc");
    EXPECT_EQ(find_cname(only(bytes), 2), "wxyz");
    EXPECT_EQ(find_cname(only(bytes), 3), "");
    PacketView cut = only(bytes);
    for (size_t size = 0; size < cut.body.size(); size++) {
        PacketView view = cut;
        view.body = cut.body.first(size);
        find_cname(view, 2);
    }
    cut.type = PacketType::kBye;
    EXPECT_EQ(find_cname(cut, 1), "");
}

TEST(RtcpReportTest, KnowsWhoSaysBye) {
    const Bytes bytes = {0x82, 203, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2};
    EXPECT_TRUE(says_bye(only(bytes), 1));
    EXPECT_TRUE(says_bye(only(bytes), 2));
    EXPECT_FALSE(says_bye(only(bytes), 3));
    const Bytes fewer = {0x85, 203, 0, 1, 0, 0, 0, 1};
    EXPECT_FALSE(says_bye(only(fewer), 0));
}

TEST(RtcpReportTest, ConvertsTimes) {
    EXPECT_EQ(ntp_from_unix_us(0), uint64_t{2'208'988'800} << 32U);
    EXPECT_EQ(ntp_from_unix_us(500'000) & UINT32_MAX, 0x80000000U);
    for (const int64_t unix_us : {int64_t{0}, int64_t{1'700'000'000'123'456}}) {
        EXPECT_EQ(ntp_to_unix_us(ntp_from_unix_us(unix_us)), unix_us);
    }
    EXPECT_EQ(compact_ntp(0x0001000280003000), 0x00028000U);
    EXPECT_EQ(compact_ntp_duration(1'500'000), 0x00018000U);
    EXPECT_EQ(compact_ntp_duration(int64_t{70'000} * 1'000'000), UINT32_MAX);
    EXPECT_EQ(compact_ntp_to_us(0x00018000), 1'500'000);
}

// 2036-02-07T06:28:16Z is 0 again (RFC 4330 §3).
TEST(RtcpReportTest, TimesGoOnOverTheWrapOfTheirSeconds) {
    constexpr int64_t kWrapUs = 2'085'978'496'000'000;
    EXPECT_EQ(ntp_from_unix_us(kWrapUs), 0U);
    EXPECT_EQ(ntp_to_unix_us(0), kWrapUs);
    EXPECT_EQ(ntp_to_unix_us(ntp_from_unix_us(kWrapUs - 500'000)), kWrapUs - 500'000);
    EXPECT_EQ(ntp_to_unix_us(ntp_from_unix_us(kWrapUs + 500'000)), kWrapUs + 500'000);
    EXPECT_LT(ntp_to_unix_us(uint64_t{0x80000000} << 32U), 0) << "1968";
    EXPECT_GT(ntp_to_unix_us((uint64_t{0x80000000} << 32U) - 1), 2 * kWrapUs) << "2104";
}

std::vector<uint16_t> lost_of(const Bytes& bytes) {
    std::vector<uint16_t> lost;
    if (auto nack = parse_nack(only(bytes))) {
        nack->for_each_lost([&](uint16_t sequence) { lost.push_back(sequence); });
    }
    return lost;
}

TEST(RtcpFeedbackTest, ReadsANackOverTheWrap) {
    EXPECT_EQ(lost_of(cases()[6].bytes), (std::vector<uint16_t>{0xFFFE, 0xFFFF, 14, 100}));
    EXPECT_EQ(parse_nack(only(cases()[6].bytes))->sources.media_ssrc, 2U);
}

TEST(RtcpFeedbackTest, SplitsANackThatHasNoRoom) {
    std::vector<uint16_t> lost;
    for (uint16_t i = 0; i < 100; i++) {
        lost.push_back(static_cast<uint16_t>(0xFFF0 + i * 20));
    }
    std::vector<uint16_t> seen;
    for (size_t at = 0; at < lost.size();) {
        std::array<uint8_t, 63> out{};
        CompoundWriter writer(out);
        const size_t used = writer.nack({1, 2}, std::span(lost).subspan(at));
        ASSERT_EQ(used, std::min(lost.size() - at, size_t{12}));
        at += used;
        const Bytes bytes(writer.written().begin(), writer.written().end());
        for (uint16_t sequence : lost_of(bytes)) {
            seen.push_back(sequence);
        }
    }
    EXPECT_EQ(seen, lost);
}

TEST(RtcpFeedbackTest, ReadsPictureLossAndFullIntraRequests) {
    EXPECT_EQ(parse_picture_loss(only(cases()[7].bytes))->media_ssrc, 2U);
    EXPECT_FALSE(parse_picture_loss(only(cases()[8].bytes)));
    EXPECT_EQ(find_full_intra_request(only(cases()[8].bytes), 2), 3);
    EXPECT_FALSE(find_full_intra_request(only(cases()[8].bytes), 1));
    EXPECT_FALSE(find_full_intra_request(only(cases()[7].bytes), 2));
}

TEST(RtcpFeedbackTest, ReadsABitrateLimit) {
    const Bytes bytes = cases()[9].bytes;
    auto limit = parse_bitrate_limit(only(bytes));
    ASSERT_TRUE(limit);
    EXPECT_EQ(limit->bits_per_second, 1'000'000U);
    EXPECT_EQ(limit->sources.size(), 8U);
    Bytes other_name = bytes;
    other_name[12] = 'X';
    EXPECT_FALSE(parse_bitrate_limit(only(other_name)));
    Bytes more_sources = bytes;
    more_sources[16] = 3;
    EXPECT_FALSE(parse_bitrate_limit(only(more_sources)));
}

TEST(RtcpFeedbackTest, KeepsABitrateWithinTheMantissaAndCapsAnOverflow) {
    for (uint64_t rate : {uint64_t{0}, uint64_t{0x3FFFF}, uint64_t{0x40000}, UINT64_MAX}) {
        const Bytes bytes =
            write([&](CompoundWriter& w) { EXPECT_TRUE(w.bitrate_limit(1, rate, {})); });
        const uint64_t read = parse_bitrate_limit(only(bytes))->bits_per_second;
        EXPECT_LE(read, rate);
        EXPECT_GE(read, rate - rate / 0x20000);
    }
    Bytes bytes = cases()[9].bytes;
    bytes[17] = 0xFF;
    bytes[18] = 0xFF;
    EXPECT_EQ(parse_bitrate_limit(only(bytes))->bits_per_second, UINT64_MAX);
}

TEST(RtcpFeedbackTest, RefusesWhatIsCut) {
    for (const Case& c : cases()) {
        const PacketView whole = only(c.bytes);
        for (size_t size = 0; size < std::min<size_t>(whole.body.size(), 8); size++) {
            PacketView cut = whole;
            cut.body = whole.body.first(size);
            EXPECT_FALSE(parse_nack(cut));
            EXPECT_FALSE(parse_picture_loss(cut));
            EXPECT_FALSE(find_full_intra_request(cut, 2));
            EXPECT_FALSE(parse_bitrate_limit(cut));
        }
    }
}

}  // namespace
}  // namespace weir::rtcp
