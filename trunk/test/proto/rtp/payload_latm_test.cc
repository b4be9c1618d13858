#include "proto/rtp/payload_latm.h"

#include <gtest/gtest.h>

#include "media/aac.h"

#include "test/support/bit_writer.h"
#include "test/support/codec_samples.h"
#include "test/support/payloads.h"

namespace weir::rtp {
namespace {

using test::BitWriter;
using test::counted;
using test::from_hex;
using test::Payload;
using test::Receiver;

Bytes frame(size_t size, uint32_t seed = 1) {
    return counted({0x21}, size, seed);
}

// StreamMuxConfig of audioMuxVersion 0, ISO/IEC 14496-3 table 1.42, with an AAC LC configuration of
// 16 bits (0x1210: 44,100 Hz, stereo).
BitWriter& put_config(BitWriter& bits, uint32_t frames = 1, uint32_t other_bits = 0) {
    bits.flag(false).flag(true).bits(6, frames - 1).bits(4, 0).bits(3, 0);
    bits.bits(16, 0x1210).bits(3, 0).bits(8, 0xFF).flag(other_bits > 0);
    if (other_bits > 0) {
        bits.flag(false).bits(8, other_bits);
    }
    return bits.flag(false);
}

BitWriter& put_frame(BitWriter& bits, const Bytes& frame) {
    size_t size = frame.size();
    for (; size >= 255; size -= 255) {
        bits.bits(8, 255);
    }
    bits.bits(8, size);
    return bits;
}

BitWriter& put_bytes(BitWriter& bits, const Bytes& frame) {
    for (const uint8_t byte : frame) {
        bits.bits(8, byte);
    }
    return bits;
}

// An element without configuration.
Bytes element(const std::vector<Bytes>& frames) {
    BitWriter bits;
    for (const Bytes& one : frames) {
        put_bytes(put_frame(bits, one), one);
    }
    return bits.bytes();
}

PayloadParameters described(uint32_t frames = 1) {
    PayloadParameters parameters;
    parameters.audio = AudioFraming::kLatm;
    BitWriter bits;
    parameters.latm_config = put_config(bits, frames).bytes();
    return parameters;
}

PayloadParameters in_band() {
    PayloadParameters parameters;
    parameters.audio = AudioFraming::kLatm;
    parameters.latm_in_band = true;
    parameters.clock_hz = 90'000;
    return parameters;
}

TEST(LatmConfigTest, ReadsTheExampleOfTheRfc) {
    // RFC 6416 §7.4.1: AAC-LC of 24 kHz, mono, its 48 bits in the form of a description.
    const auto config = LatmConfig::parse(from_hex("400026103fc0"), 0);
    ASSERT_TRUE(config);
    EXPECT_EQ(config->audio_config, from_hex("1308"));
    EXPECT_EQ(config->frame_ticks, 1024U);
    EXPECT_EQ(config->frames, 1);
}

TEST(LatmConfigTest, ReadsTheSecondVersionWithItsSizes) {
    BitWriter bits;
    // taraBufferFullness, then 17 bits of configuration: 0x1210 and a bit.
    bits.flag(true).flag(false).bits(2, 1).bits(16, 0x1234);
    bits.flag(true).bits(6, 3).bits(4, 0).bits(3, 0).bits(2, 0).bits(8, 17);
    bits.bits(17, 0x2420).bits(3, 0).bits(8, 0).flag(true).bits(2, 0).bits(8, 7).flag(true);
    bits.bits(8, 0xCC);
    const auto config = LatmConfig::parse(bits.bytes(), 90'000);
    ASSERT_TRUE(config);
    EXPECT_EQ(config->audio_config, from_hex("121000"));
    EXPECT_EQ(config->frames, 4);
    EXPECT_EQ(config->other_bits, 7U);
    EXPECT_EQ(config->frame_ticks, 2089U);  // 1024 of 44,100 Hz
}

TEST(LatmConfigTest, RefusesWhatIsNotTakenAndWhatIsCut) {
    BitWriter two_programs;
    two_programs.flag(false).flag(true).bits(6, 0).bits(4, 1).bits(3, 0).bits(16, 0x1210);
    two_programs.bits(16, 0);
    EXPECT_FALSE(LatmConfig::parse(two_programs.bytes(), 0));
    BitWriter reserved;
    reserved.flag(true).flag(true).bits(62, 0);
    EXPECT_FALSE(LatmConfig::parse(reserved.bytes(), 0));
    const Bytes good = from_hex("400026103fc0");
    for (size_t size = 0; size + 1 < good.size(); size++) {
        EXPECT_FALSE(LatmConfig::parse(ByteSpan(good).first(size), 0)) << size;
    }
    EXPECT_FALSE(LatmConfig::parse(Bytes(40, 0xFF), 0));
}

// As rtpmp4apay of GStreamer 1.22 writes it: AudioSpecificConfig with its extension, and the end of
// StreamMuxConfig cut off.
TEST(LatmConfigTest, ReadsTheConfigurationOfGStreamer) {
    const auto config = LatmConfig::parse(from_hex("40002420adca00"), 44'100);
    ASSERT_TRUE(config);
    EXPECT_EQ(config->frames, 1);
    EXPECT_EQ(config->frame_ticks, 1024U);
    const auto audio = media::aac::parse_config(config->audio_config);
    ASSERT_TRUE(audio);
    EXPECT_EQ(audio->sample_rate, 44'100U);
    EXPECT_EQ(audio->channels, 2);
}

TEST(LatmDepacketizerTest, GivesTheFrameOfAnElementAndItsConfigurationOnce) {
    LatmDepacketizer depacketizer(described(), 2);
    Receiver receiver(depacketizer);
    for (size_t size : {10U, 254U, 255U, 256U, 510U, 700U}) {
        receiver.frame({{element({frame(size)}), true}});
        Bytes expected(2);
        ByteWriter(expected).bytes(frame(size));
        ASSERT_FALSE(receiver.frames.empty());
        EXPECT_EQ(receiver.frames.back().data, expected);
        EXPECT_TRUE(receiver.frames.back().key);
    }
    ASSERT_EQ(receiver.frames.size(), 6U);
    EXPECT_EQ(receiver.frames[0].config, from_hex("1210"));
    EXPECT_TRUE(receiver.frames[1].config.empty());
}

TEST(LatmDepacketizerTest, GivesSeveralFramesOfAnElementTheirOwnTimes) {
    LatmDepacketizer depacketizer(described(3));
    depacketizer.feed(element({frame(20, 1), frame(300, 2), frame(30, 3)}), {500, true, false});
    std::vector<Frame> frames;
    for (Frame one; depacketizer.next(one);) {
        frames.push_back(std::move(one));
    }
    ASSERT_EQ(frames.size(), 3U);
    for (uint32_t i = 0; i < 3; i++) {
        EXPECT_EQ(frames[i].rtp_time, 500 + i * 1024);
        EXPECT_EQ(frames[i].config.empty(), i != 0);
    }
    EXPECT_EQ(frames[1].data, frame(300, 2));
    EXPECT_EQ(frames[2].data, frame(30, 3));
}

TEST(LatmDepacketizerTest, ReadsConfigurationsThatComeWithTheFrames) {
    LatmDepacketizer depacketizer(in_band());
    Receiver receiver(depacketizer);
    BitWriter same;  // useSameStreamMux before there is any
    put_bytes(put_frame(same.flag(true), frame(9)), frame(9));
    EXPECT_EQ(receiver.frame({{same.bytes(), true}}).back(), FeedStatus::kLost);

    BitWriter with_config;
    with_config.flag(false);
    put_config(with_config, 1, 5);
    put_bytes(put_frame(with_config, frame(40)), frame(40)).bits(5, 21);
    receiver.frame({{with_config.bytes(), true}});
    BitWriter again;  // the frame is one bit off, and so are other data
    put_bytes(put_frame(again.flag(true), frame(50)), frame(50)).bits(5, 21);
    receiver.frame({{again.bytes(), true}});
    receiver.frame({{with_config.bytes(), true}});
    ASSERT_EQ(receiver.frames.size(), 3U);
    EXPECT_EQ(receiver.frames[0].config, from_hex("1210"));
    EXPECT_EQ(receiver.frames[0].data, frame(40));
    EXPECT_EQ(receiver.frames[1].data, frame(50));
    EXPECT_TRUE(receiver.frames[1].config.empty());
    EXPECT_TRUE(receiver.frames[2].config.empty());  // it did not change
}

TEST(LatmDepacketizerTest, PutsPiecesTogetherAndNeverGluesOverALoss) {
    const Bytes whole = element({frame(900)});
    std::vector<Payload> pieces;
    for (size_t at = 0; at < whole.size(); at += 302) {
        const size_t size = std::min<size_t>(302, whole.size() - at);
        const ByteSpan piece = ByteSpan(whole).subspan(at, size);
        pieces.push_back({Bytes(piece.begin(), piece.end()), at + size == whole.size()});
    }
    ASSERT_EQ(pieces.size(), 3U);
    for (size_t lost = 0; lost < pieces.size(); lost++) {
        LatmDepacketizer depacketizer(described());
        Receiver receiver(depacketizer);
        receiver.frame({{element({frame(7)}), true}});
        receiver.frame(pieces);
        receiver.frame(pieces, {lost});
        receiver.frame({{element({frame(8)}), true}});
        ASSERT_EQ(receiver.frames.size(), 3U) << lost;
        EXPECT_EQ(receiver.frames[1].data, frame(900));
        EXPECT_EQ(receiver.frames[2].data, frame(8));
        EXPECT_TRUE(receiver.frames[2].after_loss);
    }
}

TEST(LatmDepacketizerTest, RefusesElementsThatLieAboutTheirSize) {
    for (const char* hex : {"05 01020304", "03 01020304", "ff", "ffffffff", "ff00 01"}) {
        LatmDepacketizer depacketizer(described());
        Receiver receiver(depacketizer);
        receiver.frame({{element({frame(7)}), true}});
        receiver.frame({{from_hex(hex), true}});
        EXPECT_EQ(receiver.frames.size(), 1U) << hex;
    }
    PayloadParameters nothing;
    nothing.audio = AudioFraming::kLatm;
    LatmDepacketizer unconfigured(nothing);
    Receiver receiver(unconfigured);
    receiver.frame({{element({frame(7)}), true}});
    EXPECT_TRUE(receiver.frames.empty());
}

}  // namespace
}  // namespace weir::rtp
