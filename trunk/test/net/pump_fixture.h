// A stream, its pump and players on loopback, for tests of the pump.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/socket.h>

#include <gtest/gtest.h>

#include "base/log.h"
#include "io/runtime.h"
#include "net/client.h"
#include "net/client_table.h"
#include "net/fanout.h"
#include "net/play_rules.h"
#include "stream/publisher.h"
#include "stream/registry.h"
#include "stream/stream.h"
#include "stream/stream_key.h"
#include "stream/stream_options.h"

#include "test/net/record_peer.h"
#include "test/support/io/loopback.h"
#include "test/support/io/tls_pair.h"
#include "test/support/media_packets.h"

namespace weir::net {

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
                                      test::opaque_frame(key, ++number_, size + 4)),
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
        joined_fd_ = (*far)->fd();
        if (encrypted_) {
            io::LoopbackPair pair{std::move(*near), std::move(*far)};
            io::encrypt(pair);
            near = std::move(pair.client);
            far = std::move(pair.server);
        }
        auto told = std::make_shared<Told>();
        told->duration = duration_;
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

    // From now on connections take a whole stream of 80 frames of 5000 bytes, which is more than a
    // peer that reads nothing has room for.
    void use_thin_stream() {
        use_small_buffers();
        rules_.socket.send_buffer_bytes = 0;
        publish();
    }

    Peer& join_thin_stream() {
        use_thin_stream();
        gop(80, 5000);
        return join();
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
    std::optional<Millis> duration_;  // of who joins
    int joined_fd_ = -1;              // our end of who joined last
    bool small_buffers_ = false;
    bool encrypted_ = false;  // those who join
};

}  // namespace weir::net
