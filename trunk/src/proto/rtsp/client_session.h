// The client's side of an RTSP connection (RFC 2326): plays one stream, or publishes one. For pull
// sources, forwards, the load client and tests. Sans-IO; it holds little, since the load client has
// thousands of them.
//
// Driven so: play() or publish(), then send take_output() and give what the socket brings to next()
// until it says kNeedMore; send again. handle_timeout() at next_timeout() keeps the session alive.
// How long an answer may take is the owner's business.
//
//     play:     OPTIONS  DESCRIBE -> kDescribed, set_up()  SETUP...  PLAY -> kStarted
//     publish:  OPTIONS  ANNOUNCE                          SETUP...  RECORD -> kStarted
//
// Each track has transports in the order in which they are offered; a server that refuses one
// (461) is offered the next. Tolerances, because cameras need them: answers without CSeq, Session
// or Transport; channels other than those that were asked for; a play of which one track cannot be
// set up goes on without it.
//
// Peers: http
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "proto/http/login.h"
#include "proto/rtsp/connection_reader.h"
#include "proto/rtsp/header_values.h"
#include "proto/rtsp/message.h"
#include "proto/rtsp/transport.h"
#include "proto/rtsp/url.h"

namespace weir::rtsp {

inline constexpr uint8_t kMaxRedirects = 5;
inline constexpr size_t kMaxClientTracks = 16;
inline constexpr size_t kMaxClientOutput = 256 * 1024;  // that the owner has not sent

struct ClientOptions {
    Url url;  // the login, too
    std::string user_agent;
    // Whether a server that asks for Basic gets the password, which everybody on the way can then
    // read where there is no TLS.
    bool allow_basic = false;
    std::string range = {};  // of the first PLAY (RFC 2326 §12.29); empty: from the start
};

// What the client asks for.
struct ClientTrack {
    std::string control;            // as the description has it
    std::vector<Transport> offers;  // in this order; `record` is set here
};

enum class ClientEvent : uint8_t {
    kNeedMore,    // all of the input was taken
    kDescribed,   // play: description(); call set_up()
    kStarted,     // media flows: after play(), publish() and resume()
    kPaused,      // after pause()
    kFrame,       // frame(): of media, or its RTCP; channel_use() says whose
    kRedirected,  // close the connection, make one to url(), and send what there is to send
    kEnded,       // the server has ended the session
    kError,       // take_error(); it stays there
};

class ClientSession {
  public:
    // `random` must outlive this.
    ClientSession(ClientOptions options, RandomSource& random);

    // ---- begin: one of them, once ----

    void play();

    // `description`: SDP whose tracks have these controls.
    void publish(std::string description, std::vector<ClientTrack> tracks);

    // ---- bytes ----

    // Takes from the front of `input` up to the next event.
    ClientEvent next(MonoTime now, ByteSpan& input);

    bool has_output() const { return !output_.empty(); }

    std::string take_output() { return std::exchange(output_, {}); }

    // ---- after kDescribed ----

    // SDP, as it came. Until set_up().
    std::string_view description() const { return description_; }

    // At most kMaxClientTracks, each with an offer. `session_control`: a=control of the session
    // level.
    void set_up(std::vector<ClientTrack> tracks, std::string_view session_control);

    // ---- after kStarted ----

    // To PLAY or RECORD; its RTP-Info has the numbers of the first packets. Until the next call of
    // next().
    const Response& answer() const { return answer_; }

    // An interleaved frame: RTCP of a player, or media of a publisher.
    void send_frame(uint8_t channel, ByteSpan payload);

    // False: a request is under way.
    bool pause();
    bool resume();

    // Keeps the session alive (RFC 2326 §A.1 and common use): GET_PARAMETER where the server has
    // it, else OPTIONS, twice in the time after which it would be gone.
    void handle_timeout(MonoTime now);

    std::optional<MonoTime> next_timeout() const { return keep_alive_at_; }

    // ---- at any time ----

    // TEARDOWN, where there is something to tear down. Nobody has to wait for the answer.
    void teardown();

    // After kFrame.
    const FrameView& frame() const { return reader_.frame(); }

    struct ChannelUse {
        uint8_t track = 0;  // index of set_up() or publish()
        bool rtcp = false;
    };

    // nullopt: no track has this channel.
    std::optional<ChannelUse> channel_use(uint8_t channel) const;

    // What was agreed for a track; nullopt: it is not set up.
    const std::optional<Transport>& transport(size_t track) const { return agreed_[track]; }

    size_t tracks() const { return agreed_.size(); }

    // Where the connection goes.
    const Url& url() const { return options_.url; }

    // All tracks are: PLAY or RECORD is under way, or was answered.
    bool is_set_up() const { return state_ >= State::kStart && state_ < State::kEnded; }

    bool started() const { return state_ == State::kStarted; }

    std::chrono::seconds session_timeout() const { return timeout_; }

    // Once. kDenied: login, 403; kNotFound; kBusy: too much load; kUnsupported: no transport is
    // agreed on, a method is missing; kMalformed, kLimit: broken bytes. Never with the login.
    Error take_error() { return std::move(error_); }

  private:
    enum class State : uint8_t {
        kIdle,
        kOptions,
        kDescribe,
        kDescribed,  // the owner's turn
        kAnnounce,
        kSetup,
        kStart,  // PLAY or RECORD
        kStarted,
        kPause,
        kPaused,
        kEnded,
    };

    void begin();
    void ask(State state, Request request);
    void send(Request& request);
    void ask_next();
    void ask_set_up();
    void ask_start();
    void send_keep_alive(MonoTime now);
    void plan_keep_alive(MonoTime now);

    // What comes. nullopt: nothing that the owner has to know.
    std::optional<ClientEvent> on_response(MonoTime now);
    std::optional<ClientEvent> on_request();
    std::optional<ClientEvent> on_answer(MonoTime now, Response& response);
    std::optional<ClientEvent> on_refusal(const Response& response);
    std::optional<ClientEvent> on_keep_alive(MonoTime now, const Response& response);
    std::optional<ClientEvent> on_challenge(const Response& response);
    std::optional<ClientEvent> on_set_up(const Response& response);
    std::optional<ClientEvent> leave_track_out(Error why);
    ClientEvent on_redirect(const Response& response);
    bool agree(const Response& response);
    Error refusal(const Response& response) const;
    ClientEvent fail(Error error);

    ClientOptions options_;
    RandomSource& random_;
    http::Login login_;
    ConnectionReader reader_;
    std::string output_;
    State state_ = State::kIdle;
    bool publishes_ = false;
    bool got_parameter_ = false;  // GET_PARAMETER is supported, as far as is known
    bool ranged_ = false;         // the PLAY under way has a Range
    uint8_t redirects_ = 0;
    uint32_t cseq_ = 0;
    std::optional<Request> pending_;  // waits for its answer; its CSeq is in it
    std::optional<uint32_t> keep_alive_cseq_;
    bool keep_alive_again_ = false;  // it was sent again after a challenge
    std::string session_;
    std::chrono::seconds timeout_ = kDefaultSessionTimeout;
    std::optional<MonoTime> keep_alive_at_;
    std::string base_;  // of the tracks' addresses
    std::string description_;
    std::string content_base_;  // of the answer to DESCRIBE, up to set_up()
    std::string content_location_;
    Response answer_;
    bool answer_given_ = false;
    std::vector<ClientTrack> wanted_;  // until all are set up
    std::vector<std::optional<Transport>> agreed_;
    size_t track_ = 0;  // that is being set up
    size_t offer_ = 0;  // of those of each track
    Error error_;
    bool failed_ = false;
};

}  // namespace weir::rtsp
