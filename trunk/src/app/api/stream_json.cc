#include "app/api/stream_json.h"

#include <algorithm>
#include <cmath>

#include "app/api/track_json.h"
#include "app/protocols/protocol.h"
#include "net/api/answer.h"
#include "net/fanout.h"
#include "net/stream_pump.h"
#include "proto/http/target.h"
#include "stream/registry.h"

namespace weir::app {
namespace {

int64_t age_ms(MonoTime since, MonoTime now) {
    return std::chrono::duration_cast<Millis>(now - since).count();
}

std::string flv_path(const stream::StreamKey& key) {
    std::string path =
        "/" + http::percent_encoded(key.app) + "/" + http::percent_encoded(key.name) + ".flv";
    if (key.vhost != stream::kDefaultVhost) {
        path += "?vhost=" + http::percent_encoded(key.vhost);
    }
    return path;
}

// FNV-1a over the parts, so that an id survives a republish and a restart.
class IdHash {
  public:
    IdHash& add(std::string_view text) {
        for (char c : text) {
            hash_ = (hash_ ^ static_cast<uint8_t>(c)) * 1099511628211U;
        }
        hash_ = (hash_ ^ 0xFFU) * 1099511628211U;
        return *this;
    }

    std::string id(std::string_view prefix) const {
        return fmt::format("{}-{:012x}", prefix, hash_ & 0xFFFFFFFFFFFFU);
    }

  private:
    uint64_t hash_ = 14695981039346656037U;
};

net::Json gop_json(const stream::Stream& stream, MonoTime now) {
    const stream::GopStats& gop = stream.gop();
    const bool any = stream.live() && gop.key_frames > 0;
    return {{"ms", gop.last_ms},
            {"frames", gop.last_frames},
            {"bytes", stream.gop_bytes()},
            {"key_frames", gop.key_frames},
            {"last_key_frame_ms", any ? net::Json(age_ms(gop.key_at, now)) : net::Json(nullptr)}};
}

// Who publishes, as the clients' list knows them.
net::Json publish_json(const stream::Stream& stream, MonoTime now) {
    const stream::Publisher* publisher = stream.publisher();
    if (publisher == nullptr) {
        return {{"active", false}, {"cid", ""}};
    }
    return {{"active", true},
            {"cid", publisher->client_id()},
            {"ip", publisher->client_ip()},
            {"transport", publisher->client_transport()},
            {"origin", publisher->relayed_from()},
            {"since_ms", wall_time_ms() - age_ms(stream.live_since(), now)}};
}

void add_protocol_facts(net::Json& json,
                        const stream::Stream& stream,
                        const ProtocolSet& protocols) {
    for (const auto& protocol : protocols.all()) {
        protocol->add_stream_facts(stream, json);
    }
}

// How many play, over all and by transport.
void add_players(net::Json& json, const PlayerCounts& players, const ProtocolSet& protocols) {
    json["players"] = players.all();
    net::Json viewers = net::Json::object();
    for (const Transport& transport : protocols.transports()) {
        const size_t count = players.of(transport.name);
        if (!transport.counted_as.empty()) {
            json[fmt::format("players_{}", transport.name)] = count;
        }
        viewers[std::string(transport.name)] = count;
    }
    json["viewers"] = std::move(viewers);
}

// The wall clock of the publisher, where players are told it.
net::Json publisher_clock_json(const stream::Stream& stream) {
    using State = stream::PublisherClock::State;
    const stream::PublisherClock& clock = stream.publisher_clock();
    if (!stream.live() || clock.state() == State::kNone) {
        return nullptr;
    }
    const bool reported = clock.state() != State::kAwaited;
    return {{"state", !reported                       ? "awaited"
                      : clock.state() == State::kUsed ? "used"
                                                      : "refused"},
            {"offset_ms", reported ? net::Json(clock.ahead_us() / 1000) : net::Json(nullptr)},
            {"changes", clock.changes()}};
}

// What was wrong with what the publisher sent, and is right now.
net::Json mended_json(const stream::Stream& stream) {
    const stream::EntranceStats& mended = stream.mended();
    return {{"messages_joined", mended.messages_joined},
            {"units_left_out", mended.units_left_out},
            {"messages_dropped", mended.messages_dropped},
            {"pictures_damaged", mended.pictures_damaged},
            {"configs_made", mended.configs_made},
            {"start_codes", mended.start_codes},
            {"audio_holes", stream.audio_holes()}};
}

}  // namespace

std::string stream_id(const stream::StreamKey& key) {
    return IdHash().add(key.vhost).add(key.app).add(key.name).id("st");
}

std::string vhost_id(std::string_view name) {
    return IdHash().add(name).id("vh");
}

net::Json rates_json(const net::BitRates& receive, const net::BitRates& send) {
    return {{"recv_1s", receive[0] / 1000},  {"recv_10s", receive[1] / 1000},
            {"recv_30s", receive[2] / 1000}, {"send_1s", send[0] / 1000},
            {"send_10s", send[1] / 1000},    {"send_30s", send[2] / 1000}};
}

net::BitRates receive_rates(const stream::Stream& stream, const RateClock& clock, MonoTime now) {
    net::BitRates rates{};
    for (size_t i = 0; i < rates.size(); i++) {
        rates[i] = static_cast<uint64_t>(stream.receive_bps(clock, now, kRateWindows[i]));
    }
    return rates;
}

net::BitRates send_rates(const stream::Stream& stream, const RateClock& clock, MonoTime now) {
    net::BitRates rates{};
    for (size_t i = 0; i < rates.size(); i++) {
        rates[i] = static_cast<uint64_t>(stream.send_bps(clock, now, kRateWindows[i]));
    }
    return rates;
}

void PlayerCounts::add(const net::TransportCount& more) {
    const std::string_view name = more.transport;
    const auto found = std::ranges::find_if(
        counts_, [&](const net::TransportCount& each) { return each.transport == name; });
    if (found != counts_.end()) {
        found->players += more.players;
    } else {
        counts_.push_back(more);
    }
}

size_t PlayerCounts::of(std::string_view transport) const {
    const auto found = std::ranges::find_if(
        counts_, [&](const net::TransportCount& each) { return each.transport == transport; });
    return found == counts_.end() ? 0 : found->players;
}

size_t PlayerCounts::all() const {
    size_t sum = 0;
    for (const net::TransportCount& each : counts_) {
        sum += each.players;
    }
    return sum;
}

PlayerCounts players_of(const stream::Stream& stream, const net::Services& services) {
    PlayerCounts counts;
    services.fanout.for_each_transport(
        stream, [&counts](const net::TransportCount& each) { counts.add(each); });
    return counts;
}

net::Json stream_json(const stream::Stream& stream,
                      const net::Services& services,
                      const ProtocolSet& protocols,
                      MonoTime now) {
    const stream::StreamKey& key = stream.key();
    const RateClock& clock = services.registry.clock();
    const PlayerCounts players = players_of(stream, services);
    const media::Timeline& timeline = stream.timeline();
    net::Json json = {{"id", stream_id(key)},
                      {"name", key.name},
                      {"vhost", key.vhost},
                      {"app", key.app},
                      {"url", "/" + key.app + "/" + key.name},
                      {"live_ms", stream.live() ? age_ms(stream.live_since(), now) : 0},
                      {"clients", players.all() + (stream.live() ? 1 : 0)}};
    add_players(json, players, protocols);
    json["frames"] = stream.video().frames;
    json["send_bytes"] = stream.bytes_sent();
    json["recv_bytes"] = stream.bytes_received();
    json["kbps"] = rates_json(receive_rates(stream, clock, now), send_rates(stream, clock, now));
    json["publish"] = publish_json(stream, now);
    json["publisher_clock"] = publisher_clock_json(stream);
    json["gop"] = gop_json(stream, now);
    json["gop_bytes"] = stream.gop_bytes();
    json["timestamp_shifts"] = timeline.shifts();
    json["timestamp_clamps"] = timeline.clamps();
    json["frames_dropped"] = stream.frames_before_key_dropped() + stream.more_audio_dropped();
    json["mended"] = mended_json(stream);
    json["unused_tracks"] = stream.description().unused_tracks;
    json["encoder"] = stream.description().encoder;
    add_protocol_facts(json, stream, protocols);
    json["video"] = video_json(stream, clock, now);
    json["audio"] = audio_json(stream);
    return json;
}

net::Json live_json(const stream::Stream& stream,
                    const net::Services& services,
                    const ProtocolSet& protocols,
                    MonoTime now) {
    const stream::StreamKey& key = stream.key();
    const RateClock& clock = services.registry.clock();
    const auto codec = [](const stream::TrackStats& track) {
        return track.frames > 0 ? std::string(media::to_string(track.codec)) : std::string();
    };
    constexpr size_t kTenSeconds = 1;
    net::Json json = {
        {"app", key.app},
        {"name", key.name},
        {"vhost", key.vhost},
        {"url_flv", flv_path(key)},
        {"url_ws", flv_path(key)},
        {"video", codec(stream.video())},
        {"audio", codec(stream.audio())},
        {"players", players_of(stream, services).all()},
        {"kbps", receive_rates(stream, clock, now)[kTenSeconds] / 1000},
        {"fps", std::round(stream.frame_rate(clock, now, kRateWindows[kTenSeconds]))}};
    add_protocol_facts(json, stream, protocols);
    json["live_ms"] = age_ms(stream.live_since(), now);
    return json;
}

net::Json live_json_elsewhere(const stream::StreamKey& key, int64_t live_ms) {
    return {{"app", key.app},
            {"name", key.name},
            {"vhost", key.vhost},
            {"url_flv", flv_path(key)},
            {"url_ws", flv_path(key)},
            {"video", ""},
            {"audio", ""},
            {"players", 0},
            {"kbps", 0},
            {"fps", 0},
            {"elsewhere", true},
            {"webrtc", {{"playable", nullptr}, {"why", "it is published at another node"}}},
            {"hls", true},
            {"poster", false},
            {"live_ms", live_ms}};
}

}  // namespace weir::app
