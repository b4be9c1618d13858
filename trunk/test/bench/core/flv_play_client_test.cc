#include "bench/load/core/flv_play_client.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "proto/ws/frame.h"
#include "proto/ws/handshake.h"

#include "bench/load/core/synthetic.h"

namespace weir::load {
namespace {

class FixedRandom final : public RandomSource {
  public:
    void fill(std::span<uint8_t> out) override { std::fill(out.begin(), out.end(), uint8_t{7}); }
};

void append_tag(Bytes& out, uint8_t type, uint32_t timestamp, const Bytes& body) {
    auto size = static_cast<uint32_t>(body.size());
    std::array<uint8_t, flv::kTagHeaderSize> header{};
    flv::write_tag_header(type, timestamp, size, header.data());
    ByteWriter(out).bytes(header).bytes(body).u32(size +
                                                  static_cast<uint32_t>(flv::kTagHeaderSize));
}

// An FLV file of a few synthetic frames.
Bytes sample_flv() {
    Bytes out(flv::kFileHeaderSize);
    flv::write_file_header(true, true, out.data());
    append_tag(out, flv::kVideoTag, 0, video_config());
    for (uint32_t i = 0; i < 4; i++) {
        Stamp stamp{0, 1, i, 1'000'000, 0, static_cast<uint16_t>(i)};
        Bytes body;
        build_video(body, 900, stamp);
        append_tag(out, flv::kVideoTag, i * 33, body);
    }
    return out;
}

std::string text_of(ByteSpan bytes) {
    return std::string(as_text(bytes));
}

class FlvPlayClientTest : public testing::Test {
  protected:
    bool feed(FlvPlayClient& client, ByteSpan bytes, size_t step) {
        bool fine = true;
        for (size_t at = 0; at < bytes.size() && fine; at += step) {
            now_ += 1000;
            fine = client.feed(bytes.subspan(at, std::min(step, bytes.size() - at)), now_);
        }
        return fine;
    }

    void expect_all_frames(const FlvPlayClient& client, const PlayerCheck& check) {
        EXPECT_EQ(client.failure(), "");
        EXPECT_TRUE(client.started());
        EXPECT_EQ(check.counts().video_frames, 4U);
        EXPECT_EQ(check.counts().corrupted + check.counts().unstamped + check.lost(), 0U);
    }

    uint64_t now_ = 5'000'000;
    FixedRandom random_;
    RunTotals totals_;
    FlvTarget http_{"h:8080", "/live/x.flv?k=1", false};
    FlvTarget ws_{"h:8080", "/live/x.flv", true};
};

Bytes joined(std::string_view head, ByteSpan body) {
    Bytes out;
    ByteWriter(out).text(head).bytes(body);
    return out;
}

TEST_F(FlvPlayClientTest, AsksForThePath) {
    PlayerCheck check(totals_, 0);
    FlvPlayClient client(http_, check, random_, now_);
    std::string request = text_of(client.output());
    EXPECT_TRUE(request.starts_with("GET /live/x.flv?k=1 HTTP/1.1\r\nHost: h:8080\r\n"));
    EXPECT_TRUE(request.ends_with("\r\n\r\n"));
}

TEST_F(FlvPlayClientTest, PlaysUntilCloseHoweverTheBytesAreCut) {
    Bytes answer = joined("HTTP/1.1 200 OK\r\nContent-Type: video/x-flv\r\n\r\n", sample_flv());
    for (size_t step : {1UL, 10UL, 1000UL, 100'000UL}) {
        PlayerCheck check(totals_, 0);
        FlvPlayClient client(http_, check, random_, now_);
        EXPECT_TRUE(feed(client, answer, step));
        expect_all_frames(client, check);
    }
}

TEST_F(FlvPlayClientTest, PlaysHttpChunks) {
    Bytes flv = sample_flv();
    Bytes answer;
    ByteWriter writer(answer);
    writer.text("HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n");
    for (size_t at = 0; at < flv.size(); at += 777) {
        ByteSpan part = ByteSpan(flv).subspan(at, std::min<size_t>(777, flv.size() - at));
        writer.text(fmt::format("{:X};x=y\r\n", part.size())).bytes(part).text("\r\n");
    }
    writer.text("0\r\n\r\n");
    for (size_t step : {1UL, 3UL, 1000UL, 100'000UL}) {
        PlayerCheck check(totals_, 0);
        FlvPlayClient client(http_, check, random_, now_);
        EXPECT_TRUE(feed(client, answer, step));
        expect_all_frames(client, check);
        EXPECT_TRUE(client.stream_ended());
    }
}

TEST_F(FlvPlayClientTest, PlaysWebSocketFramesAndAnswersPings) {
    std::array<uint8_t, 16> seed{};
    seed.fill(7);
    std::string accept = ws::accept_key(ws::make_client_key(seed));
    Bytes flv = sample_flv();
    Bytes answer = joined(
        fmt::format("HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: {}\r\n\r\n", accept),
        {});
    ByteWriter writer(answer);
    writer.bytes(ws::make_frame(ws::Opcode::kBinary, ByteSpan(flv).first(100)));
    writer.bytes(ws::make_frame(ws::Opcode::kPing, as_bytes("hi")));
    writer.bytes(ws::make_frame(ws::Opcode::kBinary, ByteSpan(flv).subspan(100)));
    writer.bytes(ws::make_close(ws::CloseCode::kNormal, "over"));
    for (size_t step : {1UL, 5UL, 1000UL, 100'000UL}) {
        PlayerCheck check(totals_, 0);
        FlvPlayClient client(ws_, check, random_, now_);
        client.output().clear();
        EXPECT_TRUE(feed(client, answer, step));
        expect_all_frames(client, check);
        EXPECT_TRUE(client.stream_ended());
        EXPECT_EQ(client.output()[0], 0x8A) << "a pong";
    }
}

TEST_F(FlvPlayClientTest, AnotherStatusIsAFailureWithTheServersWords) {
    PlayerCheck check(totals_, 0);
    FlvPlayClient client(http_, check, random_, now_);
    EXPECT_FALSE(feed(client, as_bytes("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), 10));
    EXPECT_EQ(client.failure(), "refused: HTTP/1.1 404 Not Found");
}

TEST_F(FlvPlayClientTest, AWrongAcceptKeyIsAFailure) {
    PlayerCheck check(totals_, 0);
    FlvPlayClient client(ws_, check, random_, now_);
    EXPECT_FALSE(feed(
        client, as_bytes("HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: no\r\n\r\n"),
        1000));
    EXPECT_NE(client.failure().find("refused"), std::string::npos);
}

TEST_F(FlvPlayClientTest, OtherAnswersAreFailures) {
    for (std::string_view answer :
         {std::string_view("RTSP/1.0 200 OK\r\n\r\n"),
          std::string_view("HTTP/1.1 200 OK\r\n\r\n<html>no FLV</html>"),
          std::string_view("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")}) {
        PlayerCheck check(totals_, 0);
        FlvPlayClient client(http_, check, random_, now_);
        EXPECT_FALSE(feed(client, as_bytes(answer), 1000)) << answer;
        EXPECT_FALSE(client.failure().empty());
    }
}

TEST_F(FlvPlayClientTest, AHeaderWithoutEndIsAFailure) {
    PlayerCheck check(totals_, 0);
    FlvPlayClient client(http_, check, random_, now_);
    Bytes endless = joined("HTTP/1.1 200 OK\r\nX: ", Bytes(20'000, 'x'));
    EXPECT_FALSE(feed(client, endless, 1000));
    EXPECT_EQ(client.failure(), "the answer's header is too long");
}

}  // namespace
}  // namespace weir::load
