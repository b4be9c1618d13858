#include "session/rtsp/rtsp_session.h"

#include <vector>

#include "proto/rtsp/header_values.h"
#include "session/rtsp/rtsp_profile.h"

namespace weir::session {

using rtsp::Method;

const rtsp::MethodSet kRtspMethods = {
    Method::kOptions,      Method::kDescribe,    Method::kSetup,  Method::kPlay,
    Method::kPause,        Method::kAnnounce,    Method::kRecord, Method::kTeardown,
    Method::kGetParameter, Method::kSetParameter};

std::string RtspSession::field() const {
    return rtsp::write(rtsp::SessionField{id, timeout});
}

bool RtspSession::is_named_by(const rtsp::Request& request) const {
    const auto value = request.headers.get("Session");
    if (!value) {
        return true;
    }
    const auto named = rtsp::parse_session(*value);
    return named && !id.empty() && named->id == id;
}

bool RtspSession::fits(const RtspTerms& now) const {
    RtspTerms told = terms;
    for (size_t track = 0; track < told.size(); track++) {
        told[track] = has[track] ? told[track] : 0;
    }
    return still_holds(told, now);
}

std::string RtspSession::rtp_info(const RtspNumbers& numbers,
                                  const RtspSrtpSender* srtp,
                                  bool lead_in) const {
    std::vector<rtsp::RtpInfo> infos;
    for (const uint8_t track : {net::kRtpVideoTrack, net::kRtpAudioTrack}) {
        if (has[track]) {
            RtspNumbers::First first = numbers.first(track);
            if (lead_in && track == net::kRtpVideoTrack) {
                first.sequence--;  // the time is that of what is played (RFC 2326 §12.33)
            }
            infos.push_back({url + "/" + std::string(control_of(track)),
                             srtp != nullptr ? srtp->first_sequence(track) : first.sequence,
                             first.rtp_time});
        }
    }
    return rtsp::write(infos);
}

rtsp::Response answer_to(const rtsp::Request& request, int status) {
    rtsp::Response answer;
    answer.status = status;
    answer.cseq = request.cseq;
    answer.headers.add("Server", "weir");
    if (status == 405 || status == 455 || status == 501) {
        answer.headers.add("Allow", kRtspMethods.write());
    }
    return answer;
}

RtspHeard hear_in_session(const rtsp::Request& request, const RtspSession& session, bool paused) {
    if (!request.cseq) {
        return {RtspWish::kNothing, answer_to(request, 400)};
    }
    if (!session.is_named_by(request)) {
        return {RtspWish::kNothing, answer_to(request, 454)};
    }
    RtspHeard heard{RtspWish::kNothing, answer_to(request, 200)};
    heard.answer.headers.add("Session", session.field());
    switch (request.method) {
        case Method::kOptions: heard.answer.headers.add("Public", kRtspMethods.write()); break;
        case Method::kGetParameter:
        case Method::kSetParameter:
        case Method::kRecord:
        case Method::kAnnounce:
        case Method::kDescribe:
        case Method::kSetup:
            if (request.method != Method::kGetParameter) {
                // SET_PARAMETER of nothing keeps the session alive; there are no parameters.
                const bool alive = request.method == Method::kSetParameter && request.body.empty();
                if (!alive) {
                    heard.answer =
                        answer_to(request, request.method == Method::kSetParameter ? 451 : 455);
                }
            }
            break;
        case Method::kPlay:
            if (paused) {
                heard.wish = RtspWish::kPlay;
            }
            break;
        case Method::kPause: heard.wish = RtspWish::kPause; break;
        case Method::kTeardown: heard.wish = RtspWish::kTeardown; break;
        default: heard.answer = answer_to(request, 501); break;
    }
    return heard;
}

}  // namespace weir::session
