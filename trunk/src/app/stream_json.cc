#include "app/stream_json.h"

#include "app/api_answer.h"
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

Json video_json(const stream::Stream& stream) {
    Json track = track_json(stream.video());
    if (!track.is_null() && stream.description().width > 0) {
        track["width"] = stream.description().width;
        track["height"] = stream.description().height;
        track["framerate"] = stream.description().frame_rate;
    }
    return track;
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

Json stream_json(const stream::Stream& stream,
                 const net::Services& services,
                 const TrafficByStream& traffic_by_stream,
                 MonoTime now) {
    const stream::StreamKey& key = stream.key();
    const Traffic traffic = traffic_by_stream.of(key);
    const size_t players = services.fanout.players(stream);
    const stream::Publisher* publisher = stream.publisher();
    return {
        {"id", stream_id(stream)},
        {"name", key.name},
        {"vhost", key.vhost},
        {"app", key.app},
        {"url", "/" + key.app + "/" + key.name},
        {"live_ms", stream.live() ? age_ms(stream.live_since(), now) : 0},
        {"clients", players + (publisher ? 1 : 0)},
        {"players", players},
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
    return {{"id", client.id()},
            {"vhost", client.key.vhost},
            {"app", client.key.app},
            {"name", client.key.name},
            {"url", client.key.name.empty() ? "" : "/" + client.key.app + "/" + client.key.name},
            {"ip", client.ip()},
            {"tcUrl", client.tc_url},
            {"pageUrl", client.page_url},
            {"type", std::string(client.transport()) + action},
            {"publish", publishes},
            {"alive", static_cast<double>(age_ms(client.since(), now)) / 1000},
            {"send_bytes", client.sent_bytes},
            {"recv_bytes", client.received_bytes},
            {"kbps",
             {{"recv_30s", client.receive_bps() / 1000}, {"send_30s", client.send_bps() / 1000}}},
            {"resyncs", client.resyncs},
            {"dropped_bytes", client.dropped_bytes}};
}

Json live_json(const stream::Stream& stream, const net::Services& services, MonoTime now) {
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
            {"players", services.fanout.players(stream)},
            {"live_ms", age_ms(stream.live_since(), now)}};
}

}  // namespace weir::app
