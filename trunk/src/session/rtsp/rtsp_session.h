// An RTSP session (RFC 2326 §3.4): what a client has set up, and the answers to requests within it
// that need nothing else. Plain values and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "proto/rtsp/message.h"
#include "session/rtsp/rtsp_muxer.h"
#include "session/rtsp/rtsp_profile.h"
#include "session/rtsp/rtsp_srtp.h"

namespace weir::session {

// A session whose client is silent for so long has ended, where no connection tells it.
inline constexpr Seconds kRtspSessionTimeout{60};

struct RtspSession {
    std::string id;
    Seconds timeout = kRtspSessionTimeout;
    std::string url;                               // of the whole: for RTP-Info, without a query
    RtspChannels channels;                         // where media goes through the connection
    std::array<bool, RtspNumbers::kTracks> has{};  // that are set up
    RtspTerms terms{};                             // that the client was told

    // The value of a Session field.
    std::string field() const;

    // Whether the request is of this session: it names it, or none.
    bool is_named_by(const rtsp::Request& request) const;

    // Whether a stream is still what the client was told of it.
    bool fits(const RtspTerms& now) const;

    // The value of RTP-Info where a player begins at the start of that log.
    // `srtp`: with whose sequence numbers; null: with those of the log. `lead_in`: the first packet
    // of the video is a lead-in.
    std::string rtp_info(const RtspNumbers& numbers,
                         const RtspSrtpSender* srtp = nullptr,
                         bool lead_in = false) const;
};

// All methods that are spoken here, for Public and Allow.
extern const rtsp::MethodSet kRtspMethods;

// An answer with CSeq and Server.
rtsp::Response answer_to(const rtsp::Request& request, int status);

// What a client wants of a session that plays.
enum class RtspWish : uint8_t {
    kNothing,  // the answer is all
    kPlay,     // from a pause: answered by whoever knows where it goes on
    kPause,
    kTeardown,
};

// A request within a session that plays or is paused, and its answer; with kPlay there is none yet.
struct RtspHeard {
    RtspWish wish = RtspWish::kNothing;
    rtsp::Response answer;
};

RtspHeard hear_in_session(const rtsp::Request& request, const RtspSession& session, bool paused);

}  // namespace weir::session
