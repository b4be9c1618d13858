// sip_server { }
#include "config/directive_tables.h"

namespace weir::config {
namespace {

const Directive kSipDirectives[] = {
    {.name = "sip_server",
     .opens = kSipServerContext,
     .doc = "SIP: telephones call streams. The block turns it on.",
     .apply = [](const Target& t, const Value&) { t.config.sip_server.enabled = true; }},
    {.name = "enabled",
     .contexts = kSipServerContext,
     .type = ValueType::kFlag,
     .default_text = "off",
     .doc = "Turns SIP on or off; in a sip_server block it is on unless this says off.",
     .apply = [](const Target& t, const Value& v) { t.config.sip_server.enabled = v.number != 0; }},
    {.name = "listen",
     .contexts = kSipServerContext,
     .type = ValueType::kListen,
     .default_text = "5060",
     .repeatable = true,
     .doc = "Addresses for SIP by UDP and TCP. With ssl, by TLS; 5061 is usual for that.",
     .apply = [](const Target& t,
                 const Value& v) { add_listeners(t.config.sip_server.listen, t, v); }},
    {.name = "realm",
     .contexts = kSipServerContext,
     .type = ValueType::kText,
     .default_text = "weir",
     .effect = Effect::kNewConnections,
     .doc = "What phones are told to show their password for; often the domain.",
     .apply = [](const Target& t, const Value& v) { t.config.sip_server.realm = v.text; }},
    {.name = "digest",
     .contexts = kSipServerContext,
     .type = ValueType::kChoice,
     .default_text = "md5",
     .choices = "md5|sha256|both",
     .effect = Effect::kNewConnections,
     .doc = "How phones prove their password. SHA-256 is stronger; many phones know MD5 only, and "
            "some of them do not call where both are offered.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.sip_server.digest = static_cast<uint8_t>(v.number); }},
    {.name = "user",
     .contexts = kSipServerContext,
     .type = ValueType::kLogin,
     .repeatable = true,
     .effect = Effect::kNewConnections,
     .secret_from = 1,
     .example = "alice file:/run/secrets/alice",
     .doc = "A phone's user and password. Who is neither a user nor at an address of `trunk` "
            "cannot call.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.sip_server.users.push_back({v.text, v.secrets.at(0)});
         }},
    {.name = "trunk",
     .contexts = kSipServerContext,
     .type = ValueType::kNetworks,
     .repeatable = true,
     .effect = Effect::kNewConnections,
     .example = "192.0.2.0/24",
     .doc = "Addresses of PBXs and providers whose calls need no password.",
     .apply =
         [](const Target& t, const Value& v) {
             auto& trunks = t.config.sip_server.trunks;
             trunks.insert(trunks.end(), v.networks.begin(), v.networks.end());
         }},
    {.name = "dial",
     .contexts = kSipServerContext,
     .type = ValueType::kDial,
     .repeatable = true,
     .effect = Effect::kNewConnections,
     .example = "100 live/stage",
     .doc = "What a number means: the stream that the caller hears, then, if it is not to be "
            "sip/CALL-ID, the stream that the caller is. sip:APP/STREAM@HOST needs no line here.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.sip_server.dial.push_back(
                 {v.words.at(0), v.words.at(1), v.words.size() > 2 ? v.words[2] : ""});
         }},
    {.name = "rtp_ports",
     .contexts = kSipServerContext,
     .type = ValueType::kPortRange,
     .default_text = "20000-29999",
     .effect = Effect::kNewConnections,
     .doc = "UDP ports for the media of calls: two for each call, four with video. A firewall has "
            "to let them in.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.sip_server.first_port = v.cores.ranges.front().first;
             t.config.sip_server.last_port = v.cores.ranges.front().last;
         }},
    {.name = "candidate",
     .contexts = kSipServerContext,
     .type = ValueType::kAddress,
     .effect = Effect::kNewConnections,
     .example = "203.0.113.7",
     .doc = "The address by which phones reach this host, where that is none of its own (NAT). "
            "Without it, phones are told the one that they came to.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.sip_server.address = v.candidates.at(0); }},
    {.name = "rtp_timeout",
     .contexts = kSipServerContext,
     .type = ValueType::kDuration,
     .default_text = "60s",
     .min = 1'000,
     .max = 86'400'000,
     .effect = Effect::kNewConnections,
     .doc = "A call whose phone sends no media for this long, and is not on hold, is ended.",
     .apply = [](const Target& t, const Value& v) { t.config.sip_server.rtp_timeout = millis(v); }},
};

}  // namespace

std::span<const Directive> sip_directives() {
    return kSipDirectives;
}

}  // namespace weir::config
