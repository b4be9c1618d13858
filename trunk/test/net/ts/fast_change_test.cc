// A fast channel change with a server and a group in memory, and a clock of its own.
#include "net/ts/fast_change.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "net/ts/group_input.h"
#include "proto/rtp/header.h"

namespace weir::net {
namespace {

const NetAddress kGroup = NetAddress::from_v4({239, 1, 2, 3}, 5140);
const NetAddress kServer = NetAddress::from_v4({10, 0, 0, 1}, 15'970);
const NetAddress kOther = NetAddress::from_v4({10, 0, 0, 2}, 15'970);
const NetAddress kLocal = NetAddress::from_v4({10, 0, 0, 9}, 40'001);

Bytes media(uint16_t sequence, uint32_t ssrc = 7) {
    Bytes packet(rtp::kFixedHeaderSize + 188, 0x47);
    rtp::write_header({.payload_type = 33, .sequence = sequence, .ssrc = ssrc}, packet.data());
    packet[rtp::kFixedHeaderSize + 1] = static_cast<uint8_t>(sequence >> 8);
    packet[rtp::kFixedHeaderSize + 2] = static_cast<uint8_t>(sequence);
    return packet;
}

struct Says {
    uint8_t result = 0;
    uint8_t type = 2;  // 1: join, 2: unicast, 3: redirect
    NetAddress server{};
    uint16_t signal_port = 0;
    uint16_t media_port = 0;
};

Bytes answer(const Says& says) {
    Bytes out;
    ByteWriter(out).u8(0x83).u8(205).u16(8).u32(0).u32(0).u8(says.result).u8(says.type);
    ByteWriter(out).u16(says.signal_port).u16(says.media_port).u16(0);
    const NetAddress::V4 ip = says.server.empty() ? NetAddress::V4{} : says.server.v4();
    out.insert(out.end(), ip.begin(), ip.end());
    out.resize(36);
    return out;
}

Bytes sync() {
    return {0x84, 205, 0, 2, 0, 0, 0, 0, 239, 1, 2, 3};
}

class FastChangeTest : public testing::Test, protected FastChangeOutput, protected RtpOrderOutput {
  protected:
    struct Sent {
        NetAddress to;
        Bytes bytes;
        bool from_media = false;
    };

    void begin(fcc::Kind kind = fcc::Kind::kTelecom) {
        change_.emplace(
            FastChangeTarget{
                .kind = kind,
                .server = kServer,
                .allowed = [](const NetAddress& server) { return server.v4()[0] == 10; }},
            kGroup, kLocal, static_cast<FastChangeOutput&>(*this));
        change_->start(now_);
    }

    void send(const NetAddress& to, ByteSpan datagram, bool from_media) override {
        sent_.push_back({to, Bytes(datagram.begin(), datagram.end()), from_media});
    }

    void on_unicast(MonoTime now, ByteSpan datagram) override { input_.feed(now, datagram); }

    void on_ordered(MonoTime, ByteSpan bytes) override {
        given_.push_back(static_cast<uint16_t>(bytes[1] << 8 | bytes[2]));
    }

    void on_gap() override { gaps_++; }

    void server_says(ByteSpan bytes, const NetAddress& from = kServer) {
        change_->feed(now_, from, bytes);
    }

    void unicast(uint16_t sequence) { change_->feed(now_, kServer, media(sequence)); }

    void group(uint16_t sequence, uint32_t ssrc = 7) {
        const Bytes packet = media(sequence, ssrc);
        change_->feed_group(now_, packet);
        input_.feed(now_, packet);
    }

    void wait(Millis time) {
        for (const MonoTime until = now_ + time; now_ < until; now_ += Millis(1)) {
            change_->handle_timeout(now_);
        }
        change_->handle_timeout(now_);
    }

    // How often the server has been told to stop, and the number in the last of them.
    size_t ends() const {
        return static_cast<size_t>(
            std::ranges::count_if(sent_, [](const Sent& each) { return each.bytes.size() == 16; }));
    }

    bool is_whole() const {
        for (size_t i = 1; i < given_.size(); i++) {
            if (given_[i] != static_cast<uint16_t>(given_[i - 1] + 1)) {
                return false;
            }
        }
        return gaps_ == 0;
    }

    MonoTime now_{Seconds(1)};
    std::vector<Sent> sent_;
    std::vector<uint16_t> given_;
    size_t gaps_ = 0;
    GroupInput input_{*this, {.fast_change = true}};
    std::optional<FastChange> change_;
};

TEST_F(FastChangeTest, UnicastIsFollowedByTheGroupWithoutABreak) {
    begin();
    ASSERT_EQ(sent_.size(), 1U);
    EXPECT_EQ(sent_[0].to, kServer);
    server_says(answer({}));
    EXPECT_FALSE(change_->wants_group());
    // From the key frame on, faster than it is sent to the group.
    uint16_t next = 65'400;
    for (int i = 0; i < 200; i++) {
        unicast(next++);
        wait(Millis(1));
    }
    server_says(sync());
    EXPECT_TRUE(change_->wants_group());
    input_.set_patience(Seconds(1));
    // The group is ahead of the unicast by 50 packets, and both go on.
    auto live = static_cast<uint16_t>(next + 50);
    while (!change_->is_over()) {
        group(live++);
        unicast(next++);
        wait(Millis(1));
        ASSERT_LT(given_.size(), 1000U);
    }
    for (int i = 0; i < 100; i++) {
        group(live++);
    }
    EXPECT_EQ(change_->outcome(), "in step");
    EXPECT_TRUE(is_whole());
    EXPECT_EQ(given_.front(), 65'400);
    EXPECT_EQ(given_.back(), static_cast<uint16_t>(live - 1));
    ASSERT_EQ(ends(), 3U);
    const Bytes& end = sent_.back().bytes;
    const auto first = static_cast<uint16_t>(65'400 + 250);
    EXPECT_EQ(end[12], 0);
    EXPECT_EQ(end[14] << 8 | end[15], static_cast<uint16_t>(first + FastChange::kOverlap));
}

TEST_F(FastChangeTest, WithoutAnAnswerTheGroupIsJoined) {
    begin();
    wait(FastChange::kAnswerPatience - Millis(1));
    EXPECT_FALSE(change_->wants_group());
    EXPECT_EQ(sent_.size(), 3U) << "requests";
    wait(Millis(2));
    EXPECT_TRUE(change_->wants_group());
    EXPECT_TRUE(change_->is_over());
    EXPECT_EQ(change_->outcome(), "no answer");
    EXPECT_EQ(sent_.size(), 3U);
}

TEST_F(FastChangeTest, TheGroupIsJoinedWhereTheServerSaysSo) {
    for (const auto& [says, outcome] :
         {std::pair<Says, const char*>{{.type = 1}, "the server says to join"},
          {{.result = 1}, "the server refuses"},
          {{.type = 7}, "the server refuses"}}) {
        begin();
        server_says(answer(says));
        EXPECT_TRUE(change_->is_over());
        EXPECT_EQ(change_->outcome(), outcome);
    }
    EXPECT_EQ(ends(), 0U);
}

TEST_F(FastChangeTest, WhatStaysAwayIsNotWaitedFor) {
    begin();
    server_says(answer({}));
    wait(FastChange::kFirstPatience);
    EXPECT_EQ(change_->outcome(), "nothing comes by unicast");
    EXPECT_EQ(ends(), 3U);

    begin();
    server_says(answer({}));
    unicast(1);
    wait(FastChange::kMediaPatience);
    EXPECT_EQ(change_->outcome(), "the unicast stopped");

    begin();
    server_says(answer({}));
    unicast(1);
    server_says(sync());
    wait(FastChange::kOverlapPatience);
    EXPECT_EQ(change_->outcome(), "nothing comes from the group");
    EXPECT_EQ(ends(), 9U);
}

TEST_F(FastChangeTest, AServerThatNeverSaysSyncIsLeft) {
    begin();
    server_says(answer({}));
    uint16_t next = 0;
    for (Millis passed{0}; passed < FastChange::kSyncPatience; passed += Millis(100)) {
        EXPECT_FALSE(change_->wants_group());
        unicast(next++);
        wait(Millis(100));
    }
    EXPECT_TRUE(change_->wants_group());
    // It sends on and on, and never comes near.
    for (Millis passed{0}; passed <= FastChange::kOverlapPatience; passed += Millis(100)) {
        group(static_cast<uint16_t>(20'000 + next));
        unicast(next++);
        wait(Millis(100));
    }
    EXPECT_TRUE(change_->is_over());
}

TEST_F(FastChangeTest, ARedirectIsFollowedWhereItIsAllowed) {
    begin();
    server_says(answer({.type = 3, .server = kOther, .signal_port = 7000}));
    EXPECT_EQ(sent_.back().to, kOther.with_port(7000));
    server_says(answer({.type = 2}));  // of the first one: a stranger now
    server_says(answer({.type = 2}), kOther);
    change_->feed(now_, kOther, media(1));
    EXPECT_EQ(change_->packets(), 1U);

    begin();
    const size_t before = sent_.size();
    server_says(answer({.type = 3, .server = NetAddress::from_v4({192, 0, 2, 1}, 0)}));
    EXPECT_EQ(change_->outcome(), "a redirect to a server that is not allowed");
    EXPECT_EQ(sent_.size(), before);

    begin();
    server_says(answer({.type = 2, .server = NetAddress::from_v4({192, 0, 2, 1}, 0)}));
    EXPECT_EQ(change_->outcome(), "media of a server that is not allowed");
}

TEST_F(FastChangeTest, RedirectsAreBounded) {
    begin();
    NetAddress at = kServer;
    for (int i = 0; i < 20; i++) {
        const NetAddress next = at == kServer ? kOther : kServer;
        server_says(answer({.type = 3, .server = next}), at);
        at = next;
    }
    EXPECT_EQ(change_->outcome(), "too many redirects");
    EXPECT_EQ(sent_.size(), 1U + FastChange::kMaxRedirects);
}

TEST_F(FastChangeTest, ServersThatAreNotAllowedAreNotSpokenTo) {
    for (const NetAddress& server :
         {NetAddress::from_v4({192, 0, 2, 1}, 5), kServer.with_port(0)}) {
        change_.emplace(
            FastChangeTarget{.server = server,
                             .allowed = [](const NetAddress& one) { return one.v4()[0] == 10; }},
            kGroup, kLocal, static_cast<FastChangeOutput&>(*this));
        change_->start(now_);
        EXPECT_TRUE(change_->is_over());
    }
    change_.emplace(FastChangeTarget{.server = kServer, .allowed = nullptr}, kGroup, kLocal,
                    static_cast<FastChangeOutput&>(*this));
    change_->start(now_);
    EXPECT_TRUE(change_->is_over());
    EXPECT_TRUE(sent_.empty());
}

TEST_F(FastChangeTest, StrangersAreNotListenedTo) {
    begin();
    server_says(answer({}), kOther);
    change_->feed(now_, kOther, media(1));
    EXPECT_EQ(change_->packets(), 0U);
    server_says(answer({}));
    server_says(Bytes(3, 0));
    server_says(Bytes());
    change_->feed(now_, kOther, media(1));
    change_->feed(now_, kOther, sync());
    EXPECT_EQ(change_->packets(), 0U);
    EXPECT_FALSE(change_->wants_group());
}

TEST_F(FastChangeTest, MediaMayComeBeforeTheAnswer) {
    begin();
    unicast(1);
    EXPECT_EQ(change_->packets(), 1U);
    server_says(answer({.signal_port = 7000}));
    server_says(answer({.signal_port = 7001}));  // to a request that was repeated
    unicast(2);
    EXPECT_EQ(given_.size(), 2U);
    change_->stop();
    EXPECT_EQ(sent_.back().to, kServer.with_port(7000));
}

TEST_F(FastChangeTest, WaysAreOpenedToPortsThatTheServerNames) {
    begin();
    server_says(answer({.signal_port = 7000, .media_port = 7001}));
    ASSERT_EQ(sent_.size(), 3U);
    EXPECT_EQ(sent_[1].to, kServer.with_port(7001));
    EXPECT_EQ(sent_[2].to, kServer.with_port(7000));
    EXPECT_TRUE(sent_[1].bytes.empty() && sent_[2].bytes.empty());
    change_->stop();
    EXPECT_EQ(sent_.back().to, kServer.with_port(7000));
}

TEST_F(FastChangeTest, HuaweiOpensTheWayOfTheMediaFromTheirPort) {
    begin(fcc::Kind::kHuawei);
    Bytes says = {0x86, 205, 0, 8, 0, 0, 0,    0, 239,  1,    2, 3, 1, 0, 0,  2, 0, 1,
                  0,    0,   0, 0, 0, 0, 0x20, 0, 0x1B, 0x59, 1, 2, 3, 4, 10, 0, 0, 2};
    server_says(says);
    ASSERT_EQ(sent_.size(), 2U);
    EXPECT_EQ(sent_[1].to, kOther.with_port(7001));
    EXPECT_TRUE(sent_[1].from_media);
    EXPECT_EQ(sent_[1].bytes, (Bytes{0, 3, 0, 0, 1, 2, 3, 4}));
    change_->feed(now_, kOther.with_port(7001), media(1));
    EXPECT_EQ(change_->packets(), 1U);
}

TEST_F(FastChangeTest, AGroupOfAnotherSenderOrWithoutRtpEndsIt) {
    begin();
    server_says(answer({}));
    unicast(1);
    server_says(sync());
    group(100, 8);
    EXPECT_EQ(change_->outcome(), "the group has another sender");

    begin();
    server_says(answer({}));
    unicast(1);
    server_says(sync());
    change_->feed_group(now_, Bytes(188, 0x47));
    EXPECT_EQ(change_->outcome(), "the group has no RTP");
}

TEST_F(FastChangeTest, TheServerIsToldWhenNobodyWatchesAnyMore) {
    begin();
    server_says(answer({}));
    unicast(1);
    change_->stop();
    change_->stop();
    ASSERT_EQ(ends(), 3U);
    EXPECT_EQ(sent_.back().bytes[12], 1) << "not by a number";

    begin();
    change_->stop();  // it may have agreed meanwhile
    EXPECT_EQ(ends(), 6U);
}

}  // namespace
}  // namespace weir::net
