#include "proto/rtp/payload_adu.h"

#include <gtest/gtest.h>

#include "media/mp3.h"

#include "test/support/codec_samples.h"
#include "test/support/payloads.h"

namespace weir::rtp {
namespace {

using test::counted;
using test::from_hex;
using test::Payload;
using test::Receiver;

constexpr size_t kHead = 4 + 32;       // header and side information of MPEG 1 in stereo
constexpr size_t kRoom = 417 - kHead;  // 128 kbit/s, 44,100 Hz
constexpr uint32_t kTicks = 2351;      // of 90 kHz

// A stream of frames whose main data begins `begins[i]` bytes before them, as an encoder lays it
// out (ISO/IEC 11172-3 §2.4.3.1), and the units that a sender makes of it.
struct Mp3Stream {
    explicit Mp3Stream(const std::vector<size_t>& begins) {
        const size_t total = begins.size() * kRoom;
        const Bytes data = counted({}, total);
        for (size_t i = 0; i < begins.size(); i++) {
            Bytes head = from_hex("fffb9064");
            head.push_back(static_cast<uint8_t>(begins[i] >> 1U));
            head.push_back(static_cast<uint8_t>((begins[i] & 1U) << 7U | 0x15));
            head = counted(head, kHead, static_cast<uint32_t>(i));
            const auto slice = [&](size_t from, size_t to) {
                Bytes out = head;
                ByteWriter(out).bytes(ByteSpan(data).subspan(from, to - from));
                return out;
            };
            frames.push_back(slice(i * kRoom, (i + 1) * kRoom));
            const size_t end = i + 1 < begins.size() ? (i + 1) * kRoom - begins[i + 1] : total;
            adus.push_back(slice(i * kRoom - begins[i], end));
        }
    }

    std::vector<Bytes> frames;
    std::vector<Bytes> adus;
};

Bytes payload(const std::vector<Bytes>& adus) {
    Bytes out;
    for (const Bytes& adu : adus) {
        ByteWriter(out).u16(static_cast<uint16_t>(0x4000 | adu.size())).bytes(adu);
    }
    return out;
}

std::vector<Bytes> data_of(const std::vector<Frame>& frames) {
    std::vector<Bytes> out;
    for (const Frame& frame : frames) {
        out.push_back(frame.data);
    }
    return out;
}

TEST(AduDepacketizerTest, MakesTheFramesOfTheEncoderAgain) {
    const Mp3Stream stream({0, 100, 381, 511, 0, 0, 7});
    for (size_t together : {1U, 2U, 7U}) {
        AduDepacketizer depacketizer({});
        std::vector<Frame> frames;
        uint32_t time = 1000;
        for (size_t i = 0; i < stream.adus.size(); i += together) {
            const size_t end = std::min(i + together, stream.adus.size());
            const std::vector<Bytes> some(stream.adus.begin() + static_cast<long>(i),
                                          stream.adus.begin() + static_cast<long>(end));
            EXPECT_EQ(depacketizer.feed(payload(some), {time, true, false}), FeedStatus::kTaken);
            for (Frame frame; depacketizer.next(frame);) {
                frames.push_back(std::move(frame));
            }
            time += static_cast<uint32_t>(together) * kTicks;
        }
        EXPECT_EQ(data_of(frames), stream.frames);
        for (size_t i = 0; i < frames.size(); i++) {
            EXPECT_EQ(frames[i].rtp_time, 1000 + i * kTicks);
            EXPECT_FALSE(frames[i].after_loss);
        }
    }
}

TEST(AduDepacketizerTest, GivesAFrameAtOnceWhereNoneUsesTheBytesOfAnother) {
    const Mp3Stream stream({0, 0});
    AduDepacketizer depacketizer({}, 2);
    Receiver receiver(depacketizer);
    receiver.frame({{payload({stream.adus[0]}), true}});
    ASSERT_EQ(receiver.frames.size(), 1U);
    Bytes expected(2);
    ByteWriter(expected).bytes(stream.frames[0]);
    EXPECT_EQ(receiver.frames[0].data, expected);
}

TEST(AduDepacketizerTest, MakesRoomBySilenceWhereUnitsAreLost) {
    const Mp3Stream stream({0, 0, 200, 0, 0});
    AduDepacketizer depacketizer({});
    Receiver receiver(depacketizer);
    receiver.frame({{payload({stream.adus[0]}), true}});
    receiver.lose();  // the second, into whose room the third one's data goes
    for (size_t i = 2; i < 5; i++) {
        receiver.frame({{payload({stream.adus[i]}), true}});
    }
    ASSERT_EQ(receiver.frames.size(), 5U);
    const Bytes& silent = receiver.frames[1].data;
    EXPECT_EQ(silent.size(), 417U);
    EXPECT_EQ(Bytes(silent.begin() + 4, silent.begin() + kHead), Bytes(32));
    EXPECT_TRUE(receiver.frames[1].after_loss);
    // 200 bytes of the third unit are at the end of the silent frame.
    const Bytes& adu = stream.adus[2];
    EXPECT_EQ(Bytes(silent.end() - 200, silent.end()),
              Bytes(adu.begin() + kHead, adu.begin() + kHead + 200));
    for (size_t i = 2; i < 5; i++) {
        EXPECT_EQ(receiver.frames[i].data, stream.frames[i]);
    }
}

TEST(AduDepacketizerTest, PutsPiecesTogetherAndNeverGluesOverALoss) {
    const Mp3Stream stream({0, 0, 0});
    std::vector<Payload> pieces;
    const Bytes& adu = stream.adus[0];
    for (size_t at = 0; at < adu.size(); at += 150) {
        Bytes one;
        const size_t size = std::min<size_t>(150, adu.size() - at);
        ByteWriter(one)
            .u16(static_cast<uint16_t>((at == 0 ? 0x4000 : 0xC000) | adu.size()))
            .bytes(ByteSpan(adu).subspan(at, size));
        pieces.push_back({one, at + size == adu.size()});
    }
    ASSERT_EQ(pieces.size(), 3U);
    for (size_t lost = 0; lost < pieces.size(); lost++) {
        AduDepacketizer depacketizer({});
        Receiver receiver(depacketizer);
        receiver.frame(pieces);
        receiver.frame(pieces, {lost});
        receiver.frame({{payload({stream.adus[1]}), true}});
        ASSERT_EQ(receiver.frames.size(), 2U) << lost;
        EXPECT_EQ(receiver.frames[0].data, stream.frames[0]);
        EXPECT_EQ(receiver.frames[1].data, stream.frames[1]);
        EXPECT_TRUE(receiver.frames[1].after_loss);
    }
}

TEST(AduDepacketizerTest, RefusesWhatIsNoUnit) {
    const Mp3Stream stream({0, 0});
    Bytes interleaved = stream.adus[0];
    interleaved[0] = 0x05;  // an index instead of the sync word
    Bytes too_much = stream.adus[0];
    too_much.push_back(1);  // more than its frame has room for
    Bytes cut = payload(stream.adus);
    cut.pop_back();
    const Bytes short_head = payload({Bytes(stream.adus[0].begin(), stream.adus[0].begin() + 20)});
    for (const Bytes& bytes : {Bytes{0x40}, Bytes{0x40, 0x00}, Bytes{0x00, 0x01}, Bytes{0x01, 0x01},
                               payload({interleaved}), payload({too_much}), cut, short_head,
                               payload(std::vector<Bytes>(kMaxAdus + 1, stream.adus[0]))}) {
        AduDepacketizer depacketizer({});
        Receiver receiver(depacketizer);
        EXPECT_EQ(receiver.one(bytes, true), FeedStatus::kMalformed) << bytes.size();
        receiver.frame({{payload({stream.adus[1]}), true}});
        EXPECT_FALSE(receiver.frames.empty());
        EXPECT_EQ(receiver.frames.back().data, stream.frames[1]);
    }
}

}  // namespace
}  // namespace weir::rtp
