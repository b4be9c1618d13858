// rtsp_server { }.
#include "config/directive_tables.h"

namespace weir::config {
namespace {

void add_rtp_listeners(const Target& target, const Value& value) {
    RtspServerConfig& rtsp = target.config.rtsp_server;
    add_listeners(rtsp.rtp_listen, target, value);
    rtsp.rtcp_listen = rtsp.rtp_listen;
    for (ListenAddress& each : rtsp.rtcp_listen) {
        const std::optional<NetAddress> rtp = NetAddress::parse(each.address);
        if (rtp && rtp->port() != 0 && rtp->port() != UINT16_MAX) {
            each.address = rtp->with_port(static_cast<uint16_t>(rtp->port() + 1)).to_string();
        }
    }
}

const Directive kRtspDirectives[] = {
    {.name = "rtsp_server",
     .opens = kRtspServerContext,
     .doc = "RTSP: for cameras, recorders, GStreamer, ffmpeg. The block turns it on.",
     .apply = [](const Target& t, const Value&) { t.config.rtsp_server.enabled = true; }},
    {.name = "enabled",
     .contexts = kRtspServerContext,
     .type = ValueType::kFlag,
     .default_text = "off",
     .doc = "Turns RTSP on or off; in an rtsp_server block it is on unless this says off.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.rtsp_server.enabled = v.number != 0; }},
    {.name = "listen",
     .contexts = kRtspServerContext,
     .type = ValueType::kListen,
     .default_text = "8554",
     .repeatable = true,
     .doc = "Addresses for RTSP. With ssl, RTSPS.",
     .apply = [](const Target& t,
                 const Value& v) { add_listeners(t.config.rtsp_server.listen, t, v); }},
    {.name = "udp",
     .contexts = kRtspServerContext,
     .type = ValueType::kFlag,
     .default_text = "on",
     .doc = "Media by UDP, too, for clients that ask for it.",
     .apply = [](const Target& t, const Value& v) { t.config.rtsp_server.udp = v.number != 0; }},
    {.name = "rtp_listen",
     .contexts = kRtspServerContext,
     .type = ValueType::kListen,
     .default_text = "8556",
     .repeatable = true,
     .doc =
         "UDP addresses for the RTP of all sessions; RTCP uses the port after it. A firewall has "
         "to let both in.",
     .apply = add_rtp_listeners},
    {.name = "multicast",
     .contexts = kRtspServerContext,
     .type = ValueType::kNetworks,
     .effect = Effect::kNewConnections,
     .example = "239.10.0.0/16",
     .doc =
         "A network of IPv4 multicast groups, for clients that ask for multicast: each stream has "
         "one group of it, and is sent once however many receive it. Without this directive there "
         "is no multicast.",
     .apply = [](const Target& t, const Value& v) { t.config.rtsp_server.multicast = v.networks; }},
    {.name = "ttl",
     .contexts = kRtspServerContext,
     .type = ValueType::kCount,
     .default_text = "8",
     .min = 0,
     .max = 255,
     .doc = "How many routers multicast may pass.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.rtsp_server.ttl = static_cast<uint32_t>(v.number); }},
    {.name = "multicast_ports",
     .contexts = kRtspServerContext,
     .type = ValueType::kCount,
     .default_text = "5004",
     .min = 1024,
     .max = 65532,
     .effect = Effect::kNewConnections,
     .doc =
         "The port of the groups' video (RTP), an even number. RTCP is on the next, the audio on "
         "the two after that.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.rtsp_server.multicast_port = static_cast<uint32_t>(v.number);
         }},
};

}  // namespace

std::span<const Directive> rtsp_directives() {
    return kRtspDirectives;
}

}  // namespace weir::config
