// A stream with a publisher whose clock a test sets, and a record of what the stream hands to its
// muxers.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "stream/stream.h"

#include "test/support/media_packets.h"

namespace weir::session {

// What a muxer was given, and where a cursor may start.
class Recorder final : public stream::Muxer {
  public:
    void on_packet(const media::PacketRef& packet, const stream::Configs* start) override {
        if (start) {
            start_index = packets.size();
        }
        packets.push_back(packet);
    }

    std::vector<media::PacketRef> packets;
    size_t start_index = 0;
};

class MuxerFixture : public testing::Test, protected stream::Publisher {
  protected:
    MuxerFixture() {
        stream_.attach(recorder_);
        publish_again();
    }

    ~MuxerFixture() override {
        stream_.detach(recorder_);
        stream_.end_publish(*this, now_);
    }

    std::string describe() const override { return "the test"; }

    std::string_view client_id() const override { return "test"; }

    void on_taken_over() override {}

    // A publisher leaves and the next one comes, with a clock of its own.
    void publish_again(uint32_t clock = 0) {
        stream_.end_publish(*this, now_);
        Error error = stream_.start_publish(*this, stream::PublishConflict::kRefuse, now_);
        ASSERT_FALSE(error) << error.message();
        clock_ = clock;
    }

    void send(media::TrackKind kind, uint32_t timestamp, Bytes body) {
        stream_.publish(*this, test::packet(kind, timestamp, std::move(body)), now_);
    }

    // As a WebRTC session publishes the audio of a browser.
    void send_original(Bytes body) {
        stream_.publish(*this,
                        test::packet(media::TrackKind::kAudio, clock_, std::move(body),
                                     media::Audience::kWebRtc),
                        now_);
    }

    // The AAC that such a session makes of it.
    void send_derived(Bytes body) {
        stream_.publish_derived(
            *this,
            test::packet(media::TrackKind::kAudio, clock_, std::move(body), media::Audience::kFlv),
            now_);
    }

    void await_wall_clock() { stream_.clock_of(*this)->await(now_); }

    // The publisher's wall clock, at the time 0 of its packets.
    void say_wall_clock(int64_t unix_us) {
        stream_.clock_of(*this)->take({0, unix_us, unix_us}, now_);
    }

    // Both clocks.
    void pass(uint32_t ms) {
        clock_ += ms;
        now_ += Millis(ms);
    }

    void headers(uint32_t marker = 1) {
        send(media::TrackKind::kData, clock_, test::metadata(static_cast<uint8_t>(marker)));
        send(media::TrackKind::kVideo, clock_, test::avc_header(marker));
        send(media::TrackKind::kAudio, clock_, test::aac_header(marker));
    }

    void video(bool key, size_t size = 60, int composition_ms = 0) {
        send(media::TrackKind::kVideo, clock_,
             test::avc_frame(key, ++marker_, size, composition_ms));
    }

    // `lag_ms`: how much earlier than the clock its time is.
    void audio(size_t size = 30, uint32_t lag_ms = 0) {
        send(media::TrackKind::kAudio, clock_ - lag_ms, test::aac_frame(++marker_, size));
    }

    // Video at 25 frames a second with B-frame offsets, key frame first, and audio between.
    void gop(int frames = 25, bool with_audio = true) {
        for (int i = 0; i < frames; i++) {
            video(i == 0, i == 0 ? 700 : 60, (i * 3 % 4) * 40);
            if (with_audio) {
                audio();
            }
            pass(20);
            if (with_audio) {
                audio();
            }
            pass(20);
        }
    }

    uint32_t clock_ = 0;
    uint32_t marker_ = 0;
    MonoTime now_{Seconds(100)};
    stream::Stream stream_{{"v", "live", "a"}, {.publisher_clock = true}, now_};
    Recorder recorder_;
};

}  // namespace weir::session
