#include "session/relay/relay_run.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "io/deadline.h"
#include "io/tcp.h"
#include "io/unix_socket.h"
#include "net/cluster/origins.h"
#include "net/source/source_spec.h"
#include "net/source/source_url.h"
#include "proto/cluster/relay_field.h"
#include "proto/flv/tag.h"
#include "proto/http/target.h"
#include "stream/stream.h"

namespace weir::session {
namespace {

using media::Audience;

constexpr uint32_t kSpeexRate = 16'000;  // of Speex in FLV

// The stream at that server.
net::SourceSpec spec_at(const net::SourceSpec& spec, const net::Origin& origin, bool is_signed) {
    net::SourceSpec there = spec;
    const stream::StreamKey& key = spec.key;
    there.url = origin.url;
    if (there.url.is_http()) {
        there.url.append(fmt::format("{}/{}.flv", http::percent_encoded(key.app),
                                     http::percent_encoded(key.name)));
    } else {
        there.url.append(fmt::format("{}/{}", key.app, key.name));
    }
    if (key.vhost != stream::kDefaultVhost) {
        there.url.query = fmt::format("vhost={}", http::percent_encoded(key.vhost));
    }
    if (is_signed) {
        there.url.query += there.url.query.empty() ? "relay=1" : "&relay=1";
    }
    there.shown = there.url.shown();
    return there;
}

// The AAC beside such audio, as the publisher's own node makes it; nothing where it makes none.
std::optional<net::DerivedAacOptions> aac_options(const media::PacketInfo& info,
                                                  int64_t bits_per_second) {
    return info.audience == Audience::kWebRtc
               ? net::DerivedAacOptions{.from = info.codec, .bits_per_second = bits_per_second}
               : net::telephone_aac(info.codec, kSpeexRate);
}

}  // namespace

RelayRun::RelayRun(net::SourceRun& run,
                   net::RelayNode& node,
                   const net::Origin& origin,
                   std::vector<std::string> path,
                   const RelayPullOptions& options)
    : run_(run),
      node_(node),
      origin_(origin),
      path_(std::move(path)),
      options_(options),
      since_(MonoClock::now()) {
    spec_ = spec_at(run.spec(), origin, is_signed());
    run_.note_origin(origin_);
}

RelayRun::~RelayRun() {
    run_.set_sink_watch(nullptr);
    node_.forget_upstream(spec_.key);
}

bool RelayRun::is_signed() const {
    return origin_.url.is_http() && !secret().empty();
}

const std::string& RelayRun::secret() const {
    return node_.secret(!origin_.socket.empty());
}

// A node says at once whether it has the stream; any other server may let players wait.
io::Deadline RelayRun::connect_deadline() const {
    const MonoTime all = run_.connect_deadline().time();
    return io::Deadline::at(is_signed() ? std::min(all, since_ + spec_.input_timeout) : all);
}

Result<std::unique_ptr<io::TcpStream>> RelayRun::connect() {
    // The name of a node may lead anywhere, whatever it is that the registry has.
    return connect_to(spec_.url, origin_.node.empty() ? net::AddressFilter() : node_.may_connect);
}

Result<std::unique_ptr<io::TcpStream>> RelayRun::connect_to(const net::SourceUrl& url,
                                                            const net::AddressFilter& allows) {
    if (!origin_.socket.empty()) {
        return io::connect_unix(origin_.socket, connect_deadline());
    }
    const stream::StreamKey& key = spec_.key;
    const bool asks =
        key.app.find('?') != std::string::npos || key.name.find('?') != std::string::npos;
    if (!origin_.url.is_http() && asks) {  // by RTMP it would be a query, of the viewer's choice
        return make_error(ErrorCode::kNotFound, "no such name at an RTMP server");
    }
    return run_.connect_to(url, allows);
}

void RelayRun::connected() {
    connected_ = true;
    run_.connected();
}

void RelayRun::note_bytes(uint64_t bytes) {
    node_.stats().bytes += bytes;
    run_.note_bytes(bytes);
}

std::string RelayRun::request_fields() const {
    if (!is_signed()) {
        return {};
    }
    cluster::RelayRequest request;
    request.path = path_;
    request.epoch = origin_.epoch;
    request.time_ms = wall_time_ms();
    system_random().fill(request.nonce);
    return fmt::format("{}: {}\r\n", cluster::kRelayField,
                       cluster::write_relay_request(request, secret(), "GET", spec_.url.authority(),
                                                    spec_.url.target()));
}

Error RelayRun::on_answer(int status, std::string_view relay) {
    switch (status) {
        case 200: break;
        case 404:
            end_ = net::RelayEnd::kNotFound;
            return make_error(ErrorCode::kNotFound, "nobody publishes the stream at {}",
                              spec_.url.authority());
        case 409:
            end_ = net::RelayEnd::kEpoch;
            return make_error(ErrorCode::kDenied, "{} has an older claim", spec_.url.authority());
        case 508:
            end_ = net::RelayEnd::kLoop;
            return make_error(ErrorCode::kDenied,
                              "{} says that this is a circle, or over too many nodes (relay_hops)",
                              spec_.url.authority());
        default: end_ = net::RelayEnd::kRefused; return {};
    }
    if (relay.empty()) {
        return {};  // a server that is no node
    }
    WEIR_TRY_ASSIGN(cluster::RelayAnswer answer, cluster::read_relay_answer(relay));
    origin_.node = answer.path.back();
    origin_.epoch = std::max(origin_.epoch, answer.epoch);
    run_.note_origin(origin_);
    node_.note_upstream(spec_.key, std::move(answer.path));
    return {};
}

Error RelayRun::publish(media::TrackKind kind, uint32_t timestamp, Bytes body, Audience audience) {
    if (kind != media::TrackKind::kAudio || audience == Audience::kEverybody) {
        return run_.publish(kind, timestamp, std::move(body), audience);
    }
    std::optional<media::PacketInfo> info = flv::parse_tag_body(kind, body);
    if (!info) {
        return {};
    }
    info->audience = audience;
    return publish(make_ref<media::MediaPacket>(*info, timestamp, std::move(body)));
}

Error RelayRun::publish(Ref<media::MediaPacket> packet) {
    const media::PacketRef published(packet);
    WEIR_TRY(run_.publish(std::move(packet)));
    make_aac(published);
    return {};
}

// As at the node of the publisher, by the same rules.
void RelayRun::make_aac(const media::PacketRef& packet) {
    const media::PacketInfo& info = packet->info();
    stream::Stream* const stream = run_.stream();
    const bool needs = info.kind == media::TrackKind::kAudio && !info.config && !info.metadata &&
                       info.audience != Audience::kEverybody && info.track_id == 0;
    if (!needs || stream == nullptr || options_.workers == nullptr) {
        return;
    }
    if (!aac_ || aac_of_ != info.codec) {
        const auto options = aac_options(info, options_.aac_bits_per_second);
        if (!options) {
            return;
        }
        aac_of_ = info.codec;
        aac_ = std::make_unique<net::DerivedAac>(*stream, run_.publisher(), *options_.workers,
                                                 *options);
        aac_->announce(packet->time_ms());
        run_.set_sink_watch([this] { aac_->on_sink(); });
    }
    aac_->on_audio(packet);
}

}  // namespace weir::session
