#include "session/webrtc/rtc_server.h"

#include <algorithm>
#include <chrono>

#include <net/if.h>

#include <ifaddrs.h>

#include "base/check.h"
#include "base/log.h"
#include "base/random.h"
#include "proto/sdp/ice_fragment.h"
#include "proto/stun/message.h"
#include "session/webrtc/rtc_tcp.h"

namespace weir::session {
namespace {

constexpr size_t kSessionIdLength = 24;  // nobody guesses 36^24
constexpr Millis kCodecWait{3'000};      // for a stream that has just begun
constexpr Millis kCodecPoll{50};
constexpr Millis kTracksSettled{
    2'000};  // of a stream's life: a track that has not shown up is none
constexpr size_t kTimersPerSlice = 64;

// The addresses of this machine, loopback last and only when there is nothing else.
std::vector<NetAddress> interface_addresses() {
    std::vector<NetAddress> found;
    std::vector<NetAddress> loopback;
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) {
        return found;
    }
    for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
        if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_UP) == 0) {
            continue;
        }
        const NetAddress address = NetAddress::from_sockaddr(*at->ifa_addr);
        if (address.empty() || address.is_link_local()) {
            continue;
        }
        (address.is_loopback() ? loopback : found).push_back(address.with_port(0));
    }
    freeifaddrs(list);
    return found.empty() ? loopback : found;
}

uint32_t random_ssrc() {
    std::array<uint8_t, 4> bytes;
    system_random().fill(bytes);
    const uint32_t value = static_cast<uint32_t>(bytes[0]) << 24U |
                           static_cast<uint32_t>(bytes[1]) << 16U |
                           static_cast<uint32_t>(bytes[2]) << 8U | bytes[3];
    return value == 0 ? 1 : value;
}

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

// Tracks begin apart: a publisher's picture may come a key frame request after its sound.
bool knows_codecs(const stream::Stream& stream, const RtcLogWriter& muxer, MonoTime now) {
    const bool video = muxer.track(kRtpVideoTrack).codec.codec != media::Codec::kUnknown;
    const bool audio = muxer.track(kRtpAudioTrack).codec.codec != media::Codec::kUnknown;
    if (!muxer.refusal().empty() || (video && audio)) {
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
        send.ssrc = random_ssrc();
        send.rtx_ssrc = random_ssrc();
    }
    return send;
}

}  // namespace

RtcServer::RtcServer(const net::Services& services, RtcServerOptions options)
    : services_(services), options_(std::move(options)), last_number_(random_ssrc()) {
    const auto unix_us =
        std::chrono::duration_cast<Micros>(std::chrono::system_clock::now().time_since_epoch());
    unix_epoch_ = MonoClock::now() - unix_us;
    links_.resize(kMaxUdpLinks);
}

RtcServer::~RtcServer() {
    WEIR_CHECK(sessions_.empty() && ended_.empty());
}

Error RtcServer::start(io::WorkerPool* workers) {
    if (started_) {
        return {};
    }
    workers_ = workers;
    WEIR_TRY(tasks_.spawn("rtc timers", io::StackSize::kNormal, [this] { run_timers(); }));
    started_ = true;
    return {};
}

Error RtcServer::stop(io::Deadline deadline) {
    stopping_ = true;
    while (!sessions_.empty()) {
        sessions_.begin()->second.session->end(net::EndClass::kStopping, "server stopping");
    }
    bury();
    acceptors_.stop();
    tasks_.interrupt_all();
    Error late = tasks_.join_all(deadline);
    while (!sockets_.empty()) {
        close(*sockets_.back());
        sockets_.pop_back();
    }
    return late;
}

// ---- datagrams ----

void RtcServer::on_datagram(MonoTime now, std::span<uint8_t> datagram, const ice::Path& from) {
    if (datagram.empty()) {
        return;
    }
    const uint8_t first = datagram[0];
    if (first <= 3) {
        on_stun(now, datagram, from);
        return;
    }
    RtcSession* const owner = paths_.owner(from);
    if (owner == nullptr) {
        stats_.unknown_datagrams++;
        return;
    }
    RtcSession& session = *owner;
    if (first >= 20 && first <= 63) {
        session.on_dtls(now, datagram, from);
    } else if (first >= 128 && first <= 191) {
        session.on_media(now, datagram, from);
    } else {
        stats_.malformed++;
        return;
    }
    touch(session);
}

void RtcServer::on_stun(MonoTime now, ByteSpan datagram, const ice::Path& from) {
    stun::MessageView message;
    if (stun::MessageView::parse(datagram, message) != stun::ParseStatus::kDone) {
        stats_.malformed++;
        return;
    }
    RtcSession* const session = session_of(message);
    if (session == nullptr) {
        stats_.unknown_stun++;
        return;
    }
    session->on_stun(now, message, from);
    touch(*session);
}

// Of a check by its user name, of an answer to a check of ours by what marks that.
RtcSession* RtcServer::session_of(const stun::MessageView& message) const {
    if (message.message_class == stun::MessageClass::kSuccess) {
        const auto found = by_number_.find(ice::check_tag(message.transaction));
        return found == by_number_.end() ? nullptr : found->second;
    }
    const std::string_view ufrag = ice::split_username(message.username.value_or("")).local;
    const auto found = ufrag.size() == ice::kUfragCharacters ? by_ufrag_.find(std::string(ufrag))
                                                             : by_ufrag_.end();
    return found == by_ufrag_.end() ? nullptr : found->second;
}

bool RtcServer::transmit(const ice::Path& path, ByteSpan data, size_t segment_bytes) {
    RtcLink* link = link_of(path);
    return link == nullptr || link->send(path.remote, data, segment_bytes);
}

bool RtcServer::takes_burst(const ice::Path& path) const {
    const RtcLink* link = link_of(path);
    return link == nullptr || link->takes_burst();
}

void RtcServer::on_tcp_writable(const ice::Path& path) {
    if (RtcSession* const session = paths_.owner(path)) {
        session->on_writable();
    }
}

void RtcServer::unbind_ufrag(std::string_view ufrag, RtcSession& session) {
    const auto found = by_ufrag_.find(std::string(ufrag));
    if (found != by_ufrag_.end() && found->second == &session) {
        by_ufrag_.erase(found);
    }
}

void RtcServer::count(srtp::Status status) {
    stats_.unauthentic += status == srtp::Status::kUnauthentic ? 1 : 0;
    stats_.replayed += status == srtp::Status::kReplayed ? 1 : 0;
    stats_.malformed += status == srtp::Status::kMalformed ? 1 : 0;
}

// ---- timers ----

void RtcServer::touch(RtcSession& session) {
    if (touched_.empty() || touched_.back() != &session) {
        touched_.push_back(&session);
    }
}

void RtcServer::settle_touched(MonoTime now) {
    for (size_t i = 0; i < touched_.size(); i++) {  // it may grow
        RtcSession& session = *touched_[i];
        session.settle(now);
        schedule(session);
    }
    touched_.clear();
}

void RtcServer::schedule(RtcSession& session) {
    const std::optional<MonoTime> due = session.next_timeout();
    const auto found = sessions_.find(session.id());
    if (!due || found == sessions_.end() || *due >= found->second.queued) {
        return;
    }
    MonoTime& queued = found->second.queued;
    if (queued == MonoTime::max()) {
        timers_.insert({*due, &session});
    } else {
        auto node = timers_.extract({queued, &session});
        node.value().first = *due;
        timers_.insert(std::move(node));
    }
    queued = *due;
    if (timers_.begin()->second == &session) {
        timer_signal_.notify_one();
    }
}

void RtcServer::run_timers() {
    io::set_log_id({});
    while (!io::interrupted()) {
        const MonoTime now = MonoClock::now();
        for (size_t handled = 0;
             handled < kTimersPerSlice && !timers_.empty() && timers_.begin()->first <= now;
             handled++) {
            RtcSession& session = *timers_.begin()->second;
            timers_.erase(timers_.begin());
            sessions_.find(session.id())->second.queued = MonoTime::max();
            session.handle_timeout(now);
            touch(session);
            settle_touched(now);
        }
        bury();
        if (retired() > 0) {
            close_retired(now);
        }
        const MonoTime next = timers_.empty() ? now + Seconds(1) : timers_.begin()->first;
        if (next <= now) {
            io::yield();
        } else if (timer_signal_.wait_until(io::Deadline::at(next)).code() ==
                   ErrorCode::kInterrupted) {
            return;
        }
    }
}

void RtcServer::forget(RtcSession& session) {
    const auto found = sessions_.find(session.id());
    WEIR_CHECK(found != sessions_.end());
    if (found->second.queued != MonoTime::max()) {
        timers_.erase({found->second.queued, &session});
    }
    by_number_.erase(session.number());
    unbind_ufrag(session.agent().credentials().ufrag_text(), session);
    unbind_ufrag(session.agent().previous_ufrag(), session);
    if (!session.is_connected()) {
        stats_.never_connected++;
    }
    // Whoever called is still inside of it.
    ended_.push_back(std::move(found->second.session));
    sessions_.erase(found);
    timer_signal_.notify_one();  // it buries
}

void RtcServer::log_trouble(const net::Client& client,
                            std::string_view what,
                            std::string_view detail) {
    log::throttled(trouble_, log::Level::kWarn, "{} client={} ip={}: {}", what, client.id(),
                   client.ip(), detail);
}

void RtcServer::bury() {
    if (touched_.empty()) {
        ended_.clear();
    }
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
        return make_error(ErrorCode::kLimit, "{} WebRTC sessions are open, the limit",
                          sessions_.size());
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

ice::Credentials RtcServer::make_credentials() {
    ice::Credentials made;
    do {
        made = ice::Credentials::make(system_random());
    } while (by_ufrag_.contains(std::string(made.ufrag_text())));
    return made;
}

// Of those that are bound, as peers reach them.
std::vector<NetAddress> RtcServer::addresses(std::span<const NetAddress> all_bound,
                                             const NetAddress& reached_at) const {
    std::vector<NetAddress> ips =
        options_.candidates.empty() ? interface_addresses() : options_.candidates;
    if (!reached_at.empty() && !reached_at.is_any() &&
        std::ranges::none_of(ips, [&](const NetAddress& ip) { return ip.same_ip(reached_at); })) {
        ips.push_back(reached_at);
    }
    std::vector<NetAddress> all;
    for (const NetAddress& bound : all_bound) {
        for (const NetAddress& ip : ips) {
            const bool reachable =
                bound.is_any() ? (ip.is_v4() || !bound.is_v4()) : bound.same_ip(ip);
            if (reachable || !options_.candidates.empty()) {
                all.push_back(ip.with_port(
                    ip.port() != 0 && !options_.candidates.empty() ? ip.port() : bound.port()));
            }
        }
        if (!bound.is_any() && all.empty()) {
            all.push_back(bound);
        }
    }
    return all;
}

std::vector<NetAddress> RtcServer::udp_addresses(const NetAddress& reached_at) const {
    std::vector<NetAddress> bound;
    for (const auto& port : sockets_) {
        if (!port->retired) {
            const io::SocketAddress local = port->socket->local();
            bound.push_back(NetAddress::from_sockaddr(*local.raw()));
        }
    }
    return addresses(bound, reached_at);
}

std::vector<NetAddress> RtcServer::tcp_addresses(const NetAddress& reached_at) const {
    std::vector<NetAddress> bound;
    for (const io::SocketAddress& local : acceptors_.locals()) {
        bound.push_back(NetAddress::from_sockaddr(*local.raw()));
    }
    return addresses(bound, reached_at);
}

std::string RtcServer::candidate_text() const {
    std::string text;
    const auto append = [&text](const NetAddress& address, std::string_view transport) {
        text += fmt::format("{}{}/{}", text.empty() ? "" : " ", address.to_string(), transport);
    };
    for (const NetAddress& address : udp_addresses({})) {
        append(address, "udp");
    }
    for (const NetAddress& address : tcp_addresses({})) {
        append(address, "tcp");
    }
    return text;
}

sdp::LocalTransport RtcServer::local_transport(const ice::Credentials& credentials,
                                               const NetAddress& reached_at) const {
    sdp::LocalTransport local;
    local.ice_ufrag = credentials.ufrag_text();
    local.ice_pwd = credentials.password_text();
    const auto& sha256 = identity_->fingerprint().sha256;
    local.fingerprint = {"sha-256", {sha256.begin(), sha256.end()}};
    for (const ice::Candidate& candidate :
         ice::make_host_candidates(udp_addresses(reached_at), tcp_addresses(reached_at))) {
        constexpr std::string_view kPrefix = "candidate:";
        local.candidates.push_back(candidate.to_text().substr(kPrefix.size()));
    }
    local.session_id = random_digits();
    local.cname = "weir";
    return local;
}

Result<RtcAnswer> RtcServer::add(RtcSessionSetup setup, MonoTime now) {
    setup.id = random_id(system_random(), kSessionIdLength);
    setup.remote_fingerprint.sha256 = setup.answer.remote.fingerprint_sha256;
    RtcAnswer answer;
    answer.session_id = setup.id;
    answer.sdp = setup.answer.text;
    setup.answer.text.clear();
    const std::string ufrag(setup.credentials.ufrag_text());
    while (by_number_.contains(++last_number_)) {
    }
    setup.number = last_number_;
    auto session = std::make_unique<RtcSession>(*this, std::move(setup), now);
    answer.etag = etag_of(*session);
    by_ufrag_[ufrag] = session.get();
    by_number_[session->number()] = session.get();
    RtcSession& added = *session;
    sessions_[answer.session_id].session = std::move(session);
    stats_.sessions_made++;
    schedule(added);
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
    return services_.limits.enter_unproven(peer, options_.max_unproven_per_address);
}

Error RtcServer::is_free(const stream::StreamKey& key, stream::PublishConflict conflict) const {
    const stream::Stream* stream = services_.registry.find(key);
    if (stream && stream->live() && conflict == stream::PublishConflict::kRefuse) {
        return stream->busy();
    }
    return {};
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
    setup.publishes = true;
    setup.credentials = make_credentials();
    sdp::PublisherOptions options;
    options.simulcast_layers = kMaxLayers;
    WEIR_TRY_ASSIGN(setup.answer,
                    sdp::answer_publisher(
                        parsed, local_transport(setup.credentials, guest.reached_at), options));
    setup.publish_rules = rules;
    setup.client = std::move(guest.client);
    setup.unproven = std::move(guest.unproven);
    return add(std::move(setup), MonoClock::now());
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
    if (!stream || !stream->live()) {
        return make_error(ErrorCode::kNotFound, "no such stream: nobody publishes it");
    }
    WEIR_TRY_ASSIGN(RtcPump* const pump, pump_for(key, rules));
    const PumpHold hold(*pump);
    const RtcLogWriter& muxer = pump->writer();
    const io::Deadline deadline = io::Deadline::after(kCodecWait);
    while (!knows_codecs(pump->stream(), muxer, MonoClock::now()) && !deadline.passed()) {
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
    setup.credentials = make_credentials();
    WEIR_TRY_ASSIGN(
        setup.answer,
        sdp::answer_player(parsed, local_transport(setup.credentials, guest.reached_at), options));
    setup.pump = pump;
    setup.client = std::move(guest.client);
    setup.unproven = std::move(guest.unproven);
    return add(std::move(setup), MonoClock::now());
}

RtcSession* RtcServer::find(std::string_view id) {
    const auto found = sessions_.find(std::string(id));
    return found == sessions_.end() ? nullptr : found->second.session.get();
}

std::string RtcServer::etag_of(const RtcSession& session) {
    return fmt::format("\"{}\"", session.agent().credentials().ufrag_text());
}

Result<std::string> RtcServer::patch(RtcSession& session, std::string_view text) {
    WEIR_TRY_ASSIGN(const sdp::IceFragment fragment, sdp::IceFragment::parse(text));
    if (fragment.ice_ufrag.empty() || fragment.ice_ufrag == session.remote_ufrag()) {
        return std::string();  // candidates: a lite agent sends to none of them
    }
    session.restart_ice(MonoClock::now(), make_credentials(),
                        {fragment.ice_ufrag, fragment.ice_pwd});
    by_ufrag_[std::string(session.agent().credentials().ufrag_text())] = &session;
    schedule(session);
    return sdp::answer_restart(fragment, local_transport(session.agent().credentials(), {}))
        .write();
}

std::string_view RtcServer::refusal(const stream::Stream& stream) const {
    net::StreamPump* const pump = services_.fanout.find(stream, RtcPump::kKind);
    return pump == nullptr ? std::string_view() : static_cast<RtcPump*>(pump)->writer().refusal();
}

}  // namespace weir::session
