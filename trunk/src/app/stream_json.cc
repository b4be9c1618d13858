#include "app/stream_json.h"

#include "app/api_answer.h"
#include "media/avc.h"
#include "media/hevc.h"
#include "net/http/target.h"

namespace weir::app {
namespace {

int64_t age_ms(MonoTime since, MonoTime now) {
    return std::chrono::duration_cast<Millis>(now - since).count();
}

std::string flv_path(const stream::StreamKey& key) {
    std::string path =
        "/" + net::percent_encoded(key.app) + "/" + net::percent_encoded(key.name) + ".flv";
    if (key.vhost != stream::kDefaultVhost) {
        path += "?vhost=" + net::percent_encoded(key.vhost);
    }
    return path;
}

Json track_json(const stream::TrackStats& track) {
    if (track.frames == 0) {
        return nullptr;
    }
    return {
        {"codec", media::to_string(track.codec)}, {"frames", track.frames}, {"bytes", track.bytes}};
}

template <typename Sps>
void add_picture(Json& track, const Sps& sps, int profile, int level) {
    track["profile"] = profile;
    track["level"] = level;
    track["width"] = sps.width;
    track["height"] = sps.height;
}

// What the codec's configuration says of the picture; nothing for codecs whose does not.
void add_config(Json& track, const media::MediaPacket& config) {
    if (config.info().codec == media::Codec::kH264) {
        if (const auto view = media::avc::ConfigView::parse(config.payload())) {
            if (const auto sps = media::avc::parse_sps(view->sps())) {
                add_picture(track, *sps, sps->profile_idc, sps->level_idc);
            }
        }
    } else if (config.info().codec == media::Codec::kHevc) {
        if (const auto view = media::hevc::ConfigView::parse(config.payload())) {
            view->for_each_parameter_set([&](ByteSpan nal) {
                if (const auto sps = media::hevc::parse_sps(nal); sps && !track.contains("width")) {
                    add_picture(track, *sps, sps->profile_idc(), sps->level_idc());
                }
            });
        }
    }
}

// The size is that of the configuration, where it has one: what the publisher's metadata says is
// unchecked, and a WebRTC publisher has none.
Json video_json(const stream::Stream& stream) {
    Json track = track_json(stream.video());
    if (track.is_null()) {
        return track;
    }
    if (const media::MediaPacket* config = stream.config(media::TrackKind::kVideo)) {
        add_config(track, *config);
    }
    const media::Description& said = stream.description();
    if (said.width > 0 && !track.contains("width")) {
        track["width"] = said.width;
        track["height"] = said.height;
    }
    if (said.width > 0 || said.frame_rate > 0) {
        track["framerate"] = said.frame_rate;
    }
    return track;
}

Json link_json(const net::LinkFacts& facts, bool publishes) {
    Json link = {{"state", facts.state},
                 {"transport", facts.transport},
                 {"remote", facts.remote},
                 {"local", facts.local},
                 {"rtt_ms", nullptr},
                 {"loss", facts.loss},
                 {"packets", facts.packets},
                 {"retransmitted", facts.retransmitted},
                 {"lost", facts.lost},
                 {publishes ? "dropped_frames" : "skipped", facts.skipped},
                 {"key_requests", facts.key_requests}};
    if (facts.rtt) {
        link["rtt_ms"] = static_cast<double>(facts.rtt->count()) / 1000;
    }
    if (facts.estimate_bps) {
        link["estimate_kbps"] = *facts.estimate_bps / 1000;
    }
    if (!facts.layer.empty()) {
        link["layer"] = facts.layer;
    }
    return link;
}

}  // namespace

std::string stream_id(const stream::Stream& stream) {
    // FNV-1a over the key's parts, so that an id survives a republish.
    uint64_t hash = 14695981039346656037U;
    const auto add = [&](std::string_view text) {
        for (char c : text) {
            hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211U;
        }
        hash = (hash ^ 0xFFU) * 1099511628211U;
    };
    add(stream.key().vhost);
    add(stream.key().app);
    add(stream.key().name);
    return fmt::format("st-{:012x}", hash & 0xFFFFFFFFFFFFU);
}

TrafficByStream::TrafficByStream(const net::ClientTable& clients) {
    clients.for_each([this](const net::Client& client) {
        if (client.role == net::ClientRole::kConnecting) {
            return;
        }
        Traffic& traffic = by_key_[client.key];
        const bool publishes = client.role == net::ClientRole::kPublisher;
        traffic.receive_bps += publishes ? client.receive_bps() : 0;
        traffic.send_bps += publishes ? 0 : client.send_bps();
        traffic.sent_bytes += client.sent_bytes;
    });
}

Traffic TrafficByStream::of(const stream::StreamKey& key) const {
    auto found = by_key_.find(key);
    return found == by_key_.end() ? Traffic() : found->second;
}

PlayerCount players_of(const stream::Stream& stream,
                       const net::Services& services,
                       const session::RtcServer* rtc) {
    const size_t webrtc = rtc != nullptr ? rtc->players(stream) : 0;
    return {services.fanout.players(stream) + webrtc, webrtc};
}

Json stream_json(const stream::Stream& stream,
                 const net::Services& services,
                 const session::RtcServer* rtc,
                 const TrafficByStream& traffic_by_stream,
                 MonoTime now) {
    const stream::StreamKey& key = stream.key();
    const Traffic traffic = traffic_by_stream.of(key);
    const PlayerCount players = players_of(stream, services, rtc);
    const stream::Publisher* publisher = stream.publisher();
    return {
        {"id", stream_id(stream)},
        {"name", key.name},
        {"vhost", key.vhost},
        {"app", key.app},
        {"url", "/" + key.app + "/" + key.name},
        {"live_ms", stream.live() ? age_ms(stream.live_since(), now) : 0},
        {"clients", players.all + (publisher ? 1 : 0)},
        {"players", players.all},
        {"players_webrtc", players.webrtc},
        {"frames", stream.video().frames},
        {"send_bytes", traffic.sent_bytes},
        {"recv_bytes", stream.bytes_received()},
        {"kbps", {{"recv_30s", traffic.receive_bps / 1000}, {"send_30s", traffic.send_bps / 1000}}},
        {"publish",
         {{"active", publisher != nullptr}, {"cid", publisher ? publisher->client_id() : ""}}},
        {"gop_bytes", stream.gop_bytes()},
        {"timestamp_shifts", stream.timeline().shifts()},
        {"timestamp_clamps", stream.timeline().clamps()},
        {"encoder", stream.description().encoder},
        {"video", video_json(stream)},
        {"audio", track_json(stream.audio())}};
}

Json client_json(const net::Client& client, MonoTime now) {
    const bool publishes = client.role == net::ClientRole::kPublisher;
    const char* action = publishes                                 ? "-publish"
                         : client.role == net::ClientRole::kPlayer ? "-play"
                                                                   : "";
    Json json = {
        {"id", client.id()},
        {"vhost", client.key.vhost},
        {"app", client.key.app},
        {"name", client.key.name},
        {"url", client.key.name.empty() ? "" : "/" + client.key.app + "/" + client.key.name},
        {"ip", client.ip()},
        {"tcUrl", client.tc_url},
        {"pageUrl", client.page_url},
        {"type", std::string(client.transport()) + action},
        {"protocol", client.transport()},
        {"publish", publishes},
        {"alive", static_cast<double>(age_ms(client.since(), now)) / 1000},
        {"send_bytes", client.sent_bytes},
        {"recv_bytes", client.received_bytes},
        {"kbps",
         {{"recv_30s", client.receive_bps() / 1000}, {"send_30s", client.send_bps() / 1000}}},
        {"resyncs", client.resyncs},
        {"dropped_bytes", client.dropped_bytes}};
    if (client.probe != nullptr) {
        json["link"] = link_json(client.probe->link_facts(), publishes);
    }
    return json;
}

Json live_json(const stream::Stream& stream,
               const net::Services& services,
               const session::RtcServer* rtc,
               MonoTime now) {
    const stream::StreamKey& key = stream.key();
    const auto codec = [](const stream::TrackStats& track) {
        return track.frames > 0 ? std::string(media::to_string(track.codec)) : std::string();
    };
    return {{"app", key.app},
            {"name", key.name},
            {"vhost", key.vhost},
            {"url_flv", flv_path(key)},
            {"url_ws", flv_path(key)},
            {"video", codec(stream.video())},
            {"audio", codec(stream.audio())},
            {"players", players_of(stream, services, rtc).all},
            {"live_ms", age_ms(stream.live_since(), now)}};
}

}  // namespace weir::app
