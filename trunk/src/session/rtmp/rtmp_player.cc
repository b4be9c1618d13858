#include "session/rtmp/rtmp_player.h"

#include <utility>

#include "io/tcp.h"
#include "net/client.h"
#include "proto/rtmp/command.h"
#include "session/rtmp/rtmp_muxer.h"
#include "stream/stream.h"

namespace weir::session {

using net::EndReason;
using net::PlayerVerdict;

RtmpPlayer::RtmpPlayer(rtmp::ServerSession session,
                       uint32_t stream_id,
                       int64_t duration_ms,
                       Bytes unread,
                       std::unique_ptr<RtmpConnectFacts> facts,
                       const RtmpResume& resume)
    : session_(std::move(session)),
      stream_id_(stream_id),
      duration_ms_(duration_ms),
      unread_(std::move(unread)),
      facts_(std::move(facts)),
      resume_(resume) {
    session_.shrink();
}

void RtmpPlayer::on_start(const stream::Stream&,
                          const stream::Muxer& muxer,
                          bool first,
                          Bytes& out) {
    if (first) {
        session_.accept_play(stream_id_);
        session_.append_output(out);
        answered_ = true;
    }
    // The pump's muxer is of our format.
    static_cast<const RtmpMuxer&>(muxer).front(stream_id_, out);
}

void RtmpPlayer::on_wait(Bytes& out) {
    session_.notify_waiting(stream_id_);
    session_.append_output(out);
}

std::optional<Millis> RtmpPlayer::duration() const {
    return duration_ms_ < 0 ? std::nullopt : std::optional(Millis(duration_ms_));
}

void RtmpPlayer::on_complete(Bytes& out) {
    session_.complete_play(stream_id_);
    session_.append_output(out);
}

PlayerVerdict RtmpPlayer::on_data(ByteSpan data, Bytes& out) {
    if (answered_) {
        if (unread_.empty()) {
            return hear(data, out);
        }
        Bytes all = std::exchange(unread_, {});
        all.insert(all.end(), data.begin(), data.end());
        return hear(all, out);
    }
    if (unread_.size() + data.size() > kMaxUnread) {
        return PlayerVerdict::kError;
    }
    unread_.insert(unread_.end(), data.begin(), data.end());
    session_.append_output(out);  // answers to what came before the play
    return PlayerVerdict::kGoOn;
}

PlayerVerdict RtmpPlayer::hear(ByteSpan data, Bytes& out) {
    PlayerVerdict verdict = PlayerVerdict::kGoOn;
    while (!data.empty() && !session_.failed() && verdict != PlayerVerdict::kConversation &&
           verdict != PlayerVerdict::kClose) {
        data = data.subspan(session_.feed(data));
        rtmp::Event event;
        while (session_.next_event(event)) {
            const PlayerVerdict next = handle(event);
            verdict = next == PlayerVerdict::kGoOn ? verdict : next;
        }
    }
    session_.append_output(out);
    if (session_.failed() || (verdict == PlayerVerdict::kConversation && !data.empty())) {
        unread_.assign(data.begin(), data.end());
        return session_.failed() ? PlayerVerdict::kError : verdict;
    }
    return verdict;
}

PlayerVerdict RtmpPlayer::handle(rtmp::Event& event) {
    switch (event.kind) {
        case rtmp::EventKind::kPause:
            session_.answer_pause(event.stream_id, event.pause().on);
            return event.pause().on ? PlayerVerdict::kPause : PlayerVerdict::kResume;
        case rtmp::EventKind::kSeek:
            session_.refuse_seek(event.stream_id);
            return PlayerVerdict::kGoOn;
        case rtmp::EventKind::kPlay:
            session_.reject(event.stream_id, rtmp::status::kPlayFailed,
                            "One stream can be played on a connection.");
            return PlayerVerdict::kGoOn;
        case rtmp::EventKind::kPublish:
            session_.reject(event.stream_id, rtmp::status::kPublishDenied,
                            "This connection plays; publish on another one.");
            return PlayerVerdict::kGoOn;
        case rtmp::EventKind::kStop: return PlayerVerdict::kConversation;
        case rtmp::EventKind::kClosed: return PlayerVerdict::kClose;
        default: return PlayerVerdict::kGoOn;
    }
}

void RtmpPlayer::on_end(EndReason reason, bool started, Bytes& out) {
    if (!started && reason == EndReason::kNoPublisher) {
        session_.reject(stream_id_, rtmp::status::kPlayStreamNotFound,
                        "No such stream: nobody publishes it.");
    } else if (started &&
               (reason == EndReason::kPublisherGone || reason == EndReason::kServerStopping)) {
        session_.notify_unpublish(stream_id_);
    }
    session_.append_output(out);
}

void RtmpPlayer::on_released(std::unique_ptr<PlayerProtocol>,
                             std::unique_ptr<io::TcpStream> stream,
                             std::unique_ptr<net::Client> client) {
    resume_(std::move(session_), std::move(unread_), std::move(facts_), std::move(stream),
            std::move(client));
}

}  // namespace weir::session
