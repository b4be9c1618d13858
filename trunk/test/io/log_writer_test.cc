#include "io/log_writer.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "base/strings.h"

namespace weir::io {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr Millis kPatience{20'000};

class Folder {
  public:
    Folder() {
        char name[] = "/tmp/weir-log-test.XXXXXX";
        path_ = mkdtemp(name);
    }

    ~Folder() {
        for (const char* name : {"log", "log.1", "other", "fifo"}) {
            unlink((*this / name).c_str());
        }
        rmdir(path_.c_str());
    }

    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

  private:
    std::string path_;
};

std::vector<std::string> lines_of(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
        lines.push_back(line);
    }
    return lines;
}

std::unique_ptr<LogWriter> writer_to(const std::string& path, bool json = false) {
    auto writer = LogWriter::start({path, json});
    EXPECT_TRUE(writer.ok()) << writer.error().message();
    return std::move(*writer);
}

// A pipe whose reader sleeps: full after 64 KiB.
class Pipe {
  public:
    explicit Pipe(const std::string& path) {
        EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
        fd_ = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    }

    ~Pipe() { close(fd_); }

    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    // What is there.
    std::string read_all() const {
        std::string all;
        char buffer[1024];
        for (ssize_t got = 0; (got = read(fd_, buffer, sizeof buffer)) > 0;) {
            all.append(buffer, static_cast<size_t>(got));
        }
        return all;
    }

  private:
    int fd_ = -1;
};

template <typename Condition>
bool comes_true(Condition&& condition) {
    const MonoTime deadline = MonoClock::now() + kPatience;
    while (!condition()) {
        if (MonoClock::now() > deadline) {
            return false;
        }
        poll(nullptr, 0, 1);
    }
    return true;
}

TEST(LogWriterTest, WritesWholeLinesInOrder) {
    const Folder folder;
    {
        auto writer = writer_to(folder / "log");
        for (int i = 0; i < 100; i++) {
            log::info("line number={}", i);
        }
        EXPECT_TRUE(writer->flush(kPatience));
        EXPECT_EQ(lines_of(folder / "log").size(), 100U);
        log::warn("the last");
        EXPECT_TRUE(writer->flush(kPatience));
        const LogStats stats = writer->stats();
        EXPECT_EQ(stats.lines[static_cast<size_t>(log::Level::kInfo)], 100U);
        EXPECT_EQ(stats.lines[static_cast<size_t>(log::Level::kWarn)], 1U);
        EXPECT_EQ(stats.dropped, 0U);
    }
    const auto lines = lines_of(folder / "log");
    ASSERT_EQ(lines.size(), 101U);
    for (size_t i = 0; i < 100; i++) {
        EXPECT_THAT(lines[i], EndsWith("line number=" + std::to_string(i)));
    }
}

// For kFlushAtEnd; on a busy machine the thread may not run in that time, but it is waited for.
TEST(LogWriterTest, TheEndFlushes) {
    EXPECT_TRUE(comes_true([] {
        const Folder folder;
        auto writer = writer_to(folder / "log");
        log::info("the last");
        const MonoTime begin = MonoClock::now();
        writer.reset();
        const auto took = MonoClock::now() - begin;
        const bool written = lines_of(folder / "log").size() == 1;
        EXPECT_TRUE(written || took >= LogWriter::kFlushAtEnd) << "it did not wait for the line";
        return written;
    }));
}

TEST(LogWriterTest, AFileIsAppendedToAndPrivate) {
    const Folder folder;
    std::ofstream(folder / "log") << "before\n";
    chmod((folder / "log").c_str(), 0600);
    {
        auto writer = writer_to(folder / "log");
        log::info("after");
        EXPECT_TRUE(writer->flush(kPatience));
    }
    EXPECT_EQ(lines_of(folder / "log").size(), 2U);
    { auto writer = writer_to(folder / "other"); }

    struct stat facts {};

    ASSERT_EQ(stat((folder / "other").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07137U, 0U) << "no more than 0640";
}

TEST(LogWriterTest, AFileThatCannotBeHadIsNamed) {
    const auto failed = LogWriter::start({"/nowhere/log", false});
    ASSERT_FALSE(failed.ok());
    EXPECT_THAT(std::string(failed.error().message()),
                AllOf(HasSubstr("log_file /nowhere/log"), HasSubstr("No such file")));
    EXPECT_TRUE(LogWriter::check("/"));
    EXPECT_FALSE(LogWriter::check(""));
}

TEST(LogWriterTest, JsonLinesAreObjects) {
    const Folder folder;
    {
        auto writer = writer_to(folder / "log", true);
        log::info("play stream={}", "live/a");
        EXPECT_TRUE(writer->flush(kPatience));
    }
    const auto lines = lines_of(folder / "log");
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_THAT(lines[0],
                AllOf(StartsWith("{\"time\":\"2"),
                      EndsWith("\"level\":\"info\",\"message\":\"play\",\"stream\":\"live/a\"}")));
}

TEST(LogWriterTest, ReopensAfterARenameWithoutLosingALine) {
    const Folder folder;
    constexpr int kLines = 2000;
    {
        auto writer = writer_to(folder / "log");
        for (int i = 0; i < kLines; i++) {
            log::info("line number={}", i);
            if (i == kLines / 2) {
                ASSERT_EQ(rename((folder / "log").c_str(), (folder / "log.1").c_str()), 0);
                writer->reopen();
            }
        }
        EXPECT_TRUE(writer->flush(kPatience));
        EXPECT_TRUE(comes_true([&] { return !lines_of(folder / "log").empty(); }));
    }
    auto all = lines_of(folder / "log.1");
    const auto rest = lines_of(folder / "log");
    all.insert(all.end(), rest.begin(), rest.end());
    std::erase_if(all, [](const std::string& line) { return line.find("reopened") != line.npos; });
    ASSERT_EQ(all.size(), static_cast<size_t>(kLines));
    for (int i = 0; i < kLines; i++) {
        ASSERT_THAT(all[static_cast<size_t>(i)], EndsWith("line number=" + std::to_string(i)));
    }
}

TEST(LogWriterTest, ATargetThatFailsLeavesTheOldOne) {
    const Folder folder;
    auto writer = writer_to(folder / "log");
    writer->retarget({"/nowhere/log", false});
    ASSERT_TRUE(comes_true([&] { return lines_of(folder / "log").size() == 1; }));
    EXPECT_THAT(lines_of(folder / "log")[0], HasSubstr("the log stays where it is"));
    writer->retarget({folder / "other", true});
    ASSERT_TRUE(comes_true([&] {
        log::info("here");
        (void)writer->flush(kPatience);
        return !lines_of(folder / "other").empty();
    }));
    EXPECT_THAT(lines_of(folder / "other").back(), EndsWith("\"message\":\"here\"}"));
}

TEST(LogWriterTest, AReaderThatSleepsCostsLinesAndNeverTime) {
    const Folder folder;
    const Pipe pipe(folder / "fifo");
    auto writer = writer_to(folder / "fifo");
    constexpr size_t kLines = 40'000;  // 4 MB
    const std::string text(80, 'x');
    size_t slow = 0;
    for (size_t i = 0; i < kLines; i++) {
        const MonoTime begin = MonoClock::now();
        log::info("{} {}", text, i);
        slow += MonoClock::now() - begin > Millis(10) ? 1U : 0U;
    }
    log::warn("important");
    const LogStats stats = writer->stats();
    EXPECT_GT(stats.dropped, kLines / 2);
    EXPECT_EQ(stats.lines[1] + stats.dropped, kLines);
    EXPECT_EQ(stats.lines[2], 1U) << "warnings have a part of the queue to themselves";
    EXPECT_LE(stats.queued_bytes, LogWriter::kQueueBytes);
    // Whoever waited for the reader would wait for ever. A busy machine stops the test now and
    // then.
    EXPECT_LT(slow, kLines / 100);

    std::string read;
    size_t whole = 0;
    EXPECT_TRUE(comes_true([&] {
        read += pipe.read_all();
        whole = 0;
        for (const std::string_view line : split(read, '\n')) {
            whole += line.starts_with("2") ? 1U : 0U;
        }
        return whole >= stats.lines[1] + 2 && read.ends_with('\n');
    }));
    EXPECT_EQ(whole, stats.lines[1] + 2) << "what was taken came whole";
    EXPECT_THAT(read, HasSubstr("important"));
    EXPECT_THAT(read, HasSubstr(std::to_string(stats.dropped) + " lines were lost"));
    log::info("it goes on");
    EXPECT_TRUE(comes_true([&] {
        read += pipe.read_all();
        return read.find("it goes on") != read.npos;
    }));
}

TEST(LogWriterTest, TheEndDoesNotWaitForAReaderThatSleeps) {
    const Folder folder;
    const Pipe pipe(folder / "fifo");
    auto writer = writer_to(folder / "fifo");
    for (int i = 0; i < 5000; i++) {
        log::info("{}", std::string(100, 'x'));
    }
    const MonoTime begin = MonoClock::now();
    writer.reset();
    EXPECT_LT(MonoClock::now() - begin, Millis(5'000));
}

// /dev/full: every write says ENOSPC.
TEST(LogWriterTest, AFullDiskIsToldAndTheServerGoesOn) {
    const Folder folder;
    auto writer = writer_to("/dev/full");
    log::info("kept");
    ASSERT_TRUE(comes_true([&] { return !writer->stats().failing.empty(); }));
    EXPECT_EQ(writer->stats().failing, "No space left on device");
    EXPECT_EQ(writer->stats().write_errors, 1U);
    EXPECT_FALSE(writer->flush(Millis(50)));
    for (int i = 0; i < 20'000; i++) {
        log::info("{}", std::string(100, 'x'));
    }
    EXPECT_GT(writer->stats().dropped, 0U);
    // There is room again, here by another file.
    writer->retarget({folder / "log", false});
    ASSERT_TRUE(comes_true([&] { return writer->stats().failing.empty(); }));
    ASSERT_TRUE(writer->flush(kPatience));
    log::info("again");
    ASSERT_TRUE(writer->flush(kPatience));
    writer.reset();
    const auto lines = lines_of(folder / "log");
    ASSERT_GT(lines.size(), 3U);
    EXPECT_THAT(lines[0], EndsWith("kept")) << "what was being written is written, whole";
    const auto has = [&](std::string_view part) {
        return std::ranges::any_of(
            lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
    };
    EXPECT_TRUE(has("the log could not be written for"));
    EXPECT_TRUE(has("No space left on device"));
    EXPECT_TRUE(has("lines were lost"));
    EXPECT_THAT(lines.back(), EndsWith("again"));
}

TEST(LogWriterTest, AfterItTheLogIsStderrsAgain) {
    const Folder folder;
    { auto writer = writer_to(folder / "log"); }
    testing::internal::CaptureStderr();
    log::info("to stderr");
    EXPECT_THAT(testing::internal::GetCapturedStderr(), EndsWith("to stderr\n"));
    EXPECT_EQ(LogWriter::living_stats().queue_limit, 0U);
    EXPECT_EQ(LogWriter::crash_target().fd, -1);
}

TEST(LogWriterTest, LinesOfSeveralThreadsAreWholeAndInEachOnesOrder) {
    const Folder folder;
    constexpr int kThreads = 4;
    constexpr int kLines = 500;
    {
        auto writer = writer_to(folder / "log");
        std::vector<std::thread> threads;
        for (int thread = 0; thread < kThreads; thread++) {
            threads.emplace_back([thread] {
                for (int i = 0; i < kLines; i++) {
                    log::info("of={} number={}", thread, i);
                }
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        EXPECT_EQ(writer->stats().dropped, 0U);
        EXPECT_TRUE(writer->flush(kPatience));
    }
    std::array<int, kThreads> next{};
    const auto lines = lines_of(folder / "log");
    ASSERT_EQ(lines.size(), size_t{kThreads} * kLines);
    for (const std::string& line : lines) {
        const size_t at = line.find("of=");
        ASSERT_NE(at, line.npos) << line;
        const auto thread = static_cast<size_t>(line[at + 3] - '0');
        ASSERT_LT(thread, next.size());
        EXPECT_THAT(line, EndsWith("number=" + std::to_string(next[thread]++)));
    }
}

TEST(LogWriterTest, AReopenThatFailsKeepsTheOldFile) {
    const Folder folder;
    auto writer = writer_to(folder / "log");
    ASSERT_EQ(rename((folder / "log").c_str(), (folder / "log.1").c_str()), 0);
    ASSERT_EQ(mkdir((folder / "log").c_str(), 0700), 0);  // stands in the way
    writer->reopen();
    EXPECT_TRUE(comes_true([&] { return !lines_of(folder / "log.1").empty(); }));
    log::info("goes on");
    EXPECT_TRUE(writer->flush(kPatience));
    const auto kept = lines_of(folder / "log.1");
    ASSERT_EQ(kept.size(), 2U);
    EXPECT_THAT(kept[0], AllOf(HasSubstr("the log stays where it is"), HasSubstr("directory")));
    EXPECT_THAT(kept[1], EndsWith("goes on"));
    ASSERT_EQ(rmdir((folder / "log").c_str()), 0);
    writer->reopen();
    EXPECT_TRUE(comes_true([&] { return lines_of(folder / "log").size() == 1; }))
        << "the next one succeeds";
}

TEST(LogWriterTest, ATargetThatCannotBeOpenedLeavesTheOldFileAndItsForm) {
    const Folder folder;
    auto writer = writer_to(folder / "log");
    writer->retarget({folder / "missing/log", true});
    ASSERT_TRUE(comes_true([&] { return lines_of(folder / "log").size() == 1; }));
    log::info("goes on");
    EXPECT_TRUE(writer->flush(kPatience));
    EXPECT_FALSE(LogWriter::crash_target().json);
    const auto lines = lines_of(folder / "log");
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_THAT(lines[0], HasSubstr("the log stays where it is"));
    EXPECT_THAT(lines[1], EndsWith("goes on"));
    writer->reopen();  // of the old file, and in its old form
    ASSERT_TRUE(comes_true([&] { return lines_of(folder / "log").size() == 3; }));
    EXPECT_THAT(lines_of(folder / "log")[2], HasSubstr("log reopened"));
    EXPECT_FALSE(LogWriter::crash_target().json);
}

TEST(LogWriterTest, ACheckWritesNothingAndLeavesTheSinkAlone) {
    const Folder folder;
    std::ofstream(folder / "other") << "before\n";
    auto writer = writer_to(folder / "log");
    EXPECT_FALSE(LogWriter::check(folder / "other"));
    log::info("here");
    EXPECT_TRUE(writer->flush(kPatience));
    EXPECT_EQ(lines_of(folder / "other").size(), 1U);
    EXPECT_EQ(lines_of(folder / "log").size(), 1U);
}

TEST(LogWriterTest, OtherLinesWaitUntilHalfOfTheQueueIsFreeAndWarningsDoNot) {
    const Folder folder;
    const Pipe pipe(folder / "fifo");
    auto writer = writer_to(folder / "fifo");
    const std::string text(1000, 'x');
    while (writer->stats().dropped == 0) {
        log::info("{}", text);
    }
    const LogStats full = writer->stats();
    EXPECT_EQ(full.queue_limit, LogWriter::kQueueBytes);
    log::info("short");
    EXPECT_EQ(writer->stats().dropped, full.dropped + 1) << "though it would fit";
    uint64_t taken = 0;
    while (writer->stats().dropped == full.dropped + 1) {  // the last eighth is for warnings
        log::warn("{}", text);
        taken++;
    }
    EXPECT_GT(taken * (text.size() + 100), LogWriter::kQueueBytes / 8 - 2 * text.size());
    EXPECT_LE(writer->stats().queued_bytes, LogWriter::kQueueBytes);
    ASSERT_TRUE(comes_true([&] {
        (void)pipe.read_all();
        return writer->flush(Millis(10));
    }));
    log::info("again");
    EXPECT_EQ(writer->stats().lines[static_cast<size_t>(log::Level::kInfo)],
              full.lines[static_cast<size_t>(log::Level::kInfo)] + 1);
}

TEST(LogWriterTest, AHandlerOfACrashFindsWhereTheLogGoes) {
    const Folder folder;
    auto writer = writer_to(folder / "log", true);
    const LogWriter::CrashTarget target = LogWriter::crash_target();
    EXPECT_TRUE(target.json);
    log::info("before");
    LogWriter::drain_for_crash(kPatience);
    ASSERT_EQ(lines_of(folder / "log").size(), 1U) << "what was taken is written first";
    LogWriter::write_bounded(target.fd, "crashed\n", 8, Millis(0));
    EXPECT_EQ(lines_of(folder / "log").back(), "crashed");
    writer->retarget({folder / "other", false});
    EXPECT_TRUE(comes_true([] { return !LogWriter::crash_target().json; }));
    LogWriter::write_bounded(LogWriter::crash_target().fd, "there\n", 6, Millis(0));
    EXPECT_THAT(lines_of(folder / "other"), testing::ElementsAre("there"));
    writer.reset();
    LogWriter::drain_for_crash(kPatience);  // nobody to wait for
}

TEST(LogWriterTest, TheLastWordsWaitForNoReader) {
    const Folder folder;
    const Pipe pipe(folder / "fifo");
    const int out = open((folder / "fifo").c_str(), O_WRONLY | O_CLOEXEC);  // blocks when full
    ASSERT_GE(out, 0);
    const std::string text(5000, 'x');
    for (int i = 0; i < 100; i++) {  // far more than the pipe holds
        LogWriter::write_bounded(out, text.data(), text.size(), Millis(0));
    }
    const std::string got = pipe.read_all();
    EXPECT_GT(got.size(), 0U);
    EXPECT_EQ(got.size() % 4096, 0U) << "4096 bytes at most, and whole";
    LogWriter::write_bounded(out, "room", 4, Millis(0));
    EXPECT_EQ(pipe.read_all(), "room");
    close(out);
}

TEST(LogWriterTest, StopMayBeCalledTwiceAndAnotherMayFollow) {
    const Folder folder;
    auto first = writer_to(folder / "log");
    log::info("one");
    EXPECT_TRUE(first->flush(kPatience));
    first->stop();
    first->stop();
    EXPECT_EQ(LogWriter::crash_target().fd, -1);
    auto second = writer_to(folder / "other");
    first.reset();  // must not take the sink from the second one
    log::info("two");
    EXPECT_TRUE(second->flush(kPatience));
    EXPECT_EQ(lines_of(folder / "log").size(), 1U);
    ASSERT_EQ(lines_of(folder / "other").size(), 1U);
    EXPECT_EQ(LogWriter::living_stats().lines[static_cast<size_t>(log::Level::kInfo)], 1U);
}

}  // namespace
}  // namespace weir::io
