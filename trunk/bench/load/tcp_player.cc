#include "bench/load/tcp_player.h"

#include <cstring>

#include <fmt/format.h>

#include "io/deadline.h"

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

Error TcpPlayer::connect(const io::SocketAddress* from, io::Deadline deadline) {
    WEIR_TRY_ASSIGN(connection_, io::TcpStream::connect(target_.address, deadline, from));
    if (target_.tls) {
        WEIR_TRY(io::tls_connect(*connection_, *target_.tls, target_.host, deadline));
    }
    client_ = target_.make(stream_, check());
    connection_->set_handler(this);
    if (flush()) {
        read();
    }
    return {};
}

void TcpPlayer::on_ready(uint8_t) {
    if (!client_->output().empty() && !flush()) {
        return;
    }
    read();
}

void TcpPlayer::read() {
    for (int i = 0; connection_ != nullptr && connection_->readable(); i++) {
        if (i == kReadsPerTurn) {
            listener().player_has_more(*this);
            return;
        }
        size_t bytes = 0;
        if (!read_once(bytes)) {
            return;
        }
    }
}

// False: nothing is there, or the player is closed.
bool TcpPlayer::read_once(size_t& bytes) {
    io::IoResult result = connection_->try_read(buffer_);
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
    note_media();
    if (const uint64_t due = client_->due_ns(); due != due_ns_) {
        due_ns_ = due;
        if (due != 0) {
            listener().player_waits(*this, due);
        }
    }
    return client_->output().empty() || flush();
}

void TcpPlayer::wake() {
    if (connection_ != nullptr) {
        client_->wake(now_ns());
        if (!client_->output().empty()) {
            (void)flush();
        }
    }
}

bool TcpPlayer::may_rest(uint64_t now_ns) const {
    return connection_ != nullptr && check().has_key() && !restless_ && client_->may_rest() &&
           now_ns > check().joined_ns() + kJoinNs;
}

void TcpPlayer::rest() {
    connection_->unwatch();
    check().set_timed(false);
}

bool TcpPlayer::read_turn() {
    if (connection_ == nullptr || (!client_->output().empty() && !flush())) {
        return false;
    }
    size_t total = 0;
    size_t bytes = buffer_.size();
    while (bytes == buffer_.size() && total <= kMaxTurnBytes && read_once(bytes)) {
        total += bytes;
    }
    if (connection_ == nullptr) {
        return false;
    }
    if (total <= kMaxTurnBytes) {
        return true;
    }
    restless_ = true;
    check().set_timed(true);
    if (Error error = connection_->watch()) {
        fail(std::string(error.message()));
    }
    return false;
}

bool TcpPlayer::flush() {
    Bytes& output = client_->output();
    while (!output.empty()) {
        io::IoResult result = connection_->try_write(output);
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

void TcpPlayer::settle() {
    if (client_) {
        client_->settle();
    }
}

void TcpPlayer::close() {
    if (connection_ != nullptr) {
        settle();
        check().finish(now_ns());
        if (client_) {
            client_->leave();
            (void)connection_->try_write(client_->output());
        }
        connection_.reset();
    }
}

}  // namespace weir::load
