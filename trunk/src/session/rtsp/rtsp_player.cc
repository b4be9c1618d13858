#include "session/rtsp/rtsp_player.h"

#include <utility>

#include "io/tcp.h"
#include "net/client.h"
#include "session/rtsp/rtsp_lead_in.h"
#include "stream/stream.h"

namespace weir::session {
namespace {

using net::EndReason;
using net::PlayerVerdict;

void append(const rtsp::Response& answer, Bytes& out) {
    const std::string text = rtsp::write(answer);
    out.insert(out.end(), text.begin(), text.end());
}

}  // namespace

RtspPlayer::RtspPlayer(RtspSession session,
                       const rtsp::Request& play,
                       rtsp::ConnectionReader reader,
                       Bytes unread,
                       const RtspResume& resume)
    : session_(std::move(session)),
      reader_(std::move(reader)),
      play_cseq_(play.cseq),
      unread_(std::move(unread)),
      wants_lead_in_(wants_rtsp_lead_in(play)),
      resume_(resume) {
    reader_.release_message();
}

void RtspPlayer::answer_play(int status, const RtspMuxer* muxer, bool lead_in, Bytes& out) {
    rtsp::Request play;
    play.cseq = std::exchange(play_cseq_, std::nullopt);
    rtsp::Response answer = answer_to(play, status);
    if (muxer != nullptr) {
        answer.headers.add("Session", session_.field());
        answer.headers.add("Range", "npt=now-");
        answer.headers.add("RTP-Info", session_.rtp_info(muxer->numbers(), nullptr, lead_in));
    }
    append(answer, out);
}

// The pump's muxer is of our format.
bool RtspPlayer::fits(const stream::Muxer& muxer) const {
    return session_.fits(static_cast<const RtspMuxer&>(muxer).terms());
}

void RtspPlayer::on_start(const stream::Stream&, const stream::Muxer& muxer, bool, Bytes& out) {
    // The pump's muxer is of our format.
    muxer_ = static_cast<const RtspMuxer*>(&muxer);
    front_answers_ = play_cseq_.has_value();
    if (front_answers_) {
        begin_play(out);
    }
}

// The answer to PLAY, and what comes in front of the log.
void RtspPlayer::begin_play(Bytes& out) {
    const auto& video = session_.channels[net::kRtpVideoTrack];
    const Bytes lead_in = video && wants_lead_in_ ? muxer_->lead_in() : Bytes();
    answer_play(200, muxer_, !lead_in.empty(), out);
    muxer_->write_reports(MonoClock::now(), out);
    if (!lead_in.empty()) {
        append_rtsp_frame(video->rtp, lead_in, out);
    }
}

PlayerVerdict RtspPlayer::on_data(ByteSpan data, Bytes& out) {
    if (!play_cseq_) {
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
    return PlayerVerdict::kGoOn;
}

// Requests, and receiver reports between them.
PlayerVerdict RtspPlayer::hear(ByteSpan data, Bytes& out) {
    using Status = rtsp::ConnectionReader::Status;
    PlayerVerdict verdict = PlayerVerdict::kGoOn;
    for (;;) {
        switch (reader_.next(data)) {
            case Status::kNeedMore: return verdict;
            case Status::kFrame:
            case Status::kResponse: break;
            case Status::kRequest:
                verdict = obey(reader_.request(), verdict, out);
                if (verdict == PlayerVerdict::kConversation || verdict == PlayerVerdict::kResume) {
                    unread_.assign(data.begin(), data.end());
                    return verdict;
                }
                break;
            case Status::kHttp: return PlayerVerdict::kError;
            case Status::kError:
                if (reader_.error().status != 0) {
                    rtsp::Request broken;
                    broken.cseq = reader_.error().cseq;
                    append(answer_to(broken, reader_.error().status), out);
                }
                return PlayerVerdict::kError;
        }
    }
}

// `before`: what the pump is to be told of the requests in front of this one.
PlayerVerdict RtspPlayer::obey(const rtsp::Request& request, PlayerVerdict before, Bytes& out) {
    const RtspHeard heard = hear_in_session(request, session_, paused_);
    switch (heard.wish) {
        case RtspWish::kNothing: append(heard.answer, out); return before;
        case RtspWish::kPlay:
            paused_ = false;
            if (before == PlayerVerdict::kPause) {  // came with the PAUSE: it has not stopped yet
                append(heard.answer, out);
                return PlayerVerdict::kGoOn;
            }
            play_cseq_ = request.cseq;
            return PlayerVerdict::kResume;
        case RtspWish::kPause:
            append(heard.answer, out);
            paused_ = true;
            return PlayerVerdict::kPause;
        case RtspWish::kTeardown: append(heard.answer, out); return PlayerVerdict::kConversation;
    }
    return before;
}

void RtspPlayer::on_end(EndReason reason, bool started, Bytes& out) {
    if (play_cseq_) {
        answer_play(reason == EndReason::kNoPublisher ? 404 : 503, nullptr, false, out);
    } else if (started && muxer_ != nullptr &&
               (reason == EndReason::kPublisherGone || reason == EndReason::kCodecsChanged ||
                reason == EndReason::kServerStopping)) {
        muxer_->write_byes(out);
    }
}

void RtspPlayer::on_released(std::unique_ptr<PlayerProtocol>,
                             std::unique_ptr<io::TcpStream> stream,
                             std::unique_ptr<net::Client> client) {
    resume_(std::move(reader_), std::move(unread_), std::move(stream), std::move(client));
}

}  // namespace weir::session
