#include "stream/wire_log.h"

#include <algorithm>
#include <array>
#include <string>

#include <gtest/gtest.h>

namespace weir::stream {
namespace {

// A log with its contents beside it: entry `i` is filled with bytes that tell entry and position.
class WireLogTest : public testing::Test {
  protected:
    ~WireLogTest() override { EXPECT_GE(LogBlock::live_blocks(), 1U) << "the log of the fixture"; }

    void add(size_t size, int64_t time_ms = 0, bool start = false) {
        boundaries_.push_back(all_.size());
        times_.push_back(time_ms);
        Bytes bytes(size);
        for (size_t i = 0; i < size; i++) {
            bytes[i] = static_cast<uint8_t>((all_.size() + i) * 31 + ((all_.size() + i) >> 8));
        }
        log_.begin_entry(time_ms, start);
        // In pieces, as muxers write: header, body, trailer.
        const size_t cut = size / 3;
        log_.write(ByteSpan(bytes).first(cut));
        log_.write(ByteSpan(bytes).subspan(cut));
        log_.end_entry();
        all_.insert(all_.end(), bytes.begin(), bytes.end());
    }

    // What a reader at the cursor is given, `limit` bytes and `parts` pieces at a time, until it
    // has caught up.
    Bytes read(Cursor& cursor, size_t limit = SIZE_MAX, size_t parts = 4) const {
        Bytes out;
        std::vector<iovec> vec(parts);
        for (;;) {
            size_t count = 0;
            const size_t got = log_.gather(cursor, vec, limit, count);
            if (got == 0) {
                EXPECT_EQ(count, 0U);
                return out;
            }
            EXPECT_LE(got, limit);
            size_t sum = 0;
            for (size_t i = 0; i < count; i++) {
                EXPECT_GT(vec[i].iov_len, 0U);
                const auto* data = static_cast<const uint8_t*>(vec[i].iov_base);
                out.insert(out.end(), data, data + vec[i].iov_len);
                sum += vec[i].iov_len;
            }
            EXPECT_EQ(sum, got);
            WireLog::advance(cursor, got);
        }
    }

    Bytes expected_from(uint64_t position) const {
        return {all_.begin() + static_cast<std::ptrdiff_t>(position), all_.end()};
    }

    Cursor cursor_at(const Cursor& from, uint64_t position) const {
        Cursor cursor = from;
        WireLog::advance(cursor, position - from.position());
        return cursor;
    }

    WireLog log_;
    Bytes all_;
    std::vector<uint64_t> boundaries_;
    std::vector<int64_t> times_;
};

TEST_F(WireLogTest, HasNowhereToStartBeforeTheFirstStartEntry) {
    EXPECT_FALSE(log_.has_start());
    EXPECT_EQ(log_.head(), 0U);
    add(10);
    EXPECT_FALSE(log_.has_start());
    add(10, 0, true);
    EXPECT_TRUE(log_.has_start());
    EXPECT_EQ(log_.start().position(), 10U);
}

TEST_F(WireLogTest, ACursorReadsExactlyWhatWasWritten) {
    add(1, 0, true);
    for (size_t size :
         {0U, 1U, 100U, 4095U, 4096U, 4097U, 3U, 70'000U, 65'536U, 12'345U, 200'000U}) {
        add(size);
    }
    for (size_t limit : {SIZE_MAX, size_t{4096}, size_t{999}}) {
        for (size_t parts : {1U, 2U, 16U}) {
            Cursor cursor = log_.start();
            EXPECT_EQ(read(cursor, limit, parts), all_);
            EXPECT_EQ(log_.bytes_behind(cursor), 0U);
        }
    }
}

TEST_F(WireLogTest, ACursorMayStandAtEveryByteOfEntriesOverBlockBorders) {
    add(100, 0, true);
    add(kMinBlockBytes - 50, 40);
    add(kMinBlockBytes + 7, 80);
    add(33, 120);
    add(3 * kMinBlockBytes, 160);
    for (uint64_t at = 0; at <= all_.size();
         at += at % kMinBlockBytes > 8 && at % kMinBlockBytes < 4000 ? 97U : 1U) {
        Cursor cursor = cursor_at(log_.start(), at);
        ASSERT_EQ(cursor.position(), at);
        ASSERT_EQ(log_.bytes_behind(cursor), all_.size() - at);
        auto boundary = std::ranges::lower_bound(boundaries_, at);
        const bool inside_last = boundary == boundaries_.end();
        ASSERT_EQ(log_.next_boundary(cursor), inside_last ? all_.size() : *boundary) << at;
        ASSERT_EQ(
            log_.ms_behind(cursor),
            inside_last ? 0 : 160 - times_[static_cast<size_t>(boundary - boundaries_.begin())])
            << at;
        Bytes rest;
        log_.copy_until(cursor, log_.next_boundary(cursor), rest);
        ASSERT_EQ(rest.size(), log_.next_boundary(cursor) - at);
        ASSERT_TRUE(
            std::equal(rest.begin(), rest.end(), all_.begin() + static_cast<std::ptrdiff_t>(at)));
        ASSERT_EQ(read(cursor), expected_from(at));
    }
}

TEST_F(WireLogTest, CountsTheEntriesBetweenTwoPlaces) {
    add(10, 0, true);
    const Cursor begin = log_.start();
    for (int i = 1; i < 300; i++) {
        add(static_cast<size_t>(1 + i * 7 % 400), i);
    }
    for (const uint64_t from :
         {uint64_t{0}, uint64_t{1}, uint64_t{10}, uint64_t{4096}, uint64_t{9000}, log_.head()}) {
        const Cursor cursor = cursor_at(begin, from);
        for (const uint64_t end : {from, from + 1, uint64_t{20'000}, log_.head()}) {
            const auto expected = std::ranges::count_if(
                boundaries_, [&](uint64_t at) { return at >= from && at < end; });
            EXPECT_EQ(log_.entries_until(cursor, end), static_cast<uint64_t>(expected))
                << from << " to " << end;
        }
    }
}

TEST_F(WireLogTest, FindsTheFirstEntryOfATimeFromTheCursorOn) {
    for (int64_t i = 0; i < 20; i++) {
        add(3000, i * 40, i == 0);
    }
    const Cursor begin = log_.start();
    EXPECT_EQ(log_.first_at(begin, 0), 0U);
    EXPECT_EQ(log_.first_at(begin, 200), 5U * 3000U);
    EXPECT_EQ(log_.first_at(begin, 201), 6U * 3000U) << "blocks further";
    EXPECT_EQ(log_.first_at(begin, 760), 19U * 3000U);
    EXPECT_EQ(log_.first_at(begin, 761), std::nullopt) << "not there yet";
    // From within an entry: the next one, also when its time was over long ago.
    EXPECT_EQ(log_.first_at(cursor_at(begin, 9001), 0), 4U * 3000U);
    EXPECT_EQ(log_.first_at(cursor_at(begin, 9000), 0), 3U * 3000U);
}

TEST_F(WireLogTest, ACaughtUpCursorSeesWhatComesNext) {
    add(kMinBlockBytes, 0, true);  // ends exactly at the block's end
    Cursor cursor = log_.start();
    read(cursor);
    EXPECT_EQ(cursor.position(), kMinBlockBytes);
    EXPECT_EQ(log_.next_boundary(cursor), kMinBlockBytes);
    EXPECT_EQ(log_.ms_behind(cursor), 0);
    add(10, 20);
    EXPECT_EQ(log_.next_boundary(cursor), kMinBlockBytes);
    EXPECT_EQ(log_.bytes_behind(cursor), 10U);
    EXPECT_EQ(read(cursor), expected_from(kMinBlockBytes));
}

TEST_F(WireLogTest, GatherKeepsToItsLimits) {
    add(40'000, 0, true);
    std::array<iovec, 3> parts{};
    size_t count = 0;
    EXPECT_EQ(log_.gather(log_.start(), parts, 0, count), 0U);
    EXPECT_EQ(count, 0U);
    EXPECT_EQ(log_.gather(log_.start(), parts, 1, count), 1U);
    EXPECT_EQ(count, 1U);
    EXPECT_EQ(log_.gather(log_.start(), {}, 100, count), 0U);
    EXPECT_EQ(count, 0U);
    const size_t three_blocks = log_.gather(log_.start(), parts, SIZE_MAX, count);
    EXPECT_EQ(count, 3U);
    EXPECT_LT(three_blocks, 40'000U);
    EXPECT_EQ(log_.gather(log_.start(), parts, three_blocks - 1, count), three_blocks - 1);
}

TEST_F(WireLogTest, AStartEntryLetsTheGopBeforeItGo) {
    const uint64_t empty = LogBlock::live_bytes();
    for (int gop = 0; gop < 50; gop++) {
        for (int frame = 0; frame < 100; frame++) {
            add(2000, gop * 4000 + frame * 40, frame == 0);
        }
        const uint64_t held = LogBlock::live_bytes() - empty + kMinBlockBytes;
        EXPECT_LE(held, 200'000U + 2 * kMaxBlockBytes)
            << "one GOP, and what is left and right of it in its blocks";
        EXPECT_EQ(log_.start_number(), static_cast<uint64_t>(gop + 1));
        EXPECT_EQ(log_.bytes_behind(log_.start()), 200'000U);
    }
}

TEST_F(WireLogTest, CountsThePlacesOfEntriesToo) {
    const uint64_t empty = LogBlock::live_bytes();
    for (int i = 0; i < 1000; i++) {
        add(1);
    }
    EXPECT_GE(LogBlock::live_bytes() - empty, 1000 * sizeof(LogEntry));
    EXPECT_LE(LogBlock::live_bytes() - empty, 2048 * sizeof(LogEntry));
}

TEST_F(WireLogTest, AThinStreamHasSmallBlocks) {
    const uint64_t empty = LogBlock::live_bytes();
    for (int gop = 0; gop < 20; gop++) {
        for (int frame = 0; frame < 50; frame++) {
            add(100, 0, frame == 0);
        }
    }
    EXPECT_LE(LogBlock::live_bytes() - empty, 3 * kMinBlockBytes);
}

TEST_F(WireLogTest, ACursorKeepsWhatItHasNotReadAndNothingElse) {
    add(100, 0, true);
    Cursor slow = log_.start();
    const uint64_t one = LogBlock::live_blocks();
    for (int i = 0; i < 100; i++) {
        add(kMinBlockBytes, i, true);
    }
    EXPECT_GE(LogBlock::live_blocks(), one + 100 * kMinBlockBytes / kMaxBlockBytes);
    EXPECT_EQ(read(slow), all_) << "the log went on, its bytes are still there";
    EXPECT_LE(LogBlock::live_blocks(), one + 3) << "and gone when nobody holds them";
}

TEST_F(WireLogTest, ALongChainIsFreedWithoutRecursion) {
    const uint64_t before = LogBlock::live_blocks();
    {
        Ref<LogBlock> first = LogBlock::create(0, 1);
        LogBlock* last = first.get();
        for (uint64_t i = 1; i < 100'000; i++) {
            last->next = LogBlock::create(i, 1);
            last = last->next.get();
        }
        Ref<LogBlock> middle = first;
        for (int i = 0; i < 60'000; i++) {
            middle = Ref<LogBlock>(middle->next.get());
        }
        first = nullptr;
        EXPECT_EQ(LogBlock::live_blocks(), before + 40'000)
            << "up to the one that somebody else holds";
    }
    EXPECT_EQ(LogBlock::live_blocks(), before);
}

TEST_F(WireLogTest, ForgettingTheStartLetsTheGopGo) {
    add(500'000, 0, true);
    add(100, 40);
    log_.forget_start();
    EXPECT_FALSE(log_.has_start());
    add(100, 80);
    add(100'000, 120);
    EXPECT_FALSE(log_.has_start());
    EXPECT_LE(log_.bytes_behind(log_.start()), 100'000U)
        << "without a start only the entry being written is held";
    add(10, 160, true);
    EXPECT_TRUE(log_.has_start());
    EXPECT_EQ(log_.start().position(), boundaries_.back());
    EXPECT_EQ(log_.bytes_behind(log_.start()), 10U);
}

TEST_F(WireLogTest, AReaderGoesOnThroughAForgottenStart) {
    add(5000, 0, true);
    Cursor cursor = log_.start();
    WireLog::advance(cursor, 1234);
    log_.forget_start();
    add(9000, 40);
    EXPECT_EQ(read(cursor), expected_from(1234));
}

TEST_F(WireLogTest, WithoutAStartMemoryDoesNotGrow) {
    const uint64_t empty = LogBlock::live_bytes();
    for (int i = 0; i < 5000; i++) {
        add(1000, i);
        ASSERT_LE(LogBlock::live_bytes() - empty, 3 * kMaxBlockBytes) << i;
    }
}

TEST_F(WireLogTest, TheListenerHearsOfEachEntryAndOfALostStart) {
    struct Counting final : LogListener {
        void on_log_change() override { calls++; }

        int calls = 0;
    } listener;

    log_.set_listener(&listener);
    add(10, 0, true);
    add(100'000);
    EXPECT_EQ(listener.calls, 2);
    log_.forget_start();
    EXPECT_EQ(listener.calls, 3);
    log_.set_listener(nullptr);
    add(1);
    EXPECT_EQ(listener.calls, 3);
}

TEST_F(WireLogTest, HeadTimeNeverGoesBack) {
    add(1, 100, true);
    add(1, 90);
    EXPECT_EQ(log_.head_time_ms(), 100);
    EXPECT_EQ(log_.ms_behind(log_.start()), 0);
    Cursor at_second = cursor_at(log_.start(), 1);
    EXPECT_EQ(log_.ms_behind(at_second), 10);
}

TEST(WireLogLifeTest, NothingIsLeftOfALogThatEnds) {
    const uint64_t blocks = LogBlock::live_blocks();
    const uint64_t bytes = LogBlock::live_bytes();
    {
        WireLog log;
        const Bytes data(300'000);
        log.begin_entry(0, true);
        log.write(data);
        log.end_entry();
        EXPECT_GT(LogBlock::live_bytes(), bytes + 300'000);
    }
    EXPECT_EQ(LogBlock::live_blocks(), blocks);
    EXPECT_EQ(LogBlock::live_bytes(), bytes);
}

TEST_F(WireLogTest, TheNewestBytesAreWhereTheyLieInOneBlock) {
    add(100);
    add(200);
    ByteSpan bytes;
    Ref<LogBlock> block = log_.newest(200, bytes);
    ASSERT_TRUE(block);
    EXPECT_EQ(Bytes(bytes.begin(), bytes.end()), expected_from(100));
    const uint8_t* where = bytes.data();
    for (int i = 0; i < 50; i++) {
        add(200, i, true);
    }
    EXPECT_EQ(bytes.data(), where);
    EXPECT_TRUE(std::ranges::equal(bytes, ByteSpan(all_).subspan(100, 200)))
        << "who holds the block keeps them, also when the log has let it go";
    add(kMaxBlockBytes);
    EXPECT_FALSE(log_.newest(kMaxBlockBytes, bytes)) << "they are in two";
}

}  // namespace
}  // namespace weir::stream
