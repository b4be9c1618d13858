#include "app/api/stream_json.h"

#include <cmath>

#include "app/api/track_json.h"
#include "net/api/answer.h"
#include "proto/http/target.h"
#include "session/webrtc/rtc_playable.h"

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
            {"since_ms", wall_time_ms() - age_ms(stream.live_since(), now)}};
}

net::Json webrtc_json(const stream::Stream& stream, const session::RtcServer* rtc) {
    if (rtc == nullptr || !rtc->serving()) {
        return {{"playable", false}, {"why", "WebRTC is off on this server (rtc_server)"}};
    }
    const session::RtcPlayable told = session::rtc_playable(stream, rtc->refusal(stream));
    return {{"playable", told.playable ? net::Json(*told.playable) : net::Json(nullptr)},
            {"why", told.why}};
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

PlayerCounts players_of(const stream::Stream& stream, const net::Services& services) {
    PlayerCounts counts;
    services.fanout.for_each_transport(stream, [&counts](const net::TransportCount& each) {
        const std::string_view transport = each.transport;
        (transport == "rtmp"     ? counts.rtmp
         : transport == "ws-flv" ? counts.ws_flv
         : transport == "webrtc" ? counts.webrtc
                                 : counts.flv) += each.players;
    });
    return counts;
}

net::Json stream_json(const stream::Stream& stream,
                      const net::Services& services,
                      const session::RtcServer* rtc,
                      MonoTime now) {
    const stream::StreamKey& key = stream.key();
    const RateClock& clock = services.registry.clock();
    const PlayerCounts players = players_of(stream, services);
    const media::Timeline& timeline = stream.timeline();
    return {{"id", stream_id(key)},
            {"name", key.name},
            {"vhost", key.vhost},
            {"app", key.app},
            {"url", "/" + key.app + "/" + key.name},
            {"live_ms", stream.live() ? age_ms(stream.live_since(), now) : 0},
            {"clients", players.all() + (stream.live() ? 1 : 0)},
            {"players", players.all()},
            {"players_webrtc", players.webrtc},
            {"viewers",
             {{"rtmp", players.rtmp},
              {"flv", players.flv},
              {"ws-flv", players.ws_flv},
              {"webrtc", players.webrtc}}},
            {"frames", stream.video().frames},
            {"send_bytes", stream.bytes_sent()},
            {"recv_bytes", stream.bytes_received()},
            {"kbps", rates_json(receive_rates(stream, clock, now), send_rates(stream, clock, now))},
            {"publish", publish_json(stream, now)},
            {"gop", gop_json(stream, now)},
            {"gop_bytes", stream.gop_bytes()},
            {"timestamp_shifts", timeline.shifts()},
            {"timestamp_clamps", timeline.clamps()},
            {"frames_dropped", stream.frames_before_key_dropped()},
            {"encoder", stream.description().encoder},
            {"webrtc", webrtc_json(stream, rtc)},
            {"video", video_json(stream, clock, now)},
            {"audio", audio_json(stream)}};
}

net::Json live_json(const stream::Stream& stream,
                    const net::Services& services,
                    const session::RtcServer* rtc,
                    MonoTime now) {
    const stream::StreamKey& key = stream.key();
    const RateClock& clock = services.registry.clock();
    const auto codec = [](const stream::TrackStats& track) {
        return track.frames > 0 ? std::string(media::to_string(track.codec)) : std::string();
    };
    constexpr size_t kTenSeconds = 1;
    return {{"app", key.app},
            {"name", key.name},
            {"vhost", key.vhost},
            {"url_flv", flv_path(key)},
            {"url_ws", flv_path(key)},
            {"video", codec(stream.video())},
            {"audio", codec(stream.audio())},
            {"players", players_of(stream, services).all()},
            {"kbps", receive_rates(stream, clock, now)[kTenSeconds] / 1000},
            {"fps", std::round(stream.frame_rate(clock, now, kRateWindows[kTenSeconds]))},
            {"webrtc", webrtc_json(stream, rtc)},
            {"live_ms", age_ms(stream.live_since(), now)}};
}

}  // namespace weir::app
