// A wire format for tests of the pump, in which whatever is torn or out of order shows: its muxer,
// the protocol of a player, and the other end of a player's connection.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "io/deadline.h"
#include "io/tcp.h"
#include "net/client.h"
#include "net/player_protocol.h"
#include "stream/muxer.h"
#include "stream/stream.h"

#include "test/support/io/loopback.h"

namespace weir::net {

// The format of these tests. On the wire everything is a record: length 4 | letter 1 | rest. Media:
// "K" or "M", then the frame's number 4 and filling. A player's own: "F" front with the number of
// the frame it stands before, "A" answer.
inline constexpr char kKey = 'K';
inline constexpr char kMedia = 'M';
inline constexpr char kFront = 'F';
inline constexpr char kAnswer = 'A';
inline constexpr char kEnd = 'E';
inline constexpr char kComplete = 'C';

inline Bytes record(char letter, uint32_t number, size_t filling = 0) {
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
inline constexpr std::string_view kFrameMagic = "frame header";  // 12, and 4 of length

inline Bytes framed(const Bytes& payload) {
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
        log().begin_entry(packet->time_ms(), start != nullptr, rides(*packet, start));
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
    std::optional<Millis> duration;  // what the player asked for
    int starts = 0;
    int waits = 0;
    bool ended = false;
    bool ended_started = false;
    EndReason reason = EndReason::kSystemError;
    std::unique_ptr<io::TcpStream> released;
    std::unique_ptr<Client> released_client;
};

class RecordFraming final : public Framing {
  public:
    size_t write_header(uint64_t payload, uint8_t* out) override {
        std::copy(kFrameMagic.begin(), kFrameMagic.end(), out);
        store_u32(out + kFrameMagic.size(), static_cast<uint32_t>(payload));
        return kFrameMagic.size() + 4;
    }
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

    void on_wait(Bytes&) override {
        EXPECT_EQ(told_->starts, 0);
        told_->waits++;
    }

    std::optional<Millis> duration() const override { return told_->duration; }

    void on_complete(Bytes& out) override { say(record(kComplete, 0), out); }

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

    std::unique_ptr<Framing> make_framing() override {
        return in_frames_ ? std::make_unique<RecordFraming>() : nullptr;
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

}  // namespace weir::net
