#include "bench/load/player.h"

#include <cstring>

#include <fmt/format.h>

namespace weir::load {
namespace {

// A server that sends faster than we read must not keep the other players waiting.
constexpr int kReadsPerTurn = 16;

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
        io::IoResult result = stream_->try_read(buffer_);
        if (result.status == io::IoStatus::kWouldBlock) {
            return;
        }
        if (result.status != io::IoStatus::kDone) {
            fail(client_->stream_ended() ? "the server ended the stream"
                 : result.error_number != 0
                     ? fmt::format("connection lost: {}", std::strerror(result.error_number))
                     : "closed by the server");
            return;
        }
        if (!client_->feed(ByteSpan(buffer_).first(result.bytes), now_ns())) {
            fail(client_->failure());
            return;
        }
        started_ = started_ || client_->started();
        if (!has_media_ && check_.has_media()) {
            has_media_ = true;
            listener_.player_got_media();
        }
        if (!client_->output().empty() && !flush()) {
            return;
        }
    }
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
