// Events of streams: which ones, in which order, and what observers may do meanwhile.
#include "stream/life.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stream/registry.h"

#include "test/support/media_packets.h"

namespace weir::stream {
namespace {

using media::TrackKind;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr MonoTime kNow{Seconds(100)};

struct SomePublisher final : Publisher {
    std::string describe() const override { return "somebody"; }

    std::string_view client_id() const override { return "x"; }

    void on_taken_over() override {}
};

struct SomeMuxer final : Muxer {
    void on_packet(const media::PacketRef&, const Configs*) override { packets++; }

    int packets = 0;
};

class Recorder final : public LifeObserver {
  public:
    void on_publish(Stream& stream) override { note(stream, "publish"); }

    void on_unpublish(Stream& stream, PublishEnd why) override {
        note(stream, "unpublish " + std::string(to_string(why)));
    }

    void on_start_lost(Stream& stream, StartLost why) override {
        note(stream, "lost " + std::string(to_string(why)));
    }

    void on_codecs(Stream& stream, TrackKind kind) override {
        note(stream, kind == TrackKind::kVideo ? "codecs video" : "codecs audio");
    }

    void on_demand(Stream& stream) override { note(stream, "demand"); }

    void on_demand_gone(Stream& stream) override { note(stream, "demand gone"); }

    bool on_wanted(const StreamKey& key) override {
        events.push_back("wanted " + key.name);
        return brings;
    }

    std::vector<std::string> take() { return std::exchange(events, {}); }

    std::vector<std::string> events;
    std::function<void(Stream&, const std::string&)> also;
    bool brings = false;

  private:
    void note(Stream& stream, const std::string& event) {
        events.push_back(event);
        if (also) {
            also(stream, event);
        }
    }
};

class LifeTest : public testing::Test {
  protected:
    LifeTest() { registry_.observers().add(seen_); }

    void publish(SomePublisher& publisher, PublishConflict conflict = PublishConflict::kRefuse) {
        const Error error = stream().start_publish(publisher, conflict, kNow);
        EXPECT_FALSE(error);
    }

    void give(TrackKind kind, uint32_t time_ms, Bytes body) {
        stream().publish(publisher_, test::packet(kind, time_ms, std::move(body)), kNow);
    }

    Stream& stream() { return registry_.get_or_create({"v", "live", "a"}, options_, kNow); }

    void end() {
        stream().end_publish(publisher_, kNow);
        registry_.release(stream());
    }

    StreamOptions options_;
    Registry registry_;
    SomePublisher publisher_;
    Recorder seen_;
};

TEST_F(LifeTest, TellsThatAPublisherComesAndLeaves) {
    publish(publisher_);
    EXPECT_THAT(seen_.take(), ElementsAre("lost publisher_came", "publish"));
    stream().end_publish(publisher_, kNow);
    EXPECT_THAT(seen_.take(), ElementsAre("lost publisher_gone", "unpublish left"));
}

TEST_F(LifeTest, TellsATakeoverAsAnEndAndABeginning) {
    SomePublisher second;
    publish(publisher_);
    seen_.take();
    publish(second, PublishConflict::kTakeover);
    EXPECT_THAT(seen_.take(),
                ElementsAre("unpublish taken_over", "lost publisher_came", "publish"));
    stream().end_publish(publisher_, kNow);
    EXPECT_THAT(seen_.take(), IsEmpty()) << "the first one has no say any more";
    stream().end_publish(second, kNow);
}

TEST_F(LifeTest, TellsALossToAnotherNodeAsAnEnd) {
    publish(publisher_);
    seen_.take();
    stream().lose_publisher(kNow);
    EXPECT_THAT(seen_.take(), ElementsAre("lost publisher_gone", "unpublish left"));
}

TEST_F(LifeTest, TellsNothingOfARefusedPublisher) {
    SomePublisher second;
    publish(publisher_);
    seen_.take();
    EXPECT_TRUE(stream().start_publish(second, PublishConflict::kRefuse, kNow));
    EXPECT_THAT(seen_.take(), IsEmpty());
    end();
}

TEST_F(LifeTest, TellsCodecsOncePerTrackAndChange) {
    publish(publisher_);
    seen_.take();
    give(TrackKind::kVideo, 0, test::avc_header(1));
    EXPECT_THAT(seen_.take(), ElementsAre("lost video_appeared", "codecs video"));
    give(TrackKind::kAudio, 0, test::aac_header(1));
    EXPECT_THAT(seen_.take(), ElementsAre("codecs audio"));
    give(TrackKind::kVideo, 0, test::avc_frame(true, 1));
    give(TrackKind::kAudio, 0, test::aac_frame(1));
    give(TrackKind::kVideo, 40, test::avc_frame(false, 2));
    give(TrackKind::kVideo, 80, test::avc_header(1));
    EXPECT_THAT(seen_.take(), IsEmpty()) << "frames, and a configuration that is in force";
    give(TrackKind::kVideo, 120, test::avc_header(2));
    EXPECT_THAT(seen_.take(), ElementsAre("lost config_changed", "codecs video"));
    end();
}

TEST_F(LifeTest, TellsACodecWithoutAConfigurationAtItsFirstFrame) {
    publish(publisher_);
    seen_.take();
    give(TrackKind::kAudio, 0, test::mp3_frame(1));
    EXPECT_THAT(seen_.take(), ElementsAre("codecs audio"));
    give(TrackKind::kAudio, 20, test::mp3_frame(2));
    EXPECT_THAT(seen_.take(), IsEmpty());
    end();
}

TEST_F(LifeTest, TellsCodecsOfTheNextPublisherThoughPlayersGetNoSecondCopy) {
    publish(publisher_);
    give(TrackKind::kVideo, 0, test::avc_header(1));
    stream().end_publish(publisher_, kNow);
    publish(publisher_);
    seen_.take();
    give(TrackKind::kVideo, 0, test::avc_header(1));
    EXPECT_THAT(seen_.take(), ElementsAre("lost video_appeared", "codecs video"));
    end();
}

TEST_F(LifeTest, TellsThatAGopIsLargerThanMayBeKept) {
    options_.gop_cap_bytes = 2'000;
    publish(publisher_);
    give(TrackKind::kVideo, 0, test::avc_frame(true, 1, 600));
    seen_.take();
    give(TrackKind::kVideo, 40, test::avc_frame(false, 2, 1'500));
    EXPECT_THAT(seen_.take(), ElementsAre("lost gop_over_the_cap"));
    end();
}

TEST_F(LifeTest, TellsTheFirstViewerAndTheLastOneOfAnyFormat) {
    SomeMuxer rtmp;
    SomeMuxer flv;
    Stream& played = stream();
    played.attach(rtmp);
    EXPECT_THAT(seen_.take(), ElementsAre("demand"));
    played.attach(flv);
    played.detach(rtmp);
    EXPECT_THAT(seen_.take(), IsEmpty());
    played.detach(rtmp);
    EXPECT_THAT(seen_.take(), IsEmpty()) << "it was not attached";
    played.detach(flv);
    EXPECT_THAT(seen_.take(), ElementsAre("demand gone"));
}

TEST_F(LifeTest, AStreamsOwnObserversHearOfItAlone) {
    Recorder own;
    stream().observers().add(own);
    Stream& other = registry_.get_or_create({"v", "live", "b"}, {}, kNow);
    SomeMuxer muxer;
    other.attach(muxer);
    EXPECT_THAT(own.take(), IsEmpty());
    EXPECT_THAT(seen_.take(), ElementsAre("demand"));
    other.detach(muxer);
    publish(publisher_);
    EXPECT_THAT(own.take(), ElementsAre("lost publisher_came", "publish"));
    stream().observers().remove(own);
    end();
    EXPECT_THAT(own.take(), IsEmpty());
}

TEST_F(LifeTest, AnObserverMayRemoveItselfWhileItIsTold) {
    Recorder next;
    registry_.observers().add(next);
    seen_.also = [this](Stream&, const std::string&) { registry_.observers().remove(seen_); };
    publish(publisher_);
    EXPECT_THAT(seen_.take(), ElementsAre("lost publisher_came"));
    EXPECT_THAT(next.take(), ElementsAre("lost publisher_came", "publish"));
    end();
}

TEST_F(LifeTest, AnObserverThatIsRemovedBeforeItsTurnIsNotTold) {
    Recorder next;
    registry_.observers().add(next);
    seen_.also = [&](Stream&, const std::string&) { registry_.observers().remove(next); };
    publish(publisher_);
    EXPECT_THAT(next.take(), IsEmpty());
    end();
}

TEST_F(LifeTest, AnObserverThatIsAddedMeanwhileHearsTheNextEvent) {
    Recorder added;
    seen_.also = [&](Stream&, const std::string& event) {
        if (event == "publish") {
            registry_.observers().add(added);
        }
    };
    publish(publisher_);
    EXPECT_THAT(added.take(), IsEmpty());
    end();
    EXPECT_THAT(added.take(), ElementsAre("lost publisher_gone", "unpublish left"));
}

// A segmenter comes with the publisher: it gets all of its packets.
TEST_F(LifeTest, AnObserverMayAttachASinkAndCauseTheNextEvent) {
    SomeMuxer muxer;
    seen_.also = [&](Stream& stream, const std::string& event) {
        if (event == "publish") {
            stream.attach(muxer);
        } else if (event == "unpublish left") {
            stream.detach(muxer);
        }
    };
    publish(publisher_);
    give(TrackKind::kVideo, 0, test::avc_header(1));
    give(TrackKind::kVideo, 0, test::avc_frame(true, 1));
    EXPECT_EQ(muxer.packets, 2);
    EXPECT_THAT(seen_.take(), ElementsAre("lost publisher_came", "publish", "demand",
                                          "lost video_appeared", "codecs video"));
    end();
    EXPECT_THAT(seen_.take(), ElementsAre("lost publisher_gone", "unpublish left", "demand gone"));
}

TEST_F(LifeTest, AsksWhoCouldBringAStreamThatIsWanted) {
    EXPECT_FALSE(registry_.want({"v", "live", "x"}));
    Recorder source;
    source.brings = true;
    registry_.observers().add(source);
    EXPECT_TRUE(registry_.want({"v", "live", "x"}));
    EXPECT_THAT(source.take(), ElementsAre("wanted x"));
    registry_.observers().remove(source);
    EXPECT_EQ(registry_.size(), 0U) << "asking makes no stream";
}

}  // namespace
}  // namespace weir::stream
