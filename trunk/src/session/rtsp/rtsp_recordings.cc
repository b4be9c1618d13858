// Recordings that a connection plays: found, described, and played from the connection's own
// coroutine, with PAUSE and Range.
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "net/turn_reader.h"
#include "session/rtsp/rtsp_connection.h"
#include "session/rtsp/rtsp_server.h"

namespace weir::session {

// Yields.
Result<bool> RtspConnection::find_recording(const rtsp::Request& request, RtspTarget& target) {
    net::VodLibrary* const library = server_.services().recordings();
    const auto path = net::vod_path(target.path);
    recording_.reset();
    if (!path || library == nullptr || !library->serves()) {
        return true;
    }
    // The addresses of tracks say nothing of the span of time that was described.
    if (request.method != rtsp::Method::kDescribe && plays_recording_ &&
        target.path == target_.path && target.query.empty()) {
        target.query = target_.query;
        target.vhost = target_.vhost;
    }
    auto found = library->find(server_.services().policy, target.vhost, *path, target.query);
    if (!found.ok()) {
        if (session_.id.empty()) {
            target_ = target;
        }
        server_.admission().log_refused(net::HookAction::kPlay, newcomer(), found.error());
        WEIR_TRY(refuse(request, found.error().code() == ErrorCode::kMalformed ? 400 : 404,
                        found.error().message()));
        return false;
    }
    recording_ = std::move(*found);
    target.key = recording_->key();
    return true;
}

// Yields. It is open only for that: who has not been let in to play holds no place of a playback.
Result<bool> RtspConnection::look_at_recording(const rtsp::Request& request) {
    auto opened = server_.services().recordings()->open(std::move(recording_), stream_->peer());
    if (!opened.ok()) {
        Error why = opened.take_error();
        if (why.code() == ErrorCode::kInterrupted) {
            return why;
        }
        const int status = why.code() == ErrorCode::kFull ? 453 : 404;
        WEIR_TRY(refuse(request, status, why.message()));
        return false;
    }
    const RtspTracks tracks(**opened, target_.path);
    opened->reset();
    described_ = tracks.any() ? tracks.describe(stream_->local().host()) : std::string();
    for (uint8_t index = 0; index < has_track_.size(); index++) {
        has_track_[index] = tracks.has(index);
    }
    terms_ = tracks.terms();
    if (described_.empty()) {
        WEIR_TRY(refuse(request, 415, "the recording has nothing that RTSP carries"));
        return false;
    }
    return true;
}

// Yields.
Error RtspConnection::play_recording(const rtsp::Request& request,
                                     const std::optional<rtsp::Range>& range) {
    if (range && range->unit != rtsp::Range::Unit::kNpt) {
        return refuse(request, 457, "a recording is played by npt, as in npt=10-20");
    }
    if (!vod_) {
        WEIR_TRY(begin_recording(request));
    }
    if (vod_ && !vod_->play(request, range)) {
        return refuse(request, 457, "the recording has no such time");
    }
    return {};
}

// Yields. By the rules for playing its stream. It may be refused: then nothing plays.
Error RtspConnection::begin_recording(const rtsp::Request& request) {
    const MonoTime asked_at = MonoClock::now();
    Result<net::AdmittedPlayer> admitted = server_.admission().play(newcomer());
    phase_since_ += MonoClock::now() - asked_at;
    if (!admitted.ok()) {
        return refuse_access(request, false, admitted.take_error());
    }
    auto opened = server_.services().recordings()->open(std::move(recording_), stream_->peer());
    if (!opened.ok()) {
        Error why = opened.take_error();
        admitted->ticket.end(*client_, net::EndClass::kRefused, why.message());
        return refuse_access(request, false, std::move(why));
    }
    client_->turn_ticket = std::move(admitted->ticket);
    client_->hold(std::move(admitted->place));
    net::begin_turn(*client_, net::ClientRole::kPlayer, target_.key,
                    fmt::format(" recording={}", log::token(target_.path)));
    stream_->apply(admitted->rules.socket);
    vod_ = std::make_unique<RtspVod>(session_, std::move(udp_), *stream_, *client_,
                                     std::move(*opened), admitted->rules.pump.write_stall);
    return {};
}

// Yields.
Error RtspConnection::handle_pause(const rtsp::Request& request) {
    if (!vod_) {
        return refuse(request, 455, "nothing plays");
    }
    vod_->pause();
    rtsp::Response out = answer_to(request, 200);
    out.headers.add("Session", session_.field());
    return send(out);
}

// Yields.
Error RtspConnection::stop_recording() {
    if (!vod_) {
        return {};
    }
    const Bytes unsent = vod_->take_unsent();
    vod_.reset();
    client_->stop_playing();
    client_->turn_ticket.end(*client_, net::EndClass::kPeerClosed, "stopped by the client");
    return send_bytes(unsent);
}

// Yields. Sends what is due of the recording, until the peer says something.
Result<RtspConnection::Next> RtspConnection::hear_beside_recording() {
    Error ended = vod_->run();
    io::IoResult got;
    if (!ended) {
        got = stream_->try_read(net::TurnReader::buffer());
        if (got.status == io::IoStatus::kWouldBlock) {
            return Next::kGoOn;
        }
        if (got.status != io::IoStatus::kDone) {
            ended = net::VodPlayer::explain_end(got);
        }
    }
    if (ended.code() == ErrorCode::kTimeout && ended_by_.empty()) {
        ended_why_ = net::EndClass::kStalled;
        ended_by_ = ended.message();
    }
    WEIR_TRY(std::move(ended));
    client_->received_bytes += got.bytes;
    return hear({net::TurnReader::buffer().data(), got.bytes});
}

}  // namespace weir::session
