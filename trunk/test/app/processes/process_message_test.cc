#include "app/processes/process_message.h"

#include <gtest/gtest.h>

#include "app/processes/message_socket.h"
#include "app/processes/process_seat.h"

namespace weir::app {
namespace {

TEST(ProcessMessage, WordsMayHaveAnyBytes) {
    const ProcessMessage message{"claim", {"7", "", "live\nroom", std::string("a\\n\0b", 5)}};
    const Result<ProcessMessage> read = ProcessMessage::decode(message.encode());
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(*read, message);
}

TEST(ProcessMessage, AVerbAloneHasNoWords) {
    const Result<ProcessMessage> read = ProcessMessage::decode("ready");
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->verb, "ready");
    EXPECT_TRUE(read->words.empty());
    EXPECT_EQ(read->number(0), std::nullopt);
    EXPECT_EQ(read->key(0).error().code(), ErrorCode::kMalformed);
}

TEST(ProcessMessage, WhatIsNoMessageIsRefused) {
    EXPECT_EQ(ProcessMessage::decode("a\nb\\").error().code(), ErrorCode::kMalformed);
    EXPECT_EQ(ProcessMessage::decode("a\nb\\x").error().code(), ErrorCode::kMalformed);
    EXPECT_EQ(
        ProcessMessage::decode(std::string(ProcessMessage::kMaxBytes + 1, 'a')).error().code(),
        ErrorCode::kLimit);
    EXPECT_TRUE(ProcessMessage::decode(std::string(ProcessMessage::kMaxWords, '\n')).ok());
    EXPECT_EQ(
        ProcessMessage::decode(std::string(ProcessMessage::kMaxWords + 1, '\n')).error().code(),
        ErrorCode::kLimit);
}

TEST(ProcessFigures, AreReadAsTheyAreWritten) {
    const std::vector<ProcessFigures> peers = {{.busy = 12,
                                                .clients = 3,
                                                .streams = 2,
                                                .publishers = 1,
                                                .players = 2,
                                                .pid = 4711,
                                                .restarts = 1,
                                                .given_up = 1},
                                               {}};
    EXPECT_EQ(peers_of({"peers", peers_words(peers)}), peers);
    EXPECT_EQ(peers_of({"peers", {"x", "1", "2", "3", "4", "5", "6", "7", "8"}}),
              (std::vector<ProcessFigures>{{.busy = ProcessFigures::kNotThere,
                                            .clients = 1,
                                            .streams = 2,
                                            .publishers = 3,
                                            .players = 4,
                                            .pid = 5,
                                            .restarts = 6,
                                            .given_up = 7}}));
    EXPECT_LT(peers_words(std::vector<ProcessFigures>(kMaxProcesses)).size(),
              ProcessMessage::kMaxWords);
}

TEST(ProcessSeat, IsReadAsItIsWritten) {
    const std::string text = seat_argument({.index = 2, .count = 4}, 9);
    EXPECT_EQ(text, "--seat=2/4,9");
    const auto read = parse_seat(text.substr(kSeatOption.size()));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->seat, (ProcessSeat{2, 4}));
    EXPECT_EQ(read->control, 9);
    EXPECT_FALSE(read->single_port);
    const auto shared = parse_seat("2/4,9,1");
    ASSERT_TRUE(shared);
    EXPECT_TRUE(shared->single_port);
}

TEST(ProcessSeat, WhatIsNoneIsRefused) {
    for (const char* text : {"", "4/4,5", "0/1,5", "0/65,5", "0/4", "0/4,", "0/4,2", "-1/4,5",
                             "0/4,9,", "0/4,9,2", "a"}) {
        EXPECT_FALSE(parse_seat(text)) << text;
    }
}

class MessageSocketTest : public testing::Test {
  protected:
    MessageSocketTest() {
        auto ends = MessageSocket::pair();
        EXPECT_TRUE(ends.ok());
        one_ = MessageSocket(std::move((*ends)[0]));
        other_ = MessageSocket(std::move((*ends)[1]));
    }

    MessageSocket one_;
    MessageSocket other_;
};

TEST_F(MessageSocketTest, MessagesComeInOrderAndADescriptorWithItsOwn) {
    ASSERT_FALSE(one_.send({"first", {"1"}}));
    ASSERT_FALSE(one_.send({"second", {}}, 0));
    auto first = other_.receive();
    ASSERT_TRUE(first.ok() && *first);
    EXPECT_EQ((*first)->message, (ProcessMessage{"first", {"1"}}));
    EXPECT_FALSE((*first)->attached);
    auto second = other_.receive();
    ASSERT_TRUE(second.ok() && *second);
    EXPECT_EQ((*second)->message.verb, "second");
    EXPECT_TRUE((*second)->attached);
    auto none = other_.receive();
    ASSERT_TRUE(none.ok());
    EXPECT_FALSE(*none);
}

TEST_F(MessageSocketTest, WhoDoesNotReadFillsNoMemory) {
    Error failed;
    for (int i = 0; i < 100'000 && !failed; i++) {
        failed = one_.send({"owner", {std::string(1000, 'x')}});
    }
    EXPECT_EQ(failed.code(), ErrorCode::kFull);
}

TEST_F(MessageSocketTest, TheEndOfTheOtherSideIsTold) {
    other_.close();
    EXPECT_EQ(one_.receive().error().code(), ErrorCode::kClosed);
    EXPECT_EQ(one_.send({"ready", {}}).code(), ErrorCode::kClosed);
}

}  // namespace
}  // namespace weir::app
