// A stream of H.264 whose frames a test makes, and a player's side that puts them together again.
#pragma once

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "proto/flv/packet_maker.h"
#include "proto/rtp/depacketizer.h"
#include "proto/rtp/header.h"
#include "stream/stream.h"

#include "test/support/codec_samples.h"
#include "test/support/media_packets.h"
#include "test/support/payloads.h"

namespace weir::test {

enum class Picture : uint8_t { kKey, kReferenced, kUnreferenced, kB, kReferencedB };

// A slice of H.264: real in its first bytes, and no two are alike.
inline Bytes h264_nal(Picture picture, uint32_t marker, size_t size) {
    switch (picture) {
        case Picture::kKey: return counted({0x65, 0x88, 0x84}, size, marker);
        case Picture::kReferenced: return counted({0x41, 0x9a, 0x24}, size, marker);
        case Picture::kUnreferenced: return counted({0x01, 0x9a, 0x24}, size, marker);
        case Picture::kB: return counted({0x01, 0x9e, 0x24}, size, marker);
        case Picture::kReferencedB: return counted({0x41, 0x9e, 0x24}, size, marker);
    }
    return {};
}

// Publishes into a stream, with a clock of its own.
class TestPublisher final : public stream::Publisher {
  public:
    explicit TestPublisher(stream::Stream& stream,
                           stream::PublishConflict policy = stream::PublishConflict::kRefuse)
        : stream_(stream) {
        Error error = stream_.start_publish(*this, policy, now);
        EXPECT_FALSE(error) << error.to_string();
    }

    TestPublisher(const TestPublisher&) = delete;
    TestPublisher& operator=(const TestPublisher&) = delete;

    ~TestPublisher() { end(); }

    // Once; the stream may go then.
    void end() {
        if (!std::exchange(ended_, true)) {
            stream_.end_publish(*this, MonoClock::now());
        }
    }

    std::string describe() const override { return "the test"; }

    std::string_view client_id() const override { return "test"; }

    void on_taken_over() override { taken_over = true; }

    void on_key_frame_wanted() override { key_frames_wanted++; }

    void send(media::TrackKind kind, Bytes body) {
        stream_.publish(*this, packet(kind, clock_ms, std::move(body)), now);
    }

    void config(ByteSpan record = kAvcBaselineConfig) {
        send(media::TrackKind::kVideo, tag_body(media::Codec::kH264, BodyKind::kConfig, record));
    }

    void video(Picture picture, size_t size = 3000, int32_t composition_ms = 0) {
        frames.push_back(nal_frame({h264_nal(picture, ++marker, size)}));
        media::PacketInfo info;
        info.kind = media::TrackKind::kVideo;
        info.codec = media::Codec::kH264;
        info.key = picture == Picture::kKey;
        info.composition_ms = composition_ms;
        auto made = flv::make_packet(info, clock_ms, frames.back());
        ASSERT_TRUE(made);
        stream_.publish(*this, made, now);
    }

    void opus(size_t size = 80) {
        sounds.push_back(counted({0xFC}, size, ++marker));
        send(media::TrackKind::kAudio,
             tag_body(media::Codec::kOpus, BodyKind::kFrame, sounds.back()));
    }

    void pass(uint32_t ms) {
        clock_ms += ms;
        now += Millis(ms);
    }

    // Key frame first, 25 frames a second.
    void gop(int pictures = 25, size_t size = 3000) {
        for (int i = 0; i < pictures; i++) {
            video(i == 0 ? Picture::kKey : Picture::kReferenced, size);
            pass(40);
        }
    }

    std::vector<Bytes> frames;
    std::vector<Bytes> sounds;
    uint32_t marker = 0;
    uint32_t clock_ms = 0;
    // Some time ago: a track that has not shown up by now is not waited for.
    MonoTime now = MonoClock::now() - Seconds(10);
    int key_frames_wanted = 0;
    bool taken_over = false;

  private:
    stream::Stream& stream_;
    bool ended_ = false;
};

// What a browser sends: frames as plain RTP packets of one source.
class RtpSource {
  public:
    RtpSource(media::Codec codec, uint8_t payload_type, uint32_t ssrc, uint16_t sequence = 65'000)
        : ssrc_(ssrc),
          payload_type_(payload_type),
          next_(sequence),
          packetizer_(rtp::make_packetizer(codec)) {}

    // SPS and PPS go before each key frame.
    void set_config(ByteSpan record) { EXPECT_TRUE(packetizer_->set_config(record)); }

    std::vector<Bytes> packets(ByteSpan frame, uint32_t rtp_time) {
        std::vector<Bytes> made;
        for (const Payload& payload : packetize(*packetizer_, frame, 1100)) {
            made.push_back(packet(payload.bytes, rtp_time, payload.marker));
        }
        EXPECT_FALSE(made.empty());
        return made;
    }

    Bytes packet(ByteSpan payload, uint32_t rtp_time, bool marker) {
        Bytes bytes(rtp::kFixedHeaderSize);
        rtp::write_header({payload_type_, marker, static_cast<uint16_t>(next_++), rtp_time, ssrc_},
                          bytes.data());
        bytes.insert(bytes.end(), payload.begin(), payload.end());
        return bytes;
    }

    // Of the next packet, with the roll-over counter.
    uint64_t next() const { return next_; }

    uint32_t ssrc() const { return ssrc_; }

  private:
    uint32_t ssrc_;
    uint8_t payload_type_;
    uint64_t next_;
    std::unique_ptr<rtp::Packetizer> packetizer_;
};

// Plain RTP packets of one H.264 source in, frames out; counts the holes in its numbers.
class FrameReader {
  public:
    FrameReader() : depacketizer_(rtp::make_depacketizer(media::Codec::kH264, 0)) {}

    void feed(ByteSpan bytes) {
        const auto packet = rtp::PacketView::parse(bytes);
        ASSERT_TRUE(packet.has_value());
        const bool gap = started_ && packet->sequence() != static_cast<uint16_t>(last_ + 1);
        holes += gap ? 1 : 0;
        started_ = true;
        last_ = packet->sequence();
        depacketizer_->feed(packet->payload(), {packet->timestamp(), packet->marker(), gap});
        for (rtp::Frame frame; depacketizer_->next(frame);) {
            frames.push_back(std::move(frame.data));
            configs += frame.config.empty() ? 0 : 1;
        }
    }

    std::vector<Bytes> frames;
    int configs = 0;
    int holes = 0;

  private:
    std::unique_ptr<rtp::Depacketizer> depacketizer_;
    bool started_ = false;
    uint16_t last_ = 0;
};

}  // namespace weir::test
