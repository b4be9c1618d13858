#include "io/process.h"

#include <csignal>
#include <fstream>

#include <gtest/gtest.h>

#include "base/object_count.h"
#include "io/deadline.h"

#include "test/support/io/loopback.h"

namespace weir::io {
namespace {

class ProcessTest : public testing::Test {
  protected:
    ProcessTest() : workers_(std::move(*WorkerPool::create(1, 10))) {}

    ~ProcessTest() override { EXPECT_EQ(find_object_class("process")->live(), 0U); }

    Result<std::unique_ptr<Process>> start(std::vector<std::string> words) {
        return Process::start({std::move(words),
                               {"PATH=/usr/bin:/bin", "GREETING=hello"},
                               [this](std::string_view line) { lines_.emplace_back(line); }},
                              *workers_);
    }

    Result<std::unique_ptr<Process>> shell(const std::string& script) {
        return start({"sh", "-c", script});
    }

    // How a script ends, once all of its output has come.
    std::string end_of(const std::string& script) {
        auto process = shell(script);
        if (!process.ok()) {
            return std::string(process.error().message());
        }
        EXPECT_FALSE((*process)->wait(soon()));
        return (*process)->describe_end();
    }

    std::unique_ptr<WorkerPool> workers_;
    std::vector<std::string> lines_;
};

using Lines = std::vector<std::string>;

TEST_F(ProcessTest, TellsEachLineAndItsEnd) {
    EXPECT_EQ(end_of("echo one; echo two >&2; printf three; exit 3"), "exited with 3");
    EXPECT_EQ(lines_, (Lines{"one", "two", "three"}));
}

TEST_F(ProcessTest, ItsWordsAreTheProgramsAsTheyAre) {
    auto process = start({"printf", "%s|", "a b", "$GREETING", "`id`", ";", ""});
    ASSERT_TRUE(process.ok());
    EXPECT_FALSE((*process)->wait(soon()));
    EXPECT_TRUE((*process)->succeeded());
    EXPECT_EQ(lines_, (Lines{"a b|$GREETING|`id`|;||"}));
}

TEST_F(ProcessTest, SeesTheEnvironmentThatItIsGivenAndNoDescriptorOfOurs) {
    ::setenv("A_SECRET", "hush", 1);
    end_of("echo $GREETING$A_SECRET; ls /proc/self/fd | tr '\\n' ' '; read line || echo nothing");
    ::unsetenv("A_SECRET");
    ASSERT_EQ(lines_.size(), 2U);
    EXPECT_EQ(lines_[0], "hello");
    // 3 is ls reading the folder.
    EXPECT_EQ(lines_[1], "0 1 2 3 nothing");
}

// It is no child of ours: perhaps nobody takes its end.
bool has_ended(pid_t pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(stat), {}};
    return text.empty() || text.find(") Z") != std::string::npos;
}

// The number of a program that the first one has started, and said.
pid_t child_of(const Lines& lines) {
    EXPECT_TRUE(eventually([&] { return !lines.empty(); }));
    return lines.empty() ? -1 : static_cast<pid_t>(std::stol(lines[0]));
}

TEST_F(ProcessTest, SignalsReachTheWholeGroup) {
    auto process = shell("trap '' INT; sleep 1000 & echo $!; wait");
    ASSERT_TRUE(process.ok());
    const pid_t child = child_of(lines_);
    EXPECT_EQ((*process)->wait(Deadline::after(Millis(50))).code(), ErrorCode::kTimeout);
    EXPECT_TRUE((*process)->running());
    (*process)->send_signal(SIGTERM);
    EXPECT_FALSE((*process)->wait(soon()));
    EXPECT_EQ((*process)->describe_end(), "was ended by signal 15");
    EXPECT_FALSE((*process)->succeeded());
    EXPECT_TRUE(eventually([&] { return has_ended(child); }));
}

TEST_F(ProcessTest, WhatItHasStartedGoesWithIt) {
    auto process = shell("trap '' TERM; sleep 1000 & echo $!; exit 3");
    ASSERT_TRUE(process.ok());
    EXPECT_FALSE((*process)->wait(soon()));
    EXPECT_EQ((*process)->describe_end(), "exited with 3");
    const pid_t child = child_of(lines_);
    EXPECT_TRUE(eventually([&] { return has_ended(child); }));
}

TEST_F(ProcessTest, IsKilledWithItsObject) {
    pid_t pid = 0;
    {
        auto process = shell("trap '' TERM; sleep 1000");
        ASSERT_TRUE(process.ok());
        pid = (*process)->pid();
        EXPECT_EQ(::kill(pid, 0), 0);
    }
    EXPECT_EQ(::kill(pid, 0), -1);
}

TEST_F(ProcessTest, ManyLinesAndALongOneAreBounded) {
    EXPECT_EQ(end_of("seq 1 20000; head -c 100000 /dev/zero | tr '\\0' x; echo; echo end"),
              "exited with 0");
    ASSERT_EQ(lines_.size(), 20'002U);
    EXPECT_EQ(lines_[19'999], "20000");
    EXPECT_EQ(lines_[20'000].size(), Process::kMaxLine);
    EXPECT_EQ(lines_[20'001], "end");
}

TEST_F(ProcessTest, SaysWhatIsMissing) {
    auto process = start({"/nowhere/program"});
    ASSERT_FALSE(process.ok());
    EXPECT_EQ(process.error().code(), ErrorCode::kNotFound);
    EXPECT_EQ(process.error().message(),
              "there is no program /nowhere/program: install it, or write its whole path");
    EXPECT_EQ(start({}).error().code(), ErrorCode::kNotFound);
    EXPECT_EQ(start({"/etc/passwd"}).error().code(), ErrorCode::kSystem);
}

}  // namespace
}  // namespace weir::io
