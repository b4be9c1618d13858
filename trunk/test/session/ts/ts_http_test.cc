// HTTP-TS end to end: published over RTMP, played over HTTP, in one process.
#include "session/ts/ts_http.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/mpegts/reader.h"
#include "proto/ws/message_reader.h"

#include "test/session/world.h"
#include "test/support/codec_samples.h"
#include "test/support/transport_stream.h"

namespace weir::session {
namespace {

class TsHttpTest : public World {
  protected:
    TsHttpTest() {
        play_.add_to(router_);
        start_rtmp();
        start_http();
    }

    ~TsHttpTest() override { stop(); }  // before what it serves

    // One that sends real parameter sets, and a picture.
    std::unique_ptr<RtmpPeer> ts_publisher() {
        auto made = peer();
        made->open();
        EXPECT_TRUE(made->publish("a"));
        made->media(
            1, rtmp::kVideo, 0,
            test::tag_body(media::Codec::kH264, test::BodyKind::kConfig, test::kAvcHighConfig));
        made->media(1, rtmp::kVideo, 0,
                    test::tag_body(media::Codec::kH264, test::BodyKind::kKeyFrame,
                                   test::nal_frame({{0x06, 0x80}, picture_})));
        return made;
    }

    // Sends a request and gives what comes, until there is so much of it or the connection ends.
    std::string ask(std::string_view target, size_t size, std::string_view fields = {}) {
        auto stream = io::TcpStream::connect(http_address_, io::soon());
        WEIR_CHECK(stream.ok());
        const std::string request =
            fmt::format("GET {} HTTP/1.1\r\nHost: h\r\n{}\r\n", target, fields);
        Error error = (*stream)->write_all(as_bytes(request), io::soon());
        EXPECT_FALSE(error) << error.to_string();
        std::string all;
        Bytes buffer(64 * 1024);
        EXPECT_TRUE(eventually([&] {
            const io::IoResult got = (*stream)->try_read(buffer);
            if (got.status == io::IoStatus::kDone) {
                all += as_text({buffer.data(), got.bytes});
            }
            return all.size() >= size || got.status == io::IoStatus::kClosed;
        }));
        return all;
    }

    static std::string_view body_of(std::string_view answer) {
        const size_t end = answer.find("\r\n\r\n");
        return end == std::string_view::npos ? std::string_view() : answer.substr(end + 4);
    }

    const Bytes picture_ = test::counted({0x65, 0x88, 0x84}, 3'000);
    net::HttpPlay play_{services_, ts_http_format()};
};

constexpr size_t kFront = 2 * mpegts::kPacketSize;
constexpr size_t kSome = 3'000;  // with the head of the answer

TEST_F(TsHttpTest, AViewerGetsTablesAndTheKeyFrame) {
    auto source = ts_publisher();
    const std::string answer = ask("/live/a.ts", kFront + 18 * mpegts::kPacketSize + 200);
    EXPECT_THAT(answer, testing::StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(answer, testing::HasSubstr("Content-Type: video/mp2t\r\n"));
    EXPECT_THAT(answer, testing::HasSubstr("Access-Control-Allow-Origin: *\r\n"));
    EXPECT_THAT(answer, testing::Not(testing::HasSubstr("chunked")));
    mpegts::Reader reader;
    const test::ReadStream read = test::read_ts(reader, as_bytes(body_of(answer)));
    ASSERT_EQ(read.units.size(), 1U);
    EXPECT_EQ(read.units[0].nals.back(), picture_);
    EXPECT_TRUE(logged("play stream=/live/a transport=ts "));
}

TEST_F(TsHttpTest, AWebSocketViewerGetsMessagesOfWholePackets) {
    auto source = ts_publisher();
    const std::string answer =
        ask("/live/a.ts", kSome,
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");
    EXPECT_THAT(answer, testing::StartsWith("HTTP/1.1 101 "));
    ws::MessageReader messages(ws::Role::kClient, 1U << 20);
    messages.feed(as_bytes(body_of(answer)));
    ws::Message message;
    ASSERT_EQ(messages.next(message), ws::ReadStatus::kMessage);
    EXPECT_EQ(message.opcode, ws::Opcode::kBinary);
    EXPECT_EQ(message.payload.size() % mpegts::kPacketSize, 0U);
    ASSERT_FALSE(message.payload.empty());
    EXPECT_EQ(message.payload[0], mpegts::kSyncByte);
    EXPECT_TRUE(logged("transport=ws-ts "));
}

TEST_F(TsHttpTest, RefusalsAreThoseOfAllFormats) {
    policy_.play.pump.wait_publisher = Millis(0);
    EXPECT_THAT(ask("/live/none.ts", 12), testing::StartsWith("HTTP/1.1 404 "));
    EXPECT_THAT(ask("/closed/a.ts", 12), testing::StartsWith("HTTP/1.1 403 "));
    EXPECT_THAT(ask("/secret/a.ts", 12), testing::StartsWith("HTTP/1.1 403 "));
    EXPECT_THAT(ask("/secret/a.ts?key=open-sesame", 12), testing::StartsWith("HTTP/1.1 404 "));
    EXPECT_THAT(ask("/a.ts", 12), testing::StartsWith("HTTP/1.1 404 "));
}

}  // namespace
}  // namespace weir::session
