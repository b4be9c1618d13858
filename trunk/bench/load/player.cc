#include "bench/load/player.h"

#include <cstring>

#include <fmt/format.h>

namespace weir::load {
namespace {

// A server that sends faster than we read must not keep the other players waiting.
constexpr int kReadsPerTurn = 16;

// A join is measured to its end before a player rests.
constexpr uint64_t kJoinNs = 1'000'000'000;

// More than this in a turn of 100 ms could fill the socket's receive buffer, and the server would
// wait for us.
constexpr size_t kMaxTurnBytes = 32 * 1024;

}  // namespace

void Player::attach(std::unique_ptr<io::TcpStream> stream, std::unique_ptr<PlayClient> client) {
    stream_ = std::move(stream);
    client_ = std::move(client);
    stream_->set_handler(this);
    if (flush()) {
        read();
    }
}

void Player::on_ready(uint8_t) {
    if (!client_->output().empty() && !flush()) {
        return;
    }
    read();
}

void Player::read() {
    for (int i = 0; stream_ != nullptr && stream_->readable(); i++) {
        if (i == kReadsPerTurn) {
            listener_.player_has_more(*this);
            return;
        }
        size_t bytes = 0;
        if (!read_once(bytes)) {
            return;
        }
    }
}

// False: nothing is there, or the player is closed.
bool Player::read_once(size_t& bytes) {
    io::IoResult result = stream_->try_read(buffer_);
    if (result.status == io::IoStatus::kWouldBlock) {
        return false;
    }
    if (result.status != io::IoStatus::kDone) {
        fail(client_->stream_ended() ? "the server ended the stream"
             : result.error_number != 0
                 ? fmt::format("connection lost: {}", std::strerror(result.error_number))
                 : "closed by the server");
        return false;
    }
    bytes = result.bytes;
    if (!client_->feed(ByteSpan(buffer_).first(bytes), now_ns())) {
        fail(client_->failure());
        return false;
    }
    if (client_->stream_ended()) {  // the connection may well stay
        fail("the server ended the stream");
        return false;
    }
    started_ = started_ || client_->started();
    if (!has_media_ && check_.has_media()) {
        has_media_ = true;
        listener_.player_got_media();
    }
    return client_->output().empty() || flush();
}

bool Player::may_rest(uint64_t now_ns) const {
    return stream_ != nullptr && check_.has_key() && !restless_ &&
           now_ns > check_.joined_ns() + kJoinNs;
}

void Player::rest() {
    stream_->unwatch();
    check_.set_timed(false);
}

bool Player::read_turn() {
    if (stream_ == nullptr || (!client_->output().empty() && !flush())) {
        return false;
    }
    size_t total = 0;
    size_t bytes = buffer_.size();
    while (bytes == buffer_.size() && total <= kMaxTurnBytes && read_once(bytes)) {
        total += bytes;
    }
    if (stream_ == nullptr) {
        return false;
    }
    if (total <= kMaxTurnBytes) {
        return true;
    }
    restless_ = true;
    check_.set_timed(true);
    if (Error error = stream_->watch()) {
        fail(std::string(error.message()));
    }
    return false;
}

bool Player::flush() {
    Bytes& output = client_->output();
    while (!output.empty()) {
        io::IoResult result = stream_->try_write(output);
        if (result.status == io::IoStatus::kWouldBlock) {
            return true;
        }
        if (result.status != io::IoStatus::kDone) {
            fail(fmt::format("connection lost: {}", result.error_number != 0
                                                        ? std::strerror(result.error_number)
                                                        : "closed"));
            return false;
        }
        if (result.bytes == output.size()) {
            output = Bytes();  // thousands of players: keep no memory for what is rare
        } else {
            output.erase(output.begin(),
                         output.begin() + static_cast<std::ptrdiff_t>(result.bytes));
        }
    }
    return true;
}

void Player::fail(const std::string& why) {
    std::string reason = why;  // it may belong to what is destroyed here
    close();
    listener_.player_broke(*this, reason);
}

void Player::close() {
    if (stream_ != nullptr) {
        check_.finish(now_ns());
        stream_.reset();
    }
}

}  // namespace weir::load
