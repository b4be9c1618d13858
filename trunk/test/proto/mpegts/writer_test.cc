#include "proto/mpegts/writer.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "media/opus.h"
#include "proto/mpegts/es_writer.h"

#include "test/support/codec_samples.h"
#include "test/support/transport_stream.h"

namespace weir::mpegts {
namespace {

using test::counted;
using test::nal_frame;
using test::read_ts;

constexpr int64_t kFrame = 3'600;

struct Pcr {
    size_t packet = 0;
    int64_t time = 0;  // 90 kHz
};

// Every packet has the right counter for its PID, but where one says that it has not.
std::vector<Pcr> check_packets(ByteSpan bytes) {
    std::vector<Pcr> pcrs;
    std::map<uint16_t, uint8_t> counters;
    EXPECT_EQ(bytes.size() % kPacketSize, 0U);
    for (size_t i = 0; i < bytes.size() / kPacketSize; i++) {
        const auto packet = Packet::parse(bytes.subspan(i * kPacketSize, kPacketSize));
        EXPECT_EQ(bytes[i * kPacketSize], kSyncByte);
        if (!packet) {
            ADD_FAILURE() << "packet " << i;
            continue;
        }
        const auto before = counters.find(packet->pid);
        if (before != counters.end() && !packet->discontinuity) {
            EXPECT_EQ(packet->counter, (before->second + (packet->has_payload ? 1 : 0)) & 0x0F)
                << "packet " << i << " of PID " << packet->pid;
        }
        counters[packet->pid] = packet->counter;
        if (packet->pcr) {
            pcrs.push_back({i, static_cast<int64_t>(*packet->pcr / kPcrPerTick)});
        }
    }
    return pcrs;
}

size_t count_pid(ByteSpan bytes, uint16_t pid) {
    size_t count = 0;
    for (size_t at = 0; at < bytes.size(); at += kPacketSize) {
        count += Packet::parse(bytes.subspan(at, kPacketSize))->pid == pid ? 1U : 0U;
    }
    return count;
}

class TsWriterTest : public testing::Test {
  protected:
    TsWriterTest() {
        video_.set_config(test::kAvcHighConfig);
        audio_.set_config(test::from_hex("1190"));
        set({video_.stream(), audio_.stream()});
    }

    void set(const std::vector<std::optional<StreamInfo>>& streams) {
        writer_.set_streams(streams);
    }

    void video(int64_t dts, bool key, size_t size = 1000, int64_t ahead = kFrame) {
        frames_.push_back(
            counted({static_cast<uint8_t>(key ? 0x65 : 0x41), 0x88}, size, marker_++));
        const Bytes frame = nal_frame({frames_.back()});
        write({0, dts + ahead, dts, key, video_.write(frame, key)});
    }

    void audio(int64_t pts, size_t size = 200) {
        sounds_.push_back(counted({0x21}, size, marker_++));
        write({1, pts, pts, false, audio_.write(sounds_.back(), false)});
    }

    void write(const Writer::Frame& frame) {
        ASSERT_FALSE(frame.parts.empty());
        writer_.write(frame, out_);
    }

    EsWriter video_{media::Codec::kH264};
    EsWriter audio_{media::Codec::kAac};
    Writer writer_;
    Bytes out_;
    std::vector<Bytes> frames_;
    std::vector<Bytes> sounds_;
    uint32_t marker_ = 1;
};

TEST_F(TsWriterTest, TheReaderReadsWhatItWrites) {
    for (int i = 0; i < 50; i++) {
        video(90'000 + i * kFrame, i % 25 == 0, static_cast<size_t>(100 + i * 37));
        audio(90'000 + i * kFrame);
    }
    const auto read = read_ts(out_);
    ASSERT_EQ(read.tracks.size(), 1U);
    EXPECT_EQ(read.tracks[0][1].info.content, Content::kAac);
    ASSERT_EQ(read.units.size(), 100U);
    for (size_t i = 0; i < 100; i++) {
        const test::ReadUnit& unit = read.units[i];
        EXPECT_EQ(unit.track, i % 2);
        EXPECT_EQ(unit.dts, 90'000 + static_cast<int64_t>(i / 2) * kFrame);
        if (unit.track == 0) {
            const size_t frame = i / 2;
            EXPECT_EQ(unit.nals.size(), frame % 25 == 0 ? 4U : 2U);
            EXPECT_EQ(unit.nals.back(), frames_[frame]);
            EXPECT_EQ(unit.key, frame % 25 == 0);
            EXPECT_EQ(unit.pts, unit.dts + kFrame);
        } else {
            EXPECT_EQ(Bytes(unit.data.begin() + 7, unit.data.end()), sounds_[i / 2]);
        }
    }
}

// Encoders that make the composition times of B-frames negative instead of delaying all others.
TEST_F(TsWriterTest, WherePtsAreBeforeDtsTheDtsAreEarlierFromThenOn) {
    for (const int64_t ahead : {0, 1, -1, 0, 1, -1, 0}) {
        video(90'000 + static_cast<int64_t>(frames_.size()) * kFrame, frames_.empty(), 100,
              ahead * kFrame);
    }
    const auto read = read_ts(out_);
    ASSERT_EQ(read.units.size(), 7U);
    for (size_t i = 0; i < 7; i++) {
        const int64_t given = 90'000 + static_cast<int64_t>(i) * kFrame;
        const int64_t ahead = i % 3 == 1 ? kFrame : i % 3 == 2 ? -kFrame : 0;
        EXPECT_NEAR(read.units[i].pts, given + ahead, 1) << "pictures stay where they are";
        EXPECT_LE(read.units[i].dts, read.units[i].pts);
        EXPECT_TRUE(i == 0 || read.units[i].dts > read.units[i - 1].dts);
    }
    EXPECT_EQ(read.units[6].dts, 90'000 + 5 * kFrame);
}

TEST_F(TsWriterTest, NoTwoFramesOfAStreamHaveOneDts) {
    for (int i = 0; i < 5; i++) {
        audio(90'000);
        video(90'000, i == 0, 100, 0);
    }
    audio(92'000);
    const auto read = read_ts(out_);
    ASSERT_EQ(read.units.size(), 11U);
    for (size_t i = 0; i < 10; i++) {
        EXPECT_EQ(read.units[i].dts, 90'000 + static_cast<int64_t>(i / 2));
        EXPECT_GE(read.units[i].pts, read.units[i].dts);
    }
    EXPECT_EQ(read.units[10].dts, 92'000);
}

TEST_F(TsWriterTest, AClockThatBeginsAnewIsFollowed) {
    video(9'000'000, true);
    video(90'000, true);
    const auto read = read_ts(out_);
    ASSERT_EQ(read.units.size(), 2U);
    EXPECT_EQ(read.units[1].pts - read.units[1].dts, kFrame);
    EXPECT_LT(read.units[1].dts, read.units[0].dts);
}

TEST_F(TsWriterTest, FramesOfEverySizeFillPackets) {
    for (size_t size = 1; size < 600; size++) {
        audio(static_cast<int64_t>(size) * 1'920, size);
    }
    check_packets(out_);
    const auto read = read_ts(out_);
    ASSERT_EQ(read.units.size(), sounds_.size());
    for (size_t i = 0; i < sounds_.size(); i++) {
        EXPECT_EQ(Bytes(read.units[i].data.begin() + 7, read.units[i].data.end()), sounds_[i]);
    }
}

TEST_F(TsWriterTest, TablesComeBeforeEachKeyFrame) {
    video(0, true);
    EXPECT_EQ(count_pid(out_, kPatPid), 1U);
    EXPECT_EQ(count_pid(ByteSpan(out_).first(2 * kPacketSize), kWrittenPmtPid), 1U);
    video(kFrame, false);
    EXPECT_EQ(count_pid(out_, kPatPid), 1U);
    video(kFrame + 10, true);
    EXPECT_EQ(count_pid(out_, kPatPid), 2U);
}

TEST_F(TsWriterTest, TablesAre100MsApartAtMost) {
    int64_t time = 90'000;
    for (int i = 0; i < 60; i++) {  // 25 frames a second, then 3, then audio alone
        video(time, i == 0);
        time += i < 30 ? kFrame : 30'000;
    }
    for (int i = 0; i < 100; i++) {
        audio(time + i * 1'920);
    }
    int64_t pcr = 0;
    int64_t tables = 90'000 - Writer::kPcrLead;
    size_t count = 0;
    for (size_t at = 0; at < out_.size(); at += kPacketSize) {
        const auto packet = Packet::parse(ByteSpan(out_).subspan(at, kPacketSize));
        pcr = packet->pcr ? static_cast<int64_t>(*packet->pcr / kPcrPerTick) : pcr;
        if (packet->pid == kPatPid && pcr > 0) {
            EXPECT_LE(pcr - tables, Writer::kTablesEach) << count;
            tables = pcr;
            count++;
        }
    }
    EXPECT_GT(count, 140U);
    EXPECT_LT(count, 260U);
}

TEST_F(TsWriterTest, APcrComesEach40MsAndNeverGoesBack) {
    int64_t time = 90'000;
    for (int i = 0; i < 20; i++) {  // 5 frames a second, then audio alone
        video(time, i == 0);
        for (int j = 0; j < 9; j++) {
            audio(time + j * 2'000 + 900);
        }
        time += 18'000;
    }
    for (int i = 0; i < 50; i++) {
        audio(time + i * 1'920);
    }
    const std::vector<Pcr> pcrs = check_packets(out_);
    ASSERT_GT(pcrs.size(), 100U);
    for (size_t i = 1; i < pcrs.size(); i++) {
        EXPECT_GT(pcrs[i].time, pcrs[i - 1].time);
        EXPECT_LE(pcrs[i].time - pcrs[i - 1].time, Writer::kPcrEach);
    }
    EXPECT_EQ(pcrs[0].time, 90'000 - Writer::kPcrLead);
}

// 10 to 60 frames a second, and 23.976, in time stamps of milliseconds. go2rtc 1.9 ends at a packet
// without payload (issue 32).
TEST_F(TsWriterTest, WithAPcrGapOf100MsUsualFramesHaveAllPcrs) {
    for (const double rate : {10.0, 12.0, 12.5, 15.0, 18.0, 20.0, 23.976, 24.0, 25.0, 30.0, 60.0}) {
        writer_ = Writer(Writer::kMaxPcrGap);
        set({video_.stream(), audio_.stream()});
        out_.clear();
        int64_t tables = 0;
        size_t count = 0;
        const auto look = [&](int64_t time) {
            const size_t now = count_pid(out_, kPatPid);
            if (std::exchange(count, now) != now) {
                EXPECT_LE(time - std::exchange(tables, time), Writer::kTablesEach) << rate;
            }
        };
        int64_t heard = 0;
        for (int i = 0; i < 100; i++) {
            const auto time = 90 * static_cast<int64_t>(i * 1'000 / rate);
            for (; heard <= time; heard += 1'920) {
                audio(heard);
                look(heard);
            }
            video(time, i % 50 == 0);
            look(time);
        }
        EXPECT_EQ(check_packets(out_).size(), 100U) << rate;
        for (size_t at = 0; at < out_.size(); at += kPacketSize) {
            ASSERT_TRUE(Packet::parse(ByteSpan(out_).subspan(at, kPacketSize))->has_payload)
                << rate;
        }
    }
}

// Tables wait for a frame that is no later than the clock may be.
TEST_F(TsWriterTest, WithAPcrGapOf100MsUnevenFramesHaveAllPcrs) {
    writer_ = Writer(Writer::kMaxPcrGap);
    set({video_.stream(), std::nullopt});
    int64_t time = 90'000;
    for (int i = 0; i < 300; i++) {  // 50, 51, ... 99 ms
        video(time, i == 0);
        time += 90 * (50 + i * 37 % 50);
    }
    EXPECT_EQ(check_packets(out_).size(), 300U);
    for (size_t at = 0; at < out_.size(); at += kPacketSize) {
        ASSERT_TRUE(Packet::parse(ByteSpan(out_).subspan(at, kPacketSize))->has_payload) << at;
    }
}

TEST_F(TsWriterTest, WithAPcrGapOf100MsPcrsAre100MsApartAndTablesAFrameMore) {
    writer_ = Writer(Writer::kMaxPcrGap);
    set({video_.stream(), audio_.stream()});
    int64_t time = 90'000;
    for (int i = 0; i < 300; i++) {  // uneven: 7 to 250 ms
        video(time, i % 40 == 0);
        time += 630 + i * 7'919 % 21'870;
    }
    const std::vector<Pcr> pcrs = check_packets(out_);
    ASSERT_GT(pcrs.size(), 300U);
    int64_t tables = pcrs[0].time;
    for (size_t i = 1; i < pcrs.size(); i++) {
        EXPECT_GT(pcrs[i].time, pcrs[i - 1].time);
        EXPECT_LE(pcrs[i].time - pcrs[i - 1].time, Writer::kMaxPcrGap);
        // Tables come right before the packet of a PCR here.
        const ByteSpan before =
            ByteSpan(out_).subspan((pcrs[i].packet - 2) * kPacketSize, kPacketSize);
        if (Packet::parse(before)->pid == kPatPid) {
            EXPECT_LE(pcrs[i].time - tables, Writer::kTablesEach + Writer::kMaxPcrGap) << i;
            tables = pcrs[i].time;
        }
    }
    EXPECT_LE(pcrs.back().time - tables, Writer::kTablesEach + Writer::kMaxPcrGap);
}

TEST_F(TsWriterTest, OfAudioAloneTheAudioHasThePcr) {
    set({std::nullopt, audio_.stream()});
    for (int i = 0; i < 100; i++) {
        audio(90'000 + i * 1'920);
    }
    const std::vector<Pcr> pcrs = check_packets(out_);
    ASSERT_EQ(pcrs.size(), 100U);
    EXPECT_EQ(read_ts(out_).units.size(), 100U);
}

TEST_F(TsWriterTest, APauseIsNotFilledWithPcrs) {
    video(0, true);
    const size_t before = out_.size();
    video(3600 * int64_t{kClockHz}, false, 100);
    EXPECT_LT(out_.size() - before, 6 * kPacketSize);
    video(90'000, false, 100);  // a clock that goes back
    EXPECT_LT(out_.size() - before, 10 * kPacketSize);
}

TEST_F(TsWriterTest, TimesWrapWith33Bits) {
    const auto wrap = static_cast<int64_t>(kTimeMask + 1);
    for (int i = -5; i < 5; i++) {
        video(wrap + i * kFrame, i == -5);
    }
    const auto read = read_ts(out_);
    ASSERT_EQ(read.units.size(), 10U);
    for (size_t i = 1; i < 10; i++) {
        EXPECT_EQ(read.units[i].dts - read.units[i - 1].dts, kFrame);
    }
}

TEST_F(TsWriterTest, AnotherListOfStreamsIsANewVersion) {
    set({video_.stream(), std::nullopt});
    video(0, true);
    set({video_.stream(), std::nullopt});  // the same
    video(kFrame, false);
    EXPECT_EQ(count_pid(out_, kWrittenPmtPid), 1U);
    set({video_.stream(), audio_.stream()});
    video(2 * kFrame, false);
    audio(2 * kFrame);
    EXPECT_EQ(count_pid(out_, kWrittenPmtPid), 2U);
    const auto read = read_ts(out_);
    ASSERT_EQ(read.tracks.size(), 2U);
    EXPECT_EQ(read.tracks[0].size(), 1U);
    EXPECT_EQ(read.tracks[1].size(), 2U);
    EXPECT_EQ(read.units.size(), 4U);
    check_packets(out_);
}

// One packet has a PMT of nine streams, whatever their codecs are.
TEST_F(TsWriterTest, LanguagesAreLeftOutWhereTablesWouldBeTooLong) {
    const auto languages = [this](size_t count) {
        EsWriter other(media::Codec::kOpus);
        (void)other.set_config(media::opus::build_head(2));
        std::vector<std::optional<StreamInfo>> list = {video_.stream()};
        for (size_t i = 0; i < count; i++) {
            list.push_back(other.stream());
            list.back()->language = {'e', 'n', 'g'};
        }
        out_.clear();
        writer_ = Writer();
        set(list);
        writer_.write_tables(out_);
        // PAT and PMT, each in one packet, behind 4 bytes, flags and a pointer.
        const auto packet = Packet::parse(ByteSpan(out_).subspan(kPacketSize)).value();
        const ByteSpan section = packet.payload.subspan(1);
        const size_t length = (section[1] & 0x0FU) << 8 | section[2];
        const auto pmt = Pmt::parse(section.first(3 + length));
        EXPECT_TRUE(pmt);
        EXPECT_EQ(pmt.value_or(Pmt()).streams.size(), count + 1);
        return std::ranges::count(pmt.value_or(Pmt()).streams, std::array{'e', 'n', 'g'},
                                  &StreamInfo::language);
    };
    EXPECT_EQ(languages(8), 0);
    EXPECT_EQ(languages(7), 7);
}

TEST_F(TsWriterTest, KeyFramesAreRandomAccessPoints) {
    video(0, true);
    const auto packet = Packet::parse(ByteSpan(out_).subspan(2 * kPacketSize, kPacketSize));
    ASSERT_TRUE(packet);
    EXPECT_TRUE(packet->random_access);
    EXPECT_TRUE(packet->unit_start);
    EXPECT_TRUE(packet->pcr);
}

TEST_F(TsWriterTest, LargeFramesSayNoLength) {
    video(0, true, 100'000);
    const auto first = Packet::parse(ByteSpan(out_).subspan(2 * kPacketSize, kPacketSize));
    PesHeader header;
    ASSERT_EQ(PesHeader::parse(first->payload, header), PesHeader::Status::kDone);
    EXPECT_FALSE(header.payload_size);
    const auto read = read_ts(out_);
    ASSERT_EQ(read.units.size(), 1U);
    EXPECT_EQ(read.units[0].nals.back(), frames_[0]);
}

// Somebody who begins later gets the tables, audio of before, and then goes on with the log.
TEST_F(TsWriterTest, ABeginningLeadsToWhatFollows) {
    for (int i = 0; i < 7; i++) {
        video(i * kFrame, i == 0);
        audio(i * kFrame);
    }
    const Writer start = writer_;
    const size_t place = out_.size();
    const Bytes early = counted({0x21}, 300, 77);
    const auto parts_view = audio_.write(early, false);
    const std::vector<ByteSpan> parts(parts_view.begin(), parts_view.end());
    Bytes front;
    start.write_beginning({}, false, front);
    EXPECT_EQ(front.size(), 2 * kPacketSize) << "PAT, PMT";
    front.clear();
    start.write_beginning({}, true, front);
    EXPECT_EQ(front.size(), 4 * kPacketSize);
    front.clear();
    const std::vector<Writer::Frame> before = {{1, 7 * kFrame, 7 * kFrame, false, parts},
                                               {1, 8 * kFrame, 8 * kFrame, false, parts}};
    start.write_beginning(before, true, front);
    std::set<uint16_t> seen;
    for (size_t at = 0; at < front.size(); at += kPacketSize) {
        const auto packet = Packet::parse(ByteSpan(front).subspan(at, kPacketSize));
        const bool is_first = seen.insert(packet->pid).second;
        EXPECT_EQ(packet->discontinuity, is_first) << packet->pid;
        EXPECT_EQ(packet->has_payload, packet->pid != kFirstWrittenPid) << packet->pid;
        EXPECT_EQ(packet->pcr.has_value(), packet->pid == kFirstWrittenPid) << packet->pid;
    }
    video(7 * kFrame, true);
    audio(9 * kFrame);
    front.insert(front.end(), out_.begin() + static_cast<std::ptrdiff_t>(place), out_.end());
    check_packets(front);
    Reader reader;
    const auto read = read_ts(reader, front);
    ASSERT_EQ(read.units.size(), 4U);
    EXPECT_EQ(Bytes(read.units[0].data.begin() + 7, read.units[0].data.end()), early);
    EXPECT_EQ(read.units[2].nals.back(), frames_.back());
    EXPECT_EQ(reader.counters().continuity_errors, 0U);
    // The same after something else: a player that was moved on.
    Bytes moved(out_.begin(), out_.begin() + 5 * kPacketSize);
    moved.insert(moved.end(), front.begin(), front.end());
    Reader other;
    read_ts(other, moved);
    EXPECT_EQ(other.counters().continuity_errors, 0U);
}

TEST(EsWriterTest, VideoGetsDelimiterStartCodesAndParameterSets) {
    EsWriter writer(media::Codec::kH264);
    ASSERT_FALSE(writer.stream());
    const Bytes slice = counted({0x65, 0x88}, 50);
    EXPECT_TRUE(writer.write(nal_frame({slice}), true).empty());
    ASSERT_TRUE(writer.set_config(test::kAvcBaselineConfig));
    ASSERT_TRUE(writer.stream());
    const auto joined = [](std::span<const ByteSpan> parts) {
        Bytes out;
        for (const ByteSpan part : parts) {
            out.insert(out.end(), part.begin(), part.end());
        }
        return out;
    };
    const Bytes delimiter = {0x09, 0xF0};
    EXPECT_EQ(joined(writer.write(nal_frame({delimiter, slice}), true)),
              test::annex_b({delimiter, test::kAvcBaselineSps, test::kAvcBaselinePps, slice}));
    EXPECT_EQ(joined(writer.write(nal_frame({slice}), false)), test::annex_b({delimiter, slice}));
    // A frame that brings its own.
    EXPECT_EQ(joined(writer.write(nal_frame({test::kAvcHighSps, test::kAvcHighPps, slice}), true)),
              test::annex_b({delimiter, test::kAvcHighSps, test::kAvcHighPps, slice}));
    EXPECT_TRUE(writer.write(test::from_hex("000000ff65"), true).empty());  // broken
    EXPECT_TRUE(writer.write({}, true).empty());
}

TEST(EsWriterTest, EveryCodecThatFitsComesBack) {
    using media::Codec;

    struct Case {
        Codec codec;
        Bytes config;
        Bytes frame;
        size_t header;  // of the unit
    };

    const std::vector<Case> cases = {
        {Codec::kAac, test::from_hex("1190"), counted({0x21}, 300), 7},
        {Codec::kMp3, {}, counted({0xFF, 0xFB, 0x90, 0x64}, 417), 0},
        {Codec::kAc3, {}, counted({0x0B, 0x77, 0, 0, 0x14, 0x40}, 768), 0},
        {Codec::kEac3, {}, counted({0x0B, 0x77, 0x01, 0xFF, 0x34, 0x86}, 1024), 0},
        {Codec::kOpus, test::from_hex("4f707573486561640102380180bb0000000000"),
         counted({0xFC}, 700), 0},
    };
    for (const Case& each : cases) {
        SCOPED_TRACE(static_cast<int>(each.codec));
        ASSERT_TRUE(EsWriter::carries(each.codec));
        EsWriter es(each.codec);
        EXPECT_TRUE(es.set_config(each.config));
        ASSERT_TRUE(es.stream());
        Writer writer;
        const std::vector<std::optional<StreamInfo>> streams = {es.stream()};
        writer.set_streams(streams);
        Bytes out;
        for (int64_t i = 0; i < 3; i++) {
            writer.write({0, i * 2'160, i * 2'160, false, es.write(each.frame, false)}, out);
        }
        const auto read = read_ts(out);
        ASSERT_EQ(read.units.size(), 3U);
        for (const test::ReadUnit& unit : read.units) {
            EXPECT_EQ(Bytes(unit.data.begin() + static_cast<std::ptrdiff_t>(each.header),
                            unit.data.end()),
                      each.frame);
        }
    }
    EXPECT_FALSE(EsWriter::carries(Codec::kAv1));
    EXPECT_FALSE(EsWriter::carries(Codec::kG711A));
}

TEST(EsWriterTest, HevcIsWrittenWithItsDelimiter) {
    Bytes record = test::kHevcConfigHead;
    ByteWriter writer(record);
    writer.u8(3);
    for (const Bytes& nal : {test::kHevcVps, test::kHevcSps, test::kHevcPps}) {
        writer.u8(static_cast<uint8_t>(0x80 | nal[0] >> 1)).u16(1);
        writer.u16(static_cast<uint16_t>(nal.size())).bytes(nal);
    }
    EsWriter es(media::Codec::kHevc);
    ASSERT_TRUE(es.set_config(record));
    const Bytes idr = counted({0x26, 0x01, 0xAF}, 300);
    const Bytes frame = nal_frame({idr});
    Bytes all;
    for (const ByteSpan part : es.write(frame, true)) {
        all.insert(all.end(), part.begin(), part.end());
    }
    EXPECT_EQ(all, test::annex_b({test::from_hex("460150"), test::kHevcVps, test::kHevcSps,
                                  test::kHevcPps, idr}));
}

TEST(EsWriterTest, WhatTheFormatCannotSayIsRefused) {
    EsWriter aac(media::Codec::kAac);
    EXPECT_FALSE(aac.set_config(test::from_hex("1180")));
    EXPECT_TRUE(aac.write(counted({0x21}, 100), false).empty());
    EXPECT_TRUE(aac.set_config(test::from_hex("1190")));
    EXPECT_TRUE(aac.write(counted({0x21}, 8'185), false).empty());  // 13 bits with the header
    EXPECT_FALSE(aac.write(counted({0x21}, 8'184), false).empty());
    EsWriter opus(media::Codec::kOpus);
    EXPECT_FALSE(opus.set_config(test::from_hex("4f707573486561640106380180bb0000000001")));
}

}  // namespace
}  // namespace weir::mpegts
