// HTTP-FLV and WebSocket-FLV end to end: published over RTMP, played over HTTP, in one process.
#include "session/flv/flv_http.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/flv/reader.h"
#include "proto/ws/frame.h"
#include "proto/ws/message_reader.h"

#include "test/session/world.h"

namespace weir::session {
namespace {

constexpr ws::MaskKey kMask = {1, 2, 3, 4};

// A viewer: asks, then takes the answer apart as it comes.
class Viewer {
  public:
    Viewer(const io::SocketAddress& server,
           std::string_view target,
           bool websocket,
           std::string_view method = "GET")
        : websocket_(websocket), messages_(ws::Role::kClient, 16U << 20) {
        auto stream = io::TcpStream::connect(server, io::soon());
        WEIR_CHECK(stream.ok());
        stream_ = std::move(*stream);
        std::string request = fmt::format("{} {} HTTP/1.1\r\nHost: h\r\n", method, target);
        if (websocket) {
            request +=
                "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        }
        say(as_bytes(request + "\r\n"));
    }

    void say(ByteSpan bytes) {
        Error error = stream_->write_all(bytes, io::soon());
        EXPECT_FALSE(error) << error.to_string();
    }

    void read() {
        Bytes buffer(64 * 1024);
        for (;;) {
            const io::IoResult got = stream_->try_read(buffer);
            if (got.status == io::IoStatus::kWouldBlock) {
                return;
            }
            if (got.status != io::IoStatus::kDone) {
                ended = true;
                return;
            }
            take({buffer.data(), got.bytes});
        }
    }

    template <typename Condition>
    bool read_until(Condition condition) {
        return eventually([&] {
            read();
            return condition();
        });
    }

    bool gets(const Bytes& body) {
        return read_until([&] {
            return std::ranges::any_of(tags, [&](const flv::Tag& tag) { return tag.body == body; });
        });
    }

    bool reads_to_end() {
        return read_until([&] { return ended; });
    }

    void close() { stream_->close(); }

    flv::TagReader& reader() { return reader_; }

    std::string head;
    std::string text;  // body of an answer that is no 200 or 101
    std::vector<flv::Tag> tags;
    std::vector<Bytes> pongs;
    Bytes close_payload;
    bool ended = false;

  private:
    void take(ByteSpan bytes) {
        if (head.find("\r\n\r\n") == std::string::npos) {
            head += as_text(bytes);
            const size_t end = head.find("\r\n\r\n");
            if (end == std::string::npos) {
                return;
            }
            const std::string rest = head.substr(end + 4);
            head.resize(end + 4);
            if (!rest.empty()) {
                take(as_bytes(rest));
            }
            return;
        }
        if (!head.starts_with("HTTP/1.1 200") && !head.starts_with("HTTP/1.1 101")) {
            text += as_text(bytes);
            return;
        }
        if (!websocket_) {
            take_flv(bytes);
            return;
        }
        messages_.feed(bytes);
        ws::Message message;
        ws::ReadStatus status = ws::ReadStatus::kNeedMore;
        while ((status = messages_.next(message)) == ws::ReadStatus::kMessage) {
            if (message.opcode == ws::Opcode::kBinary) {
                take_flv(message.payload);
            } else if (message.opcode == ws::Opcode::kPong) {
                pongs.push_back(std::move(message.payload));
            } else if (message.opcode == ws::Opcode::kClose) {
                close_payload = std::move(message.payload);
            }
        }
        ASSERT_NE(status, ws::ReadStatus::kError) << messages_.error();
    }

    void take_flv(ByteSpan bytes) {
        while (!bytes.empty()) {
            bytes = bytes.subspan(reader_.feed(bytes));
            flv::Tag tag;
            flv::TagReader::Status status = flv::TagReader::Status::kNeedMore;
            while ((status = reader_.next(tag)) == flv::TagReader::Status::kTag) {
                tags.push_back(std::move(tag));
            }
            ASSERT_NE(status, flv::TagReader::Status::kError) << reader_.take_error().message();
        }
    }

    std::unique_ptr<io::TcpStream> stream_;
    bool websocket_;
    ws::MessageReader messages_;
    flv::TagReader reader_;
};

class FlvHttpTest : public World {
  protected:
    FlvHttpTest() {
        start_rtmp();
        start_http();
    }
};

// Over plain HTTP and over WebSocket.
class FlvTransportTest : public FlvHttpTest, public testing::WithParamInterface<bool> {
  protected:
    std::unique_ptr<Viewer> view(std::string_view target) {
        return std::make_unique<Viewer>(http_address_, target, GetParam());
    }
};

INSTANTIATE_TEST_SUITE_P(HttpAndWebSocket,
                         FlvTransportTest,
                         testing::Bool(),
                         [](const auto& variant) { return variant.param ? "WebSocket" : "Http"; });

TEST_P(FlvTransportTest, AViewerGetsHeadersAndStartsAtTheKeyFrame) {
    auto source = publisher();
    auto viewer = view("/live/a.flv");
    ASSERT_TRUE(viewer->gets(test::avc_frame(true, 1)));
    EXPECT_THAT(viewer->head, testing::StartsWith(GetParam() ? "HTTP/1.1 101 " : "HTTP/1.1 200 "));
    EXPECT_TRUE(viewer->reader().has_audio());
    EXPECT_TRUE(viewer->reader().has_video());
    ASSERT_EQ(viewer->tags.size(), 4U);
    EXPECT_EQ(viewer->tags[0].body, test::metadata(1));
    EXPECT_EQ(viewer->tags[1].body, test::avc_header());
    EXPECT_EQ(viewer->tags[2].body, test::aac_header());
    source->media(1, rtmp::kVideo, 40, test::avc_frame(false, 2));
    ASSERT_TRUE(viewer->gets(test::avc_frame(false, 2)));
    EXPECT_EQ(viewer->tags.back().timestamp, viewer->tags[3].timestamp + 40);
}

TEST_P(FlvTransportTest, AWaitingViewersHeaderNamesBothTracks) {
    auto viewer = view("/live/a.flv");
    ASSERT_TRUE(eventually([&] { return fanout_.pumps() == 1; }));
    auto source = peer();
    source->open();
    ASSERT_TRUE(source->publish("a"));
    // One message at a time, audio before video.
    source->media(1, rtmp::kVideo, 0, test::avc_header());
    source->media(1, rtmp::kAudio, 0, test::aac_header());
    source->media(1, rtmp::kAudio, 0, test::aac_frame(1));
    const stream::StreamKey key{std::string(stream::kDefaultVhost), "live", "a"};
    ASSERT_TRUE(eventually([&] { return registry_.find(key)->audio().frames == 1; }));
    source->media(1, rtmp::kVideo, 0, test::avc_frame(true, 2));
    ASSERT_TRUE(viewer->gets(test::avc_frame(true, 2)));
    EXPECT_TRUE(viewer->reader().has_audio());
    EXPECT_TRUE(viewer->reader().has_video());
}

TEST_P(FlvTransportTest, TheHeaderOfASingleTrackNamesOnlyThat) {
    auto source = peer();
    source->open("live", 2);
    ASSERT_TRUE(source->publish("audio", 1));
    ASSERT_TRUE(source->publish("video", 2));
    source->media(1, rtmp::kAudio, 0, test::mp3_frame(1));
    source->media(2, rtmp::kVideo, 0, test::avc_header());
    source->media(2, rtmp::kVideo, 0, test::avc_frame(true, 2));
    auto audio = view("/live/audio.flv");
    ASSERT_TRUE(audio->gets(test::mp3_frame(1)));
    EXPECT_TRUE(audio->reader().has_audio());
    EXPECT_FALSE(audio->reader().has_video());
    auto video = view("/live/video.flv");
    ASSERT_TRUE(video->gets(test::avc_frame(true, 2)));
    EXPECT_FALSE(video->reader().has_audio());
    EXPECT_TRUE(video->reader().has_video());
}

TEST_P(FlvTransportTest, AMissingStreamIsNotFoundAfterTheWait) {
    policy_.play.pump.wait_publisher = Millis(100);
    auto viewer = view("/live/nothing.flv");
    ASSERT_TRUE(viewer->reads_to_end());
    EXPECT_THAT(viewer->head, testing::StartsWith("HTTP/1.1 404 "));
    EXPECT_THAT(viewer->head, testing::HasSubstr("Access-Control-Allow-Origin"));
    EXPECT_THAT(viewer->text, testing::HasSubstr("no such stream"));
}

TEST_P(FlvTransportTest, WithoutWaitingAMissingStreamIsNotFoundAtOnce) {
    policy_.play.pump.wait_publisher = Millis(0);
    auto viewer = view("/live/nothing.flv");
    ASSERT_TRUE(viewer->read_until([&] { return viewer->head.ends_with("\r\n\r\n"); }));
    EXPECT_THAT(viewer->head, testing::StartsWith("HTTP/1.1 404 "));
    EXPECT_EQ(fanout_.pumps(), 0U);
}

TEST_P(FlvTransportTest, AViewerStaysThroughARepublish) {
    auto source = publisher();
    auto viewer = view("/live/a.flv");
    ASSERT_TRUE(viewer->gets(test::avc_frame(true, 1)));
    source->close();
    ASSERT_TRUE(eventually([&] { return logged("unpublish stream=/live/a"); }));
    auto next = peer();
    next->open();
    ASSERT_TRUE(next->publish("a"));
    next->start_media(1, 4'000'000'000, 2);
    ASSERT_TRUE(viewer->gets(test::avc_frame(true, 2)));
    for (size_t i = 1; i < viewer->tags.size(); i++) {
        EXPECT_GE(viewer->tags[i].timestamp, viewer->tags[i - 1].timestamp);
    }
    EXPECT_EQ(viewer->tags.back().timestamp, 40U) << "one frame after the last";
}

TEST_P(FlvTransportTest, AViewerIsEndedWhenNoPublisherComesBack) {
    policy_.play.pump.wait_publisher = Millis(100);
    auto source = publisher();
    auto viewer = view("/live/a.flv");
    ASSERT_TRUE(viewer->gets(test::avc_frame(true, 1)));
    source->close();
    ASSERT_TRUE(viewer->reads_to_end());
    EXPECT_EQ(viewer->close_payload.empty(), !GetParam()) << "WebSocket says goodbye";
}

TEST_P(FlvTransportTest, AViewerThatLeavesIsForgotten) {
    auto source = publisher();
    auto playing = view("/live/a.flv");
    ASSERT_TRUE(playing->gets(test::avc_frame(true, 1)));
    auto waiting = view("/live/b.flv");
    ASSERT_TRUE(eventually([&] { return fanout_.pumps() == 2; }));
    playing->close();
    waiting->close();
    EXPECT_TRUE(eventually(
        [&] { return fanout_.pumps() == 0 && clients_.size() == 1 && registry_.size() == 1; }));
}

TEST_P(FlvTransportTest, AddressesAreAppAndName) {
    auto source = peer();
    source->open("live/room/1");
    ASSERT_TRUE(source->publish("a b"));
    source->start_media();
    auto viewer = view("/live/room/1/a%20b.flv?token=x");
    EXPECT_TRUE(viewer->gets(test::avc_frame(true, 1)));
    for (const char* wrong : {"/a.flv", "/.flv", "/live/.flv"}) {
        auto lost = view(wrong);
        ASSERT_TRUE(lost->read_until([&] { return lost->head.ends_with("\r\n\r\n"); })) << wrong;
        EXPECT_THAT(lost->head, testing::StartsWith("HTTP/1.1 404 ")) << wrong;
    }
    auto refused = view("/closed/a.flv");
    ASSERT_TRUE(refused->read_until([&] { return refused->head.ends_with("\r\n\r\n"); }));
    EXPECT_THAT(refused->head, testing::StartsWith("HTTP/1.1 403 "));
}

TEST_P(FlvTransportTest, AStoppingServerEndsViewers) {
    auto source = publisher();
    auto playing = view("/live/a.flv");
    ASSERT_TRUE(playing->gets(test::avc_frame(true, 1)));
    auto waiting = view("/live/b.flv");
    ASSERT_TRUE(eventually([&] { return fanout_.pumps() == 2; }));
    stop();
    EXPECT_TRUE(playing->reads_to_end());
    ASSERT_TRUE(waiting->reads_to_end());
    EXPECT_THAT(waiting->head, testing::StartsWith("HTTP/1.1 503 "));
}

TEST_P(FlvTransportTest, TokensReachThePolicy) {
    const auto status = [&](std::string_view path) {
        auto viewer = view(path);
        EXPECT_TRUE(viewer->read_until([&] { return viewer->head.ends_with("\r\n\r\n"); }));
        return viewer->head.substr(0, 12);
    };
    policy_.play.pump.wait_publisher = Millis(0);
    EXPECT_EQ(status("/secret/a.flv"), "HTTP/1.1 403");
    EXPECT_EQ(status("/secret/a.flv?key=wrong"), "HTTP/1.1 403");
    EXPECT_EQ(status("/secret/a.flv?key=open-sesame"), "HTTP/1.1 404")
        << "let in: nobody publishes";
    EXPECT_FALSE(logged("open-sesame"));
}

TEST_F(FlvHttpTest, AHeadRequestTellsWhetherTheStreamIsLive) {
    auto source = publisher();
    Viewer live(http_address_, "/live/a.flv", false, "HEAD");
    ASSERT_TRUE(live.read_until([&] { return live.head.ends_with("\r\n\r\n"); }));
    EXPECT_THAT(live.head, testing::StartsWith("HTTP/1.1 200 "));
    Viewer missing(http_address_, "/live/b.flv", false, "HEAD");
    ASSERT_TRUE(missing.read_until([&] { return missing.head.ends_with("\r\n\r\n"); }));
    EXPECT_THAT(missing.head, testing::StartsWith("HTTP/1.1 404 "));
}

TEST_F(FlvHttpTest, PingsAreAnsweredBetweenTags) {
    auto source = publisher();
    Viewer viewer(http_address_, "/live/a.flv", true);
    ASSERT_TRUE(viewer.gets(test::avc_frame(true, 1)));
    for (uint8_t i = 0; i < 30; i++) {
        source->media(1, rtmp::kVideo, 40U * (i + 1U), test::avc_frame(false, i + 100U, 70'000));
        viewer.say(ws::make_masked_frame(ws::Opcode::kPing, Bytes{i}, kMask));
        viewer.read();
    }
    ASSERT_TRUE(viewer.gets(test::avc_frame(false, 129, 70'000)));
    ASSERT_TRUE(viewer.read_until([&] { return viewer.pongs.size() == 30; }));
    EXPECT_EQ(viewer.tags.size(), 4U + 30);
}

TEST_F(FlvHttpTest, AGoodbyeOrNonsenseEndsAWebSocketViewer) {
    auto source = publisher();
    Viewer polite(http_address_, "/live/a.flv", true);
    Viewer broken(http_address_, "/live/a.flv", true);
    ASSERT_TRUE(polite.gets(test::avc_frame(true, 1)));
    ASSERT_TRUE(broken.gets(test::avc_frame(true, 1)));
    polite.say(ws::make_masked_frame(ws::Opcode::kClose,
                                     ws::make_close_payload(ws::CloseCode::kNormal, "bye"), kMask));
    broken.say(ws::make_frame(ws::Opcode::kPing, Bytes{1}));  // not masked
    EXPECT_TRUE(polite.reads_to_end());
    ASSERT_TRUE(broken.reads_to_end());
    ASSERT_GE(broken.close_payload.size(), 2U);
    EXPECT_EQ(ByteReader(broken.close_payload).u16(),
              static_cast<uint16_t>(ws::CloseCode::kProtocolError));
}

TEST_F(FlvHttpTest, AWebSocketViewerThatSpeaksBeforeTheStreamComesIsHeard) {
    Viewer viewer(http_address_, "/live/a.flv", true);
    viewer.say(ws::make_masked_frame(ws::Opcode::kClose, {}, kMask));
    EXPECT_TRUE(viewer.reads_to_end());
    EXPECT_TRUE(eventually([&] { return fanout_.pumps() == 0; }));
}

}  // namespace
}  // namespace weir::session
