#include "io/service_notifier.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::io {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// The manager's end, in the abstract namespace.
class Manager {
  public:
    explicit Manager(std::string name = fmt::format("@weir-notify-test-{}", getpid()))
        : name_(std::move(name)) {
        fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        name_.copy(address.sun_path, name_.size());
        address.sun_path[0] = '\0';
        const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
        EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    }

    ~Manager() { close(fd_); }

    Manager(const Manager&) = delete;
    Manager& operator=(const Manager&) = delete;

    const std::string& name() const { return name_; }

    // The next datagram; empty when there is none.
    std::string next() const {
        char buffer[1024];
        const ssize_t got = recv(fd_, buffer, sizeof buffer, 0);
        return {buffer, got > 0 ? static_cast<size_t>(got) : 0};
    }

  private:
    std::string name_;
    int fd_ = -1;
};

TEST(ServiceNotifierTest, TellsTheStates) {
    const Manager manager;
    ServiceNotifier notifier({manager.name(), "", ""});
    ASSERT_TRUE(notifier.connected());
    EXPECT_FALSE(notifier.watchdog_period());
    notifier.ready("0 publishers");
    EXPECT_THAT(manager.next(), StartsWith("READY=1\nSTATUS=0 publishers\nMAINPID="));
    notifier.reloading("reloading");
    const std::string reloading = manager.next();
    EXPECT_THAT(reloading, StartsWith("RELOADING=1\nMONOTONIC_USEC="));
    EXPECT_THAT(reloading, HasSubstr("\nSTATUS=reloading\n"));
    notifier.watchdog();
    EXPECT_EQ(manager.next(), "WATCHDOG=1\n");
    notifier.stopping("two\nlines");
    EXPECT_EQ(manager.next(), "STOPPING=1\nSTATUS=two lines\n");
}

TEST(ServiceNotifierTest, SaysAStatusOnce) {
    const Manager manager;
    ServiceNotifier notifier({manager.name(), "", ""});
    notifier.status("1 player");
    notifier.status("1 player");
    notifier.status("2 players");
    EXPECT_EQ(manager.next(), "STATUS=1 player\n");
    EXPECT_EQ(manager.next(), "STATUS=2 players\n");
    EXPECT_EQ(manager.next(), "");
}

TEST(ServiceNotifierTest, TheWatchdogIsForThisProcessAndHalfOfWhatItWaits) {
    const Manager manager;
    const std::string own = fmt::format("{}", getpid());
    EXPECT_EQ(ServiceNotifier({manager.name(), "3000000", own}).watchdog_period(), Micros(1500000));
    EXPECT_EQ(ServiceNotifier({manager.name(), "3000000", ""}).watchdog_period(), Micros(1500000));
    EXPECT_FALSE(ServiceNotifier({manager.name(), "3000000", "1"}).watchdog_period());
    EXPECT_FALSE(ServiceNotifier({manager.name(), "soon", own}).watchdog_period());
    EXPECT_FALSE(ServiceNotifier({"", "3000000", own}).watchdog_period()) << "nobody hears it";
}

TEST(ServiceNotifierTest, WithoutAManagerNothingHappens) {
    for (const char* name : {"", "relative", "/nowhere/notify", "@"}) {
        ServiceNotifier notifier({name, "", ""});
        EXPECT_FALSE(notifier.connected()) << name;
        notifier.ready("x");
        notifier.watchdog();
        notifier.stopping("x");
    }
    ServiceNotifier far_too_long({"/" + std::string(200, 'x'), "", ""});
    EXPECT_FALSE(far_too_long.connected());
}

TEST(ServiceNotifierTest, TheWatchdogsLimitsAreThoseOfADay) {
    const Manager manager;
    const auto period = [&](const std::string& usec, const std::string& pid = "") {
        return ServiceNotifier({manager.name(), usec, pid}).watchdog_period();
    };
    EXPECT_EQ(period("2"), Micros(1));
    EXPECT_EQ(period("86400000000"), Micros(43'200'000'000));
    for (const char* bad :
         {"", "0", "1", "86400000001", "-2000000", "3000000 ", "3e6", "99999999999999999999999"}) {
        EXPECT_FALSE(period(bad)) << bad;
    }
    EXPECT_FALSE(period("3000000", "0"));
    EXPECT_FALSE(period("3000000", fmt::format("{}0", getpid()))) << "of another process";
}

TEST(ServiceNotifierTest, TakesTheLongestNameOfASocketAndRefusesALongerOne) {
    constexpr size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;
    std::string name = fmt::format("@weir-long-{}-", getpid());
    name += std::string(kLongest - name.size(), 'x');
    const Manager manager(name);
    ServiceNotifier longest({name, "", ""});
    ASSERT_TRUE(longest.connected());
    longest.watchdog();
    EXPECT_EQ(manager.next(), "WATCHDOG=1\n");
    EXPECT_FALSE(ServiceNotifier({name + "x", "", ""}).connected());
}

TEST(ServiceNotifierTest, AStatusThatCameWithAStateIsNotRepeated) {
    const Manager manager;
    ServiceNotifier notifier({manager.name(), "", ""});
    notifier.ready("1 player");
    EXPECT_THAT(manager.next(), StartsWith("READY=1\n"));
    notifier.status("1 player");
    EXPECT_EQ(manager.next(), "");
    notifier.status("1\nplayer");
    EXPECT_EQ(manager.next(), "") << "the same as one line";
    notifier.stopping("drain");
    EXPECT_THAT(manager.next(), StartsWith("STOPPING=1\n"));
    notifier.status("1 player");
    EXPECT_EQ(manager.next(), "STATUS=1 player\n");
}

// A line that somebody puts into a status is not taken for a state.
TEST(ServiceNotifierTest, AStatusCannotBecomeAState) {
    const Manager manager;
    ServiceNotifier notifier({manager.name(), "", ""});
    notifier.status("x\nSTOPPING=1\nWATCHDOG=trigger");
    EXPECT_EQ(manager.next(), "STATUS=x STOPPING=1 WATCHDOG=trigger\n");
    notifier.ready("a\nb");
    EXPECT_THAT(manager.next(), StartsWith("READY=1\nSTATUS=a b\nMAINPID="));
    notifier.reloading("a\nb");
    EXPECT_THAT(manager.next(), HasSubstr("\nSTATUS=a b\n"));
}

TEST(ServiceNotifierTest, AManagerThatGoesStopsNothing) {
    auto manager = std::make_unique<Manager>();
    ServiceNotifier notifier({manager->name(), "3000000", ""});
    manager.reset();
    notifier.watchdog();
    notifier.stopping("end");
    EXPECT_TRUE(notifier.connected());
    EXPECT_TRUE(notifier.watchdog_period());
}

TEST(ServiceNotifierTest, AManagerThatDoesNotReadStopsNothing) {
    const Manager manager;
    ServiceNotifier notifier({manager.name(), "", ""});
    for (int i = 0; i < 100'000; i++) {
        notifier.watchdog();
    }
    EXPECT_EQ(manager.next(), "WATCHDOG=1\n");
}

}  // namespace
}  // namespace weir::io
