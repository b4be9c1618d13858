// Relays, and sources that are one node's of several.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "net/source/sources.h"

#include "test/net/source/sources_fixture.h"
#include "test/support/io/loopback.h"

namespace weir::net {
namespace {

// ---- relays ----

TEST_F(SourcesByItselfTest, ARelayThatNeverCameUpGivesItsPlaceToAnother) {
    relay_any(2);
    protocol_.bodies["up"] = from("a", 0);
    start();
    SourceViewer viewer;
    stream("up").attach(viewer);
    ASSERT_TRUE(io::eventually([&] { return state("up") == SourceState::kLive; }));
    EXPECT_TRUE(registry_.want(key("a")));
    EXPECT_TRUE(registry_.want(key("b")));
    EXPECT_EQ(find("a"), nullptr);
    EXPECT_NE(find("b"), nullptr);
    EXPECT_EQ(state("up"), SourceState::kLive);
    EXPECT_EQ(sources_->size(), 2U);
    EXPECT_EQ(sources_->stats(SourceRole::kPull).displaced, 1U);
    EXPECT_EQ(sources_->stats(SourceRole::kPull).refused, 0U);
    stream("up").detach(viewer);
}

TEST_F(SourcesByItselfTest, WhoHasAViewerIsDisplacedLast) {
    relay_any(2);
    start();
    SourceViewer viewer;
    stream("a").attach(viewer);
    EXPECT_TRUE(registry_.want(key("b")));
    EXPECT_TRUE(registry_.want(key("c")));
    EXPECT_NE(find("a"), nullptr) << "older, but somebody waits for it";
    EXPECT_EQ(find("b"), nullptr);
    stream("a").detach(viewer);
    registry_.release(stream("a"));
}

TEST_F(SourcesByItselfTest, AnEventMakesABackingOffRelayTryAtOnce) {
    relay_any();
    protocol_.bodies["a"] = [](SourceRun&) { return make_error(ErrorCode::kNotFound, "no"); };
    start();
    SourceViewer viewer;
    stream("a").attach(viewer);
    ASSERT_TRUE(io::eventually([&] { return state("a") == SourceState::kBackingOff; }));
    protocol_.bodies["a"] = from("a", 7);
    ASSERT_FALSE(io::sleep_for(Sources::kEventSpacing));
    sources_->retry_now(key("a"));
    EXPECT_TRUE(find("a")->machine().runs());
    ASSERT_TRUE(io::eventually([&] { return state("a") == SourceState::kLive; }));
    EXPECT_EQ(sources_->pull_of(key("a"))->origin()->epoch, 7U);
    stream("a").detach(viewer);
}

TEST_F(SourcesByItselfTest, ARunWhoseOriginHasLostTheStreamBeginsAnew) {
    relay_any();
    protocol_.bodies["a"] = from("old", 7);
    start();
    SourceViewer viewer;
    stream("a").attach(viewer);
    ASSERT_TRUE(io::eventually([&] { return state("a") == SourceState::kLive; }));
    sources_->end_run(key("a"), 7);
    EXPECT_EQ(protocol_.begun, 1) << "its claim is the newest";
    protocol_.bodies["a"] = from("new", 8);
    sources_->end_run(key("a"), 8);
    ASSERT_TRUE(io::eventually(
        [&] { return state("a") == SourceState::kLive && find("a")->origin()->node == "new"; }));
    EXPECT_EQ(find("a")->machine().failures(), 0U);
    stream("a").detach(viewer);
}

TEST_F(SourcesByItselfTest, WhoeverPublishesHereTakesTheNameOfARelay) {
    relay_any();
    protocol_.bodies["a"] = from("other", 0);
    start();
    SourceViewer viewer;
    stream("a").attach(viewer);
    ASSERT_TRUE(io::eventually([&] { return state("a") == SourceState::kLive; }));
    EXPECT_TRUE(stream("a").relayed());
    EXPECT_EQ(stream("a").publisher()->relayed_from(), "other");
    SourceRival client;
    publish(client, "a");
    EXPECT_FALSE(stream("a").relayed());
    ASSERT_TRUE(io::eventually([&] { return state("a") == SourceState::kBackingOff; }));
    unpublish(client, stream("a"));
    ASSERT_TRUE(io::eventually([&] { return state("a") == SourceState::kLive; }));
    stream("a").detach(viewer);
}

// ---- a drain ----

TEST_F(SourcesByItselfTest, ADrainLosesNoViewerWhosePublisherGoesToAnotherNode) {
    relay_any();
    protocol_.bodies["a"] = from("media-2", 7);
    start();
    SourceRival client;
    stream::Stream& a = publish(client, "a");
    SourceViewer viewer;
    a.attach(viewer);
    sources_->start_drain();
    unpublish(client, a);
    EXPECT_TRUE(io::eventually([&] { return viewer.packets > 0; }));
    EXPECT_FALSE(registry_.want(key("b"))) << "nobody has it yet";
    stream("a").detach(viewer);
}

// ---- sources that another node runs ----

TEST_F(SourcesByItselfTest, ViewersOfASourceThatAnotherNodeRunsGetItByARelay) {
    named_ = {spec("cam")};
    claims_.elsewhere = true;
    stand_in_for_named(Millis(20));
    relays_.bodies["cam"] = from("media-2", 7);
    start();
    ASSERT_TRUE(io::eventually([&] { return claims_.asked > 0; }));
    EXPECT_EQ(relays_.begun, 0) << "nobody watches";

    SourceViewer viewer;
    stream("cam").attach(viewer);
    ASSERT_TRUE(io::eventually([&] { return viewer.packets > 0; }));
    EXPECT_EQ(relays_.running(), 1);
    EXPECT_EQ(protocol_.begun, 0) << "its own source has no claim";
    EXPECT_EQ(sources_->pull_of(key("cam"))->origin()->node, "media-2");

    stream("cam").detach(viewer);
    ASSERT_TRUE(io::eventually([&] { return sources_->size() == 1; })) << "only its own stays";
    EXPECT_EQ(relays_.running(), 0);
    registry_.release(stream("cam"));
}

TEST_F(SourcesByItselfTest, WhoWaitedForASourceThatIsRefusedGetsItByARelay) {
    named_ = {spec("cam")};
    claims_.elsewhere = true;
    stand_in_for_named();
    relays_.bodies["cam"] = from("media-2", 7);
    SourceViewer viewer;
    stream("cam").attach(viewer);
    start();
    EXPECT_TRUE(io::eventually([&] { return viewer.packets > 0; }));
    stream("cam").detach(viewer);
}

TEST_F(SourcesByItselfTest, ASourceWhoseNodeHasLostItIsRunHere) {
    named_ = {spec("cam")};
    claims_.elsewhere = true;
    stand_in_for_named();
    relays_.bodies["cam"] = from("media-2", 7);
    protocol_.bodies["cam"] = from("", 0);
    SourceViewer viewer;
    stream("cam").attach(viewer);
    start();
    ASSERT_TRUE(io::eventually([&] { return relays_.running() == 1 && live("cam"); }));

    claims_.elsewhere = false;
    relays_.bodies["cam"] = [](SourceRun&) {
        return make_error(ErrorCode::kNotFound, "nobody publishes it");
    };
    sources_->end_run(key("cam"), 8);
    ASSERT_TRUE(io::eventually([&] { return protocol_.running() == 1 && live("cam"); }));
    EXPECT_EQ(relays_.running(), 0);
    EXPECT_EQ(state("cam"), SourceState::kLive);
    stream("cam").detach(viewer);
}

TEST_F(SourcesByItselfTest, WhatAStandInBringsIsNotForwarded) {
    named_ = {spec("cam")};
    claims_.elsewhere = true;
    stand_in_for_named(Millis(20));
    relays_.bodies["cam"] = from("media-2", 7);
    forward_to({"rtmp://192.0.2.9/live/cam"});
    SourceViewer viewer;
    stream("cam").attach(viewer);
    start();
    ASSERT_TRUE(io::eventually([&] { return viewer.packets > 0; }));
    EXPECT_EQ(find("cam", SourceRole::kForward), nullptr);
    stream("cam").detach(viewer);
    EXPECT_TRUE(io::eventually([&] { return sources_->size() == 1; })) << "only its own stays";
    registry_.release(stream("cam"));
}

TEST_F(SourcesByItselfTest, AStandInEndsWithItsViewersAlsoWhenItsSourceIsNoMore) {
    named_ = {spec("cam")};
    claims_.elsewhere = true;
    stand_in_for_named(Millis(20));
    relays_.bodies["cam"] = from("media-2", 7);
    SourceViewer viewer;
    stream("cam").attach(viewer);
    start();
    ASSERT_TRUE(io::eventually([&] { return viewer.packets > 0; }));
    named_.clear();
    sources_->reconfigure();
    stream("cam").detach(viewer);
    EXPECT_TRUE(io::eventually([&] { return sources_->size() == 0; }));
    registry_.release(stream("cam"));
}

TEST_F(SourcesByItselfTest, StandInsDoNotDisplaceEachOther) {
    named_ = {spec("a"), spec("b")};
    claims_.elsewhere = true;
    stand_in_for_named();
    config_.max_sources = [] { return size_t{1}; };
    SourceViewer first;
    SourceViewer second;
    stream("a").attach(first);
    stream("b").attach(second);
    start();
    ASSERT_TRUE(io::eventually([&] { return relays_.begun == 1; }));
    for (int i = 0; i < 20; i++) {
        io::yield();
    }
    EXPECT_EQ(relays_.begun, 1);
    stream("a").detach(first);
    stream("b").detach(second);
    registry_.release(stream("a"));
    registry_.release(stream("b"));
}

}  // namespace
}  // namespace weir::net
