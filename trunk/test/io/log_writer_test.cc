#include "io/log_writer.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
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

constexpr Millis kPatience{5'000};

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

    // What comes until nothing came for a while.
    std::string read_all() const {
        std::string all;
        for (;;) {
            pollfd ready{fd_, POLLIN, 0};
            if (poll(&ready, 1, 300) != 1) {
                return all;
            }
            char buffer[1024];
            const ssize_t got = read(fd_, buffer, sizeof buffer);
            all.append(buffer, got > 0 ? static_cast<size_t>(got) : 0);
        }
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
        const LogStats stats = writer->stats();
        EXPECT_EQ(stats.lines[static_cast<size_t>(log::Level::kInfo)], 100U);
        EXPECT_EQ(stats.lines[static_cast<size_t>(log::Level::kWarn)], 1U);
        EXPECT_EQ(stats.dropped, 0U);
    }
    const auto lines = lines_of(folder / "log");
    ASSERT_EQ(lines.size(), 101U) << "the end flushes";
    for (size_t i = 0; i < 100; i++) {
        EXPECT_THAT(lines[i], EndsWith("line number=" + std::to_string(i)));
    }
}

TEST(LogWriterTest, AFileIsAppendedToAndPrivate) {
    const Folder folder;
    std::ofstream(folder / "log") << "before\n";
    chmod((folder / "log").c_str(), 0600);
    {
        auto writer = writer_to(folder / "log");
        log::info("after");
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
    }
    auto all = lines_of(folder / "log.1");
    const auto rest = lines_of(folder / "log");
    EXPECT_FALSE(rest.empty());
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
    Micros longest{0};
    for (size_t i = 0; i < kLines; i++) {
        const MonoTime begin = MonoClock::now();
        log::info("{} {}", text, i);
        longest = std::max(longest, MonoClock::now() - begin);
    }
    log::warn("important");
    const LogStats stats = writer->stats();
    EXPECT_GT(stats.dropped, kLines / 2);
    EXPECT_EQ(stats.lines[1] + stats.dropped, kLines);
    EXPECT_EQ(stats.lines[2], 1U) << "warnings have a part of the queue to themselves";
    EXPECT_LE(stats.queued_bytes, LogWriter::kQueueBytes);
    EXPECT_LT(longest, Millis(500));

    const std::string read = pipe.read_all();
    EXPECT_THAT(read, HasSubstr("important"));
    EXPECT_THAT(read, HasSubstr(std::to_string(stats.dropped) + " lines were lost"));
    size_t whole = 0;
    for (const std::string_view line : split(read, '\n')) {
        whole += line.starts_with("2") ? 1U : 0U;
    }
    EXPECT_EQ(whole, stats.lines[1] + 2) << "what was taken came whole";
    log::info("it goes on");
    EXPECT_THAT(pipe.read_all(), HasSubstr("it goes on"));
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
    EXPECT_LT(MonoClock::now() - begin, Millis(600));
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

}  // namespace
}  // namespace weir::io
