#include "config/value_types.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/config_number.h"
#include "base/strings.h"
#include "config/value_parser.h"

namespace weir::config {
namespace {

using P = ValueParser;
using Text = std::string;

constexpr size_t kAny = kMaxConfigArguments;
constexpr size_t kMaxVariants = 9;  // one digit of an address

// "auto or ", when the directive has such a word.
Text special_or(const Directive& of, std::string_view separator = " or ") {
    return of.special.empty() ? "" : fmt::format("{}{}", of.special, separator);
}

template <Text (*kTextOf)(uint64_t)>
Text range(const Directive& of) {
    return fmt::format("{}{} to {}", special_or(of), kTextOf(of.min), kTextOf(of.max));
}

template <Text (*kTextOf)(uint64_t)>
Text number(const Value& value) {
    return kTextOf(value.number);
}

Text count_text(uint64_t count) {
    return std::to_string(count);
}

Text choices_shape(const Directive& of) {
    return join(split(of.choices, '|'), ", ");
}

Text expect_count(const Directive& of) {
    return fmt::format("{}a number from {} to {}", special_or(of), of.min, of.max);
}

Text expect_size(const Directive& of) {
    return fmt::format("{}a size from {} to {} (bytes, or with k, m or g)", special_or(of),
                       size_text(of.min), size_text(of.max));
}

Text expect_duration(const Directive& of) {
    return fmt::format("{}a duration from {} to {} (with ms, s, m or h; a bare number counts {})",
                       special_or(of), duration_text(of.min), duration_text(of.max),
                       of.unit == 1 ? "milliseconds" : "seconds");
}

Text expect_bitrate(const Directive& of) {
    return fmt::format("{}a bit rate from {} to {} (bits per second, or with k, m or g)",
                       special_or(of), bitrate_text(of.min), bitrate_text(of.max));
}

Text expect_secret(const Directive& of) {
    return of.min > 1 ? fmt::format("secrets of at least {} bytes, or file:PATH", of.min)
                      : "keys, or file:PATH";
}

Text expect_choice(const Directive& of) {
    return either_of(of.choices);
}

Text expect_path(const Directive& of) {
    return special_or(of) + "a path";
}

Text expect_cores(const Directive&) {
    return fmt::format("core numbers from 0 to {}, as in 1 or 0 2-3", kMaxCore);
}

Text expect_networks(const Directive& of) {
    return special_or(of) + "addresses or ADDRESS/BITS, as in 10.0.0.0/8 2001:db8::1";
}

Text expect_shared_secret(const Directive&) {
    return fmt::format("a text of {} to {} characters, or file:PATH", kMinSharedSecret,
                       kMaxSharedSecret);
}

Text duration_shape(const Directive& of) {
    return of.unit == 1 ? "duration (ms)" : "duration (s)";
}

Text path_shape(const Directive& of) {
    return special_or(of) + "path";
}

Text networks_shape(const Directive& of) {
    return special_or(of, ", or ") + "address or address/bits ...";
}

Text cores_range(const Directive&) {
    return fmt::format("0 to {}", kMaxCore);
}

Text flag_text(const Value& value) {
    return value.number != 0 ? "on" : "off";
}

// In the order of ValueType.
constexpr ValueTypeRow kRows[] = {
    {.type = ValueType::kBlock,
     .words = {0, 0},
     .parse = &P::parse_nothing,
     .expects = "'{'",
     .shape = "{ ... }",
     .block = true},
    {.type = ValueType::kVhost,
     .parse = &P::parse_vhost,
     .expects = "the name of one virtual host",
     .shape = "NAME { ... }",
     .block = true},
    {.type = ValueType::kApplication,
     .parse = &P::parse_application,
     .expects = "the name of one application",
     .shape = "NAME { ... }",
     .block = true},
    {.type = ValueType::kFlag,
     .parse = &P::parse_flag,
     .expects = "on or off",
     .shape = "on, off",
     .text = flag_text,
     .one_word = true},
    {.type = ValueType::kCount,
     .parse = &P::parse_count,
     .shape = "number",
     .expects_of = expect_count,
     .range_of = range<count_text>,
     .text = number<count_text>,
     .one_word = true},
    {.type = ValueType::kSize,
     .parse = &P::parse_size,
     .shape = "size",
     .expects_of = expect_size,
     .range_of = range<size_text>,
     .text = number<size_text>,
     .one_word = true},
    {.type = ValueType::kDuration,
     .parse = &P::parse_duration,
     .expects_of = expect_duration,
     .shape_of = duration_shape,
     .range_of = range<duration_text>,
     .text = number<duration_text>,
     .one_word = true},
    {.type = ValueType::kChoice,
     .parse = &P::parse_choice,
     .expects_of = expect_choice,
     .shape_of = choices_shape,
     .one_word = true},
    {.type = ValueType::kPath,
     .parse = &P::parse_path,
     .expects_of = expect_path,
     .shape_of = path_shape,
     .one_word = true},
    {.type = ValueType::kListen,
     .words = {1, kAny},
     .parse = &P::parse_listeners,
     .expects = "PORT, ADDRESS:PORT or [IPV6-ADDRESS]:PORT",
     .shape = "address ... [ssl] [proxy_protocol]"},
    {.type = ValueType::kCores,
     .words = {1, kAny},
     .parse = &P::parse_cores,
     .shape = "core or first-last ...",
     .expects_of = expect_cores,
     .range_of = cores_range},
    {.type = ValueType::kAddress,
     .words = {1, kAny},
     .parse = &P::parse_addresses,
     .expects = "numeric addresses, as in 203.0.113.7 or 203.0.113.7:8000",
     .shape = "address or address:port ..."},
    {.type = ValueType::kAccess,
     .words = {2, 2},
     .parse = &P::parse_rule,
     .expects = "publish or play, and an address, ADDRESS/BITS or all",
     .shape = "publish or play, then address, address/bits or all"},
    {.type = ValueType::kInclude,
     .parse = &P::parse_nothing,
     .expects = "the path of a file, or a pattern as in conf.d/*.conf",
     .shape = "path or pattern"},
    {.type = ValueType::kBitrate,
     .parse = &P::parse_bitrate,
     .shape = "bit rate",
     .expects_of = expect_bitrate,
     .range_of = range<bitrate_text>,
     .text = number<bitrate_text>,
     .one_word = true},
    {.type = ValueType::kText,
     .parse = &P::parse_text,
     .expects = "one word",
     .shape = "word",
     .one_word = true,
     .urls = UrlSecrets::kParts},
    {.type = ValueType::kPlace,
     .parse = &P::parse_text,
     .expects = "a file, or a URL with http or https",
     .shape = "path or URL",
     .one_word = true,
     .urls = UrlSecrets::kPath},
    {.type = ValueType::kHosts,
     .words = {1, kAny},
     .parse = &P::parse_hosts,
     .expects = "names of hosts, as in media.example.org",
     .shape = "name ..."},
    {.type = ValueType::kServers,
     .words = {1, kAny},
     .parse = &P::parse_servers,
     .expects = "HOST or HOST:PORT, as in camera.example.org or 192.0.2.1:8554",
     .shape = "host[:port] ..."},
    {.type = ValueType::kOrigins,
     .words = {1, kAny},
     .parse = &P::parse_origins,
     .expects = "SCHEME://HOST[:PORT], or *",
     .shape = "origin ..."},
    {.type = ValueType::kFrames,
     .words = {1, kAny},
     .parse = &P::parse_frames,
     .expects = "self, none, or SCHEME://HOST[:PORT]",
     .shape = "self, none or origin ..."},
    {.type = ValueType::kSecret,
     .words = {1, kAny},
     .parse = &P::parse_secrets,
     .shape = "secret or file:path ...",
     .expects_of = expect_secret},
    {.type = ValueType::kLogin,
     .words = {2, 2},
     .parse = &P::parse_login,
     .expects = "a name, and a password or file:PATH",
     .shape = "name, then password or file:path"},
    {.type = ValueType::kRoleSecret,
     .words = {2, 2},
     .parse = &P::parse_role_secret,
     .expects = "read, operate or admin, and a token or file:PATH",
     .shape = "read, operate or admin, then token or file:path"},
    {.type = ValueType::kRoleLogin,
     .words = {3, 3},
     .parse = &P::parse_role_login,
     .expects = "read, operate or admin, a name, and a password or file:PATH",
     .shape = "read, operate or admin, name, then password or file:path"},
    {.type = ValueType::kIceServer,
     .words = {1, 3},
     .parse = &P::parse_ice_server,
     .expects = "stun:HOST, or turn:HOST USER PASSWORD",
     .shape = "stun:host, or turn:host user password"},
    {.type = ValueType::kNetworks,
     .words = {1, kAny},
     .parse = &P::parse_networks,
     .expects_of = expect_networks,
     .shape_of = networks_shape},
    {.type = ValueType::kUser,
     .words = {1, 2},
     .parse = &P::parse_user,
     .expects = "the name of a user, and of a group if it is not the user's",
     .shape = "name [group]"},
    {.type = ValueType::kUrl,
     .words = {1, kAny},
     .parse = &P::parse_urls,
     .expects = "http://HOST[:PORT][/PATH] or the same with https",
     .shape = "URL ...",
     .urls = UrlSecrets::kPath},
    {.type = ValueType::kSharedSecret,
     .parse = &P::parse_shared_secret,
     .shape = "text or file:path",
     .expects_of = expect_shared_secret},
    {.type = ValueType::kSource,
     .parse = &P::parse_source_url,
     .expects = "rtmp://HOST[:PORT]/APP[/STREAM] or http://HOST[:PORT]/PATH.flv, also with rtmps "
                "or https, without user and password, or rtsp://[USER:PASSWORD@]HOST[:PORT]/PATH, "
                "also with rtsps, whep+http or whep+https, or udp://[SRC@]GROUP:PORT[@IF], also "
                "with rtp",
     .shape = "URL, or URL { ... }",
     .urls = UrlSecrets::kSource},
    {.type = ValueType::kOrigin,
     .parse = &P::parse_source_url,
     .expects = "http://HOST[:PORT], or the same with https, rtmp or rtmps, and nothing behind it",
     .shape = "URL"},
    {.type = ValueType::kForward,
     .parse = &P::parse_source_url,
     .expects = "rtmp://HOST[:PORT]/APP[/STREAM], also with rtmps, without user and password, or "
                "rtsp://[USER:PASSWORD@]HOST[:PORT]/APP[/STREAM], also with rtsps",
     .shape = "URL",
     .urls = UrlSecrets::kTarget},
    {.type = ValueType::kCommand,
     .words = {1, kAny},
     .parse = &P::parse_command,
     .expects =
         "a program and its arguments, in which $app, $name and $vhost stand for the stream's",
     .shape = "program argument ..."},
    {.type = ValueType::kGroupOut,
     .words = {2, 2},
     .parse = &P::parse_group_out,
     .expects = "a stream and where it goes, as in live/tv1 udp://239.1.1.1:5000?ttl=4",
     .shape = "APP/STREAM URL"},
    {.type = ValueType::kStreamNames,
     .words = {1, kMaxVariants},
     .parse = &P::parse_stream_names,
     .expects = "streams as in ladder/[stream]_720, at most 9",
     .shape = "APP/STREAM ..."},
    {.type = ValueType::kStreamName,
     .words = {1, 1},
     .parse = &P::parse_stream_name,
     .expects = "a stream, as in live/camera",
     .shape = "APP/STREAM"},
    {.type = ValueType::kDial,
     .words = {2, 3},
     .parse = &P::parse_dial,
     .expects = "a number or name, the stream that the caller hears and, if it has a name, the one "
                "that the caller is, as in 100 live/stage talk/caller",
     .shape = "number APP/STREAM [APP/STREAM]"},
    {.type = ValueType::kMeeting,
     .words = {2, 2},
     .parse = &P::parse_dial,
     .expects = "a number or name and the stream that its callers are, as in 300 talk/round",
     .shape = "number APP/STREAM"},
    {.type = ValueType::kPortRange,
     .parse = &P::parse_port_range,
     .expects = "two ports from 1024 to 65535, as in 20000-29999",
     .shape = "first-last",
     .one_word = true},
    {.type = ValueType::kExtension,
     .words = {2, 2},
     .parse = &P::parse_extension,
     .expects = "a number and the name of a user, as in 201 alice",
     .shape = "number user"},
    {.type = ValueType::kCallTargets,
     .words = {1, kAny},
     .parse = &P::parse_call_targets,
     .expects = "addresses and names of hosts, as in 192.0.2.0/24 example.com *.example.org",
     .shape = "ADDRESS, ADDRESS/BITS, host or *.host ..."},
    {.type = ValueType::kSipUser,
     .parse = &P::parse_sip_user,
     .expects = "sip:USER@HOST, without a password and a port",
     .shape = "sip:USER@HOST { ... }"},
    {.type = ValueType::kSipServers,
     .words = {1, kAny},
     .parse = &P::parse_sip_servers,
     .expects = "servers of SIP, as in pbx.example.com:5070 or sips:pbx.example.com",
     .shape = "HOST[:PORT] or URI ..."},
    {.type = ValueType::kSipDomains,
     .words = {1, kAny},
     .parse = &P::parse_sip_domains,
     .expects = "domains of SIP, as in example.org or pbx.example.org:5070",
     .shape = "host[:port] ..."},
    {.type = ValueType::kOutside,
     .words = {3, kAny},
     .parse = &P::parse_outside,
     .expects = "what the numbers begin with, via and a registration, as in 00 via "
                "weir@pbx.example.com max_calls 2 strip 1 users alice bob",
     .shape = "prefix via USER@HOST [max_calls N] [strip N] [users NAME ...]"},
    {.type = ValueType::kKeep,
     .words = {1, 2},
     .parse = &P::parse_keep,
     .expects = "how long (d, h, min) or how much (g, mb) is kept, or both, as in 7d 500g",
     .shape = "7d, 12h, 30min, 500g, 800mb"},
    {.type = ValueType::kRecordName,
     .parse = &P::parse_record_name,
     .expects = "names with {vhost}, {app}, {stream} and {time}, in quotes",
     .shape = "\"{vhost}/{app}/{stream}/{time}\""},
};

constexpr bool is_in_order() {
    for (size_t i = 0; i < std::size(kRows); i++) {
        if (static_cast<size_t>(kRows[i].type) != i) {
            return false;
        }
    }
    return std::size(kRows) == static_cast<size_t>(ValueType::kLast) + 1;
}

static_assert(is_in_order(), "every type of value has a row, in the order of ValueType");

}  // namespace

const ValueTypeRow& value_type(ValueType type) {
    return kRows[static_cast<size_t>(type)];
}

std::string expectation(const Directive& directive) {
    const ValueTypeRow& row = value_type(directive.type);
    return row.expects_of ? row.expects_of(directive) : std::string(row.expects);
}

std::string value_shape(const Directive& directive) {
    const ValueTypeRow& row = value_type(directive.type);
    return row.shape_of ? row.shape_of(directive) : std::string(row.shape);
}

std::string range_text(const Directive& directive) {
    const ValueTypeRow& row = value_type(directive.type);
    return row.range_of ? row.range_of(directive) : std::string();
}

bool may_have_block(const Directive& directive) {
    return directive.type == ValueType::kSource || directive.type == ValueType::kSipUser;
}

bool is_block(const Directive& directive) {
    return value_type(directive.type).block;
}

}  // namespace weir::config
