#include "net/player.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/check.h"
#include "io/tcp.h"
#include "net/client.h"
#include "net/file_writes.h"
#include "net/pump.h"
#include "net/pump_stats.h"
#include "stream/stream.h"

namespace weir::net {
namespace {

constexpr size_t kMaxParts = 16;  // log blocks in one write
constexpr size_t kReadBytes =
    16 * 1024;  // shared by all players: what peers of a playing connection say is small
constexpr size_t kMaxReadBytes = 1 << 20;  // more than this at once is no player

std::array<uint8_t, kReadBytes>& read_buffer() {
    static std::array<uint8_t, kReadBytes> buffer;
    return buffer;
}

}  // namespace

Player::Player(Pump& pump,
               std::unique_ptr<io::TcpStream> stream,
               std::unique_ptr<PlayerProtocol> protocol,
               std::unique_ptr<Client> client)
    : pump_(pump),
      stream_(std::move(stream)),
      protocol_(std::move(protocol)),
      client_(std::move(client)),
      framing_(protocol_->make_framing()),
      joined_(MonoClock::now()) {
    stream_->set_handler(this);
    client_->kick = [this] { pump_.end(*this, EndReason::kKicked); };
    client_->probe = this;
}

Player::~Player() = default;

static const char* name_of(Player::State state) {
    switch (state) {
        case Player::State::kWaiting: return "waiting";
        case Player::State::kFlowing: return "flowing";
        case Player::State::kBlocked: return "blocked";
        case Player::State::kPaused: return "paused";
        case Player::State::kEnded: return "ended";
    }
    return "ended";
}

std::optional<LagFacts> Player::lag_facts() const {
    LagFacts facts{name_of(state_), 0, 0};
    if (placed_) {
        const stream::WireLog& log = pump_.muxer_->log();
        facts.bytes = log.bytes_behind(cursor_);
        facts.lag_ms = *facts.bytes > 0 ? log.ms_behind(cursor_) : 0;
    }
    return facts;
}

Player::Outbox& Player::outbox() {
    if (!outbox_) {
        outbox_ = std::make_unique<Outbox>();
    }
    return *outbox_;
}

void Player::place(const stream::Stream& stream, const stream::Muxer& muxer) {
    cursor_ = muxer.log().start();
    placed_ = true;
    Outbox& box = outbox();
    box.at = cursor_.position();
    const size_t begin = box.bytes.size();
    if (const std::optional<Millis> duration = protocol_->duration(); duration && !started_) {
        const stream::WireLog& log = muxer.log();
        end_ms_ = log.head_time_ms() - log.ms_behind(cursor_) + duration->count();
    }
    protocol_->on_start(stream, muxer, !started_, box.bytes);
    // The first front holds more than the front: never replaced.
    box.front_begin = started_ && !protocol_->front_answers() ? begin : SIZE_MAX;
    started_ = true;
    if (box.bytes.empty()) {
        outbox_.reset();  // a format without configurations has nothing to say before the log
    }
}

void Player::close_frame(const stream::WireLog& log, Bytes& out) {
    if (const uint64_t open = open_frame_bytes(); open > 0) {
        log.copy_until(cursor_, cursor_.position() + open, out);
        stream::WireLog::advance(cursor_, open);
        framing_->take(open);
    }
}

void Player::close_entry(const stream::WireLog& log) {
    Bytes rest;
    close_frame(log, rest);
    const uint64_t boundary = log.next_boundary(cursor_);
    if (const uint64_t open = boundary - cursor_.position(); open > 0) {
        if (framing_) {
            std::array<uint8_t, Framing::kMaxHeader> header;
            const size_t size = framing_->write_header(open, header.data());
            rest.insert(rest.end(), header.data(), header.data() + size);
        }
        log.copy_until(cursor_, boundary, rest);
        stream::WireLog::advance(cursor_, open);
    }
    if (rest.empty()) {
        return;
    }
    Outbox& box = outbox();
    // A private piece that has begun (a cut frame header) goes before the rest; one that waits for
    // the boundary, behind it.
    const bool begun = box.cut_header;
    box.bytes.insert(begun ? box.bytes.end() : box.bytes.begin(), rest.begin(), rest.end());
    box.at = cursor_.position();
    box.front_begin = SIZE_MAX;
}

void Player::unplace() {
    cursor_ = {};
    placed_ = false;
}

void Player::resync(const stream::Stream& stream, const stream::Muxer& muxer) {
    const stream::WireLog& log = muxer.log();
    client_->resyncs++;
    if (outbox_ && outbox_->front_begin != SIZE_MAX && outbox_->sent <= outbox_->front_begin) {
        // Nothing of the last front has gone out: the new one replaces it.
        outbox_->bytes.resize(outbox_->front_begin);
    } else {
        close_entry(log);
    }
    // From the start on it is sent everything.
    const uint64_t goes_on = log.has_start() ? log.start().position() : log.head();
    if (goes_on > cursor_.position()) {
        const uint64_t bytes = goes_on - cursor_.position();
        const uint64_t frames = log.entries_until(cursor_, goes_on);
        client_->dropped_bytes += bytes;
        client_->dropped_frames += frames;
        pump_.stats().dropped_bytes += bytes;
        pump_.stats().dropped_frames += frames;
    }
    unplace();
    if (log.has_start()) {
        place(stream, muxer);
    }
}

bool Player::say(const stream::WireLog& log, ByteSpan out) {
    if (out.empty()) {
        return true;
    }
    Outbox& box = outbox();
    if (box.answer_bytes + out.size() > kMaxPrivateBytes) {
        return false;
    }
    box.answer_bytes += out.size();
    if (box.bytes.empty()) {
        box.at = placed_ ? log.next_boundary(cursor_) : 0;
        if (const uint64_t open = open_frame_bytes(); open > 0) {
            box.at = cursor_.position() + open;
        }
    }
    if (box.cut_header && open_frame_bytes() > 0) {
        // Behind the rest of a header comes its payload, before anything else.
        close_frame(log, box.bytes);
        box.at = cursor_.position();
    }
    box.bytes.insert(box.bytes.end(), out.begin(), out.end());
    box.front_begin = SIZE_MAX;
    return true;
}

bool Player::say(ByteSpan bytes) {
    if (state_ == State::kEnded) {
        return false;
    }
    if (!say(pump_.log(), bytes)) {
        pump_.end(*this, EndReason::kWriteStalled);
        return false;
    }
    if (state_ != State::kBlocked) {
        pump_.write_to(*this, MonoClock::now());
    }
    return state_ != State::kEnded;
}

void Player::release() {
    if (state_ != State::kEnded) {
        pump_.release(*this);
    }
}

void Player::leave(EndReason reason, std::string_view detail) {
    pump_.end(*this, reason, detail);
}

std::optional<size_t> Player::bytes_to_end(const stream::WireLog& log) const {
    const std::optional<uint64_t> end = log.first_at(cursor_, end_ms_);
    if (!end) {
        return SIZE_MAX;
    }
    const uint64_t left = *end - cursor_.position();
    return left > 0 || open_frame_bytes() > 0 || outbox_ ? std::optional(static_cast<size_t>(left))
                                                         : std::nullopt;
}

Player::Flush Player::flush(const stream::WireLog& log) {
    std::array<iovec, kMaxParts + 2> parts;
    std::array<uint8_t, Framing::kMaxHeader> header;
    size_t count = 0;
    size_t private_bytes = 0;
    size_t limit = kMaxWriteBytes;
    if (placed_ && end_ms_ != kNoEnd) {
        const std::optional<size_t> left = bytes_to_end(log);
        if (!left && completed_) {
            pump_.complete(*this);
            return Flush::kEnded;
        }
        if (!left) {
            completed_ = true;
            protocol_->on_complete(outbox().bytes);
            outbox_->at = cursor_.position();
        }
        limit = std::min(limit, left.value_or(0));
    }
    if (outbox_) {
        if (!placed_ || outbox_->at == cursor_.position()) {
            private_bytes = outbox_->bytes.size() - outbox_->sent;
            parts[count++] = {outbox_->bytes.data() + outbox_->sent, private_bytes};
        } else {
            limit = std::min<size_t>(limit, outbox_->at - cursor_.position());
        }
    }
    size_t log_bytes = 0;
    size_t header_bytes = 0;
    if (placed_) {
        const uint64_t open = open_frame_bytes();
        if (open > 0) {
            limit = std::min<size_t>(limit, open);
        }
        const size_t header_part = framing_ && open == 0 ? 1 : 0;  // its size is known below
        size_t log_parts = 0;
        log_bytes = log.gather(cursor_, std::span(parts).subspan(count + header_part, kMaxParts),
                               limit, log_parts);
        if (header_part > 0 && log_bytes > 0) {
            header_bytes = framing_->write_header(log_bytes, header.data());
            parts[count++] = {header.data(), header_bytes};
        }
        count += log_parts;
    }
    size_t total = private_bytes + header_bytes + log_bytes;
    if (total == 0) {
        return Flush::kCaughtUp;
    }
    const io::IoResult result = write(std::span(parts).first(count), log_bytes, total);
    PumpStats& stats = pump_.stats();
    stats.writes++;
    if (result.status == io::IoStatus::kWouldBlock) {
        stats.would_block++;
        return Flush::kBlocked;
    }
    if (result.status != io::IoStatus::kDone) {
        end_broken(result);
        return Flush::kEnded;
    }
    stats.written_bytes += result.bytes;
    client_->sent_bytes += result.bytes;
    pump_.stream_.note_sent(result.bytes);
    note_written(result.bytes, private_bytes, ByteSpan(header.data(), header_bytes), log_bytes);
    if (result.bytes < total) {
        return Flush::kBlocked;
    }
    return outbox_ || (placed_ && log.bytes_behind(cursor_) > 0) ? Flush::kMore : Flush::kCaughtUp;
}

io::IoResult Player::write(std::span<const iovec> parts, size_t log_bytes, size_t& total) {
    FileWrites& files = pump_.file_writes();
    const bool may = total == log_bytes && total >= FileWrites::kLeast && !stream_->encrypted();
    if (!may || !files.on()) {
        return stream_->try_writev(parts);
    }
    stream::LogBlock& block = *cursor_.block;
    const std::optional<uint64_t> place = block.file_offset();
    const size_t piece = parts[0].iov_len;
    if (!place) {
        pump_.note_large_write();
    } else if (piece >= FileWrites::kLeast) {
        block.note_sent();
        const io::IoResult sent =
            stream_->try_send_file(MemoryFile::instance().file(), *place + cursor_.offset, piece);
        if (sent.status != io::IoStatus::kFailed || !files.refuse(sent.error_number)) {
            pump_.stats().file_writes++;
            total = piece;
            return sent;
        }
    } else if (log_bytes - piece >= FileWrites::kLeast) {
        total = piece;  // and then the rest, which lies in the next block
        return stream_->try_writev(parts.first(1));
    }
    return stream_->try_writev(parts);
}

void Player::note_written(size_t written, size_t private_bytes, ByteSpan header, size_t log_bytes) {
    if (private_bytes > 0) {
        const size_t part = std::min(written, private_bytes);
        outbox_->sent += part;
        written -= part;
        if (outbox_->sent == outbox_->bytes.size()) {
            outbox_.reset();
        }
    }
    if (written == 0) {
        return;
    }
    if (!header.empty()) {
        framing_->open(log_bytes);
        const size_t part = std::min(written, header.size());
        written -= part;
        if (part < header.size()) {
            // The cut header goes out before the frame's bytes.
            Outbox& box = outbox();
            box.bytes.assign(header.begin() + static_cast<std::ptrdiff_t>(part), header.end());
            box.at = cursor_.position();
            box.cut_header = true;
            return;
        }
    }
    if (client_->first_frame_ms < 0) {
        client_->first_frame_ms = static_cast<int32_t>(
            std::chrono::duration_cast<Millis>(MonoClock::now() - joined_).count());
    }
    stream::WireLog::advance(cursor_, written);
    if (framing_) {
        framing_->take(written);
    }
}

// What a read or a write says, whichever comes first after the end of the connection.
void Player::end_broken(const io::IoResult& result) {
    if (result.status == io::IoStatus::kClosed) {
        pump_.end(*this, EndReason::kPeerClosed);
    } else if (result.error_number == ETIMEDOUT) {
        pump_.end(*this, EndReason::kWriteStalled);  // by the kernel: see Pump::limit_stall
    } else {
        const Error failed = Error::from_errno(result.error_number, "socket error");
        pump_.end(*this, EndReason::kSystemError, failed.message());
    }
}

bool Player::read_peer() {
    size_t total = 0;
    for (;;) {
        const io::IoResult result = stream_->try_read(read_buffer());
        if (result.status == io::IoStatus::kWouldBlock) {
            return true;
        }
        if (result.status != io::IoStatus::kDone) {
            end_broken(result);
            return false;
        }
        client_->received_bytes += result.bytes;
        total += result.bytes;
        if (total > kMaxReadBytes) {
            pump_.end(*this, EndReason::kProtocolError);
            return false;
        }
        if (!hear(ByteSpan(read_buffer().data(), result.bytes))) {
            return false;
        }
    }
}

bool Player::hear(ByteSpan data) {
    Bytes answer;
    const PlayerVerdict verdict = protocol_->on_data(data, answer);
    if (!say(pump_.log(), answer)) {
        pump_.end(*this, EndReason::kProtocolError);
        return false;
    }
    switch (verdict) {
        case PlayerVerdict::kGoOn: return true;
        case PlayerVerdict::kPause: pump_.pause(*this); return true;
        case PlayerVerdict::kResume: pump_.resume(*this); return true;
        case PlayerVerdict::kClose: pump_.end(*this, EndReason::kPeerClosed); return false;
        case PlayerVerdict::kError: pump_.end(*this, EndReason::kProtocolError); return false;
        case PlayerVerdict::kConversation: pump_.release(*this); return false;
    }
    return true;
}

void Player::on_ready(uint8_t ready) {
    if (state_ == State::kEnded) {
        return;
    }
    if ((ready & (io::kReadable | io::kHangup | io::kFault)) != 0 && !read_peer()) {
        return;
    }
    if (state_ == State::kBlocked ? (ready & io::kWritable) != 0 : outbox_ != nullptr) {
        pump_.write_to(*this, MonoClock::now());
    }
}

void PlayerList::prefetch_behind(const Player& player) {
    constexpr size_t kLine = 64;
    const Player* next = player.next_;
    if (!next) {
        return;
    }
    __builtin_prefetch(next->stream_.get());
    __builtin_prefetch(next->client_.get());
    if (next->next_) {
        const auto* begin = reinterpret_cast<const uint8_t*>(next->next_);
        for (size_t at = 0; at < sizeof(Player); at += kLine) {
            __builtin_prefetch(begin + at);
        }
    }
}

void PlayerList::push_back(Player& player) {
    player.previous_ = last_;
    player.next_ = nullptr;
    (last_ ? last_->next_ : first_) = &player;
    last_ = &player;
    size_++;
}

void PlayerList::remove(Player& player) {
    (player.previous_ ? player.previous_->next_ : first_) = player.next_;
    (player.next_ ? player.next_->previous_ : last_) = player.previous_;
    player.previous_ = player.next_ = nullptr;
    size_--;
}

}  // namespace weir::net
