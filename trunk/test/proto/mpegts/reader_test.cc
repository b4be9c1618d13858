#include "proto/mpegts/reader.h"

#include <gtest/gtest.h>

#include "test/support/codec_samples.h"
#include "test/support/transport_stream.h"

namespace weir::mpegts {
namespace {

using test::annex_b;
using test::counted;
using test::read_ts;
using test::ReadStream;
using test::TsBuilder;

constexpr uint16_t kPmtPid = 0x1000;
constexpr uint16_t kVideoPid = 0x100;
constexpr uint16_t kAudioPid = 0x101;
constexpr uint64_t kFrame = 3'600;

StreamInfo stream(Content content, uint16_t pid, uint8_t type = 0) {
    StreamInfo info;
    info.content = content;
    info.pid = pid;
    info.stream_type = type;
    return info;
}

const std::vector<StreamInfo> kBothStreams = {stream(Content::kH264, kVideoPid),
                                              stream(Content::kMpegAudio, kAudioPid, 3)};

const Bytes kDelimiter = {0x09, 0xF0};

std::vector<Bytes> key_nals(uint32_t marker, size_t size = 700) {
    return {kDelimiter, test::kAvcHighSps, test::kAvcHighPps, counted({0x65, 0x88}, size, marker)};
}

std::vector<Bytes> nals(uint32_t marker, size_t size = 700) {
    return {kDelimiter, counted({0x41, 0x9A}, size, marker)};
}

// A frame of MP3 of 417 bytes, 26.1 ms.
Bytes mp3(uint32_t marker) {
    return counted({0xFF, 0xFB, 0x90, 0x64}, 417, marker);
}

Bytes joined(const std::vector<Bytes>& parts) {
    Bytes out;
    for (const Bytes& part : parts) {
        out.insert(out.end(), part.begin(), part.end());
    }
    return out;
}

TsBuilder with_tables() {
    TsBuilder ts;
    ts.pat({{1, kPmtPid}}).pmt(kPmtPid, 1, kBothStreams);
    return ts;
}

// A second of both, the video without lengths.
TsBuilder sample() {
    TsBuilder ts = with_tables();
    for (uint32_t i = 0; i < 25; i++) {
        const uint64_t dts = 90'000 + i * kFrame;
        ts.pes(kVideoPid, dts + kFrame, dts, annex_b(i == 0 ? key_nals(i) : nals(i)), false);
        ts.pes(kAudioPid, dts, {}, joined({mp3(i), mp3(i + 100)}));
    }
    return ts;
}

TEST(TsReaderTest, GivesTracksAndUnitsWithTheirTimes) {
    const ReadStream read = read_ts(sample().out);
    ASSERT_EQ(read.tracks.size(), 1U);
    ASSERT_EQ(read.tracks[0].size(), 2U);
    EXPECT_TRUE(read.tracks[0][0].taken && read.tracks[0][1].taken);
    EXPECT_EQ(read.tracks[0][0].info.content, Content::kH264);
    size_t video = 0;
    size_t audio = 0;
    for (const test::ReadUnit& unit : read.units) {
        EXPECT_FALSE(unit.after_loss);
        if (unit.track == 0) {
            const auto i = static_cast<uint32_t>(video++);
            EXPECT_EQ(unit.nals, i == 0 ? key_nals(i) : nals(i));
            EXPECT_EQ(unit.key, i == 0);
            EXPECT_EQ(unit.dts, static_cast<int64_t>(90'000 + i * kFrame));
            EXPECT_EQ(unit.pts, unit.dts + static_cast<int64_t>(kFrame));
        } else {
            const auto i = static_cast<uint32_t>(audio++);
            EXPECT_EQ(unit.data, mp3(i / 2 + i % 2 * 100));
            const auto first = static_cast<int64_t>(90'000 + i / 2 * kFrame);
            EXPECT_EQ(unit.pts, first + (i % 2 == 0 ? 0 : 1152 * 90'000 / 44'100));
        }
    }
    EXPECT_EQ(video, 25U);
    EXPECT_EQ(audio, 50U);
}

TEST(TsReaderTest, AnySplitOfTheInputGivesTheSame) {
    Bytes bytes = sample().out;
    bytes.insert(bytes.begin(), 77, 0x47);  // sync bytes before the sync
    const ReadStream whole = read_ts(bytes);
    ASSERT_EQ(whole.units.size(), 75U);
    for (const size_t step : {1U, 2U, 3U, 187U, 188U, 189U, 639U, 640U, 641U, 1316U, 5000U}) {
        EXPECT_EQ(read_ts(bytes, step), whole) << step;
    }
}

TEST(TsReaderTest, EveryTruncationGivesAPrefix) {
    const Bytes bytes = sample().out;
    const ReadStream whole = read_ts(bytes);
    for (size_t size = 0; size < bytes.size(); size += 61) {
        Reader reader;
        const ReadStream part = read_ts(reader, ByteSpan(bytes).first(size), SIZE_MAX, false);
        ASSERT_LE(part.units.size(), whole.units.size());
        EXPECT_TRUE(std::equal(part.units.begin(), part.units.end(), whole.units.begin())) << size;
        EXPECT_TRUE(part.error.empty());
    }
}

TEST(TsReaderTest, AFrameWithoutLengthComesOutWhenTheNextBegins) {
    TsBuilder ts = with_tables();
    ts.pes(kVideoPid, 0, {}, annex_b(key_nals(1)), false);
    Reader reader;
    EXPECT_EQ(read_ts(reader, ts.out, SIZE_MAX, false).units.size(), 0U);
    const size_t before = ts.out.size();
    ts.pes(kVideoPid, kFrame, {}, annex_b(nals(2)), false);
    // One packet of the next is enough.
    const ReadStream read =
        read_ts(reader, ByteSpan(ts.out).subspan(before, kPacketSize), SIZE_MAX, false);
    ASSERT_EQ(read.units.size(), 1U);
    EXPECT_EQ(read.units[0].nals, key_nals(1));
}

TEST(TsReaderTest, AFrameWithALengthComesOutWithItsLastPacket) {
    TsBuilder ts = with_tables();
    ts.pes(kVideoPid, 0, {}, annex_b(key_nals(1)));
    Reader reader;
    EXPECT_EQ(read_ts(reader, ts.out, SIZE_MAX, false).units.size(), 1U);
}

TEST(TsReaderTest, FindsTheSyncAgainAfterGarbage) {
    TsBuilder ts = with_tables();
    ts.pes(kVideoPid, 0, {}, annex_b(key_nals(1)));
    ts.raw(counted({0x11}, 1000, 5));
    const size_t garbage_end = ts.out.size();
    for (uint32_t i = 1; i < 10; i++) {
        ts.pes(kVideoPid, i * kFrame, {}, annex_b(nals(i)));
    }
    Reader reader;
    const ReadStream read = read_ts(reader, ts.out);
    EXPECT_EQ(read.units.size(), 10U);
    EXPECT_TRUE(read.units[1].after_loss);
    EXPECT_FALSE(read.units[2].after_loss);
    EXPECT_EQ(reader.counters().sync_losses, 1U);
    EXPECT_EQ(reader.counters().skipped_bytes, 1000U);
    EXPECT_GT(garbage_end, 1000U);
}

TEST(TsReaderTest, OtherSizesOfPacketsAreRefusedWithAReason) {
    const Bytes bytes = sample().out;
    for (const size_t size : {192U, 204U}) {
        Bytes other;
        for (size_t at = 0; at < bytes.size(); at += kPacketSize) {
            const ByteSpan packet = ByteSpan(bytes).subspan(at, kPacketSize);
            other.insert(other.end(), size == 192 ? 4 : 0, 0x01);
            other.insert(other.end(), packet.begin(), packet.end());
            other.insert(other.end(), size == 192 ? 0 : 16, 0x02);
        }
        const ReadStream read = read_ts(other);
        EXPECT_NE(read.error.find("packets of " + std::to_string(size)), std::string::npos);
        Reader reader;
        read_ts(reader, other);
        EXPECT_EQ(reader.feed(bytes), 0U);
    }
}

TEST(TsReaderTest, GarbageIsSkippedAndNothingGrows) {
    Reader reader;
    const ReadStream read = read_ts(reader, counted({}, 100'000, 3));
    EXPECT_TRUE(read.units.empty() && read.tracks.empty() && read.error.empty());
    EXPECT_GT(reader.counters().skipped_bytes, 99'000U);
}

// ---- losses ----

TEST(TsReaderTest, AFrameThatLostAPacketIsNotGiven) {
    TsBuilder whole = sample();
    // A packet in the middle of the fourth frame of video.
    size_t lost = 0;
    for (size_t i = 0, frames = 0; i < whole.count(); i++) {
        const auto packet = Packet::parse(ByteSpan(whole.out).subspan(i * kPacketSize, 188));
        if (packet->pid == kVideoPid) {
            frames += packet->unit_start ? 1U : 0U;
            lost = frames == 4 && !packet->unit_start && lost == 0 ? i : lost;
        }
    }
    whole.erase(lost);
    Reader reader;
    const ReadStream read = read_ts(reader, whole.out);
    std::vector<int64_t> times;
    for (const test::ReadUnit& unit : read.units) {
        if (unit.track == 0) {
            times.push_back(unit.dts);
            EXPECT_EQ(unit.after_loss, times.size() == 4);
        }
    }
    EXPECT_EQ(times.size(), 24U);
    EXPECT_EQ(times[3] - times[2], static_cast<int64_t>(2 * kFrame));
    EXPECT_EQ(reader.counters().continuity_errors, 1U);
}

TEST(TsReaderTest, APacketMayComeTwiceButNotThreeTimes) {
    TsBuilder ts = with_tables();
    ts.pes(kVideoPid, 0, {}, annex_b(key_nals(1)));
    const Bytes last(ts.out.end() - kPacketSize, ts.out.end());
    TsBuilder twice = with_tables();
    for (size_t at = 2 * kPacketSize; at < ts.out.size(); at += kPacketSize) {
        const Bytes packet(ts.out.begin() + static_cast<std::ptrdiff_t>(at),
                           ts.out.begin() + static_cast<std::ptrdiff_t>(at + kPacketSize));
        twice.raw(packet).raw(packet);
    }
    Reader reader;
    const ReadStream read = read_ts(reader, twice.out);
    ASSERT_EQ(read.units.size(), 1U);
    EXPECT_EQ(read.units[0].nals, key_nals(1));
    EXPECT_EQ(reader.counters().duplicates, ts.count() - 2);
    EXPECT_EQ(reader.counters().continuity_errors, 0U);

    TsBuilder thrice = with_tables();
    thrice.raw(last).raw(last).raw(last);
    Reader other;
    read_ts(other, thrice.out);
    EXPECT_EQ(other.counters().continuity_errors, 1U);
}

TEST(TsReaderTest, TheOwnerSaysThatBytesAreMissing) {
    TsBuilder first = with_tables();
    first.pes(kVideoPid, 0, {}, annex_b(key_nals(1)), false);
    TsBuilder second;
    second.counters = first.counters;
    second.pes(kVideoPid, kFrame, {}, annex_b(nals(2)));
    Reader reader;
    EXPECT_TRUE(read_ts(reader, first.out, SIZE_MAX, false).units.empty());
    reader.lose();
    const ReadStream read = read_ts(reader, second.out, SIZE_MAX, false);
    ASSERT_EQ(read.units.size(), 1U);
    EXPECT_EQ(read.units[0].nals, nals(2));
    EXPECT_TRUE(read.units[0].after_loss);
}

TEST(TsReaderTest, ErrorsAndScramblingAreCountedAndPassedOver) {
    TsBuilder ts = sample();
    const size_t video_end = ts.count();
    ts.byte(2, 1) |= 0x80;  // transport_error_indicator, of the first frame
    for (size_t i = 10; i < video_end; i++) {
        if (((ts.byte(i, 1) & 0x1F) << 8 | ts.byte(i, 2)) == kAudioPid) {
            ts.byte(i, 3) |= 0x80;
        }
    }
    Reader reader;
    const ReadStream read = read_ts(reader, ts.out);
    EXPECT_EQ(reader.counters().transport_errors, 1U);
    EXPECT_GT(reader.counters().scrambled, 60U);
    size_t audio = 0;
    for (const test::ReadUnit& unit : read.units) {
        audio += unit.track == 1 ? 1U : 0U;
    }
    EXPECT_LT(audio, 5U);
    EXPECT_EQ(read.units.size() - audio, 24U);
}

TEST(TsReaderTest, ADiscontinuityThatIsAnnouncedIsNoError) {
    TsBuilder ts = with_tables();
    ts.pes(kVideoPid, 0, {}, annex_b(key_nals(1)));
    Bytes empty = test::ts_packet(kVideoPid, 9, false, {}, 0x80);
    ts.raw(empty);
    ts.counters[kVideoPid] = 10;
    ts.pes(kVideoPid, kFrame, {}, annex_b(nals(2)));
    Reader reader;
    const ReadStream read = read_ts(reader, ts.out);
    EXPECT_EQ(read.units.size(), 2U);
    EXPECT_EQ(reader.counters().continuity_errors, 0U);
}

// ---- times ----

TEST(TsReaderTest, TimesGoOnOverAWrap) {
    TsBuilder ts = with_tables();
    for (uint64_t i = 0; i < 10; i++) {
        const uint64_t time = (kTimeMask - 5 * kFrame + i * kFrame + 1) & kTimeMask;
        ts.pes(kVideoPid, time, {}, annex_b(i == 0 ? key_nals(1) : nals(2)));
        ts.pes(kAudioPid, time, {}, mp3(1));
    }
    const ReadStream read = read_ts(ts.out);
    ASSERT_EQ(read.units.size(), 20U);
    for (size_t i = 2; i < read.units.size(); i++) {
        EXPECT_EQ(read.units[i].pts - read.units[i - 2].pts, static_cast<int64_t>(kFrame));
    }
}

TEST(TsReaderTest, UnitsWithoutATimeFollowFromTheOneBefore) {
    TsBuilder ts = with_tables();
    ts.pes(kVideoPid, 0, {}, annex_b(key_nals(1)));
    ts.pes(kVideoPid, 1'800, {}, annex_b(nals(2)));
    ts.pes(kVideoPid, {}, {}, joined({annex_b(nals(3)), annex_b(nals(4))}));
    ts.pes(kAudioPid, {}, {}, mp3(1));  // of no time at all
    ts.pes(kAudioPid, 900, {}, mp3(2));
    ts.pes(kAudioPid, {}, {}, mp3(3));
    const ReadStream read = read_ts(ts.out);
    ASSERT_EQ(read.units.size(), 6U);
    EXPECT_EQ(read.units[2].dts, 3'600);
    EXPECT_EQ(read.units[3].dts, 5'400);
    EXPECT_EQ(read.units[4].data, mp3(2));
    EXPECT_EQ(read.units[5].pts, 900 + 1152 * 90'000 / 44'100);
}

// ---- tables ----

TEST(TsReaderTest, TakesTheFirstProgrammeWithVideo) {
    TsBuilder ts;
    ts.pat({{1, 0x30}, {2, 0x31}, {3, 0x32}});
    ts.pmt(0x31, 2, {stream(Content::kH264, 0x200)});  // before the first one
    ts.pmt(0x30, 1, {stream(Content::kMpegAudio, 0x300, 3)});
    ts.pmt(0x32, 3, {stream(Content::kHevc, 0x400)});
    ts.pes(0x400, 0, {}, annex_b({counted({0x26, 0x01, 0x80}, 100)}));
    ts.pes(0x200, 0, {}, annex_b(key_nals(1)));
    const ReadStream read = read_ts(ts.out);
    ASSERT_EQ(read.tracks.size(), 1U);
    EXPECT_EQ(read.tracks[0][0].info.pid, 0x200);
    ASSERT_EQ(read.units.size(), 1U);
    EXPECT_EQ(read.units[0].nals, key_nals(1));
}

TEST(TsReaderTest, TakesTheProgrammeThatWasAskedFor) {
    TsBuilder ts;
    ts.pat({{1, 0x30}, {2, 0x31}});
    ts.pmt(0x30, 1, {stream(Content::kH264, 0x200)});
    ts.pmt(0x31, 2, {stream(Content::kMpegAudio, 0x300, 3)});
    ts.pes(0x200, 0, {}, annex_b(key_nals(1)));
    ts.pes(0x300, 0, {}, mp3(1));
    ReaderOptions options;
    options.program = 2;
    Reader reader(options);
    const ReadStream read = read_ts(reader, ts.out);
    ASSERT_EQ(read.units.size(), 1U);
    EXPECT_EQ(read.units[0].data, mp3(1));
}

TEST(TsReaderTest, TakesSeveralAudioStreamsOfOneContentWhereItIsTold) {
    const std::vector<StreamInfo> streams = {
        stream(Content::kH264, 0x200), stream(Content::kMpegAudio, 0x300, 3),
        stream(Content::kAac, 0x301),  stream(Content::kAc3, 0x302),
        stream(Content::kAac, 0x303),  stream(Content::kAac, 0x304),
    };
    const auto taken = [&streams](size_t max_audio) {
        TsBuilder ts;
        ts.pat({{1, 0x30}}).pmt(0x30, 1, streams);
        ts.pes(0x200, 0, {}, annex_b(key_nals(1)));
        Reader reader({.max_audio = max_audio});
        const ReadStream read = read_ts(reader, ts.out);
        std::vector<uint16_t> pids;
        for (const Track& track : read.tracks.at(0)) {
            if (track.taken) {
                pids.push_back(track.info.pid);
            }
        }
        return pids;
    };
    EXPECT_EQ(taken(1), (std::vector<uint16_t>{0x200, 0x301}));
    EXPECT_EQ(taken(2), (std::vector<uint16_t>{0x200, 0x301, 0x303}));
    EXPECT_EQ(taken(8), (std::vector<uint16_t>{0x200, 0x301, 0x303, 0x304}));
}

TEST(TsReaderTest, ProgrammesWhosePmtNeverComesAreGivenUp) {
    TsBuilder ts;
    for (int i = 0; i < 4; i++) {
        ts.pat({{1, 0x30}, {2, 0x31}}).pmt(0x31, 2, {stream(Content::kMpegAudio, 0x300, 3)});
    }
    ts.pes(0x300, 0, {}, mp3(1));
    EXPECT_EQ(read_ts(ts.out).units.size(), 1U);
}

TEST(TsReaderTest, AThousandProgrammesAreBounded) {
    std::vector<Pat::Entry> entries;
    for (uint16_t i = 1; i <= 250; i++) {
        entries.push_back({i, static_cast<uint16_t>(0x20 + i)});
    }
    TsBuilder ts;
    for (uint8_t section = 0; section < 6; section++) {
        Pat pat;
        pat.section = section;
        pat.last_section = 5;
        pat.programs = entries;
        Bytes bytes;
        pat.write(bytes);
        ts.section(kPatPid, bytes);
    }
    for (const Pat::Entry& entry : entries) {
        ts.pmt(entry.pid, entry.program, {stream(Content::kH264, kVideoPid)});
    }
    Reader reader;
    const ReadStream read = read_ts(reader, ts.out);
    EXPECT_EQ(reader.programs(), kMaxPatEntries);
    EXPECT_EQ(read.tracks.size(), 1U);
    EXPECT_LT(reader.heap_bytes(), 64U << 10U);
}

TEST(TsReaderTest, APmtThatChangesMidStreamChangesTheTracks) {
    TsBuilder ts = with_tables();
    ts.pes(kVideoPid, 0, {}, annex_b(key_nals(1)));
    ts.pes(kAudioPid, 0, {}, mp3(1));
    ts.pmt(kPmtPid, 1, {kBothStreams[0], stream(Content::kAc3, 0x105)}, 1);
    ts.pes(kAudioPid, kFrame, {}, mp3(2));  // is not named any more
    ts.pes(0x105, kFrame, {}, counted({0x0B, 0x77, 0, 0, 0x00, 0x40}, 128));
    ts.pes(kVideoPid, kFrame, {}, annex_b(nals(2)));
    ts.pmt(kPmtPid, 1, {kBothStreams[0], stream(Content::kAc3, 0x105)}, 1);  // no news
    const ReadStream read = read_ts(ts.out);
    ASSERT_EQ(read.tracks.size(), 2U);
    EXPECT_EQ(read.tracks[1][1].info.content, Content::kAc3);
    ASSERT_EQ(read.units.size(), 4U);
    EXPECT_EQ(read.units[2].data.size(), 128U);
    EXPECT_EQ(read.units[3].nals, nals(2));
    EXPECT_FALSE(read.units[3].after_loss);  // the video has gone on
}

TEST(TsReaderTest, APatThatNamesAnotherProgrammeIsFollowed) {
    TsBuilder ts = with_tables();
    ts.pes(kVideoPid, 0, {}, annex_b(key_nals(1)));
    ts.pat({{9, 0x40}}, 1).pmt(0x40, 9, {stream(Content::kH264, 0x500)});
    ts.pes(0x500, kFrame, {}, annex_b(key_nals(2)));
    const ReadStream read = read_ts(ts.out);
    ASSERT_EQ(read.tracks.size(), 3U);
    EXPECT_TRUE(read.tracks[1].empty());
    ASSERT_EQ(read.units.size(), 2U);
    EXPECT_EQ(read.units[1].nals, key_nals(2));
}

TEST(TsReaderTest, OtherStreamsAreNamedAndPassedOver) {
    TsBuilder ts;
    ts.pat({{1, kPmtPid}});
    ts.pmt(kPmtPid, 1,
           {stream(Content::kMpegVideo, 0x110, 2), stream(Content::kH264, kVideoPid),
            stream(Content::kMpegAudio, kAudioPid, 3), stream(Content::kAc3, 0x111),
            stream(Content::kUnknown, 0x112)});
    ts.pes(0x110, 0, {}, counted({0, 0, 1, 0xB3}, 300));
    ts.pes(0x112, 0, {}, counted({1}, 300));
    ts.pes(kAudioPid, 0, {}, mp3(1));
    const ReadStream read = read_ts(ts.out);
    ASSERT_EQ(read.tracks.size(), 1U);
    ASSERT_EQ(read.tracks[0].size(), 5U);
    std::vector<bool> taken;
    for (const Track& track : read.tracks[0]) {
        taken.push_back(track.taken);
    }
    // AC-3 rather than MPEG audio, whose layer is not known.
    EXPECT_EQ(taken, (std::vector<bool>{false, true, false, true, false}));
    EXPECT_TRUE(read.units.empty());
}

TEST(TsReaderTest, AWrongCrcChangesNothing) {
    TsBuilder ts = with_tables();
    ts.pat({{2, 0x50}}, 1);
    ts.byte(2, 10) ^= 1;
    ts.pes(kVideoPid, 0, {}, annex_b(key_nals(1)));
    Reader reader;
    EXPECT_EQ(read_ts(reader, ts.out).units.size(), 1U);
    EXPECT_EQ(reader.counters().malformed, 1U);
}

// ---- limits ----

TEST(TsReaderTest, AFrameWithoutEndIsDroppedAtTheLimit) {
    TsBuilder ts = with_tables();
    ts.pes(kVideoPid, 0, {}, annex_b(key_nals(1, kMaxPesBytes + 1000)), false);
    ts.pes(kVideoPid, kFrame, {}, annex_b(key_nals(2)));
    Reader reader;
    const ReadStream read = read_ts(reader, ts.out);
    ASSERT_EQ(read.units.size(), 1U);
    EXPECT_EQ(read.units[0].nals, key_nals(2));
    EXPECT_TRUE(read.units[0].after_loss);
    EXPECT_GE(reader.counters().malformed, 1U);
}

TEST(TsReaderTest, APidOfTwoUsesHasTheFirst) {
    TsBuilder ts;
    ts.pat({{1, kPmtPid}}).pmt(kPmtPid, 1, {stream(Content::kH264, kPmtPid)});
    ts.pes(kVideoPid, 0, {}, annex_b(key_nals(1)));  // there is nothing to find in less
    const ReadStream read = read_ts(ts.out);
    ASSERT_EQ(read.tracks.size(), 1U);
    EXPECT_FALSE(read.tracks[0][0].taken);
}

}  // namespace
}  // namespace weir::mpegts
