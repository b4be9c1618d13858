#include "bench/load/core/rtmp_play_client.h"

#include <gtest/gtest.h>

#include "proto/rtmp/chunk_writer.h"
#include "proto/rtmp/command.h"
#include "proto/rtmp/server_session.h"

#include "bench/load/core/synthetic.h"

namespace weir::load {
namespace {

class ZeroRandom final : public RandomSource {
  public:
    void fill(std::span<uint8_t> out) override { std::fill(out.begin(), out.end(), uint8_t{0x5A}); }
};

// A client and the project's own server side, connected by memory.
class RtmpPlayClientTest : public testing::Test {
  protected:
    // Client's output to the server and back, until both are silent. `step`: bytes per feed of the
    // client.
    void exchange(size_t step = 100'000) {
        for (;;) {
            Bytes to_server = std::move(client_.output());
            client_.output() = Bytes();
            if (to_server.empty()) {
                return;
            }
            serve(to_server);
            deliver(step);
        }
    }

    void serve(ByteSpan bytes) {
        while (!bytes.empty()) {
            if (!handshake_.done()) {
                auto used = handshake_.feed(bytes);
                ASSERT_TRUE(used.ok());
                bytes = bytes.subspan(*used);
                Bytes out = handshake_.take_output();
                to_client_.insert(to_client_.end(), out.begin(), out.end());
                continue;
            }
            bytes = bytes.subspan(server_.feed(bytes));
            rtmp::Event event;
            while (server_.next_event(event)) {
                answer(event);
            }
            ASSERT_FALSE(server_.failed());
        }
        server_.append_output(to_client_);
    }

    void answer(rtmp::Event& event) {
        if (event.kind == rtmp::EventKind::kConnect) {
            app_ = event.connect().app;
            server_.accept_connect();
        } else if (event.kind == rtmp::EventKind::kPlay) {
            played_ = event.stream_id;
            if (refuse_) {
                server_.reject(event.stream_id, rtmp::status::kPlayStreamNotFound,
                               "no such stream");
            } else {
                server_.accept_play(event.stream_id);
            }
        }
    }

    void deliver(size_t step) {
        Bytes bytes = std::move(to_client_);
        to_client_ = Bytes();
        for (size_t at = 0; at < bytes.size(); at += step) {
            now_ += 1000;
            fine_ =
                client_.feed(ByteSpan(bytes).subspan(at, std::min(step, bytes.size() - at)), now_);
        }
    }

    void send_frame(uint32_t sequence) {
        Stamp stamp{0, 1, sequence, now_, 0, static_cast<uint16_t>(sequence)};
        Bytes body;
        build_video(body, 2000, stamp);
        rtmp::ChunkHeader header;
        header.chunk_stream_id = 6;
        header.type = rtmp::kVideo;
        header.stream_id = played_;
        header.timestamp = sequence * 33;
        rtmp::write_message(header, body, server_.chunk_size(), to_client_);
    }

    uint64_t now_ = 5'000'000'000;
    ZeroRandom random_;
    RtmpTarget target_{"live", "rtmp://h/live", "livestream"};
    RunTotals totals_;
    PlayerCheck check_{totals_, 0};
    RtmpPlayClient client_{target_, check_, random_};
    rtmp::ServerHandshake handshake_{random_};
    rtmp::ServerSession server_;
    Bytes to_client_;
    std::string app_;
    uint32_t played_ = 0;
    bool refuse_ = false;
    bool fine_ = true;
};

TEST_F(RtmpPlayClientTest, PlaysAndVerifiesWhateverTheCut) {
    exchange(1);
    EXPECT_TRUE(client_.started());
    EXPECT_EQ(app_, "live");
    for (uint32_t i = 0; i < 5; i++) {
        send_frame(i);
    }
    deliver(7);
    EXPECT_TRUE(fine_) << client_.failure();
    EXPECT_EQ(check_.counts().video_frames, 5U);
    EXPECT_EQ(check_.counts().corrupted + check_.counts().unstamped + check_.lost(), 0U);
    EXPECT_TRUE(check_.has_key());
}

TEST_F(RtmpPlayClientTest, ARefusedPlayIsAFailureWithTheServersWords) {
    refuse_ = true;
    exchange();
    EXPECT_FALSE(client_.started());
    EXPECT_FALSE(fine_);
    EXPECT_EQ(client_.failure(), "refused: NetStream.Play.StreamNotFound no such stream");
}

TEST_F(RtmpPlayClientTest, AnswersPings) {
    exchange();
    server_.make_ping(4711);
    server_.append_output(to_client_);
    deliver(3);
    exchange();
    EXPECT_EQ(server_.pongs(), 1U);
    EXPECT_EQ(server_.last_pong_ms(), 4711U);
}

TEST_F(RtmpPlayClientTest, AcknowledgesWhenTheWindowIsFull) {
    exchange();
    ASSERT_EQ(server_.peer_acknowledged(), 0U);
    for (uint32_t i = 0; i < 1300; i++) {
        send_frame(i);
    }
    deliver(100'000);
    exchange();
    EXPECT_GE(server_.peer_acknowledged(), 2'500'000U);
}

TEST_F(RtmpPlayClientTest, HearsThatTheStreamEndedAndWentOn) {
    exchange();
    server_.notify_unpublish(played_);
    server_.append_output(to_client_);
    deliver(100);
    EXPECT_TRUE(client_.stream_ended());
    server_.send_status(played_, {"status", rtmp::status::kPlayPublishNotify, "again"});
    server_.append_output(to_client_);
    deliver(100);
    EXPECT_FALSE(client_.stream_ended());
}

TEST_F(RtmpPlayClientTest, ACommandWithoutEndIsAFailure) {
    exchange();
    rtmp::ChunkHeader header;
    header.chunk_stream_id = 3;
    header.type = rtmp::kCommandAmf0;
    rtmp::write_message(header, Bytes(20'000, 2), server_.chunk_size(), to_client_);
    deliver(1000);
    EXPECT_FALSE(client_.failure().empty());
}

TEST_F(RtmpPlayClientTest, AnotherProtocolIsAFailure) {
    Bytes answer(2000, 'H');
    EXPECT_FALSE(client_.feed(answer, now_));
    EXPECT_NE(client_.failure().find("handshake"), std::string::npos);
}

}  // namespace
}  // namespace weir::load
