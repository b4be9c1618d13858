// sip_server { }
#include "base/strings.h"
#include "config/directive_tables.h"

namespace weir::config {
namespace {

SipRegisterConfig& registration(const Target& target) {
    return target.config.sip_server.registrations.back();
}

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
    {.name = "extension",
     .contexts = kSipServerContext,
     .type = ValueType::kExtension,
     .repeatable = true,
     .effect = Effect::kNewConnections,
     .example = "201 alice",
     .doc = "A number of a user: calls to it ring at the phones that the user has registered.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.sip_server.extensions.push_back({v.words.at(0), v.words.at(1)});
         }},
    {.name = "allow_calls",
     .contexts = kSipServerContext,
     .type = ValueType::kCallTargets,
     .repeatable = true,
     .effect = Effect::kNewConnections,
     .example = "192.0.2.0/24 example.com",
     .doc = "Where calls by this server (POST /api/v1/calls) may go, besides its users and the "
            "servers of `register`. A name is that of the host that is called; *.example.com holds "
            "for those below it. Nowhere unless given: calls cost money.",
     .apply =
         [](const Target& t, const Value& v) {
             auto& sip = t.config.sip_server;
             sip.call_hosts.insert(sip.call_hosts.end(), v.words.begin(), v.words.end());
             sip.call_networks.insert(sip.call_networks.end(), v.networks.begin(),
                                      v.networks.end());
         }},
    {.name = "register",
     .contexts = kSipServerContext,
     .type = ValueType::kSipUser,
     .repeatable = true,
     .effect = Effect::kApplied,
     .example =
         "sip:weir@pbx.example.com { password file:/run/secrets/pbx; dial weir live/stage; }",
     .doc =
         "A PBX or provider where this server registers as that user. Calls from there need no "
         "password; calls by this server may go there. The block may also have login NAME, backup "
         "HOST, proxy HOST, expires TIME and more dial lines.",
     .apply =
         [](const Target& t, const Value& v) {
             auto& made = t.config.sip_server.registrations.emplace_back();
             made.user = v.words.at(0);
             made.domain = v.words.at(1);
         }},
    {.name = "password",
     .contexts = kSipRegisterContext,
     .type = ValueType::kSecret,
     .secret_from = 0,
     .example = "file:/run/secrets/pbx",
     .doc = "The user's password there.",
     .apply = [](const Target& t, const Value& v) { registration(t).password = v.secrets.at(0); }},
    {.name = "login",
     .contexts = kSipRegisterContext,
     .type = ValueType::kText,
     .example = "weir-1",
     .doc = "The name that belongs to the password, where that is not the user.",
     .apply = [](const Target& t, const Value& v) { registration(t).login = v.text; }},
    {.name = "proxy",
     .contexts = kSipRegisterContext,
     .type = ValueType::kSipServers,
     .example = "10.0.0.5:5070",
     .doc = "The server that requests go to, instead of the host of the address. With "
            "\"sip:HOST;transport=tcp\" (in quotes) by TCP, with sips:HOST by TLS.",
     .apply =
         [](const Target& t, const Value& v) {
             auto& servers = registration(t).servers;
             servers.insert(servers.begin(), v.words.begin(), v.words.end());
         }},
    {.name = "backup",
     .contexts = kSipRegisterContext,
     .type = ValueType::kSipServers,
     .repeatable = true,
     .example = "10.0.0.6",
     .doc = "Servers that are tried, in this order, after the first one has failed.",
     .apply =
         [](const Target& t, const Value& v) {
             auto& made = registration(t);
             if (made.servers.empty()) {
                 made.servers.push_back(made.domain);
             }
             made.servers.insert(made.servers.end(), v.words.begin(), v.words.end());
         }},
    {.name = "expires",
     .contexts = kSipRegisterContext,
     .type = ValueType::kDuration,
     .min = 30 * kSecond,
     .max = 24 * kHour,
     .unit = kSecond,
     .example = "300s",
     .doc = "How long a registration holds; it is refreshed before. 300s unless given.",
     .apply = [](const Target& t, const Value& v) { registration(t).expires = millis(v); }},
    {.name = "dial",
     .contexts = kSipRegisterContext,
     .type = ValueType::kDial,
     .repeatable = true,
     .example = "100 live/stage",
     .doc = "What a number means in calls from there, as `dial` of sip_server, which holds for all "
            "others. The number is what they call, or the user of To.",
     .apply =
         [](const Target& t, const Value& v) {
             registration(t).dial.push_back(
                 {v.words.at(0), v.words.at(1), v.words.size() > 2 ? v.words[2] : ""});
         }},
    {.name = "rtmp_lines",
     .contexts = kSipServerContext,
     .type = ValueType::kSipDomains,
     .repeatable = true,
     .effect = Effect::kNewConnections,
     .example = "example.org",
     .doc = "Domains whose users an RTMP client may be: rtmp://HOST/sip/USER@DOMAIN is a telephone "
            "line, with the commands of siprtmp. A line calls within these domains only; calls may "
            "cost money. This server's own address (127.0.0.1:5060) is one, too: then its `user`s "
            "have lines. There are none unless given.",
     .apply =
         [](const Target& t, const Value& v) {
             auto& domains = t.config.sip_server.line_domains;
             domains.insert(domains.end(), v.words.begin(), v.words.end());
         }},
    {.name = "conference",
     .contexts = kSipServerContext,
     .type = ValueType::kMeeting,
     .repeatable = true,
     .effect = Effect::kNewConnections,
     .example = "300 talk/round",
     .doc = "A number whose callers hear each other, up to 50, and the stream that all of them "
            "are. It begins with the first caller, who has to be allowed to publish it, and ends "
            "with the last one.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.sip_server.conferences.push_back({v.words.at(0), v.words.at(1)});
         }},
    {.name = "outside",
     .contexts = kSipServerContext,
     .type = ValueType::kOutside,
     .repeatable = true,
     .effect = Effect::kNewConnections,
     .example = "00 via weir@pbx.example.com max_calls 2 users alice bob",
     .doc = "Numbers with this beginning may be called by phones that have shown the password of a "
            "user (of these users, where some are named), by the provider or PBX of that "
            "`register`; of several lines that with the longest beginning holds. At most "
            "max_calls at once (2 unless given); strip leaves out so many characters at the "
            "beginning. Never for addresses of `trunk`. No number unless given: such calls cost "
            "money.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.sip_server.outside.push_back({v.words.at(0),
                                                    v.words.at(1),
                                                    parse_uint(v.words.at(2)).value_or(0),
                                                    parse_uint(v.words.at(3)).value_or(0),
                                                    {v.words.begin() + 4, v.words.end()}});
         }},
    {.name = "timer_t1",
     .contexts = kSipServerContext,
     .type = ValueType::kDuration,
     .default_text = "500ms",
     .min = 20,
     .max = 10'000,
     .effect = Effect::kNewConnections,
     .doc = "How long a message and its answer may take (T1 of RFC 3261): what is not answered is "
            "sent again after it, and given up after 64 times of it. More for satellites; less "
            "only in a network of one's own.",
     .apply = [](const Target& t, const Value& v) { t.config.sip_server.timer_t1 = millis(v); }},
    {.name = "srtp",
     .contexts = kSipServerContext,
     .type = ValueType::kChoice,
     .default_text = "optional",
     .choices = "optional|required|off",
     .effect = Effect::kNewConnections,
     .doc =
         "Encrypted media: taken where a phone offers it, or a condition of every call, or never "
         "taken.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.sip_server.srtp = static_cast<uint8_t>(v.number); }},
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
     .doc =
         "A call whose phone sends neither RTP nor RTCP for this long is ended. A phone on hold, "
         "and one that only listens where its messages come from, may answer SIP instead: it is "
         "asked (OPTIONS) after half of the time.",
     .apply = [](const Target& t, const Value& v) { t.config.sip_server.rtp_timeout = millis(v); }},
    {.name = "max_unproven_per_ip",
     .contexts = kSipServerContext,
     .type = ValueType::kCount,
     .default_text = "256",
     .min = 0,
     .max = 1000000,
     .effect = Effect::kNewConnections,
     .doc = "Calls of one address of `trunk` or `register` over UDP that it has not acknowledged, "
            "at the same time; more are answered with 503. They ring, or nobody has answered the "
            "200: an address of UDP can be forged. An IPv6 /64 counts as one address. Calls with "
            "the password of a `user`, and by TCP and TLS, are not counted. With 0, any number.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.sip_server.max_unproven_per_ip = static_cast<uint32_t>(v.number);
         }},
    {.name = "jitter_buffer",
     .contexts = kSipServerContext,
     .type = ValueType::kFlag,
     .default_text = "off",
     .effect = Effect::kNewConnections,
     .doc = "Makes what phones say even before it is published: packets that are late or lost are "
            "bridged, and their clocks followed, for a delay of 20 to 200 ms. Without it their "
            "packets are passed on as they come, except for G.722 and for phones that send comfort "
            "noise, which always have one.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.sip_server.jitter_buffer = v.number != 0; }},
    {.name = "phone_page",
     .contexts = kSipServerContext,
     .type = ValueType::kFlag,
     .default_text = "off",
     .effect = Effect::kNewConnections,
     .doc =
         "Browsers may be phones: /phone.html calls and is called as a `user`, with its password. "
         "The media goes by WebRTC, so rtc_server has to be on; browsers give a microphone to "
         "pages of HTTPS and of localhost only.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.sip_server.phone_page = v.number != 0; }},
};

}  // namespace

std::span<const Directive> sip_directives() {
    return kSipDirectives;
}

}  // namespace weir::config
