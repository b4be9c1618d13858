#include "net/turn_reader.h"

#include "io/coroutine.h"
#include "io/deadline.h"

namespace weir::net {

std::array<uint8_t, TurnReader::kReadBytes>& TurnReader::buffer() {
    static std::array<uint8_t, kReadBytes> buffer;
    return buffer;
}

Error TurnReader::explain_end(const io::IoResult& read) {
    return read.status == io::IoStatus::kClosed
               ? make_error(ErrorCode::kClosed, "closed by the peer")
               : Error::from_errno(read.error_number, "read");
}

Error TurnReader::run() {
    if (stream_.readable()) {  // others have their turn now and then
        WEIR_TRY(stream_.wait_readable(io::Deadline::at(callbacks_.deadline())));
    }
    over_ = false;
    stream_.set_handler(this);
    read();  // the edge for what is there already is past
    Error why;
    while (!over_ && !why) {
        until_ = callbacks_.deadline();
        Error waited =
            signal_.wait_until(io::Deadline::at(until_), "bytes of the peer", stream_.fd());
        if (waited.code() == ErrorCode::kInterrupted) {
            why = std::move(waited);
            break;
        }
        if (!over_ &&
            MonoClock::now() >= callbacks_.deadline()) {  // which moves on with what comes
            read(true);  // the process may have stood still, and not the peer
        }
        if (!over_ && MonoClock::now() >= callbacks_.deadline()) {
            why = make_error(ErrorCode::kTimeout, "the peer was silent");
        }
    }
    stream_.set_handler(nullptr);
    WEIR_TRY(std::move(why));
    return std::move(failed_);
}

void TurnReader::on_ready(uint8_t) {
    io::set_log_id(client_.id());  // of the reactor's coroutine
    read();
    io::set_log_id({});
}

// Never yields. `look`: also without an edge. One read: more than the buffer holds is for the
// coroutine, which waits for its turn.
void TurnReader::read(bool look) {
    if (over_ || !(look || stream_.readable())) {
        return;
    }
    const io::IoResult got = stream_.try_read(buffer());
    if (got.status == io::IoStatus::kWouldBlock) {
        return;
    }
    if (got.status == io::IoStatus::kDone) {
        client_.received_bytes += got.bytes;
        over_ = callbacks_.take({buffer().data(), got.bytes}) || stream_.readable();
    } else {
        failed_ = explain_end(got);
        over_ = true;
    }
    if (over_ || callbacks_.deadline() < until_) {
        signal_.notify_one();
    }
}

}  // namespace weir::net
