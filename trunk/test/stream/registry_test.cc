#include "stream/registry.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::stream {
namespace {

using testing::ElementsAre;

struct SomePublisher final : Publisher {
    std::string describe() const override { return "somebody"; }

    std::string_view client_id() const override { return "x"; }

    void on_taken_over() override {}
};

struct SomeMuxer final : Muxer {
    void on_packet(const media::PacketRef&, const Configs*) override {}
};

class RegistryTest : public testing::Test {
  protected:
    Stream& get(const char* app, const char* name, const char* vhost = "v") {
        return registry_.get_or_create({vhost, app, name}, {}, now_);
    }

    MonoTime now_{Seconds(1)};
    Registry registry_;
};

TEST_F(RegistryTest, FindsWhatWasMade) {
    EXPECT_EQ(registry_.find({"v", "live", "a"}), nullptr);
    Stream& stream = get("live", "a");
    EXPECT_EQ(registry_.find({"v", "live", "a"}), &stream);
    EXPECT_EQ(&get("live", "a"), &stream);
    EXPECT_EQ(registry_.find({"w", "live", "a"}), nullptr);
    EXPECT_EQ(registry_.size(), 1U);
}

TEST_F(RegistryTest, PartsOfAKeyDoNotRunTogether) {
    EXPECT_NE(&get("live/a", "b"), &get("live", "a/b"));
    EXPECT_EQ(registry_.size(), 2U);
}

TEST_F(RegistryTest, VisitsInOrderOfKey) {
    get("live", "b");
    get("live", "a");
    get("apps", "z");
    get("live", "0", "u");
    std::vector<std::string> names;
    registry_.for_each([&](const Stream& stream) { names.push_back(stream.key().to_string()); });
    EXPECT_THAT(names, ElementsAre("u/live/0", "v/apps/z", "v/live/a", "v/live/b"));
}

TEST_F(RegistryTest, KeepsAStreamWhileSomebodyPublishesOrPlaysIt) {
    Stream& stream = get("live", "a");
    SomePublisher publisher;
    SomeMuxer muxer;
    ASSERT_FALSE(stream.start_publish(publisher, PublishConflict::kRefuse, now_));
    registry_.release(stream);
    EXPECT_EQ(registry_.size(), 1U);
    stream.attach(muxer);
    stream.end_publish(publisher, now_);
    registry_.release(stream);
    EXPECT_EQ(registry_.size(), 1U) << "players wait for the next publisher";
    stream.detach(muxer);
    registry_.release(stream);
    EXPECT_EQ(registry_.size(), 0U);
    EXPECT_EQ(registry_.find({"v", "live", "a"}), nullptr);
}

TEST_F(RegistryTest, AStreamThatLostItsPublisherStaysForAWhile) {
    SomePublisher publisher;
    Stream& stream = get("live", "a");
    ASSERT_FALSE(stream.start_publish(publisher, PublishConflict::kRefuse, now_));
    registry_.lose_publisher(stream, now_);
    EXPECT_FALSE(stream.live());
    registry_.release(stream);
    EXPECT_EQ(registry_.find({"v", "live", "a"}), &stream) << "who published may still look at it";
    registry_.sample(now_ + Registry::kLostStay - Millis(1));
    EXPECT_EQ(registry_.size(), 1U);
    registry_.sample(now_ + Registry::kLostStay);
    EXPECT_EQ(registry_.size(), 0U);
}

TEST_F(RegistryTest, IsGoneOverWhileStreamsComeAndGo) {
    get("live", "a");
    Stream& b = get("live", "b");
    get("live", "c");
    StreamKey key;
    const Stream* at = registry_.after(key);
    ASSERT_NE(at, nullptr);
    EXPECT_EQ(at->key().name, "a");
    key = at->key();
    registry_.release(b);
    at = registry_.after(key);
    ASSERT_NE(at, nullptr);
    EXPECT_EQ(at->key().name, "c");
    EXPECT_EQ(registry_.after(at->key()), nullptr);
    registry_.release(get("live", "a"));
    registry_.release(get("live", "c"));
}

TEST_F(RegistryTest, TrafficNeverGoesBack) {
    Stream& a = get("live", "a");
    a.note_sent(100);
    EXPECT_EQ(registry_.traffic().sent, 100U);
    registry_.release(a);
    EXPECT_EQ(registry_.size(), 0U);
    EXPECT_EQ(registry_.traffic().sent, 100U);
    Stream& again = get("live", "a");
    again.note_sent(11);
    EXPECT_EQ(registry_.traffic().sent, 111U);
    registry_.release(again);
}

}  // namespace
}  // namespace weir::stream
