#include "bench/load/srt_player.h"

#include "io/deadline.h"

namespace weir::load {

std::unique_ptr<Player> SrtPlayerFactory::make(PlayerListener& listener,
                                               RunTotals& totals,
                                               uint32_t stream) {
    return std::make_unique<SrtPlayer>(listener, totals, stream, *this);
}

SrtPlayer::~SrtPlayer() {
    close();
}

Error SrtPlayer::connect(const io::SocketAddress*, io::Deadline deadline) {
    WEIR_TRY(factory_.engine_.start());
    ended_ = false;
    check().joined(now_ns());
    id_ = factory_.engine_.connect(factory_.target_.server, factory_.target_.calls[stream_], *this);
    while (!open_ && !ended_) {
        if (Error failed = changed_.wait_until(deadline)) {
            factory_.engine_.close(std::exchange(id_, 0));
            return failed;
        }
    }
    return open_ ? Error() : make_error(ErrorCode::kDenied, "{}", why_);
}

void SrtPlayer::on_srt_connected(bool) {
    open_ = true;
    changed_.notify_all();
}

void SrtPlayer::on_srt_data(ByteSpan data) {
    if (!open_) {
        return;
    }
    check().received(data.size(), now_ns());
    if (!scanner_.feed(data, check())) {
        fail(scanner_.error());
    } else if (scanner_.faults() != 0) {
        fail("packets of the transport stream are missing or broken");
    } else {
        note_media();
    }
}

void SrtPlayer::on_srt_end(Error why) {
    id_ = 0;
    ended_ = true;
    why_ = why.message();
    changed_.notify_all();
    if (open_) {
        fail(why_);
    }
}

void SrtPlayer::close() {
    if (id_ != 0) {
        factory_.engine_.close(std::exchange(id_, 0));
    }
    if (open_) {
        open_ = false;
        check().finish(now_ns());
    }
}

}  // namespace weir::load
