#include "bench/load/core/hls_play_client.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "proto/mp4/fragment.h"
#include "proto/mp4/track.h"

#include "bench/load/core/synthetic.h"

namespace weir::load {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint32_t kFrame = 3'000;  // of 90,000

// A server's side of one stream of synthetic frames, and a player.
class HlsPlayClientTest : public testing::Test {
  protected:
    HlsPlayClientTest() {
        tracks_.push_back(
            *mp4::make_track(media::Codec::kH264, ByteSpan(video_config()).subspan(5), {}));
        mp4::write_header(tracks_, header_);
        totals_.quarter = 1;
    }

    // That many frames as a fragment, the first one of all a key frame.
    Bytes fragment(int frames) {
        std::vector<Bytes> bodies(static_cast<size_t>(frames));
        std::vector<mp4::SampleView> samples;
        const uint32_t first = sequence_;
        for (Bytes& body : bodies) {
            Stamp stamp{0, 1, sequence_, now_, 0, static_cast<uint16_t>(sequence_ % 10)};
            build_video(body, stamp.place == 0 ? 2'000 : 900, stamp);
            samples.push_back({ByteSpan(body).subspan(5), kFrame, 0, stamp.place == 0});
            sequence_++;
        }
        Bytes out;
        mp4::write_segment_type(out);
        const mp4::RunView run{1, true, uint64_t{first} * kFrame, samples};
        mp4::write_fragment(first + 1, std::span(&run, 1), out);
        return out;
    }

    // The path of the request that the player has sent; empty: none.
    std::string asked(HlsPlayClient& player) {
        const std::string text(as_text(player.output()));
        player.output().clear();
        const size_t begin = text.find(' ') + 1;
        return text.empty() ? "" : text.substr(begin, text.find(' ', begin) - begin);
    }

    bool answer(HlsPlayClient& player, ByteSpan body, size_t step = 1'000'000) {
        Bytes bytes;
        ByteWriter(bytes).text(
            fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.size()));
        ByteWriter(bytes).bytes(body);
        bool fine = true;
        for (size_t at = 0; fine && at < bytes.size(); at += step) {
            fine =
                player.feed(ByteSpan(bytes).subspan(at, std::min(step, bytes.size() - at)), now_);
        }
        return fine;
    }

    bool answer(HlsPlayClient& player, std::string_view text) {
        return answer(player, as_bytes(text));
    }

    RunTotals totals_;
    PlayerCheck check_{totals_, 0};
    std::vector<mp4::Track> tracks_;
    Bytes header_;
    uint32_t sequence_ = 0;
    uint64_t now_ = 1'000 * kMs;
    HlsTarget target_{"h:1", "/live/a.m3u8", true};
};

constexpr std::string_view kVariant =
    "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\na.hls/index.m3u8?s=1\n";

constexpr std::string_view kPlain =
    "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:4\n#EXT-X-MAP:URI=\"i.mp4\"\n"
    "#EXTINF:0.333,\n4.m4s\n";

TEST_F(HlsPlayClientTest, ReadsPlaylistsHeaderAndSegmentsHoweverTheyCome) {
    for (const size_t step : {size_t{1}, size_t{7}, size_t{1'000'000}}) {
        sequence_ = 0;
        PlayerCheck check(totals_, 0);
        HlsPlayClient player(target_, check, now_);
        EXPECT_EQ(asked(player), "/live/a.m3u8");
        ASSERT_TRUE(answer(player, as_bytes(kVariant), step)) << player.failure();
        EXPECT_EQ(asked(player), "/live/a.hls/index.m3u8?s=1");
        ASSERT_TRUE(answer(player, as_bytes(kPlain), step)) << player.failure();
        EXPECT_EQ(asked(player), "/live/a.hls/i.mp4");
        ASSERT_TRUE(answer(player, header_, step)) << player.failure();
        EXPECT_EQ(asked(player), "/live/a.hls/4.m4s");
        ASSERT_TRUE(answer(player, fragment(10), step)) << player.failure();
        EXPECT_EQ(check.counts().video_frames, 10U);
        EXPECT_EQ(check.counts().corrupted + check.counts().unstamped + check.lost(), 0U);
        EXPECT_EQ(asked(player), "") << "the playlist is read again a target duration later";
        EXPECT_EQ(player.due_ns(), now_ + 1'000 * kMs);
    }
}

TEST_F(HlsPlayClientTest, ReadsAPlaylistThatHasNotChangedSooner) {
    HlsPlayClient player(target_, check_, now_);
    ASSERT_TRUE(answer(player, kPlain));
    ASSERT_TRUE(answer(player, header_));
    ASSERT_TRUE(answer(player, fragment(10)));
    asked(player);
    now_ = player.due_ns();
    player.wake(now_);
    EXPECT_EQ(asked(player), "/live/a.m3u8") << "it was a media playlist";
    ASSERT_TRUE(answer(player, kPlain));
    EXPECT_EQ(player.due_ns(), now_ + 500 * kMs);
    EXPECT_EQ(totals_.hls.playlists, 2U);
}

TEST_F(HlsPlayClientTest, AsksForPartsBeforeTheyAreThere) {
    constexpr std::string_view kHead =
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n"
        "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=0.3\n"
        "#EXT-X-MEDIA-SEQUENCE:4\n#EXT-X-MAP:URI=\"i.mp4\"\n";
    const std::string part_0 = "#EXT-X-PART:DURATION=0.1,URI=\"4.0\",INDEPENDENT=YES\n";
    const std::string part_1 = "#EXT-X-PART:DURATION=0.1,URI=\"4.1\"\n";
    HlsPlayClient player(target_, check_, now_);
    asked(player);
    ASSERT_TRUE(answer(player, std::string(kHead) + part_0));
    EXPECT_EQ(asked(player), "/live/i.mp4");
    ASSERT_TRUE(answer(player, header_));
    EXPECT_EQ(asked(player), "/live/4.0");
    ASSERT_TRUE(answer(player, fragment(3)));
    EXPECT_EQ(asked(player), "/live/a.m3u8?_HLS_msn=4&_HLS_part=1");
    ASSERT_TRUE(answer(player, std::string(kHead) + part_0 + part_1 + "#EXTINF:0.2,\n4\n"));
    EXPECT_EQ(asked(player), "/live/4.1") << "not the segment, of which it has the half";
    ASSERT_TRUE(answer(player, fragment(3)));
    EXPECT_EQ(asked(player), "/live/a.m3u8?_HLS_msn=5&_HLS_part=0");
    EXPECT_EQ(check_.counts().video_frames, 6U);
    EXPECT_EQ(totals_.hls.blocked, 1U);
    EXPECT_EQ(totals_.hls.parts, 2U);
}

TEST_F(HlsPlayClientTest, SaysWhatIsWrong) {
    const auto failure = [this](const std::vector<std::string>& answers) {
        HlsPlayClient player(target_, check_, now_);
        for (const std::string& each : answers) {
            if (!player.feed(as_bytes(each), now_)) {
                return player.failure();
            }
            player.wake(now_ += 2'000 * kMs);
        }
        return std::string("nothing");
    };
    const auto sized = [](std::string_view text) {
        return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", text.size(), text);
    };
    EXPECT_EQ(failure({"HTTP/1.1 404 Not Found\r\n\r\n"}),
              "refused: HTTP/1.1 404 Not Found of a playlist");
    EXPECT_EQ(failure({sized("<html>")}), "no playlist: it does not begin with #EXTM3U");
    constexpr std::string_view kHead = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:";
    EXPECT_EQ(failure({sized(fmt::format("{}5\n", kHead)), sized(fmt::format("{}4\n", kHead))}),
              "the playlist went back: to 4 from 5");
    EXPECT_NE(failure({sized(kPlain), sized(std::string("\0\0\0\3mdat", 8))}).find("box 'mdat'"),
              std::string::npos);
    EXPECT_EQ(failure({sized(kPlain), sized(std::string("\0\0\0\x10mdat", 8))}),
              "a segment ends in the middle of a box");
}

TEST_F(HlsPlayClientTest, CountsAViewerThatHasNothingToSeeOnce) {
    HlsPlayClient player(target_, check_, now_);
    std::string list = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MAP:URI=\"i.mp4\"\n";
    const auto segment = [&] {
        list += fmt::format("#EXTINF:1.0,\n{}.m4s\n", sequence_);
        player.wake(now_);
        return answer(player, list) && (sequence_ > 0 || answer(player, header_)) &&
               answer(player, fragment(30));
    };
    ASSERT_TRUE(segment()) << player.failure();
    now_ += 1'400 * kMs;
    ASSERT_TRUE(segment()) << player.failure();
    EXPECT_EQ(totals_.hls.stalls, 1U);
    now_ += 1'000 * kMs;
    ASSERT_TRUE(segment()) << "goes on with two segments";
    EXPECT_EQ(totals_.hls.stalls, 1U);
    EXPECT_EQ(totals_.hls.stall_us, 1'400'000U);
}

TEST_F(HlsPlayClientTest, EndsWithThePlaylist) {
    HlsPlayClient player(target_, check_, now_);
    ASSERT_TRUE(answer(player, std::string(kPlain) + "#EXT-X-ENDLIST\n"));
    ASSERT_TRUE(answer(player, header_));
    EXPECT_FALSE(player.stream_ended());
    ASSERT_TRUE(answer(player, fragment(10)));
    EXPECT_TRUE(player.stream_ended());
}

}  // namespace
}  // namespace weir::load
