#include "proto/rtmp/client_session.h"

#include <gmock/gmock.h>

#include "test/proto/rtmp/support.h"

namespace weir::rtmp {
namespace {

using test::hex;
using test::pattern;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A client and a server session with a wire between; the server accepts everything unless told
// otherwise.
class Pair {
  public:
    explicit Pair(ClientOptions options) : client(std::move(options)) {}

    // Carries bytes until nobody has anything to say; `step` bytes at a time.
    void run(size_t step = SIZE_MAX) {
        while (client.has_output() || server.has_output()) {
            to_server(client.take_output(), step);
            to_client(server.take_output(), step);
        }
    }

    ClientSession client;
    ServerSession server;
    std::vector<Event> server_events;
    std::vector<ClientEvent> client_events;
    bool accept = true;

    std::vector<ClientEventKind> client_kinds() const {
        std::vector<ClientEventKind> kinds;
        for (const ClientEvent& event : client_events) {
            kinds.push_back(event.kind);
        }
        return kinds;
    }

  private:
    void to_server(const Bytes& bytes, size_t step) {
        for (ByteSpan left(bytes); !left.empty() && !server.failed();) {
            const ByteSpan piece = left.first(std::min(step, left.size()));
            left = left.subspan(server.feed(piece));
            Event event;
            while (server.next_event(event)) {
                answer(event);
                server_events.push_back(std::move(event));
            }
        }
    }

    void answer(const Event& event) {
        if (event.kind == EventKind::kConnect) {
            server.accept_connect();
        } else if (event.kind == EventKind::kPublish) {
            accept ? server.accept_publish(event.stream_id)
                   : server.reject(event.stream_id, status::kPublishBadName,
                                   "somebody else publishes live/cam");
        } else if (event.kind == EventKind::kPlay) {
            server.accept_play(event.stream_id);
        }
    }

    void to_client(const Bytes& bytes, size_t step) {
        for (ByteSpan left(bytes); !left.empty() && !client.failed();) {
            const ByteSpan piece = left.first(std::min(step, left.size()));
            left = left.subspan(client.feed(piece));
            ClientEvent event;
            while (client.next_event(event)) {
                client_events.push_back(std::move(event));
            }
        }
    }
};

ClientOptions options(ClientRole role) {
    ClientOptions out;
    out.role = role;
    out.app = "live";
    out.tc_url = "rtmp://host/live";
    out.stream = "cam?key=1";
    return out;
}

TEST(ClientSessionTest, PublisherReachesStarted) {
    for (const size_t step : {size_t{1}, size_t{100}, SIZE_MAX}) {
        Pair pair(options(ClientRole::kPublish));
        pair.run(step);
        EXPECT_THAT(pair.client_kinds(),
                    ElementsAre(ClientEventKind::kConnected, ClientEventKind::kStarted));
        EXPECT_TRUE(pair.client.started());
        ASSERT_EQ(pair.server_events.size(), 2u);
        EXPECT_TRUE(pair.server_events[0].connect().enhanced.present);
        EXPECT_EQ(pair.server_events[1].publish().name.path(), "live/cam");
        EXPECT_EQ(pair.server_events[1].publish().name.query, "key=1");
    }
}

TEST(ClientSessionTest, KnowsWhetherTheServerTakesSeveralTracks) {
    for (const bool enhanced : {true, false}) {
        ClientOptions said = options(ClientRole::kPublish);
        said.enhanced = enhanced;  // the server answers in kind
        Pair pair(said);
        pair.run();
        EXPECT_TRUE(pair.client.started());
        EXPECT_EQ(pair.client.takes_multitrack(), enhanced);
    }
}

TEST(ClientSessionTest, MediaArriveAsTheyWereSent) {
    for (const uint32_t chunk_size : {1u, 2u, 127u, 128u, 129u, 4096u, 65536u}) {
        ClientOptions small = options(ClientRole::kPublish);
        small.chunk_size = chunk_size;
        Pair pair(small);
        pair.run();
        pair.server_events.clear();
        Bytes metadata;
        amf::Writer(metadata).string("onMetaData").begin_ecma_array(0).end_object();
        pair.client.send_media(media::TrackKind::kData, 0, metadata);
        pair.client.send_media(media::TrackKind::kVideo, 0xFFFFFF, pattern(3000));
        pair.client.send_media(media::TrackKind::kAudio, 0xFFFFFFFF, pattern(100, 3));
        pair.run();
        ASSERT_EQ(pair.server_events.size(), 3u) << chunk_size;
        EXPECT_EQ(pair.server_events[0].media().body, metadata);
        EXPECT_EQ(pair.server_events[1].media().timestamp, 0xFFFFFFu);
        EXPECT_EQ(pair.server_events[1].media().body, pattern(3000));
        EXPECT_EQ(pair.server_events[2].media().timestamp, 0xFFFFFFFFu);
        EXPECT_EQ(pair.server_events[2].media().kind, media::TrackKind::kAudio);
    }
}

TEST(ClientSessionTest, MediaBeforeTheStartAreNotSent) {
    ClientSession client(options(ClientRole::kPublish));
    client.take_output();
    client.send_media(media::TrackKind::kVideo, 0, pattern(10));
    EXPECT_FALSE(client.has_output());
}

TEST(ClientSessionTest, StopUnpublishes) {
    Pair pair(options(ClientRole::kPublish));
    pair.run();
    pair.client.stop();
    pair.run();
    EXPECT_EQ(pair.server_events.back().kind, EventKind::kUnpublish);
    pair.client.stop();
    EXPECT_FALSE(pair.client.has_output());
}

TEST(ClientSessionTest, RefusalIsAnErrorWithTheServersWords) {
    Pair pair(options(ClientRole::kPublish));
    pair.accept = false;
    pair.run();
    const Error error = pair.client.take_error();
    EXPECT_EQ(error.code(), ErrorCode::kDenied);
    EXPECT_THAT(std::string(error.message()),
                HasSubstr("NetStream.Publish.BadName: somebody else"));
}

TEST(ClientSessionTest, PlayerGetsStatusStartAndMedia) {
    Pair pair(options(ClientRole::kPlay));
    pair.run();
    ASSERT_EQ(pair.client_events.size(), 4u);
    EXPECT_EQ(pair.client_events[0].kind, ClientEventKind::kConnected);
    EXPECT_EQ(pair.client_events[1].status().code, "NetStream.Play.Reset");
    EXPECT_EQ(pair.client_events[2].kind, ClientEventKind::kStarted);
    EXPECT_EQ(pair.client_events[3].media().kind, media::TrackKind::kData);  // |RtmpSampleAccess
}

TEST(ClientSessionTest, PlayerHearsOfTheEndOnce) {
    Pair pair(options(ClientRole::kPlay));
    pair.run();
    pair.client_events.clear();
    pair.server.notify_unpublish(pair.client.stream_id());
    pair.run();
    EXPECT_THAT(pair.client_kinds(), ElementsAre(ClientEventKind::kEnded));
}

TEST(ClientSessionTest, PauseIsNoEnd) {
    Pair pair(options(ClientRole::kPlay));
    pair.run();
    pair.client_events.clear();
    pair.client.pause(true);
    pair.run();
    EXPECT_EQ(pair.server_events.back().kind, EventKind::kPause);
    pair.server.answer_pause(pair.client.stream_id(), true);
    pair.run();
    ASSERT_EQ(pair.client_events.size(), 1u);
    EXPECT_EQ(pair.client_events[0].status().code, "NetStream.Pause.Notify");
}

TEST(ClientSessionTest, AnswersPings) {
    Pair pair(options(ClientRole::kPlay));
    pair.run();
    pair.server.make_ping(77);
    pair.run();
    EXPECT_EQ(pair.server.last_pong_ms(), 77u);
}

TEST(ClientSessionTest, AcknowledgesTheServersWindow) {
    Pair pair(options(ClientRole::kPlay));
    pair.run();
    Bytes window;
    write_window_ack_size(1000, window);
    pair.client.feed(window);
    ClientEvent event;
    EXPECT_FALSE(pair.client.next_event(event));
    pair.client.feed(
        test::message_bytes(test::header(ChunkFormat::kFull, 6, 0, kVideo), pattern(2000), 60000));
    pair.run();
    EXPECT_GT(pair.server.peer_acknowledged(), 1000u);
}

TEST(ClientSessionTest, BrokenBytesAreAnError) {
    ClientSession client(options(ClientRole::kPlay));
    client.feed(hex("c4 00"));
    ClientEvent event;
    EXPECT_FALSE(client.next_event(event));
    EXPECT_TRUE(client.failed());
    EXPECT_EQ(client.take_error().code(), ErrorCode::kMalformed);
}

}  // namespace
}  // namespace weir::rtmp
