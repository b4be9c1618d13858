#include "net/source/source.h"

#include <utility>
#include <vector>

#include "base/strings.h"
#include "io/deadline.h"
#include "io/tcp.h"
#include "net/cluster/claims.h"
#include "net/http/client.h"
#include "net/policy.h"
#include "proto/flv/metadata.h"
#include "proto/flv/split_tracks.h"
#include "proto/flv/tag.h"
#include "stream/registry.h"

namespace weir::net {
namespace {

constexpr size_t kMaxErrorSize = 300;  // of what is kept of the other side's words

SourceTiming timing_of(const SourceSpec& spec) {
    SourceTiming timing;
    timing.on_demand = spec.on_demand;
    timing.linger = spec.linger;
    if (spec.relayed) {
        timing.first_backoff = Millis(1'000);
        timing.longest_backoff = Millis(2'000);
        timing.looks_again = true;
    }
    return timing;
}

// The stream that an address of this server names.
stream::StreamKey stream_at(const Policy& policy, const SourceUrl& url) {
    SourceUrl plain = url;
    if (url.is_http() || url.is_rtsp() || url.is_whep()) {  // as it was written until now
        plain.path = url_decode(url.path);
    }
    if (url.is_rtsp()) {
        while (plain.path.ends_with('/')) {
            plain.path.pop_back();
        }
    }
    const std::vector<QueryItem> query = parse_query(url.query);
    const std::string_view vhost = query_value(query, "vhost").value_or(url.host);
    if (url.is_whep()) {  // "/app/stream/whep", or "/rtc/v1/whep/?app=app&stream=stream"
        const bool by_path = plain.last() == "whep" && !plain.path.starts_with("rtc/");
        plain.path = by_path ? std::string(plain.before_last())
                             : fmt::format("{}/{}", query_value(query, "app").value_or(""),
                                           query_value(query, "stream").value_or(""));
    }
    std::string_view name = plain.last();
    if (url.is_http() && name.ends_with(".flv")) {
        name.remove_suffix(4);
    }
    return policy.key_of(vhost, plain.before_last(), name);
}

}  // namespace

std::string_view to_string(SourceRole role) {
    switch (role) {
        case SourceRole::kPull: return "pull";
        case SourceRole::kForward: return "forward";
    }
    return {};
}

Source::Source(SourceSpec spec,
               SourceProtocol& protocol,
               const SourceServices& services,
               MonoTime now)
    : spec_(std::move(spec)),
      protocol_(protocol),
      services_(services),
      machine_(timing_of(spec_), services.random, now),
      id_("s" + random_id(services.random, 7)),
      made_at_(now) {}

Source::~Source() {
    WEIR_CHECK(!has_run() && stream_ == nullptr);
}

void Source::look_at_name(MonoTime now) {
    if (spec_.role == SourceRole::kForward) {
        return;
    }
    const stream::Stream* const stream = services_.registry.find(spec_.key);
    const bool held = stream != nullptr && stream->live() && stream->publisher() != this;
    if (held && !machine_.held()) {
        last_error_ = fmt::format("another publisher has the name{}", stream->describe_holder(now));
    }
    machine_.set_held(held, now);
    end_unwanted_run();
}

void Source::set_demand(bool wanted, MonoTime now) {
    machine_.set_demand(wanted, now);
    end_unwanted_run();
}

// At once: the machine may want the next one before somebody looks again.
void Source::end_unwanted_run() {
    if (!machine_.runs() && run_.running() && !interrupted_) {
        interrupted_ = true;
        run_.interrupt();
    }
}

void Source::begin_anew(MonoTime now) {
    if (machine_.begin_anew(now) && run_.running() && !interrupted_) {
        interrupted_ = true;
        run_.interrupt();
    }
}

void Source::fail(std::string_view why, MonoTime now) {
    if (!machine_.runs()) {
        return;
    }
    last_error_ = why;
    machine_.on_ended(now);
    end_unwanted_run();
}

void Source::note_origin(const Origin& origin) {
    origin_ = origin;
    relayed_from_ = origin.node.empty() ? origin.url.authority() : origin.node;
}

void Source::step(MonoTime now) {
    machine_.tick(now);
    if (ended_) {
        take_end(now);
    }
    if (machine_.runs() && !has_run()) {
        begin_run(now);
    }
    end_unwanted_run();
    log_state(now);
}

void Source::stop(MonoTime now) {
    machine_.stop(now);
    step(now);
}

void Source::begin_run(MonoTime now) {
    run_since_ = now;
    interrupted_ = false;
    outcome_ = {};
    auto spawned = io::Coroutine::spawn("source", io::StackSize::kNormal, [this] {
        io::set_log_id(id_);
        outcome_ = run_once();
        ask_key_ = nullptr;
        on_sink_ = nullptr;
        end_publish(MonoClock::now());
        ended_ = true;
        services_.wake();
    });
    if (!spawned.ok()) {
        outcome_ = spawned.take_error();
        take_end(now);
        return;
    }
    run_ = std::move(*spawned);
}

// Yields. A pull that the configuration names brings its stream at one node of a cluster only: the
// others try again now and then, and meanwhile a relay stands in.
Error Source::run_once() {
    ClaimPlace claim;
    if (services_.claims != nullptr && spec_.role == SourceRole::kPull && spec_.named) {
        Error refused = services_.claims->claim(spec_.key, stream::PublishConflict::kRefuse);
        if (!refused || refused.code() == ErrorCode::kBusy) {
            elsewhere_ = static_cast<bool>(refused);
        }
        WEIR_TRY(std::move(refused));
        claim = ClaimPlace(*services_.claims, spec_.key);
    }
    Error ended = protocol_.run(*this);
    end_publish(MonoClock::now());  // before the claim is given up
    return ended;
}

// The body has nothing left to do but to return.
void Source::take_end(MonoTime now) {
    run_.join();
    ended_ = false;
    if (interrupted_) {
        interrupted_ = false;
        return;
    }
    last_error_ = log::escaped(outcome_.message(), kMaxErrorSize);
    machine_.on_ended(now);
}

// ---- the run ----

Result<std::unique_ptr<io::TcpStream>> Source::connect() {
    return connect_to(spec_.url, {});
}

Result<std::unique_ptr<io::TcpStream>> Source::connect_to(const SourceUrl& url,
                                                          const AddressFilter& allows) {
    WEIR_TRY_ASSIGN(std::unique_ptr<io::TcpStream> stream, dial(url, allows));
    hops_.begin(stream->connection_peer().net_address(), url.tls());
    return stream;
}

// Servers that the operator has named may be anywhere.
Result<std::unique_ptr<io::TcpStream>> Source::follow(const SourceUrl& url) {
    const std::vector<std::string>& only = spec_.only_servers;
    if (!only.empty() && !is_one_of(only, url)) {
        return make_error(ErrorCode::kDenied,
                          "the server redirects to {}, which allow_rtsp does not name",
                          log::escaped(url.authority()));
    }
    Error refused = hops_.follow(url.tls());
    if (!refused) {
        auto stream = dial(url, only.empty() ? hops_.filter() : AddressFilter());
        if (stream.ok() || stream.error().code() != ErrorCode::kDenied) {
            return stream;
        }
        refused = stream.take_error();
    }
    return make_error(ErrorCode::kDenied,
                      "the server redirects to {}: {}; if that is right, give that address",
                      log::escaped(url.authority()), refused.message());
}

Result<std::unique_ptr<io::TcpStream>> Source::dial(const SourceUrl& url,
                                                    const AddressFilter& allows) {
    http::Url to;
    to.tls = url.tls();
    to.host = url.host;
    to.port = url.port;
    WEIR_TRY_ASSIGN(std::unique_ptr<io::TcpStream> stream,
                    services_.dialer.connect(to, dial_deadline(), spec_.tls_verify, allows));
    if (services_.is_own && services_.is_own(stream->local(), stream->connection_peer())) {
        if (stream_at(services_.policy, url) == spec_.key) {
            return make_error(ErrorCode::kDenied,
                              "this is a loop: {} is this server, and the same stream; give the "
                              "address of another server",
                              spec_.shown);
        }
    }
    return stream;
}

// Another node that does not take the connection is as good as silent.
io::Deadline Source::dial_deadline() const {
    const io::Deadline all = connect_deadline();
    return spec_.input_timeout > Millis(0)
               ? io::Deadline::at(std::min(all.time(), MonoClock::now() + spec_.input_timeout))
               : all;
}

io::Deadline Source::connect_deadline() const {
    return io::Deadline::at(run_since_ + kConnectTimeout);
}

void Source::connected() {
    const MonoTime now = MonoClock::now();
    rules_ = services_.policy.rules_of_source(spec_.key);
    if (spec_.input_timeout > Millis(0)) {
        rules_.silent = spec_.input_timeout;
    }
    rate_ = RateGuard(rules_.max_bits_per_second);
    carries_ = false;
    last_media_ = now;
    seen_media_ = false;
    machine_.on_connected(now);
    log_state(now);
}

io::Deadline Source::media_deadline() const {
    return io::Deadline::at(last_media_ + (seen_media_ ? rules_.silent : rules_.first_packet));
}

Error Source::silence() const {
    return seen_media_ ? make_error(ErrorCode::kTimeout, "the origin was silent for {} ms ({})",
                                    rules_.silent.count(),
                                    spec_.relayed ? "relay_input_timeout" : "normal_timeout")
                       : make_error(ErrorCode::kTimeout, "no media within {} ms (firstpkt_timeout)",
                                    rules_.first_packet.count());
}

Error Source::begin_publish(MonoTime now) {
    if (taken_over_) {
        return make_error(ErrorCode::kBusy, "another publisher took the name");
    }
    stream::Stream& stream = services_.registry.get_or_create(spec_.key, rules_.stream, now);
    if (Error busy = stream.start_publish(*this, stream::PublishConflict::kRefuse, now)) {
        return make_error(ErrorCode::kBusy, "another publisher has the name{}",
                          stream.describe_holder(now));
    }
    stream_ = &stream;
    return {};
}

Result<stream::Stream*> Source::begin() {
    if (stream_ == nullptr) {
        WEIR_TRY(begin_publish(MonoClock::now()));
    }
    return stream_;
}

void Source::end_publish(MonoTime now) {
    if (std::exchange(taken_over_, false)) {
        if (stream::Stream* const stream = services_.registry.find(spec_.key)) {
            services_.registry.release(*stream);  // where nobody has followed
        }
    }
    if (stream_ != nullptr) {
        stream::Stream& stream = *std::exchange(stream_, nullptr);
        stream.end_publish(*this, now);
        services_.registry.release(stream);
    }
}

Error Source::publish(media::TrackKind kind,
                      uint32_t timestamp,
                      Bytes body,
                      media::Audience audience) {
    std::optional<media::PacketInfo> info = flv::parse_tag_body(kind, body);
    if (!info) {
        return {};
    }
    if (std::vector<Bytes> tracks = flv::split_audio_tracks(*info, body); !tracks.empty()) {
        for (Bytes& each : tracks) {
            WEIR_TRY(publish(kind, timestamp, std::move(each), audience));
        }
        return {};
    }
    if (info->kind == media::TrackKind::kAudio) {
        info->audience = audience;
    }
    std::optional<media::Description> description;
    if (info->metadata && info->kind == media::TrackKind::kData) {
        description = flv::parse_metadata(body);
    }
    WEIR_TRY(publish(make_ref<media::MediaPacket>(*info, timestamp, std::move(body))));
    if (description && stream_ != nullptr) {
        stream_->describe(*this, std::move(*description));
    }
    return {};
}

// So much came; the stream is there then.
Error Source::take_media(MonoTime now, size_t bytes, bool media) {
    if (stream_ == nullptr) {
        WEIR_TRY(begin_publish(now));
    }
    if (!rate_.take(now, bytes)) {
        return make_error(ErrorCode::kDenied,
                          "the origin sends more than {} kbit/s (max_publish_bitrate)",
                          rules_.max_bits_per_second / 1000);
    }
    // Data says nothing of whether there will be media.
    if (media) {
        last_media_ = now;
        if (!seen_media_) {
            seen_media_ = true;
            ever_live_ = true;
            machine_.on_media(now);
            log_state(now);
        }
    }
    return {};
}

Error Source::publish(Ref<media::MediaPacket> packet) {
    const MonoTime now = MonoClock::now();
    WEIR_TRY(take_media(now, carries_ ? 0 : packet->body().size(),
                        packet->info().kind != media::TrackKind::kData));
    stream_->publish(*this, std::move(packet), now);
    return {};
}

Error Source::publish_transport(Ref<media::MediaPacket> packet) {
    const MonoTime now = MonoClock::now();
    carries_ = true;
    WEIR_TRY(take_media(now, packet->payload().size(), true));
    stream_->publish_transport(*this, std::move(packet), now);
    return {};
}

void Source::end_transport() {
    carries_ = false;
    if (stream_ != nullptr) {
        stream_->end_transport(*this);
    }
}

void Source::live() {
    const MonoTime now = MonoClock::now();
    machine_.on_media(now);
    log_state(now);
}

std::string Source::describe() const {
    return fmt::format("source {} from {}", id_, log::escaped(spec_.shown));
}

// Called in the middle of the other one's start.
void Source::on_taken_over() {
    taken_over_ = true;
    stream_ = nullptr;
}

// ---- the log ----

// One line per state. A source that cannot come up says so now and then only.
void Source::log_state(MonoTime now) {
    const SourceState state = machine_.state();
    if (state == told_) {
        return;
    }
    if (spec_.relayed && !ever_live_) {
        told_ = state;
        if (state == SourceState::kBackingOff && services_.unproven.allow(spec_.key, now)) {
            log::warn("relay stream={} failures={}: {}{}", log::token(spec_.key.to_string()),
                      machine_.failures_in_a_row(), last_error_, services_.unproven.rest());
        }
        return;
    }
    const SourceState before = std::exchange(told_, state);
    const std::string about = fmt::format(
        "{} state={} stream={} url={}", spec_.role == SourceRole::kPull ? "source" : "forward",
        to_string(state), log::token(spec_.key.to_string()), log::escaped(spec_.shown));
    if (state == SourceState::kBackingOff) {
        if (before == SourceState::kLive || failures_.allow(now)) {
            log::warn_as(id_, "{} failures={}: {}", about, machine_.failures_in_a_row(),
                         last_error_);
        }
        return;
    }
    if (state == SourceState::kStopped && before == SourceState::kIdle) {
        return;
    }
    const bool again = machine_.failures_in_a_row() > 0 && state != SourceState::kLive;
    if (!again || state == SourceState::kIdle || state == SourceState::kStopped) {
        log::info_as(id_, "{}", about);
    }
}

}  // namespace weir::net
