#include "net/turn_reader.h"

#include <string>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "test/support/io/loopback.h"

namespace weir::net {
namespace {

class TurnReaderTest : public testing::Test {
  protected:
    // Runs until "." comes, or so long after the last byte.
    Error run(Millis patience = Millis(10'000)) {
        MonoTime last = MonoClock::now();
        TurnReader reader(*pair_.server, client_,
                          {.take =
                               [&](ByteSpan bytes) {
                                   heard_.emplace_back(as_text(bytes));
                                   last = MonoClock::now();
                                   return heard_.back().ends_with('.');
                               },
                           .deadline = [&] { return last + patience; }});
        return reader.run();
    }

    void say(std::string_view text) {
        EXPECT_FALSE(pair_.client->write_all(as_bytes(text), io::soon()));
    }

    std::string heard() const {
        std::string all;
        for (const std::string& each : heard_) {
            all += each;
        }
        return all;
    }

    io::LoopbackPair pair_ = io::loopback_pair();
    ClientTable clients_;
    Client client_{clients_, "rtmp", "127.0.0.1"};
    std::vector<std::string> heard_;
};

TEST_F(TurnReaderTest, WhatIsThereAlreadyIsHeard) {
    say("one two.");
    EXPECT_FALSE(run());
    EXPECT_EQ(heard(), "one two.");
    EXPECT_EQ(client_.received_bytes, 8U);
}

TEST_F(TurnReaderTest, ItGoesOnUntilThereIsSomethingForTheCoroutine) {
    io::Coroutine talker = io::go([&] {
        for (const char* word : {"one ", "two ", "three."}) {
            const size_t before = heard_.size();
            say(word);
            EXPECT_TRUE(io::eventually([&] { return heard_.size() > before; }));
        }
    });
    EXPECT_FALSE(run());
    talker.join();
    EXPECT_EQ(heard_, (std::vector<std::string>{"one ", "two ", "three."}));
    say("not for it");
    EXPECT_FALSE(pair_.server->wait_readable(io::soon()));
    EXPECT_EQ(heard_.size(), 3U) << "after run() nobody reads";
}

TEST_F(TurnReaderTest, SilenceEndsIt) {
    EXPECT_EQ(run(Millis(30)).code(), ErrorCode::kTimeout);
}

TEST_F(TurnReaderTest, TheEndOfThePeerEndsIt) {
    say("one");
    pair_.client->close();
    EXPECT_EQ(run().code(), ErrorCode::kClosed);
    EXPECT_EQ(heard(), "one");
}

// A debugger, a virtual machine that was moved: what came meanwhile lies in the socket.
TEST_F(TurnReaderTest, WhoSpokeWhileTheProcessStoodStillWasNotSilent) {
    io::Coroutine stop = io::go([&] {
        say("meanwhile.");
        usleep(60'000);  // nothing else runs
    });
    EXPECT_FALSE(run(Millis(30)));
    stop.join();
    EXPECT_EQ(heard(), "meanwhile.");
}

}  // namespace
}  // namespace weir::net
