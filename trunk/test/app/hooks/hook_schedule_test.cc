#include "app/hooks/hook_schedule.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace weir::app {
namespace {

class NamedTask final : public HookTask {
  public:
    explicit NamedTask(std::string n) : name(std::move(n)) {}

    std::string name;
};

class FixedRandom final : public RandomSource {
  public:
    void fill(std::span<uint8_t> out) override {
        std::ranges::fill(out, 0);
        out[0] = value;
    }

    uint8_t value = 0x80;  // the middle: delays as they are
};

class HookScheduleTest : public testing::Test {
  protected:
    using Line = Ref<HookLine>;

    static Line line() { return make_ref<HookLine>(); }

    bool tell(const Line& line, std::string name, std::string lane = "a") {
        return add(line, std::move(name), std::move(lane), false);
    }

    HookTask* ask(const Line& line, std::string name, std::string lane = "a") {
        add(line, std::move(name), std::move(lane), true);
        return last_;
    }

    // The name of the next event; empty: none.
    std::string start() {
        HookTask* task = schedule_.start(now_);
        if (task == nullptr) {
            return {};
        }
        running_.push_back(task);
        return static_cast<NamedTask*>(task)->name;
    }

    HookTask& take(const std::string& name) {
        const auto found = std::ranges::find_if(
            running_, [&](HookTask* task) { return static_cast<NamedTask*>(task)->name == name; });
        WEIR_CHECK(found != running_.end());
        HookTask& task = **found;
        running_.erase(found);
        return task;
    }

    void done(const std::string& name) { schedule_.done(take(name), now_); }

    bool retry(const std::string& name) { return schedule_.retry(take(name), now_); }

    bool add(const Line& line, std::string name, std::string lane, bool asks) {
        auto task = std::make_unique<NamedTask>(std::move(name));
        task->lane = std::move(lane);
        task->asks = asks;
        task->give_up = now_ + Seconds(60);
        last_ = task.get();
        return schedule_.add(*line, std::move(task));
    }

    MonoTime now_{Seconds(1000)};
    FixedRandom random_;
    std::vector<std::string> dropped_;
    HookSchedule schedule_{random_, [this](HookTask& task) {
                               dropped_.push_back(static_cast<NamedTask&>(task).name);
                           }};
    std::vector<HookTask*> running_;
    HookTask* last_ = nullptr;
};

TEST_F(HookScheduleTest, AClientsEventsGoOneAfterAnother) {
    const Line client = line();
    ask(client, "connect");
    ask(client, "publish");
    tell(client, "unpublish");
    tell(client, "close");
    for (const char* name : {"connect", "publish", "unpublish", "close"}) {
        EXPECT_EQ(start(), name);
        EXPECT_EQ(start(), "");
        done(name);
    }
    EXPECT_EQ(start(), "");
    EXPECT_TRUE(client->empty());
    EXPECT_EQ(schedule_.told(), 0U);
    EXPECT_EQ(schedule_.lanes(), 0U);
}

TEST_F(HookScheduleTest, ClientsGoSideBySideAndQuestionsFirst) {
    const Line a = line();
    const Line b = line();
    const Line c = line();
    tell(a, "a tells");
    tell(b, "b tells");
    ask(c, "c asks");
    EXPECT_EQ(start(), "c asks");
    EXPECT_EQ(start(), "a tells");
    EXPECT_EQ(start(), "b tells");
    done("b tells");
    done("a tells");
    done("c asks");
}

TEST_F(HookScheduleTest, AnEventThatFailedIsSentAgainAtGrowingIntervalsAndHoldsItsClientUp) {
    const Line client = line();
    const Line other = line();
    tell(client, "first");
    tell(client, "second");
    tell(other, "other");
    EXPECT_EQ(start(), "first");
    EXPECT_EQ(start(), "other");
    done("other");
    Millis delay(500);
    for (int i = 0; i < 5; i++) {
        ASSERT_TRUE(retry("first"));
        EXPECT_EQ(start(), "");
        EXPECT_EQ(schedule_.next_due(), now_ + delay);
        now_ += delay - Millis(1);
        EXPECT_EQ(start(), "");
        now_ += Millis(1);
        EXPECT_EQ(start(), "first") << "attempt " << i;
        EXPECT_EQ(running_.back()->attempts, static_cast<uint32_t>(i) + 2);
        delay *= 2;
    }
    done("first");
    EXPECT_EQ(start(), "second");
    done("second");
}

TEST_F(HookScheduleTest, TheIntervalsVaryByAQuarter) {
    for (const auto& [value, delay] : {std::pair(0x00, 375), std::pair(0xff, 625)}) {
        random_.value = static_cast<uint8_t>(value);
        const Line client = line();
        tell(client, "x");
        EXPECT_EQ(start(), "x");
        ASSERT_TRUE(retry("x"));
        EXPECT_NEAR(static_cast<double>((*schedule_.next_due() - now_).count()) / 1000, delay, 2);
        now_ = *schedule_.next_due();
        EXPECT_EQ(start(), "x");
        done("x");
    }
}

TEST_F(HookScheduleTest, GivesUpWhenItsTimeIsOver) {
    const Line client = line();
    tell(client, "x");
    int attempts = 0;
    for (bool again = true; again; attempts++) {
        ASSERT_EQ(start(), "x");
        again = retry("x");
        now_ = again ? *schedule_.next_due() : now_;
    }
    EXPECT_EQ(attempts, 7);  // at 0, 0.5, 1.5, 3.5, 7.5, 15.5 and 31.5 s; the next were at 61.5 s
    EXPECT_EQ(schedule_.told(), 0U);
    EXPECT_TRUE(dropped_.empty());  // the owner knows
}

TEST_F(HookScheduleTest, DropsWhatWaitedTooLongForItsTurn) {
    const Line client = line();
    tell(client, "old");
    now_ += Seconds(61);
    tell(client, "new");
    EXPECT_EQ(start(), "new");
    done("new");
    EXPECT_EQ(dropped_, std::vector<std::string>{"old"});
}

TEST_F(HookScheduleTest, ServersThatHangHoldUpTheirOwnLaneOnly) {
    std::vector<Line> lines;
    for (size_t i = 0; i < 100; i++) {
        lines.push_back(line());
        ask(lines.back(), "dead", "dead");
    }
    size_t running = 0;
    while (start() == "dead") {
        running++;
    }
    EXPECT_EQ(running, HookSchedule::kPerLane);
    const Line other = line();
    ask(other, "good", "good");
    EXPECT_EQ(start(), "good");
    done("good");
    for (size_t left = 100; left > 0; left--) {
        done("dead");
        start();
    }
}

TEST_F(HookScheduleTest, NotificationsLeavePlacesForQuestions) {
    std::vector<Line> lines;
    for (size_t i = 0; i < 100; i++) {
        lines.push_back(line());
        tell(lines.back(), "tell");
    }
    size_t running = 0;
    while (start() == "tell") {
        running++;
    }
    EXPECT_EQ(running, HookSchedule::kToldPerLane);
    const Line client = line();
    ask(client, "ask");
    EXPECT_EQ(start(), "ask");
    done("ask");
    while (running-- > 0) {
        done("tell");
    }
    schedule_.drop_all();
}

TEST_F(HookScheduleTest, AQuestionThatNobodyWaitsForIsNotAsked) {
    const Line client = line();
    tell(client, "stop");
    HookTask* asks = ask(client, "play");
    EXPECT_EQ(start(), "stop");
    EXPECT_TRUE(schedule_.cancel(*asks));
    done("stop");
    EXPECT_EQ(start(), "");

    HookTask* begun = ask(client, "play");
    EXPECT_EQ(start(), "play");
    EXPECT_FALSE(schedule_.cancel(*begun));
    done("play");

    // The first of its line, which is in the queue of its lane already.
    HookTask* first = ask(client, "play");
    tell(client, "close", "elsewhere");
    EXPECT_TRUE(schedule_.cancel(*first));
    EXPECT_EQ(start(), "close");
    done("close");
    first = ask(client, "play", "b");
    tell(client, "close", "a");  // a lane that is looked at before
    EXPECT_TRUE(schedule_.cancel(*first));
    EXPECT_EQ(start(), "close");
    done("close");
    HookTask* only = ask(client, "play");
    EXPECT_TRUE(schedule_.cancel(*only));
    EXPECT_EQ(start(), "");
    EXPECT_EQ(schedule_.lanes(), 0U);
}

TEST_F(HookScheduleTest, IsBounded) {
    const Line noisy = line();
    for (size_t i = 0; i < HookSchedule::kMaxInLine; i++) {
        EXPECT_TRUE(tell(noisy, "x"));
    }
    EXPECT_FALSE(tell(noisy, "one too many of a client"));
    std::vector<Line> lines;
    while (schedule_.told() < HookSchedule::kMaxTold) {
        lines.push_back(line());
        EXPECT_TRUE(tell(lines.back(), "x"));
    }
    lines.push_back(line());
    EXPECT_FALSE(tell(lines.back(), "one too many"));
    EXPECT_EQ(dropped_.size(), 2U);
    ask(lines.back(), "asks all the same");
    EXPECT_EQ(start(), "asks all the same");
    done("asks all the same");
    schedule_.drop_all();
    EXPECT_EQ(schedule_.told(), 0U);
    EXPECT_EQ(start(), "");
    EXPECT_EQ(dropped_.size(), 2 + HookSchedule::kMaxTold);
}

TEST_F(HookScheduleTest, InAHurryNothingIsSentASecondTime) {
    const Line a = line();
    const Line b = line();
    tell(a, "a");
    EXPECT_EQ(start(), "a");
    ASSERT_TRUE(retry("a"));
    tell(b, "b");
    schedule_.hurry();
    EXPECT_EQ(start(), "b");
    EXPECT_EQ(start(), "a");
    EXPECT_FALSE(retry("a"));
    done("b");
    EXPECT_EQ(schedule_.told(), 0U);
}

}  // namespace
}  // namespace weir::app
