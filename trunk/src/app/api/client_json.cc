#include "app/api/client_json.h"

#include "app/api/stream_json.h"
#include "io/tcp.h"
#include "net/api/answer.h"
#include "net/client_probe.h"
#include "net/link_facts.h"

namespace weir::app {
namespace {

int64_t age_ms(MonoTime since, MonoTime now) {
    return std::chrono::duration_cast<Millis>(now - since).count();
}

double milliseconds(Micros time) {
    return static_cast<double>(time.count()) / 1000;
}

net::Json link_json(const net::LinkFacts& facts, bool publishes) {
    net::Json link = {{"state", facts.state},
                      {"transport", facts.transport},
                      {"remote", facts.remote},
                      {"local", facts.local},
                      {"rtt_ms", nullptr},
                      {"loss", facts.loss},
                      {"jitter_ms", nullptr},
                      {"packets", facts.packets},
                      {"retransmitted", facts.retransmitted},
                      {"lost", facts.lost},
                      {publishes ? "dropped_frames" : "skipped", facts.skipped},
                      {"key_requests", facts.key_requests}};
    if (facts.jitter_ms) {
        link["jitter_ms"] = *facts.jitter_ms;
    }
    if (facts.rtt) {
        link["rtt_ms"] = milliseconds(*facts.rtt);
    }
    if (facts.estimate_bps) {
        link["estimate_kbps"] = *facts.estimate_bps / 1000;
    }
    if (!facts.layer.empty()) {
        link["layer"] = facts.layer;
    }
    return link;
}

net::Json srt_json(const net::SrtFacts& facts) {
    return {{"rtt_ms", milliseconds(facts.rtt)},
            {"latency_ms", facts.latency.count()},
            {"sent_packets", facts.sent_packets},
            {"received_packets", facts.received_packets},
            {"lost", facts.lost},
            {"retransmitted", facts.retransmitted},
            {"dropped", facts.dropped},
            {"undecrypted", facts.undecrypted},
            {"flight", facts.flight},
            {"send_buffer_ms", facts.send_buffer_ms},
            {"bandwidth_kbps", facts.bandwidth_bps / 1000},
            {"unread_dropped_bytes", facts.unread_dropped_bytes}};
}

net::Json tcp_json(const io::TcpStream* tcp) {
    const std::optional<io::TcpFacts> facts = tcp != nullptr ? tcp->facts() : std::nullopt;
    if (!facts) {
        return nullptr;
    }
    return {{"rtt_ms", milliseconds(facts->rtt)},
            {"rtt_variation_ms", milliseconds(facts->rtt_variation)},
            {"retransmits", facts->retransmits},
            {"retransmitted_bytes", facts->retransmitted_bytes},
            {"unacknowledged_segments", facts->unacknowledged},
            {"unsent_bytes", facts->unsent_bytes},
            {"window_segments", facts->window_segments},
            {"delivery_kbps", facts->delivery_bps / 1000}};
}

// What is measured of players alone.
net::Json play_json(const net::Client& client) {
    net::Json play = {{"state", ""},
                      {"lag_ms", nullptr},
                      {"lag_bytes", nullptr},
                      {"first_frame_ms", nullptr},
                      {"write_stalls", client.write_stalls},
                      {"resyncs", client.resyncs},
                      {"dropped_bytes", client.dropped_bytes},
                      {"dropped_frames", client.dropped_frames}};
    if (const auto lag = client.probe ? client.probe->lag_facts() : std::nullopt) {
        play["state"] = lag->state;
        play["lag_ms"] = lag->lag_ms;
        if (lag->bytes) {
            play["lag_bytes"] = *lag->bytes;
        }
    }
    if (client.first_frame_ms >= 0) {
        play["first_frame_ms"] = client.first_frame_ms;
    }
    return play;
}

}  // namespace

net::Json client_json(const net::Client& client, MonoTime now) {
    const bool publishes = client.role == net::ClientRole::kPublisher;
    const bool plays = client.role == net::ClientRole::kPlayer;
    const char* action = publishes ? "-publish" : plays ? "-play" : "";
    const bool named = !client.key.name.empty();
    net::Json json = {
        {"id", client.id()},
        {"vhost", client.key.vhost},
        {"app", client.key.app},
        {"name", client.key.name},
        {"stream", named ? stream_id(client.key) : ""},
        {"url", named ? "/" + client.key.app + "/" + client.key.name : ""},
        {"ip", client.ip()},
        {"tcUrl", client.tc_url},
        {"pageUrl", client.page_url},
        {"node", client.node},
        {"type", std::string(client.transport()) + action},
        {"role", net::to_string(client.role)},
        {"protocol", client.transport()},
        {"encrypted", client.encrypted},
        {"publish", publishes},
        {"alive", static_cast<double>(age_ms(client.since(), now)) / 1000},
        {"since_ms", wall_time_ms() - age_ms(client.since(), now)},
        {"idle_ms", age_ms(client.active_at(), now)},
        {"send_bytes", client.sent_bytes},
        {"recv_bytes", client.received_bytes},
        {"kbps", rates_json(client.receive_rates(now), client.send_rates(now))},
        {"resyncs", client.resyncs},
        {"dropped_bytes", client.dropped_bytes},
        {"play", plays ? play_json(client) : net::Json(nullptr)},
        {"tcp", client.probe != nullptr ? tcp_json(client.probe->tcp()) : net::Json(nullptr)}};
    if (const auto link = client.probe ? client.probe->link_facts() : std::nullopt) {
        json["link"] = link_json(*link, publishes);
    }
    if (const auto srt = client.probe ? client.probe->srt_facts() : std::nullopt) {
        json["srt"] = srt_json(*srt);
    }
    return json;
}

}  // namespace weir::app
