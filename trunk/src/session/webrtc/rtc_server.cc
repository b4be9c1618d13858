#include "session/webrtc/rtc_server.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "io/deadline.h"
#include "net/fanout.h"
#include "net/placement.h"
#include "net/play_rules.h"
#include "net/source/wait.h"
#include "proto/sdp/ice_fragment.h"
#include "stream/registry.h"

namespace weir::session {
namespace {

constexpr size_t kSessionIdLength = 24;  // nobody guesses 36^24
constexpr Millis kCodecWait{3'000};      // for a stream that has just begun
constexpr Millis kCodecPoll{50};
constexpr Millis kTracksSettled{
    2'000};  // of a stream's life: a track that has not shown up is none

std::string random_digits() {
    uint64_t value = 0;
    std::array<uint8_t, 8> bytes;
    system_random().fill(bytes);
    for (uint8_t byte : bytes) {
        value = value << 8U | byte;
    }
    return std::to_string(value >> 1U);  // RFC 8866 §5.2 wants it to fit 63 bits
}

// Held while a player's offer is answered; the session holds it from then on.
class PumpHold {
  public:
    explicit PumpHold(RtcPump& pump) : pump_(pump) { pump_.hold(); }

    ~PumpHold() { pump_.release(); }

    PumpHold(const PumpHold&) = delete;
    PumpHold& operator=(const PumpHold&) = delete;

  private:
    RtcPump& pump_;
};

// Tracks begin apart: a publisher's picture may come a key frame request after its sound. Who wants
// no picture, as in a call, does not wait for it.
bool knows_codecs(const stream::Stream& stream,
                  const RtcLogWriter& muxer,
                  bool wants_video,
                  MonoTime now) {
    const bool video = muxer.track(kRtpVideoTrack).codec.codec != media::Codec::kUnknown;
    const bool audio = muxer.track(kRtpAudioTrack).codec.codec != media::Codec::kUnknown;
    if (!muxer.refusal().empty() || ((video || !wants_video) && audio)) {
        return true;
    }
    return now - stream.live_since() > kTracksSettled && (video || !stream.has_video()) &&
           (audio || !stream.has_audio()) && (video || audio);
}

// The number of the layer that a viewer names; a stream without simulcast has but one.
Result<std::optional<uint8_t>> layer_of(const stream::Stream& stream, std::string_view name) {
    const std::vector<media::Layer>& layers = stream.description().layers;
    if (name.empty() || name == "auto" || layers.empty()) {
        return std::optional<uint8_t>();
    }
    std::string names;
    for (size_t i = 0; i < layers.size(); i++) {
        if (layers[i].name == name) {
            return std::optional(static_cast<uint8_t>(i));
        }
        names += ", " + layers[i].name;
    }
    return make_error(ErrorCode::kUnsupported, "no such layer; this stream has: auto{}", names);
}

sdp::SendTrack send_track(const net::RtpTrack& track) {
    sdp::SendTrack send;
    if (track.codec.codec != media::Codec::kUnknown) {
        send.codecs.push_back(track.codec);
        send.ssrc = random_u32(system_random()) | 1U;
        send.rtx_ssrc = random_u32(system_random()) | 1U;
    }
    return send;
}

// RFC 8839 §4.4.1.1.1: other credentials than before.
bool asks_for_restart(const RtcSession& session, const sdp::IceFragment& fragment) {
    return !fragment.ice_ufrag.empty() && fragment.ice_ufrag != session.remote_ufrag();
}

}  // namespace

RtcServer::RtcServer(const net::Services& services, RtcServerOptions options)
    : services_(services), options_(std::move(options)), transport_(services_, options_, stats_) {
    const auto unix_us =
        std::chrono::duration_cast<Micros>(std::chrono::system_clock::now().time_since_epoch());
    unix_epoch_ = MonoClock::now() - unix_us;
}

Error RtcServer::start(io::WorkerPool* workers) {
    workers_ = workers;
    return transport_.start();
}

Error RtcServer::stop(io::Deadline deadline) {
    stopping_ = true;
    return transport_.stop(deadline);
}

void RtcServer::log_trouble(const net::Client& client,
                            std::string_view what,
                            std::string_view detail) {
    log::throttled(trouble_, log::Level::kWarn, "{} client={} ip={}: {}", what, client.id(),
                   client.ip(), detail);
}

// ---- sessions ----

Error RtcServer::room() const {
    if (draining_) {
        return make_error(ErrorCode::kInterrupted,
                          "the server is about to end and takes no new sessions");
    }
    if (stopping_ || !serving()) {
        return make_error(ErrorCode::kUnsupported,
                          "WebRTC is off here: rtc_server {{ enabled on; }} turns it on");
    }
    if (is_full()) {
        return make_error(ErrorCode::kLimit, "{} WebRTC sessions are open, the limit", sessions());
    }
    return {};
}

// OpenSSL and a certificate take 4.5 MB and some milliseconds: with the first offer, so that a
// server that does nothing by WebRTC has them not.
Error RtcServer::make_identity() {
    if (!identity_) {
        WEIR_TRY_ASSIGN(identity_, dtls::Identity::create());
    }
    return {};
}

sdp::LocalTransport RtcServer::local_transport(const ice::Credentials& credentials,
                                               const NetAddress& reached_at) const {
    sdp::LocalTransport local;
    local.ice_ufrag = credentials.ufrag_text();
    local.ice_pwd = credentials.password_text();
    const auto& sha256 = identity_->fingerprint().sha256;
    local.fingerprint = {"sha-256", {sha256.begin(), sha256.end()}};
    for (const ice::Candidate& candidate : transport_.candidates(reached_at)) {
        constexpr std::string_view kPrefix = "candidate:";
        local.candidates.push_back(candidate.to_text().substr(kPrefix.size()));
    }
    local.session_id = random_digits();
    local.cname = "weir";
    return local;
}

RtcAnswer RtcServer::add(RtcSessionSetup setup) {
    setup.id = random_id(system_random(), kSessionIdLength);
    if (services_.placement != nullptr) {
        setup.id = fmt::format("{}-{}", services_.placement->own(), setup.id);
    }
    setup.remote_fingerprint.sha256 = setup.answer.remote.fingerprint_sha256;
    setup.number = transport_.make_number();
    RtcAnswer answer;
    answer.session_id = setup.id;
    answer.sdp = std::exchange(setup.answer.text, {});
    auto session = std::make_unique<RtcSession>(*this, std::move(setup), MonoClock::now());
    answer.etag = etag_of(*session);
    transport_.add(std::move(session));
    stats_.sessions_made++;
    return answer;
}

Error RtcServer::may_begin(std::string_view offer) {
    if (Error none = room()) {
        stats_.sessions_refused++;
        return none;
    }
    WEIR_TRY_ASSIGN(const sdp::Session parsed, sdp::Session::parse(offer));
    return make_identity();
}

Result<net::Limits::AddressPlace> RtcServer::enter_unproven(const io::SocketAddress& peer) {
    // Loopback too: an offer is proven within moments, so a proxy needs few.
    return services_.limits.enter(
        net::Share::kOffers, peer,
        {.of_one = options_.max_unproven_per_address, .spared = AddressReach::kNone});
}

Error RtcServer::is_free(const stream::StreamKey& key, stream::PublishConflict conflict) const {
    const stream::Stream* stream = services_.registry.find(key);
    return stream != nullptr ? stream->may_publish(conflict) : Error();
}

Result<RtcAnswer> RtcServer::publish(std::string_view offer,
                                     const stream::StreamKey& key,
                                     const net::PublishRules& rules,
                                     RtcGuest guest) {
    if (Error none = room()) {
        stats_.sessions_refused++;
        return none;
    }
    WEIR_TRY_ASSIGN(const sdp::Session parsed, sdp::Session::parse(offer));
    WEIR_TRY(make_identity());
    WEIR_TRY(is_free(key, rules.conflict));
    RtcSessionSetup setup;
    setup.credentials = transport_.make_credentials();
    sdp::PublisherOptions options;
    options.simulcast_layers = kMaxLayers;
    WEIR_TRY_ASSIGN(setup.answer,
                    sdp::answer_publisher(
                        parsed, local_transport(setup.credentials, guest.reached_at), options));
    setup.publish_rules = rules;
    setup.client = std::move(guest.client);
    setup.unproven = std::move(guest.unproven);
    return add(std::move(setup));
}

Result<RtcPump*> RtcServer::pump_for(const stream::StreamKey& key, const net::PlayRules& rules) {
    WEIR_TRY_ASSIGN(
        net::StreamPump* const pump,
        services_.fanout.pump_for(key, rules.stream, RtcPump::kKind, [&](stream::Stream& stream) {
            return std::make_unique<RtcPump>(
                stream, net::RtpPumpOptions{rules.pump.wait_publisher, "webrtc"}, workers_,
                options_.opus_bits_per_second);
        }));
    return static_cast<RtcPump*>(pump);  // what is kept under that kind
}

Result<RtcAnswer> RtcServer::play(std::string_view offer,
                                  const stream::StreamKey& key,
                                  const net::PlayRules& rules,
                                  RtcGuest guest,
                                  std::string_view layer) {
    if (Error none = room()) {
        stats_.sessions_refused++;
        return none;
    }
    WEIR_TRY_ASSIGN(const sdp::Session parsed, sdp::Session::parse(offer));
    WEIR_TRY(make_identity());
    const stream::Stream* stream = services_.registry.find(key);
    const bool comes = !stream || !stream->live();  // if at all, by a source
    if (comes && !services_.registry.want(key)) {
        return make_error(ErrorCode::kNotFound, "no such stream: nobody publishes it");
    }
    WEIR_TRY_ASSIGN(RtcPump* const pump, pump_for(key, rules));
    const PumpHold hold(*pump);
    const RtcLogWriter& muxer = pump->writer();
    io::Deadline deadline = io::Deadline::after(comes ? net::kSourceWait : kCodecWait);
    while (comes && !pump->stream().live()) {
        WEIR_TRY(io::sleep_for(kCodecPoll));
        if (pump->stream().live()) {
            deadline = io::Deadline::after(kCodecWait);
        } else if (deadline.passed() || !services_.registry.want(key)) {
            return make_error(ErrorCode::kNotFound, "no such stream: its source does not bring it");
        }
    }
    const bool wants_video = std::ranges::any_of(
        parsed.media, [](const sdp::Media& each) { return each.kind == "video"; });
    while (!knows_codecs(pump->stream(), muxer, wants_video, MonoClock::now()) &&
           !deadline.passed()) {
        WEIR_TRY(io::sleep_for(kCodecPoll));
    }
    if (Error none = room()) {
        stats_.sessions_refused++;
        return none;
    }
    if (!muxer.refusal().empty()) {
        return make_error(ErrorCode::kUnsupported, "{} cannot be played by WebRTC: {}",
                          key.to_string(), muxer.refusal());
    }
    sdp::PlayerOptions options;
    options.audio = send_track(muxer.track(kRtpAudioTrack));
    options.video = send_track(muxer.track(kRtpVideoTrack));
    if (options.audio.codecs.empty() && options.video.codecs.empty()) {
        return make_error(ErrorCode::kUnsupported,
                          "{} has nothing that WebRTC carries: H.264, HEVC, VP8, VP9, AV1, Opus, "
                          "G.711",
                          key.to_string());
    }
    RtcSessionSetup setup;
    WEIR_TRY_ASSIGN(setup.layer, layer_of(pump->stream(), layer));
    setup.credentials = transport_.make_credentials();
    WEIR_TRY_ASSIGN(
        setup.answer,
        sdp::answer_player(parsed, local_transport(setup.credentials, guest.reached_at), options));
    setup.pump = pump;
    setup.client = std::move(guest.client);
    setup.unproven = std::move(guest.unproven);
    return add(std::move(setup));
}

std::string RtcServer::etag_of(const RtcSession& session) {
    return fmt::format("\"{}\"", session.agent().credentials().ufrag_text());
}

bool RtcServer::is_restart(const RtcSession& session, std::string_view text) {
    const Result<sdp::IceFragment> fragment = sdp::IceFragment::parse(text);
    return fragment.ok() && asks_for_restart(session, *fragment);
}

Result<std::string> RtcServer::patch(RtcSession& session, std::string_view text) {
    WEIR_TRY_ASSIGN(const sdp::IceFragment fragment, sdp::IceFragment::parse(text));
    if (!asks_for_restart(session, fragment)) {
        return std::string();  // candidates: a lite agent sends to none of them
    }
    session.restart_ice(MonoClock::now(), transport_.make_credentials(),
                        {fragment.ice_ufrag, fragment.ice_pwd});
    transport_.rebind(session);
    return sdp::answer_restart(fragment, local_transport(session.agent().credentials(), {}))
        .write();
}

std::string_view RtcServer::refusal(const stream::Stream& stream) const {
    net::StreamPump* const pump = services_.fanout.find(stream, RtcPump::kKind);
    return pump == nullptr ? std::string_view() : static_cast<RtcPump*>(pump)->writer().refusal();
}

}  // namespace weir::session
