#include "stream/entrance.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "media/avc.h"
#include "media/nal.h"

#include "test/support/codec_samples.h"
#include "test/support/media_packets.h"

namespace weir::stream {
namespace {

using media::TrackKind;
using testing::ElementsAre;
using testing::IsEmpty;

const Bytes kDelimiter = {0x09, 0xF0};
const Bytes kSei = {0x06, 0x05, 0x01, 0x00, 0x80};

Bytes slice(bool key, bool first, uint8_t mark = 0) {
    return {static_cast<uint8_t>(key ? 0x65 : 0x41), static_cast<uint8_t>(first ? 0x9A : 0x4A),
            0x12, mark};
}

// The sequence parameter set, which has the number 0 (H.264 §7.3.2.1.1), with another one.
Bytes with_number(ByteSpan nal, uint32_t number) {
    Bytes sps;
    for (size_t i = 0; i < nal.size(); i++) {
        if (i < 2 || nal[i - 2] != 0 || nal[i - 1] != 0 || nal[i] != 3) {
            sps.push_back(nal[i]);
        }
    }
    std::vector<bool> bits;
    const uint32_t code = number + 1;
    const auto size = static_cast<int>(std::bit_width(code));
    for (int i = 1; i < size; i++) {
        bits.push_back(false);
    }
    for (int i = size - 1; i >= 0; i--) {
        bits.push_back((code >> i & 1U) != 0);
    }
    for (size_t i = 4 * 8 + 1; i < sps.size() * 8; i++) {  // behind the one bit of 0
        bits.push_back((sps[i / 8] >> (7 - i % 8) & 1U) != 0);
    }
    Bytes out(sps.begin(), sps.begin() + 4);
    for (size_t i = 0; i < bits.size(); i++) {
        if (i % 8 == 0) {
            out.push_back(0);
        }
        out.back() = static_cast<uint8_t>(out.back() | (bits[i] ? 0x80U >> (i % 8) : 0));
    }
    while (out.back() == 0) {
        out.pop_back();
    }
    Bytes escaped;
    for (const uint8_t byte : out) {
        const size_t at = escaped.size();
        if (at >= 2 && escaped[at - 1] == 0 && escaped[at - 2] == 0 && byte <= 3) {
            escaped.push_back(3);
        }
        escaped.push_back(byte);
    }
    return escaped;
}

Bytes with_lengths(const std::vector<Bytes>& nals) {
    Bytes out;
    for (const Bytes& nal : nals) {
        ByteWriter(out).u32(static_cast<uint32_t>(nal.size())).bytes(nal);
    }
    return out;
}

Bytes body_of(bool key, ByteSpan payload) {
    Bytes body = {static_cast<uint8_t>(key ? 0x17 : 0x27), 1, 0, 0, 0};
    body.insert(body.end(), payload.begin(), payload.end());
    return body;
}

// Sends messages as a publisher does who puts nothing together, and writes down what goes on: "K"
// or "p" (config "V"), the time, and the types of its units.
class EntranceTest : public testing::Test {
  protected:
    std::vector<std::string> note(Entrance::Ready& ready) {
        std::vector<std::string> out;
        for (Ref<media::MediaPacket>& packet : ready) {
            const media::PacketInfo& info = packet->info();
            std::string text = info.config ? "V" : info.key ? "K" : "p";
            text += std::to_string(packet->time_ms());
            if (!info.config) {
                media::NalReader nals(packet->payload(), 4);
                for (ByteSpan nal; nals.next(nal);) {
                    text += " " + std::to_string(nal[0] & 31);
                }
                EXPECT_TRUE(nals.ok());
            }
            out.push_back(text);
            last_ = std::move(packet);
        }
        return out;
    }

    std::vector<std::string> send_body(uint32_t time_ms, Bytes body) {
        const auto info = flv::parse_tag_body(TrackKind::kVideo, body);
        EXPECT_TRUE(info.has_value());
        Entrance::Ready ready;
        entrance_.take(make_ref<media::MediaPacket>(*info, time_ms, std::move(body)), ready);
        return note(ready);
    }

    std::vector<std::string> send(uint32_t time_ms, bool key, const std::vector<Bytes>& nals) {
        return send_body(time_ms, body_of(key, with_lengths(nals)));
    }

    std::vector<std::string> send_config(ByteSpan sps, ByteSpan pps) {
        const Bytes record =
            media::avc::build_config(std::vector<ByteSpan>{sps}, std::vector<ByteSpan>{pps});
        Bytes body = {0x17, 0, 0, 0, 0};
        body.insert(body.end(), record.begin(), record.end());
        return send_body(0, std::move(body));
    }

    std::vector<std::string> release() {
        Entrance::Ready ready;
        entrance_.release(ready);
        return note(ready);
    }

    std::vector<std::string> release_old() {
        Entrance::Ready ready;
        entrance_.release_old(ready);
        return note(ready);
    }

    Entrance entrance_;
    Ref<media::MediaPacket> last_;
};

TEST_F(EntranceTest, WholePicturesPassAtOnceAndUntouched) {
    const Bytes body = body_of(true, with_lengths({kSei, slice(true, true)}));
    EXPECT_THAT(send_body(40, body), ElementsAre("K40 6 5"));
    EXPECT_TRUE(std::ranges::equal(last_->body(), body));
    EXPECT_THAT(send(80, false, {slice(false, true)}), ElementsAre("p80 1"));
    EXPECT_THAT(send(120, false, {slice(false, true), slice(false, false)}),
                ElementsAre("p120 1 1"));
    EXPECT_FALSE(entrance_.stats().any());
}

TEST_F(EntranceTest, UnitsWithoutASliceArePutBeforeTheirPicture) {
    for (uint32_t time = 0; time < 120; time += 40) {
        EXPECT_THAT(send(time, time == 0, {kDelimiter}), IsEmpty()) << time;
        EXPECT_THAT(send(time, time == 0, {kSei}), IsEmpty());
        const auto got = send(time, time == 0, {slice(time == 0, true)});
        if (time == 0) {
            EXPECT_THAT(got, IsEmpty()) << "whether it goes on is not known yet";
            EXPECT_THAT(release(), ElementsAre("K0 9 6 5"));
        } else {
            EXPECT_THAT(got, ElementsAre("p" + std::to_string(time) + " 9 6 1"));
        }
    }
    EXPECT_EQ(entrance_.stats().messages_joined, 6U);
}

TEST_F(EntranceTest, SlicesInSeveralMessagesAreOnePicture) {
    EXPECT_THAT(send(0, true, {slice(true, true)}), IsEmpty());
    EXPECT_THAT(send(0, true, {slice(true, false)}), IsEmpty());
    EXPECT_THAT(send(0, true, {slice(true, false)}), IsEmpty());
    EXPECT_THAT(send(40, false, {slice(false, true)}), ElementsAre("K0 5 5 5"));
    EXPECT_THAT(send(40, false, {slice(false, false)}), IsEmpty());
    EXPECT_THAT(send(80, false, {slice(false, true)}), ElementsAre("p40 1 1"));
    EXPECT_THAT(release(), ElementsAre("p80 1"));
}

TEST_F(EntranceTest, AFirstPictureOfOneUnitWaitsForAnyMessageOnly) {
    EXPECT_THAT(send(0, true, {slice(true, true)}), IsEmpty());
    Entrance::Ready ready;
    entrance_.take_other(ready);
    EXPECT_THAT(note(ready), ElementsAre("K0 5"));
    EXPECT_THAT(send(40, false, {slice(false, true)}), ElementsAre("p40 1")) << "no other one does";
}

TEST_F(EntranceTest, NoPictureWaitsForLong) {
    EXPECT_THAT(send(0, true, {slice(true, true)}), IsEmpty());
    EXPECT_THAT(release_old(), IsEmpty()) << "it came just now, perhaps";
    EXPECT_THAT(release_old(), ElementsAre("K0 5"));
    EXPECT_THAT(release_old(), IsEmpty());
}

TEST_F(EntranceTest, AKeyPictureThatTurnsOutToGoOnIsNoStart) {
    EXPECT_THAT(send(0, true, {kSei, slice(true, true)}), ElementsAre("K0 6 5"));
    EXPECT_FALSE(entrance_.take_broken_key());
    EXPECT_THAT(send(0, true, {slice(true, false)}), IsEmpty());
    EXPECT_TRUE(entrance_.take_broken_key());
    EXPECT_EQ(entrance_.stats().pictures_damaged, 1U);
    EXPECT_THAT(send(40, true, {slice(true, true)}), IsEmpty()) << "from now on each waits";
    EXPECT_THAT(send(40, true, {slice(true, false)}), IsEmpty());
    EXPECT_THAT(release(), ElementsAre("K40 5 5"));
}

TEST_F(EntranceTest, PicturesOfOneTimeStampAreNotJoined) {
    send(0, true, {kSei, slice(true, true)});
    EXPECT_THAT(send(40, false, {slice(false, true)}), ElementsAre("p40 1"));
    EXPECT_THAT(send(40, false, {slice(false, true)}), ElementsAre("p40 1"));
}

TEST_F(EntranceTest, BrokenUnitsAreLeftOut) {
    const Bytes good = slice(true, true);
    Bytes zero_before = with_lengths({{}, good});
    Bytes zero_behind = with_lengths({good, {}, {}});
    Bytes one_byte = with_lengths({{0x65}, good});
    Bytes forbidden = with_lengths({{0xE5, 0x80, 1}, good});
    Bytes garbage_set = with_lengths({{0x67, 0xFF, 0xFF}, good});
    uint32_t time = 0;
    for (const Bytes& payload : {zero_before, zero_behind, one_byte, forbidden, garbage_set}) {
        send_body(time, body_of(true, payload));
        release();
        ASSERT_TRUE(last_);
        EXPECT_TRUE(std::ranges::equal(last_->payload(), with_lengths({good}))) << time;
        time += 40;
    }
    EXPECT_EQ(entrance_.stats().units_left_out, 6U);
}

TEST_F(EntranceTest, APictureThatLostASliceIsNoStart) {
    Bytes payload = with_lengths({slice(true, true)});
    ByteWriter(payload).u32(500).bytes(slice(true, false));  // longer than the message
    send_body(0, body_of(true, payload));
    EXPECT_THAT(release(), ElementsAre("p0 5"));
    EXPECT_EQ(entrance_.stats().pictures_damaged, 1U);
}

// Whoever copies the message must not find a key frame in it.
TEST_F(EntranceTest, TheMessageOfAPictureThatIsNoStartSaysSo) {
    Bytes payload = with_lengths({slice(true, true)});
    ByteWriter(payload).u32(500).bytes(slice(true, false));
    send_body(0, body_of(true, payload));
    release();
    ASSERT_TRUE(last_);
    EXPECT_EQ(last_->body()[0], 0x27);
}

TEST_F(EntranceTest, AKeyPictureThatLosesAWholeMessageIsNoStart) {
    send(0, true, {slice(true, true)});
    send(0, true, {slice(true, false)});
    send(40, true, {slice(true, true)});
    Bytes cut = with_lengths({slice(true, false)});
    cut.pop_back();
    EXPECT_THAT(send_body(40, body_of(true, cut)), IsEmpty());
    EXPECT_THAT(send(80, true, {slice(true, true)}), ElementsAre("p40 5"));
    EXPECT_EQ(entrance_.stats().pictures_damaged, 1U);
}

// 00 00 01 2C is the length of 300 bytes, and begins as a start code does.
TEST_F(EntranceTest, ALengthIsNoStartCodeOnceLengthsWereSeen) {
    send(0, true, {kSei, slice(true, true)});
    Bytes long_slice = slice(false, true);
    long_slice.resize(300, 0x55);
    Bytes payload = with_lengths({long_slice});
    payload.resize(200);
    EXPECT_THAT(send_body(40, body_of(false, payload)), IsEmpty());
    EXPECT_EQ(entrance_.stats().pictures_damaged, 1U);
    EXPECT_EQ(entrance_.stats().units_left_out, 1U);
}

TEST_F(EntranceTest, AMadeConfigurationHasThePublishersLengths) {
    Bytes record = media::avc::build_config(std::vector<ByteSpan>{test::kAvcHighSps},
                                            std::vector<ByteSpan>{test::kAvcHighPps});
    record[4] = 0xFD;  // two bytes
    Bytes config = {0x17, 0, 0, 0, 0};
    config.insert(config.end(), record.begin(), record.end());
    send_body(0, config);
    Bytes payload;
    const Bytes night = {0x68, 0xEE, 0x3C, 0x80};
    for (const Bytes& nal : {test::kAvcHighSps, night, slice(true, true)}) {
        ByteWriter(payload).u16(static_cast<uint16_t>(nal.size())).bytes(nal);
    }
    Entrance::Ready ready;
    Bytes body = body_of(true, payload);
    const auto info = flv::parse_tag_body(TrackKind::kVideo, body);
    entrance_.take(make_ref<media::MediaPacket>(*info, 40, std::move(body)), ready);
    ASSERT_EQ(ready.end() - ready.begin(), 2);
    EXPECT_TRUE((*ready.begin())->info().config);
    EXPECT_EQ((*ready.begin())->payload()[4] & 3, 1);
    EXPECT_EQ(entrance_.stats().units_left_out, 0U);
}

TEST_F(EntranceTest, SetsOfTheNextPictureAreNotAnnouncedBeforeTheOneThatWaits) {
    send_config(test::kAvcHighSps, test::kAvcHighPps);
    send(0, true, {slice(true, true)});
    send(0, true, {slice(true, false)});
    send(40, true, {slice(true, true)});
    const Bytes night = {0x68, 0xEE, 0x3C, 0x80};
    EXPECT_THAT(send(80, true, {test::kAvcHighSps, night, slice(true, true)}),
                ElementsAre("K40 5"));
    EXPECT_THAT(release(), ElementsAre("V80", "K80 7 8 5"));
}

TEST_F(EntranceTest, WhereNoSliceIsEverTheFirstOneMessagesArePictures) {
    send(0, true, {kSei, slice(true, false)});
    EXPECT_THAT(send(40, false, {slice(false, false)}), ElementsAre("p40 1"));
    EXPECT_THAT(send(80, true, {slice(true, false)}), ElementsAre("K80 5"));
    EXPECT_EQ(entrance_.stats().pictures_damaged, 0U);
}

TEST_F(EntranceTest, AMessageOfWhichNothingRemainsIsDroppedAndCounted) {
    Bytes cut = with_lengths({slice(true, true)});
    cut.pop_back();
    EXPECT_THAT(send_body(0, body_of(true, cut)), IsEmpty());
    EXPECT_THAT(send_body(0, body_of(true, Bytes(6, 0))), IsEmpty());
    EXPECT_THAT(send_body(0, body_of(true, {})), IsEmpty());
    EXPECT_THAT(release(), IsEmpty());
    EXPECT_EQ(entrance_.stats().messages_dropped, 3U);
}

TEST_F(EntranceTest, StartCodesBecomeLengths) {
    Bytes payload;
    for (const Bytes& nal : {kDelimiter, kSei, slice(true, true)}) {
        ByteWriter(payload).u32(1).bytes(nal);
    }
    EXPECT_THAT(send_body(0, body_of(true, payload)), ElementsAre("K0 9 6 5"));
    EXPECT_EQ(entrance_.stats().start_codes, 1U);
}

TEST_F(EntranceTest, ParameterSetsInThePictureThatAreInForceChangeNothing) {
    const Bytes sps = test::kAvcHighSps;
    const Bytes pps = test::kAvcHighPps;
    EXPECT_THAT(send_config(sps, pps), ElementsAre("V0"));
    EXPECT_THAT(send(40, true, {sps, pps, slice(true, true)}), ElementsAre("K40 7 8 5"));
    Bytes with_zero = sps;
    with_zero.push_back(0);
    EXPECT_THAT(send(80, true, {with_zero, pps, slice(true, true)}), ElementsAre("K80 7 8 5"));
    EXPECT_EQ(entrance_.stats().configs_made, 0U);
}

TEST_F(EntranceTest, OtherParameterSetsAreAnnouncedBeforeTheKeyPicture) {
    const Bytes sps = test::kAvcHighSps;
    send_config(sps, test::kAvcHighPps);
    send(0, true, {kSei, slice(true, true)});
    const Bytes night = {0x68, 0xEE, 0x3C, 0x80};
    EXPECT_THAT(send(40, false, {night, slice(false, true)}), ElementsAre("p40 8 1"))
        << "not in the middle of a group";
    EXPECT_THAT(send(80, true, {sps, night, slice(true, true)}), ElementsAre("V80", "K80 7 8 5"));
    EXPECT_THAT(send(120, true, {sps, night, slice(true, true)}), ElementsAre("K120 7 8 5"));
    EXPECT_THAT(send_config(sps, test::kAvcHighPps), IsEmpty())
        << "the encoder repeats what it said first";
}

TEST_F(EntranceTest, WithoutAConfigurationThoseOfThePictureAreAnnounced) {
    const Bytes sps = test::kAvcHighSps;
    send(0, true, {sps, test::kAvcHighPps, slice(true, true)});
    EXPECT_THAT(release(), IsEmpty()) << "has gone on";
    ASSERT_TRUE(last_);
    EXPECT_EQ(entrance_.stats().configs_made, 1U);
}

TEST_F(EntranceTest, PictureParameterSetsThatNeverRestAreAnnouncedSomeTimesOnly) {
    const Bytes sps = test::kAvcHighSps;
    send_config(sps, test::kAvcHighPps);
    for (uint32_t i = 0; i < 100; i++) {
        const Bytes pps = {0x68, 0xEE, 0x3C, static_cast<uint8_t>(i % 2 == 0 ? 0x80 : 0xB0)};
        send(40 * i, true, {sps, pps, slice(true, true)});
    }
    EXPECT_LE(entrance_.stats().configs_made, Entrance::kMaxPictureSetChanges);
    EXPECT_GE(entrance_.stats().configs_made, 1U);
}

// A camera whose days and nights differ.
TEST_F(EntranceTest, PictureParameterSetsThatChangeSeldomAreAnnouncedForEver) {
    send_config(test::kAvcHighSps, test::kAvcHighPps);
    for (uint32_t i = 0; i < 30; i++) {
        const Bytes pps = {0x68, 0xEE, 0x3C, static_cast<uint8_t>(i % 2 == 0 ? 0x80 : 0xB0)};
        send(12 * 3'600'000 * i, true, {test::kAvcHighSps, pps, slice(true, true)});
    }
    EXPECT_EQ(entrance_.stats().configs_made, 30U);
}

// Some encoders give their sets another number in each group.
TEST_F(EntranceTest, TheSameSequenceByAnotherNumberIsAnnouncedSomeTimesOnly) {
    send_config(test::kAvcBaselineSps, test::kAvcHighPps);
    for (uint32_t i = 1; i < 30; i++) {
        send(40 * i, true, {with_number(test::kAvcBaselineSps, i), slice(true, true)});
    }
    EXPECT_LE(entrance_.stats().configs_made, Entrance::kMaxPictureSetChanges);
}

TEST_F(EntranceTest, TheNewestSequenceIsTheFirstOfAConfiguration) {
    send_config(test::kAvcHighSps, test::kAvcHighPps);
    const Bytes other = with_number(test::kAvcBaselineSps, 1);
    Entrance::Ready ready;
    Bytes body = body_of(true, with_lengths({other, slice(true, true)}));
    const auto info = flv::parse_tag_body(TrackKind::kVideo, body);
    entrance_.take(make_ref<media::MediaPacket>(*info, 40, std::move(body)), ready);
    ASSERT_EQ(ready.end() - ready.begin(), 2);
    const auto config = media::avc::ConfigView::parse((*ready.begin())->payload());
    ASSERT_TRUE(config);
    EXPECT_TRUE(std::ranges::equal(config->sps(), other));
}

TEST_F(EntranceTest, MessagesWithoutASliceAreBounded) {
    send(0, true, {kSei, slice(true, true)});
    for (int i = 0; i < 200; i++) {
        send(40, false, {Bytes(1'000, 6)});
    }
    send(40, false, {slice(false, true)});
    ASSERT_TRUE(last_);
    EXPECT_LE(last_->body().size(), Entrance::kMaxFrontBytes + 100);
    EXPECT_GT(entrance_.stats().messages_dropped, 100U);
}

TEST_F(EntranceTest, GarbageNeverBreaksIt) {
    uint32_t state = 7;
    const auto next = [&state] { return state = state * 1664525 + 1013904223; };
    for (int i = 0; i < 20'000; i++) {
        Bytes payload(next() >> 16 & 63, 0);
        for (uint8_t& byte : payload) {
            byte = static_cast<uint8_t>((next() >> 24) & (next() >> 28 ? 0xFF : 0x01));
        }
        if (next() >> 31) {
            payload.insert(payload.begin(), {0, 0, 0, static_cast<uint8_t>(payload.size())});
        }
        send_body((next() >> 20) % 100, body_of(next() >> 31, payload));
    }
    release();
}

}  // namespace
}  // namespace weir::stream
