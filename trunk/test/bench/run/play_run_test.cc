#include "bench/load/play_run.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/random.h"

#include "bench/load/core/rtmp_play_client.h"
#include "bench/load/subcommand.h"
#include "test/bench/run/relay_server.h"
#include "test/support/io/loopback.h"
#include "test/support/io/pulse.h"

namespace weir::load {
namespace {

uint32_t own_pid() {
    return static_cast<uint32_t>(std::stoul(std::filesystem::read_symlink("/proc/self").string()));
}

// Runs rtmp-play in this process against a server in this process.
class PlayRunTest : public testing::Test {
  protected:
    PlayRunTest() {
        options_.clients = 5;
        options_.stream.shape = {300'000, 30, 10, 64'000};
        options_.run.duration = Millis(1'200);
        options_.run.connect_timeout = Millis(5'000);
        // Publisher, server and players share a core, and perhaps not even that.
        options_.group.behind = Millis(60'000);
        options_.group.stall = Millis(60'000);
        options_.run.quiet = true;
        options_.run.table_to = nullptr;
        options_.run.json = testing::TempDir() + fmt::format("weir-play-run-{}.json", own_pid());
    }

    ~PlayRunTest() override { std::remove(options_.run.json.c_str()); }

    int play(const RelayServer& server) { return play(server.address(), server.url("x")); }

    // Against a server of its own.
    int play(Fault fault, size_t players = 0) {
        for (int tries = 1;; tries++) {
            RelayServer server(fault, players);
            io::Pulse pulse;
            int exit_code = play(server);
            if (!pulse.stood_still() || tries == io::Pulse::kTries) {
                return exit_code;
            }
        }
    }

    int play(const io::SocketAddress& address, const std::string& url) {
        began_ = MonoClock::now();
        options_.url = url;
        PlayTarget target;
        target.url = target.publish_url = url;
        target.address = address;
        target.make = [rtmp = RtmpTarget{"live", "rtmp://test/live", "x"}](uint32_t,
                                                                           PlayerCheck& check) {
            return std::make_unique<RtmpPlayClient>(rtmp, check, system_random());
        };
        int exit_code = PlayRun(options_, "rtmp-play", std::move(target)).run();
        std::stringstream text;
        text << std::ifstream(options_.run.json).rdbuf();
        json_ = text.str();
        return exit_code;
    }

    void judge_lateness() {
        options_.group.behind = Millis(700);
        options_.group.stall = Millis(1'000);
    }

    // Names of the conditions that were not met, each with a space behind it.
    std::string failed() const {
        static constexpr std::string_view kName = "{\"name\": \"";
        std::string names;
        for (size_t at = json_.find(kName); at != std::string::npos;
             at = json_.find(kName, at + 1)) {
            size_t begin = at + kName.size();
            size_t end = json_.find('"', begin);
            if (json_.compare(end, 15, "\", \"met\": false") == 0) {
                names += json_.substr(begin, end - begin) + ' ';
            }
        }
        return names;
    }

    // A value of the report; -1 when it is not there.
    double value(const std::string& key) const {
        size_t at = json_.find("\"" + key + "\": ");
        return at == std::string::npos ? -1 : std::stod(json_.substr(at + key.size() + 4));
    }

    PlayOptions options_;
    std::string json_;
    MonoTime began_;  // the last run
};

TEST_F(PlayRunTest, AGoodServerPasses) {
    judge_lateness();
    EXPECT_EQ(play(Fault::kNone), kExitPassed) << json_;
    EXPECT_EQ(failed(), "");
    EXPECT_EQ(value("connected"), 5);
    EXPECT_EQ(value("playing"), 5);
    EXPECT_GT(value("video_frames"), 5 * 25);
    EXPECT_GT(value("bits_per_second_per_player"), 200'000);
}

// Most players of a large group read by the clock (ReadTurns).
TEST_F(PlayRunTest, PlayersThatRestReceiveAsMuchAsOthers) {
    options_.clients = 250;
    options_.run.duration = Millis(2'500);
    EXPECT_EQ(play(Fault::kNone), kExitPassed) << json_;
    EXPECT_EQ(value("playing"), 250);
    EXPECT_GE(value("timed_players"), 125);
    EXPECT_LT(value("timed_players"), 250) << "who cannot keep up does not rest yet; some do";
    EXPECT_GT(value("video_frames"), 250 * 65);
}

TEST_F(PlayRunTest, PlayersThatRestFindLostFrames) {
    options_.clients = 250;
    options_.run.duration = Millis(2'500);
    EXPECT_EQ(play(Fault::kDrop), kExitFailed);
    EXPECT_EQ(failed(), "lost ");
    // One of 20 frames: each player misses the same ones; whether one at the edge of the window is
    // within it depends on the player's turn.
    const double expected = value("video_frames") / 19;
    EXPECT_NEAR(value("lost"), expected, 250);
}

TEST_F(PlayRunTest, PlayersThatRestSeeTheServerClose) {
    options_.clients = 250;
    options_.run.duration = Millis(60'000);  // it ends with the last player
    EXPECT_EQ(play(Fault::kClosePlayers, 250), kExitFailed);
    EXPECT_EQ(value("broken"), 250);
}

TEST_F(PlayRunTest, PlayersOfAFastStreamReadAtOnce) {
    options_.clients = 200;
    options_.stream.shape.bits_per_second = 5'000'000;
    options_.run.duration = Millis(2'000);
    EXPECT_EQ(play(Fault::kNone), kExitPassed) << json_;
    EXPECT_GT(value("timed_players"), 150) << "all of them, soon after the window began";
}

TEST_F(PlayRunTest, TheWindowBeginsWhenPlayersHaveSettled) {
    options_.settle = Millis(1'500);
    EXPECT_EQ(play(Fault::kNone), kExitPassed) << json_;
    EXPECT_GE(MonoClock::now() - began_, Millis(1'500 + 1'200));
    EXPECT_LT(value("window_s"), 2.0);
}

TEST_F(PlayRunTest, LostFramesFail) {
    EXPECT_EQ(play(Fault::kDrop), kExitFailed);
    EXPECT_EQ(failed(), "lost ");
    EXPECT_EQ(static_cast<int>(value("lost")) % 5, 0) << "the same for each player";
}

TEST_F(PlayRunTest, DamagedFramesFail) {
    EXPECT_EQ(play(Fault::kCorrupt), kExitFailed);
    EXPECT_EQ(failed(), "corrupted ");
}

TEST_F(PlayRunTest, RepeatedFramesFail) {
    EXPECT_EQ(play(Fault::kDuplicate), kExitFailed);
    EXPECT_EQ(failed(), "duplicated ");
}

TEST_F(PlayRunTest, SwappedFramesFail) {
    EXPECT_EQ(play(Fault::kSwap), kExitFailed);
    EXPECT_EQ(failed(), "time reordered ");
}

TEST_F(PlayRunTest, TimestampsThatGoBackFail) {
    EXPECT_EQ(play(Fault::kTimeBack), kExitFailed);
    EXPECT_EQ(failed(), "time ");
}

TEST_F(PlayRunTest, PlayersThatFallBehindFailThoughNothingIsLost) {
    judge_lateness();
    options_.run.duration = Millis(5'000);
    EXPECT_EQ(play(Fault::kDelay, 5), kExitFailed);
    EXPECT_EQ(failed(), "behind ");
    EXPECT_EQ(value("behind"), 5);
    EXPECT_EQ(value("lost"), 0);
}

TEST_F(PlayRunTest, AServerThatClosesMidRunEndsItAndIsCounted) {
    options_.run.duration = Millis(60'000);
    EXPECT_EQ(play(Fault::kClosePlayers, 5), kExitFailed);
    EXPECT_LT(MonoClock::now() - began_, Seconds(20));
    EXPECT_EQ(value("broken"), 5);
    EXPECT_NE(failed().find("unbroken "), std::string::npos);
    EXPECT_NE(json_.find("every player has ended"), std::string::npos);
}

// No frame is lost then, nothing is late, and every connection stands.
TEST_F(PlayRunTest, AServerThatFreezesFails) {
    judge_lateness();
    options_.stream.shape.audio_bits_per_second = 0;
    options_.run.duration = Millis(4'000);
    EXPECT_EQ(play(Fault::kFreeze, 5), kExitFailed);
    EXPECT_EQ(failed(), "behind ");
    EXPECT_EQ(value("stalls"), 5) << "the gap that is still open counts";
    EXPECT_GT(value("longest_gap_ms"), 1'000);
}

TEST_F(PlayRunTest, AServerThatFrozeBeforeTheWindowFails) {
    judge_lateness();
    options_.settle = Millis(1'200);
    options_.stream.shape.audio_bits_per_second = 0;
    options_.run.duration = Millis(2'000);
    EXPECT_EQ(play(Fault::kFreezeEarly, 5), kExitFailed);
    EXPECT_EQ(failed(), "behind ");
}

TEST_F(PlayRunTest, NothingIsMeasuredInNoTime) {
    options_.run.duration = Millis(0);
    EXPECT_EQ(play(Fault::kNone), kExitUsage);
}

TEST_F(PlayRunTest, ARefusedPlayIsCountedWithTheServersWords) {
    EXPECT_EQ(play(Fault::kRefusePlay), kExitFailed);
    EXPECT_EQ(value("broken"), 5);
    EXPECT_NE(json_.find("NetStream.Play.StreamNotFound no such stream"), std::string::npos);
}

TEST_F(PlayRunTest, ARefusedConnectionIsCounted) {
    io::SocketAddress address;
    {
        auto listener = io::TcpListener::listen(io::loopback());
        ASSERT_TRUE(listener.ok());
        address = (*listener)->local();
    }
    options_.stream.shape.bits_per_second = 0;
    EXPECT_EQ(play(address, "rtmp://test/live/x"), kExitFailed);
    EXPECT_EQ(value("refused"), 5);
    EXPECT_EQ(value("connected"), 0);
    EXPECT_NE(json_.find("Connection refused"), std::string::npos);
}

// Its queue of connections is full: more than can be tried at a time wait for an answer.
TEST_F(PlayRunTest, AServerThatTakesNobodyIsGivenUpInTime) {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(where);
    auto* name = reinterpret_cast<sockaddr*>(&where);
    ASSERT_EQ(bind(listener, name, size), 0);
    ASSERT_EQ(listen(listener, 1), 0);
    ASSERT_EQ(getsockname(listener, name, &size), 0);
    options_.stream.shape.bits_per_second = 0;
    options_.clients = 2'000;
    options_.run.connect_timeout = Millis(1'500);
    options_.run.duration = Millis(100);
    EXPECT_EQ(play(io::loopback(ntohs(where.sin_port)), "rtmp://test/live/x"), kExitFailed);
    EXPECT_LT(MonoClock::now() - began_, Millis(10'000)) << "eight rounds of the timeout are 12 s";
    EXPECT_GT(value("refused"), 1'950);
    EXPECT_NE(json_.find("no turn to connect within --connect-timeout"), std::string::npos);
    close(listener);
}

TEST_F(PlayRunTest, ASilentServerEndsInAReportNotInAHang) {
    options_.stream.shape.bits_per_second = 0;
    options_.run.connect_timeout = Millis(1'500);
    options_.run.duration = Millis(500);
    EXPECT_EQ(play(Fault::kSilent), kExitFailed);
    EXPECT_EQ(value("connected"), 5);
    EXPECT_NE(failed().find("playing "), std::string::npos);
}

TEST_F(PlayRunTest, APublisherThatIsNotLetInEndsTheRun) {
    options_.run.connect_timeout = Millis(300);
    EXPECT_EQ(play(Fault::kSilent), kExitUsage);
}

TEST_F(PlayRunTest, CtrlCGivesTheReportOfWhatWasSeen) {
    RelayServer server(Fault::kNone);
    options_.run.duration = Millis(60'000);
    io::Coroutine user = io::go([] {
        if (!io::sleep_for(Millis(1'500))) {
            std::raise(SIGINT);
        }
    });
    EXPECT_EQ(play(server), kExitIncomplete) << json_;
    EXPECT_LT(MonoClock::now() - began_, Seconds(20));
    EXPECT_NE(json_.find("interrupted (Ctrl+C)"), std::string::npos);
    user.join();
}

TEST_F(PlayRunTest, TheServersFiguresAreThereWhenItsProcessIsNamed) {
    options_.run.server_pid = own_pid();
    EXPECT_EQ(play(Fault::kNone), kExitPassed) << json_;
    EXPECT_NE(json_.find("private_kib_per_player"), std::string::npos);
    EXPECT_GE(value("cpu_s"), 0);
}

TEST(EnsureDescriptorsTest, SaysHowManyAreNeeded) {
    // More than the kernel allows anybody.
    Error error = ensure_descriptors(uint64_t{1} << 40);
    EXPECT_EQ(error.code(), ErrorCode::kLimit);
    EXPECT_NE(error.message().find("1099511627840 open files are needed"), std::string_view::npos);
    EXPECT_FALSE(bool(ensure_descriptors(10)));
}

TEST(SourceAddressesTest, SpreadsOverLoopbackOnly) {
    SourceAddresses spread(io::loopback(1935));
    ASSERT_NE(spread.of(0), nullptr);
    EXPECT_EQ(spread.of(0)->to_string(), "127.0.1.1:0");
    EXPECT_NE(spread.of(0)->host(), spread.of(1)->host());
    EXPECT_EQ(spread.of(0)->host(), spread.of(64)->host());
    SourceAddresses none(*io::SocketAddress::parse("192.0.2.1:1935"));
    EXPECT_EQ(none.of(0), nullptr);
}

TEST_F(PlayRunTest, PlayersLeaveAfterTheirStayAndAreNotBroken) {
    options_.group.stay = Millis(700);
    options_.run.duration = Millis(60'000);
    EXPECT_EQ(play(Fault::kNone), kExitPassed) << json_;
    EXPECT_LT(MonoClock::now() - began_, Seconds(20)) << "nobody is left to be measured";
    EXPECT_EQ(value("left"), 5);
    EXPECT_EQ(value("broken"), 0);
    EXPECT_EQ(value("clients.left"), 5);
    EXPECT_EQ(value("clients.playing"), 0);
    EXPECT_NE(json_.find("every player has left or ended"), std::string::npos);
}

TEST_F(PlayRunTest, OwnConditionsAreJudgedByTheFiguresOfTheWindow) {
    options_.run.expect = {"loss==0 and clients.playing==5", "latency.p99<1us or stalls>0"};
    EXPECT_EQ(play(Fault::kNone), kExitFailed);
    EXPECT_EQ(failed(), "expect ");
    EXPECT_NE(json_.find("latency.p99<1us or stalls>0\", \"found\": \"latency.p99 "),
              std::string::npos)
        << json_;
    EXPECT_GT(value("rate.ratio"), 0.5);
    EXPECT_GT(value("jitter.max"), 0);
}

TEST_F(PlayRunTest, OnlyOwnConditionsMayCount) {
    options_.run.default_conditions = false;
    options_.run.expect = {"loss > 0 and corrupted == 0"};
    EXPECT_EQ(play(Fault::kDrop), kExitPassed) << json_;
}

TEST_F(PlayRunTest, AConditionThatIsWrongOrLacksAServerStartsNothing) {
    const Millis duration = options_.run.duration;
    options_.run.duration = Millis(60'000);
    for (const char* condition : {"loss = 0", "server.cpu<95%"}) {
        options_.run.expect = {condition};
        EXPECT_EQ(play(Fault::kNone), kExitUsage);
        EXPECT_LT(MonoClock::now() - began_, Seconds(20));
    }
    options_.run.duration = duration;
    options_.run.server_pid = own_pid();
    EXPECT_EQ(play(Fault::kNone), kExitPassed) << json_;
}

TEST_F(PlayRunTest, EachClientHasItsEntryWhenAskedFor) {
    options_.run.per_client = true;
    EXPECT_EQ(play(Fault::kNone), kExitPassed);
    for (int i = 0; i < 5; i++) {
        EXPECT_NE(json_.find(fmt::format("\"client\": {}, \"stream\": 0", i)), std::string::npos);
    }
    EXPECT_EQ(json_.find("\"client\": 5"), std::string::npos);
    EXPECT_GT(value("mean_latency_ms"), 0);
}

TEST_F(PlayRunTest, TheReasonStandsWithTheClientItEnded) {
    options_.run.per_client = true;
    options_.run.duration = Millis(60'000);
    EXPECT_EQ(play(Fault::kClosePlayers, 5), kExitFailed);
    size_t entry = json_.find("\"client\": 4");
    ASSERT_NE(entry, std::string::npos);
    EXPECT_NE(json_.find("\"failure\": \"closed by the server\"", entry), std::string::npos);
}

TEST_F(PlayRunTest, ThePageIsWritten) {
    options_.run.html = options_.run.json + ".html";
    EXPECT_EQ(play(Fault::kNone), kExitPassed);
    std::stringstream text;
    text << std::ifstream(options_.run.html).rdbuf();
    std::remove(options_.run.html.c_str());
    EXPECT_NE(text.str().find("<svg"), std::string::npos);
    EXPECT_NE(text.str().find("measuring"), std::string::npos) << "the phases are marked";
}

TEST_F(PlayRunTest, APageThatCannotBeWrittenIsNoPass) {
    options_.run.html = "/no/such/folder/report.html";
    EXPECT_EQ(play(Fault::kNone), kExitUsage);
}

TEST_F(PlayRunTest, TheSeriesHasASampleASecond) {
    options_.run.duration = Millis(2'500);
    EXPECT_EQ(play(Fault::kNone), kExitPassed) << json_;
    size_t samples = json_.find("\"samples\": [");
    ASSERT_NE(samples, std::string::npos);
    auto rows = std::count(json_.begin() + static_cast<std::ptrdiff_t>(samples), json_.end(), '[');
    EXPECT_GE(rows, 1 + 2) << json_.substr(samples);
}

TEST_F(PlayRunTest, TheLimitIsTheLargestStepHeld) {
    options_.clients = 2;
    options_.ramp = Millis(50);
    options_.limit = {"clients.playing >= 8", "3", Millis(600), Millis(100), 100};
    EXPECT_EQ(play(Fault::kNone), kExitPassed) << json_;
    size_t limit = json_.find("\"limit\": {");
    ASSERT_NE(limit, std::string::npos);
    EXPECT_NE(json_.find("\"clients\": 5", limit), std::string::npos) << json_;
    EXPECT_NE(json_.find("{\"clients\": 8, \"held\": false, \"why\": \"clients.playing >= 8"),
              std::string::npos)
        << json_;
    EXPECT_EQ(value("asked"), 5) << "the report is about the step that was held";
    EXPECT_EQ(value("connected"), 5);
}

TEST_F(PlayRunTest, ASearchEndsAtTheMostClients) {
    options_.clients = 2;
    options_.ramp = Millis(50);
    options_.limit = {"loss > 0", "100%", Millis(500), Millis(100), 4};
    EXPECT_EQ(play(Fault::kNone), kExitPassed) << json_;
    EXPECT_NE(json_.find("--max-clients reached"), std::string::npos);
    EXPECT_EQ(value("asked"), 4);
}

TEST_F(PlayRunTest, ALimitBelowTheFirstStepFails) {
    options_.clients = 2;
    options_.limit = {"latency.p99 > 9s", "1", Millis(8'000), Millis(100), 100};
    EXPECT_EQ(play(Fault::kClosePlayers), kExitFailed);
    EXPECT_EQ(failed(), "limit ");
    EXPECT_NE(json_.find("\"why\": \"2 broken\""), std::string::npos) << json_;
}

TEST_F(PlayRunTest, ASearchThatIsInterruptedKeepsWhatWasHeld) {
    RelayServer server(Fault::kNone);
    options_.clients = 1;
    options_.ramp = Millis(50);
    options_.limit = {"loss > 0", "1", Millis(600), Millis(100), 100};
    io::Coroutine user = io::go([] {
        if (!io::sleep_for(Millis(3'000))) {
            std::raise(SIGINT);
        }
    });
    EXPECT_EQ(play(server), kExitIncomplete) << json_;
    EXPECT_NE(json_.find("\"ended_by\": \"interrupted (Ctrl+C)\""), std::string::npos) << json_;
    user.join();
}

// Ctrl+C while it connects, and while the publisher is not let in.
TEST_F(PlayRunTest, CtrlCEndsEveryPhaseAtOnce) {
    struct Phase {
        Fault fault;
        bool publishes;
        Millis ramp;
    };

    for (const Phase& phase :
         {Phase{Fault::kSilent, true, Millis(0)}, Phase{Fault::kNone, true, Millis(60'000)},
          Phase{Fault::kSilent, false, Millis(0)}}) {
        RelayServer server(phase.fault);
        options_.ramp = phase.ramp;
        options_.stream.shape.bits_per_second = phase.publishes ? 300'000 : 0;
        options_.run.connect_timeout = Millis(30'000);
        io::Coroutine user = io::go([&phase] {
            // The first of a slow ramp plays by then.
            if (!io::sleep_for(Millis(phase.ramp.count() > 0 ? 3'000 : 1'000))) {
                std::raise(SIGINT);
            }
        });
        EXPECT_EQ(play(server), kExitIncomplete);
        EXPECT_LT(MonoClock::now() - began_, Seconds(20));
        EXPECT_NE(json_.find("interrupted (Ctrl+C)"), std::string::npos);
        EXPECT_EQ(value("asked"), 5);
        EXPECT_EQ(value("playing"), phase.ramp.count() > 0 ? 1 : 0) << "the first of a slow ramp";
        user.join();
    }
}

TEST(LimitStepTest, IsANumberOrAGrowth) {
    EXPECT_EQ(LimitStep::parse("100")->next(50), 150U);
    EXPECT_EQ(LimitStep::parse("10%")->next(500), 550U);
    EXPECT_EQ(LimitStep::parse("1%")->next(10), 11U) << "at least one more";
    EXPECT_EQ(LimitStep::parse("1000%")->next(4'000'000'000U), UINT32_MAX);
    for (const char* text : {"", "%", "0", "0%", "x", "5 %", "-1", "1001%"}) {
        EXPECT_FALSE(LimitStep::parse(text).ok()) << text;
    }
}

}  // namespace
}  // namespace weir::load
