#include "app/processes/process_link.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/processes/process_placement.h"
#include "app/processes/process_streams.h"
#include "base/random.h"
#include "config/process_config.h"

#include "test/support/io/loopback.h"

namespace weir::app {
namespace {

const stream::StreamKey kCam{"v", "live", "cam"};

// The end of the supervisor, and one process.
class ProcessLinkTest : public testing::Test {
  protected:
    static constexpr uint32_t kOwn = 1;

    ProcessLinkTest() {
        auto ends = MessageSocket::pair();
        EXPECT_TRUE(ends.ok());
        supervisor_ = MessageSocket(std::move((*ends)[0]));
        say({"peers", peers_words(peers_)});
        say({"seat", {"1", "3", token_}});
        auto made = ProcessLink::create({.seat = {kOwn, 3}, .control = (*ends)[1].release()});
        EXPECT_TRUE(made.ok());
        link_ = std::move(*made);
    }

    void say(const ProcessMessage& message) { EXPECT_FALSE(supervisor_.send(message)); }

    // Until the process has heard it.
    void say_peers() {
        peers_[0].clients++;
        say({"peers", peers_words(peers_)});
        EXPECT_TRUE(
            io::eventually([this] { return link_->figures_of(0).clients == peers_[0].clients; }));
    }

    void say_owner(uint32_t process, uint64_t epoch) {
        say({"owner",
             {kCam.vhost, kCam.app, kCam.name, std::to_string(process), std::to_string(epoch)}});
        EXPECT_TRUE(io::eventually([&] { return link_->find(kCam).epoch == epoch; }));
    }

    const std::string token_ = random_id(system_random(), 16);
    std::vector<ProcessFigures> peers_{3};
    MessageSocket supervisor_;
    std::unique_ptr<ProcessLink> link_;
};

TEST_F(ProcessLinkTest, WhatOthersSeeOfItTellsNoSecret) {
    const std::string name = link_->address_of(0, "http");
    EXPECT_TRUE(name.starts_with("@weir-")) << name;
    EXPECT_EQ(name.find(token_), std::string::npos);
    EXPECT_EQ(link_->mark().find(token_), std::string::npos);
    EXPECT_NE(link_->secret("relays"), link_->secret("rtsp nonces"));
    EXPECT_NE(name, link_->address_of(0, "api"));
    EXPECT_NE(name.substr(0, name.find("-0-")),
              link_->address_of(1, "http").substr(0, name.find("-0-")));
}

// Whoever has taken the name of a process that ended keeps nothing from it.
TEST_F(ProcessLinkTest, AProcessHasAnotherAddressEachTimeItIsStarted) {
    const std::string before = link_->address_of(2, "http");
    const std::string of_other = link_->address_of(0, "http");
    say_peers();
    EXPECT_EQ(link_->address_of(2, "http"), before);
    peers_[2].restarts++;
    say_peers();
    EXPECT_NE(link_->address_of(2, "http"), before);
    EXPECT_EQ(link_->address_of(0, "http"), of_other);
}

TEST_F(ProcessLinkTest, TheNextOneIsTheHomeInPlaceOfOneThatDoesNotComeUp) {
    int told = 0;
    link_->set_observer({.on_homes = [&told] { told++; }});
    const uint32_t home = config::home_of(kCam, 3);
    EXPECT_EQ(link_->home_of(kCam), home);
    peers_[home].given_up = 1;
    say_peers();
    EXPECT_EQ(link_->home_of(kCam), (home + 1) % 3);
    EXPECT_EQ(told, 1);
    say_peers();
    EXPECT_EQ(told, 1) << "nothing is new";
    peers_[(home + 1) % 3].given_up = 1;
    say_peers();
    EXPECT_EQ(link_->home_of(kCam), (home + 2) % 3);
    peers_[home].given_up = 0;
    say_peers();
    EXPECT_EQ(link_->home_of(kCam), home);
    EXPECT_EQ(told, 3);
    link_->set_observer({});
}

// Or a source that fails would begin again at once, for ever.
TEST_F(ProcessLinkTest, ANameThatThisProcessGaveUpIsNoNews) {
    const uint32_t max_percent = 0;
    stream::Registry registry;
    ProcessPlacement placement(*link_, link_->exchange(), registry, max_percent);
    ProcessStreams streams(*link_, placement, registry);
    std::vector<uint64_t> told;
    streams.on_owner = [&told](const stream::StreamKey&, uint64_t epoch) { told.push_back(epoch); };
    int given_up = 0;
    streams.on_given_up = [&given_up](const stream::StreamKey&) { given_up++; };
    say_owner(kOwn, 7);
    say_owner(0, 0);
    EXPECT_THAT(told, testing::IsEmpty());
    EXPECT_EQ(given_up, 1) << "viewers here may need a source that is elsewhere";
    say_owner(2, 8);
    say_owner(0, 0);
    EXPECT_THAT(told, testing::ElementsAre(8, 0)) << "another one had it";
    EXPECT_EQ(given_up, 1);
}

}  // namespace
}  // namespace weir::app
