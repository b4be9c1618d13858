#include "net/pump.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <sys/socket.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "io/runtime.h"
#include "net/fanout.h"

#include "test/support/io/loopback.h"
#include "test/support/media_packets.h"

namespace weir::net {
namespace {

// The format of these tests. On the wire everything is a record: length 4 | letter 1 | rest. Media:
// "K" or "M", then the frame's number 4 and filling. A player's own: "F" front with the number of
// the frame it stands before, "A" answer.
constexpr char kKey = 'K';
constexpr char kMedia = 'M';
constexpr char kFront = 'F';
constexpr char kAnswer = 'A';
constexpr char kEnd = 'E';

Bytes record(char letter, uint32_t number, size_t filling = 0) {
    Bytes out;
    ByteWriter(out)
        .u32(static_cast<uint32_t>(5 + filling))
        .u8(static_cast<uint8_t>(letter))
        .u32(number);
    for (size_t i = 0; i < filling; i++) {
        out.push_back(static_cast<uint8_t>(number + i));
    }
    return out;
}

// Frames of the framed variant, as WebSocket has them: a header in front of each write of the log
// and of each private piece.
constexpr std::string_view kFrameMagic = "frame header";  // 12, and 4 of length

Bytes framed(const Bytes& payload) {
    Bytes out;
    ByteWriter(out).text(kFrameMagic).u32(static_cast<uint32_t>(payload.size())).bytes(payload);
    return out;
}

class RecordMuxer final : public stream::Muxer {
  public:
    void on_packet(const media::PacketRef& packet, const stream::Configs* start) override {
        ByteReader body(packet->body());
        body.skip(5);
        const uint32_t number = body.u32();
        if (start) {
            start_number = number;
        }
        log().begin_entry(packet->time_ms(), start != nullptr);
        log().write(record(packet->info().key ? kKey : kMedia, number, body.remaining()));
        log().end_entry();
    }

    uint32_t start_number = 0;
};

class RecordFormat final : public stream::Format {
  public:
    const char* name() const override { return "record"; }

    std::unique_ptr<stream::Muxer> create_muxer() const override {
        return std::make_unique<RecordMuxer>();
    }
};

// What a player's protocol was told; outlives it.
struct Told {
    int starts = 0;
    bool ended = false;
    bool ended_started = false;
    EndReason reason = EndReason::kSystemError;
    std::unique_ptr<io::TcpStream> released;
    std::unique_ptr<Client> released_client;
};

// The peer says: q ask, p pause, r resume, x goodbye, ! nonsense, c talk on, C ask and talk on.
class RecordProtocol final : public PlayerProtocol {
  public:
    RecordProtocol(std::shared_ptr<Told> told, bool in_frames, bool with_front)
        : told_(std::move(told)), in_frames_(in_frames), with_front_(with_front) {}

    void on_start(const stream::Stream&,
                  const stream::Muxer& muxer,
                  bool first,
                  Bytes& out) override {
        EXPECT_EQ(first, told_->starts == 0);
        told_->starts++;
        if (with_front_) {
            say(record(kFront, static_cast<const RecordMuxer&>(muxer).start_number), out);
        }
    }

    PlayerVerdict on_data(ByteSpan data, Bytes& out) override {
        PlayerVerdict verdict = PlayerVerdict::kGoOn;
        for (char c : as_text(data)) {
            if (c == 'q' || c == 'C') {
                say(record(kAnswer, ++answers_), out);
            }
            switch (c) {
                case 'p': verdict = PlayerVerdict::kPause; break;
                case 'r': verdict = PlayerVerdict::kResume; break;
                case 'x': verdict = PlayerVerdict::kClose; break;
                case '!': verdict = PlayerVerdict::kError; break;
                case 'c':
                case 'C': verdict = PlayerVerdict::kConversation; break;
                default: break;
            }
        }
        return verdict;
    }

    void on_end(EndReason reason, bool started, Bytes& out) override {
        EXPECT_FALSE(told_->ended) << "told twice";
        told_->ended = true;
        told_->ended_started = started;
        told_->reason = reason;
        say(record(kEnd, 0), out);
    }

    size_t frame_header(uint64_t payload, uint8_t* out) override {
        if (!in_frames_) {
            return 0;
        }
        std::copy(kFrameMagic.begin(), kFrameMagic.end(), out);
        store_u32(out + kFrameMagic.size(), static_cast<uint32_t>(payload));
        return kFrameMagic.size() + 4;
    }

    void on_released(std::unique_ptr<PlayerProtocol>,
                     std::unique_ptr<io::TcpStream> stream,
                     std::unique_ptr<Client> client) override {
        told_->released = std::move(stream);
        told_->released_client = std::move(client);
    }

  private:
    void say(const Bytes& piece, Bytes& out) const {
        ByteWriter(out).bytes(in_frames_ ? framed(piece) : piece);
    }

    std::shared_ptr<Told> told_;
    bool in_frames_;
    bool with_front_;
    uint32_t answers_ = 0;
};

template <typename Condition>
bool eventually(Condition condition) {
    for (io::Deadline deadline = io::soon(); !condition();) {
        if (deadline.passed()) {
            return false;
        }
        EXPECT_FALSE(io::sleep_for(Millis(1)));
    }
    return true;
}

struct Item {
    char letter = 0;
    uint32_t number = 0;

    bool operator==(const Item&) const = default;
};

// The other end of a player's connection. Everything that arrives must be whole records (in whole
// frames).
class Peer {
  public:
    Peer(std::unique_ptr<io::TcpStream> stream, std::shared_ptr<Told> said_to, bool in_frames)
        : told(std::move(said_to)), stream_(std::move(stream)), in_frames_(in_frames) {}

    void say(std::string_view text) {
        Error error = stream_->write_all(as_bytes(text), io::soon());
        ASSERT_FALSE(error) << error.to_string();
    }

    void close() { stream_->close(); }

    // Takes what is there, at most about `limit` bytes. False when the connection has ended.
    bool read(size_t limit = SIZE_MAX) {
        Bytes buffer(std::min<size_t>(limit, 64 * 1024));
        for (size_t total = 0; total < limit;) {
            const io::IoResult got = stream_->try_read(buffer);
            if (got.status == io::IoStatus::kWouldBlock) {
                return true;
            }
            if (got.status != io::IoStatus::kDone) {
                ended = true;
                return false;
            }
            total += got.bytes;
            take({buffer.data(), got.bytes});
        }
        return true;
    }

    template <typename Condition>
    bool read_until(Condition condition) {
        return eventually([&] {
            read();
            return condition();
        });
    }

    // The media frame of that number has come.
    bool read_to(uint32_t number) {
        return read_until([&] { return newest() >= number; });
    }

    bool read_to_end() {
        return read_until([&] { return ended; });
    }

    uint32_t newest() const {
        for (auto item = items.rbegin(); item != items.rend(); ++item) {
            if (item->letter == kKey || item->letter == kMedia) {
                return item->number;
            }
        }
        return 0;
    }

    size_t count(char letter) const {
        return static_cast<size_t>(
            std::ranges::count_if(items, [&](const Item& item) { return item.letter == letter; }));
    }

    // Media is without a hole but where a front stands, behind which comes the key frame that the
    // front names, a newer one.
    void expect_in_order() const {
        uint32_t last = 0;
        uint32_t front = 0;
        for (const Item& item : items) {
            if (item.letter == kFront) {
                EXPECT_GT(item.number, last) << "moved back to what it had already";
                front = item.number;
            } else if (item.letter == kKey || item.letter == kMedia) {
                EXPECT_EQ(item.number, front != 0 ? front : last + 1);
                EXPECT_TRUE(front == 0 || item.letter == kKey);
                front = 0;
                last = item.number;
            }
        }
    }

    std::vector<Item> items;
    bool ended = false;
    std::shared_ptr<Told> told;

  private:
    void take(ByteSpan bytes) {
        if (!in_frames_) {
            records_.insert(records_.end(), bytes.begin(), bytes.end());
            take_records();
            return;
        }
        frames_.insert(frames_.end(), bytes.begin(), bytes.end());
        const size_t header = kFrameMagic.size() + 4;
        size_t at = 0;
        while (frames_.size() - at >= header) {
            ByteReader reader(ByteSpan(frames_).subspan(at));
            ASSERT_EQ(as_text(reader.take(kFrameMagic.size())), kFrameMagic) << "framing broken";
            const uint32_t size = reader.u32();
            const ByteSpan payload = reader.take(size);
            if (!reader.ok()) {
                break;
            }
            // An answer may stand between two frames in the middle of an entry.
            if (size == 9 && payload[4] == kAnswer && ByteReader(payload).u32() == 5) {
                items.push_back({kAnswer, ByteReader(payload.subspan(5)).u32()});
            } else {
                records_.insert(records_.end(), payload.begin(), payload.end());
                take_records();
            }
            at += header + size;
        }
        frames_.erase(frames_.begin(), frames_.begin() + static_cast<std::ptrdiff_t>(at));
    }

    void take_records() {
        size_t at = 0;
        while (records_.size() - at >= 4) {
            ByteReader reader(ByteSpan(records_).subspan(at));
            const uint32_t size = reader.u32();
            ASSERT_LE(size, 1U << 20) << "records broken";
            ByteReader body(reader.take(size));
            if (!reader.ok()) {
                break;
            }
            Item item{static_cast<char>(body.u8()), body.u32()};
            for (uint32_t i = 0; body.remaining() > 0; i++) {
                ASSERT_EQ(body.u8(), static_cast<uint8_t>(item.number + i))
                    << "bytes of " << item.letter << item.number;
            }
            items.push_back(item);
            at += 4 + size;
        }
        records_.erase(records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(at));
    }

    std::unique_ptr<io::TcpStream> stream_;
    bool in_frames_;
    Bytes frames_;
    Bytes records_;
};

class PumpTest : public testing::Test, protected stream::Publisher {
  protected:
    PumpTest() : blocks_before_(stream::LogBlock::live_blocks()) {
        rules_.pump.merge_window = Millis(0);
        auto listener = io::TcpListener::listen(io::loopback());
        WEIR_CHECK(listener.ok());
        listener_ = std::move(*listener);
        log::set_sink([](log::Level, std::string_view) {});
    }

    ~PumpTest() override {
        fanout_.stop(io::soon());
        unpublish();
        peers_.clear();
        EXPECT_EQ(fanout_.pumps(), 0U);
        EXPECT_EQ(registry_.size(), 0U);
        EXPECT_EQ(clients_.size(), 0U);
        EXPECT_EQ(stream::LogBlock::live_blocks(), blocks_before_);
        log::set_sink(nullptr);
    }

    std::string describe() const override { return "the test"; }

    std::string_view client_id() const override { return "test"; }

    void on_taken_over() override {}

    void publish() {
        stream_ = &registry_.get_or_create(key_, {}, MonoClock::now());
        Error error =
            stream_->start_publish(*this, stream::PublishConflict::kRefuse, MonoClock::now());
        ASSERT_FALSE(error) << error.message();
    }

    void unpublish() {
        if (stream_) {
            stream_->end_publish(*this, MonoClock::now());
            registry_.release(*stream_);
            stream_ = nullptr;
        }
    }

    // One frame each; gives its number.
    uint32_t frame(bool key, size_t size = 20) {
        stream_->publish(*this,
                         test::packet(media::TrackKind::kVideo, clock_ += 40,
                                      test::avc_frame(key, ++number_, size + 4)),
                         MonoClock::now());
        return number_;
    }

    uint32_t gop(int frames, size_t size = 20) {
        for (int i = 0; i < frames; i++) {
            frame(i == 0, size);
        }
        return number_;
    }

    Peer& join(bool in_frames = false, bool with_front = true) {
        auto near = io::TcpStream::connect(listener_->local(), io::soon());
        WEIR_CHECK(near.ok());
        if (small_buffers_) {
            const int size = 100'000;  // less than a segment of loopback makes the kernel wait for
                                       // its persist timer
            WEIR_CHECK(setsockopt((*near)->fd(), SOL_SOCKET, SO_RCVBUF, &size, sizeof size) == 0);
        }
        auto far = listener_->accept(io::soon());
        WEIR_CHECK(far.ok());
        auto told = std::make_shared<Told>();
        auto client = std::make_unique<Client>(clients_, "test", "127.0.0.1");
        client->role = ClientRole::kPlayer;
        client->key = key_;
        fanout_.play(rules_, format_, std::move(*far),
                     std::make_unique<RecordProtocol>(told, in_frames, with_front),
                     std::move(client));
        peers_.push_back(std::make_unique<Peer>(std::move(*near), told, in_frames));
        return *peers_.back();
    }

    // From now on connections hold little.
    void use_small_buffers() {
        small_buffers_ = true;
        rules_.socket.send_buffer_bytes = 16'384;
    }

    // The pump runs between the frames.
    void publish_more(int frames, size_t size = 20) {
        for (int i = 0; i < frames; i++) {
            frame(false, size);
            io::yield();
        }
    }

    // Nobody's socket takes anything any more.
    bool all_are_full(size_t size = 500) {
        const uint64_t before = fanout_.stats().written_bytes;
        publish_more(20, size);
        return fanout_.stats().written_bytes == before;
    }

    uint64_t blocks_before_;
    stream::StreamKey key_{"v", "live", "a"};
    stream::Registry registry_;
    Fanout fanout_{registry_};
    ClientTable clients_;
    RecordFormat format_;
    PlayRules rules_;
    std::unique_ptr<io::TcpListener> listener_;
    stream::Stream* stream_ = nullptr;
    std::vector<std::unique_ptr<Peer>> peers_;
    uint32_t clock_ = 0;
    uint32_t number_ = 0;
    bool small_buffers_ = false;
};

TEST_F(PumpTest, APlayerStartsAtTheNewestKeyFrameAndFlows) {
    publish();
    gop(5);
    const uint32_t key = number_ + 1;
    gop(5);
    Peer& peer = join();
    ASSERT_TRUE(peer.read_to(number_));
    EXPECT_EQ(peer.items.at(0), (Item{kFront, key}));
    EXPECT_EQ(peer.items.at(1), (Item{kKey, key}));
    frame(false);
    gop(3);
    ASSERT_TRUE(peer.read_to(number_));
    EXPECT_EQ(peer.told->starts, 1);
    EXPECT_EQ(peer.count(kFront), 1U);
}

TEST_F(PumpTest, WaitingPlayersAreStartedByTheFirstKeyFrame) {
    Peer& early = join();
    Peer& framed_one = join(true);
    publish();
    frame(false);
    Peer& later = join();
    EXPECT_EQ(fanout_.players(*registry_.find(key_)), 3U);
    const uint32_t key = gop(1);
    for (Peer* peer : {&early, &framed_one, &later}) {
        ASSERT_TRUE(peer->read_to(key));
        EXPECT_THAT(peer->items, testing::ElementsAre(Item{kFront, key}, Item{kKey, key}));
    }
}

TEST_F(PumpTest, WithoutAWindowEveryFrameIsAWrite) {
    publish();
    gop(1);
    Peer& peer = join();
    ASSERT_TRUE(peer.read_to(number_));
    const uint64_t before = fanout_.stats().writes;
    for (int i = 0; i < 20; i++) {
        ASSERT_TRUE(peer.read_to(frame(false)));
    }
    EXPECT_EQ(fanout_.stats().writes - before, 20U);
}

TEST_F(PumpTest, AWindowMergesFramesIntoOneWrite) {
    rules_.pump.merge_window = Millis(200);
    publish();
    gop(1);
    Peer& peer = join();
    ASSERT_TRUE(peer.read_to(number_)) << "the first key frame is not held back";
    const uint64_t before = fanout_.stats().writes;
    const MonoTime began = MonoClock::now();
    publish_more(100);
    ASSERT_TRUE(peer.read_to(number_));
    const auto windows = static_cast<uint64_t>((MonoClock::now() - began) / Millis(200));
    EXPECT_LE(fanout_.stats().writes - before, windows + 1);
    peer.expect_in_order();
}

TEST_F(PumpTest, PlayersThatJoinedAtDifferentMomentsAreWrittenToTogether) {
    rules_.pump.merge_window = Millis(80);
    publish();
    gop(1);
    for (int i = 0; i < 10; i++) {
        join();
        ASSERT_FALSE(io::sleep_for(Millis(8)));
        frame(false);
    }
    const uint64_t before = fanout_.stats().passes;
    const MonoTime began = MonoClock::now();
    while (MonoClock::now() - began < Millis(800)) {
        frame(false);
        ASSERT_FALSE(io::sleep_for(Millis(4)));
    }
    const auto windows = static_cast<uint64_t>((MonoClock::now() - began) / Millis(80));
    EXPECT_LE(fanout_.stats().passes - before, 3 * (windows + 1)) << "not ten times a window";
    for (auto& peer : peers_) {
        ASSERT_TRUE(peer->read_to(number_));
        peer->expect_in_order();
    }
}

TEST_F(PumpTest, PeersOfDifferentPhasesShareOneLog) {
    rules_.pump.merge_window = Millis(20);
    publish();
    for (int i = 0; i < 20; i++) {
        gop(3);
        join(i % 2 == 0);
        io::yield();
    }
    const uint32_t last = gop(10);
    for (auto& peer : peers_) {
        ASSERT_TRUE(peer->read_to(last));
        peer->expect_in_order();
    }
    EXPECT_EQ(fanout_.pumps(), 1U);
}

class PumpFramingTest : public PumpTest, public testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(PlainAndFramed, PumpFramingTest, testing::Bool(), [](const auto& variant) {
    return variant.param ? "Framed" : "Plain";
});

TEST_P(PumpFramingTest, ASlowPlayerIsMovedToTheNewestKeyFrameAndNothingIsTorn) {
    use_small_buffers();
    rules_.pump.queue_bytes = 60'000;
    publish();
    gop(1);
    Peer& slow = join(GetParam());
    Peer& other = join(GetParam());
    for (int round = 0; round < 3; round++) {
        const uint64_t resyncs = fanout_.stats().resyncs;
        ASSERT_TRUE(eventually([&] {
            gop(20, 3000);
            other.read();
            return fanout_.stats().resyncs > resyncs;
        }));
        slow.read(30'000);
    }
    const uint32_t last = gop(1);
    ASSERT_TRUE(slow.read_to(last));
    slow.expect_in_order();
    EXPECT_GE(slow.told->starts, 2);
    ASSERT_TRUE(other.read_to(last));
    other.expect_in_order();
    uint64_t resyncs = 0;
    uint64_t dropped = 0;
    clients_.for_each([&](const Client& client) {
        resyncs += client.resyncs;
        dropped += client.dropped_bytes;
    });
    EXPECT_EQ(resyncs, fanout_.stats().resyncs);
    EXPECT_GT(dropped, 60'000U);
}

TEST_P(PumpFramingTest, AnswersStandBetweenEntriesHoweverTheWritesAreCut) {
    use_small_buffers();
    publish();
    gop(1);
    for (int i = 0; i < 6; i++) {
        join(GetParam());
    }
    constexpr uint32_t kRounds = 8;
    for (uint32_t round = 1; round <= kRounds; round++) {
        // Small writes, so that a full socket cuts a frame's header as likely as its payload.
        gop(1);
        ASSERT_TRUE(eventually([&] { return all_are_full(round % 3 == 0 ? 700 : 100 + round); }));
        for (auto& peer : peers_) {
            peer->say("q");
        }
        io::yield();
        publish_more(5, 100);
        for (auto& peer : peers_) {
            ASSERT_TRUE(peer->read_until([&] {
                return peer->newest() == number_ && peer->count(kAnswer) == round;
            })) << peer->count(kAnswer)
                << " answers, frame " << peer->newest() << " of " << number_;
        }
    }
    for (auto& peer : peers_) {
        peer->expect_in_order();
    }
}

TEST_P(PumpFramingTest, APlayerThatIsPausedGetsNoMediaAndGoesOnAtTheNewestKeyFrame) {
    publish();
    gop(3);
    Peer& peer = join(GetParam());
    ASSERT_TRUE(peer.read_to(number_));
    const uint32_t before = number_;
    peer.say("qp");
    ASSERT_TRUE(peer.read_until([&] { return peer.count(kAnswer) == 1; }));
    gop(5);
    peer.say("q");
    ASSERT_TRUE(peer.read_until([&] { return peer.count(kAnswer) == 2; })) << "it still answers";
    EXPECT_EQ(peer.newest(), before);
    const uint32_t key = gop(1);
    peer.say("r");
    ASSERT_TRUE(peer.read_to(key));
    frame(false);
    ASSERT_TRUE(peer.read_to(number_));
    peer.expect_in_order();
    EXPECT_EQ(peer.count(kFront), 2U);
}

TEST_F(PumpTest, APlayerPausedWhileItsSocketIsFullGetsItsEntryWhole) {
    use_small_buffers();
    publish();
    gop(1);
    Peer& peer = join();
    ASSERT_TRUE(eventually([&] { return all_are_full(3000); }));
    peer.say("p");
    peer.say("q");
    ASSERT_TRUE(peer.read_until([&] { return peer.count(kAnswer) == 1; }));
    const uint32_t key = gop(1);
    peer.say("r");
    ASSERT_TRUE(peer.read_to(key));
    peer.expect_in_order();
}

TEST_F(PumpTest, ALongGopIsNotStartedOverByASlowReader) {
    use_small_buffers();
    rules_.pump.queue_bytes = 20'000;
    publish();
    gop(400, 4000);
    Peer& peer = join();
    // Paced: the pump looks at slow players several times meanwhile.
    const io::Deadline deadline = io::soon();
    while (peer.newest() < number_ && !deadline.passed()) {
        peer.read(8000);
        ASSERT_FALSE(io::sleep_for(Millis(3)));
    }
    EXPECT_EQ(peer.newest(), number_);
    peer.expect_in_order();
    EXPECT_EQ(peer.told->starts, 1) << "there is no newer key frame to move to";
    EXPECT_EQ(fanout_.stats().resyncs, 0U);
}

TEST_F(PumpTest, ASocketThatTakesNothingIsClosed) {
    use_small_buffers();
    rules_.pump.write_stall = Millis(500);
    publish();
    gop(300, 5000);
    Peer& stalled = join();
    Peer& reading = join();
    ASSERT_TRUE(eventually([&] {
        reading.read();
        return stalled.told->ended;
    }));
    EXPECT_EQ(stalled.told->reason, EndReason::kWriteStalled);
    EXPECT_EQ(fanout_.stats().stalled, 1U);
    ASSERT_TRUE(reading.read_to(gop(2)));
    EXPECT_FALSE(reading.told->ended);
}

TEST_F(PumpTest, AnIdlePumpSleepsAlsoAfterAMoveWithAnEmptyFront) {
    use_small_buffers();
    rules_.pump.queue_bytes = 20'000;
    publish();
    gop(1);
    Peer& peer = join(false, false);
    ASSERT_TRUE(eventually([&] {
        gop(5, 2000);
        return fanout_.stats().resyncs > 0;
    }));
    ASSERT_TRUE(peer.read_to(number_));
    const uint64_t loops = io::runtime_stats().reactor_loops;
    ASSERT_FALSE(io::sleep_for(Millis(100)));
    EXPECT_LE(io::runtime_stats().reactor_loops - loops, 20U);
}

TEST_F(PumpTest, AWaitForAPublisherEndsAndThePlayerIsTold) {
    rules_.pump.wait_publisher = Millis(50);
    Peer& peer = join();
    ASSERT_TRUE(peer.read_to_end());
    EXPECT_TRUE(peer.told->ended);
    EXPECT_EQ(peer.told->reason, EndReason::kNoPublisher);
    EXPECT_FALSE(peer.told->ended_started);
    EXPECT_THAT(peer.items, testing::ElementsAre(Item{kEnd, 0}));
    EXPECT_TRUE(eventually([&] { return registry_.size() == 0; }));
}

TEST_F(PumpTest, APlayerWhosePublisherDoesNotComeBackIsTold) {
    rules_.pump.wait_publisher = Millis(50);
    publish();
    gop(2);
    Peer& peer = join();
    ASSERT_TRUE(peer.read_to(number_));
    unpublish();
    ASSERT_TRUE(peer.read_to_end());
    EXPECT_EQ(peer.told->reason, EndReason::kPublisherGone);
    EXPECT_TRUE(peer.told->ended_started);
    EXPECT_EQ(peer.items.back().letter, kEnd);
}

TEST_F(PumpTest, APlayerStaysForTheNextPublisher) {
    publish();
    gop(3);
    Peer& peer = join();
    ASSERT_TRUE(peer.read_to(number_));
    unpublish();
    EXPECT_EQ(registry_.size(), 1U);
    publish();
    gop(3);
    ASSERT_TRUE(peer.read_to(number_));
    peer.expect_in_order();
    EXPECT_EQ(peer.told->starts, 1);
}

TEST_F(PumpTest, AKickEndsThePlayer) {
    publish();
    gop(2);
    Peer& kicked = join();
    Peer& stays = join();
    ASSERT_TRUE(kicked.read_to(number_));
    bool first = true;
    clients_.for_each([&](Client& client) {
        if (std::exchange(first, false)) {
            client.kick();
        }
    });
    ASSERT_TRUE(kicked.read_to_end());
    EXPECT_EQ(kicked.told->reason, EndReason::kKicked);
    EXPECT_FALSE(stays.told->ended);
    EXPECT_TRUE(eventually([&] { return clients_.size() == 1; }));
}

TEST_F(PumpTest, WhatThePeerDoesEndsThePlayer) {
    publish();
    gop(2);
    Peer& closes = join();
    Peer& says_goodbye = join();
    Peer& talks_nonsense = join();
    Peer& leaves_waiting = join();
    says_goodbye.say("x");
    talks_nonsense.say("!");
    closes.close();
    leaves_waiting.close();
    ASSERT_TRUE(eventually([&] { return clients_.size() == 0; }));
    EXPECT_EQ(closes.told->reason, EndReason::kPeerClosed);
    EXPECT_EQ(says_goodbye.told->reason, EndReason::kPeerClosed);
    EXPECT_EQ(talks_nonsense.told->reason, EndReason::kProtocolError);
    EXPECT_TRUE(eventually([&] { return fanout_.pumps() == 0; }))
        << "the last one takes its pump along";
}

TEST_F(PumpTest, APeerThatAsksAndNeverReadsIsEnded) {
    use_small_buffers();
    publish();
    gop(300, 5000);
    Peer& peer = join();
    const std::string many(2000, 'q');
    for (int i = 0; i < 20 && !peer.told->ended; i++) {
        peer.say(many);
        io::yield();
    }
    ASSERT_TRUE(eventually([&] { return peer.told->ended; }));
    EXPECT_EQ(peer.told->reason, EndReason::kProtocolError);
}

TEST_F(PumpTest, AConnectionThatTalksOnIsGivenBack) {
    publish();
    gop(2);
    for (const char* word : {"c", "C"}) {  // without and with an answer before
        Peer& peer = join();
        ASSERT_TRUE(peer.read_to(number_));
        peer.say(word);
        ASSERT_TRUE(eventually([&] { return peer.told->released != nullptr || peer.told->ended; }));
        EXPECT_FALSE(peer.told->ended) << word;
        ASSERT_TRUE(peer.told->released) << word;
        EXPECT_FALSE(peer.told->released->write_all(record(kAnswer, 77), io::soon()));
        ASSERT_TRUE(peer.read_until(
            [&] { return !peer.items.empty() && peer.items.back() == Item{kAnswer, 77}; }));
        EXPECT_EQ(peer.count(kAnswer), std::string_view(word) == "C" ? 2U : 1U);
        peer.told->released.reset();
        peer.told->released_client.reset();
    }
}

TEST_F(PumpTest, AThousandPlayersComeAndGoAndNothingIsLeft) {
    publish();
    gop(2);
    const uint64_t registered = io::runtime_stats().registered;
    for (int i = 0; i < 1000; i++) {
        join(i % 2 == 0);
    }
    EXPECT_EQ(fanout_.players(*registry_.find(key_)), 1000U);
    gop(2);
    for (auto& peer : peers_) {
        ASSERT_TRUE(peer->read_to(number_));
        peer->expect_in_order();
    }
    peers_.clear();
    ASSERT_TRUE(eventually([&] { return clients_.size() == 0 && fanout_.pumps() == 0; }));
    EXPECT_EQ(io::runtime_stats().registered, registered);
    EXPECT_EQ(stream::LogBlock::live_blocks(), blocks_before_);
    EXPECT_FALSE(stream_->has_sinks());
}

TEST_F(PumpTest, StoppingEndsPlayersInEveryState) {
    use_small_buffers();
    publish();
    gop(1);
    Peer& flowing = join();
    Peer& paused = join();
    Peer& blocked = join(true);
    ASSERT_TRUE(paused.read_to(number_));
    paused.say("p");
    for (int i = 0; i < 300; i++) {
        frame(false, 3000);
        flowing.read();
        io::yield();
    }
    key_.name = "nobody publishes this";
    Peer& waiting = join();
    key_.name = "a";
    const MonoTime began = MonoClock::now();
    fanout_.stop(io::soon());
    EXPECT_LT(MonoClock::now() - began, Seconds(2));
    EXPECT_EQ(fanout_.pumps(), 0U);
    for (Peer* peer : {&flowing, &paused, &blocked, &waiting}) {
        EXPECT_TRUE(peer->told->ended);
        EXPECT_EQ(peer->told->reason, EndReason::kServerStopping);
    }
    Peer& late = join();
    EXPECT_TRUE(late.read_to_end()) << "who comes now is refused";
}

}  // namespace
}  // namespace weir::net
