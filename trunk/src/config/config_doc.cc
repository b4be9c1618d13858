#include "config/config_doc.h"

#include <fmt/format.h>

#include "base/config_number.h"
#include "base/strings.h"
#include "config/directives.h"
#include "config/environment.h"
#include "config/value_types.h"

namespace weir::config {

namespace {

constexpr size_t kCommentWidth = 100;

constexpr std::string_view kMarkdownHead = R"(# Configuration

`weir -c FILE` reads one file, `weir -t -c FILE` only checks it. All mistakes are reported at once, each with file,
line, column, what was found and what was expected. `conf/full.conf` is this page as a configuration: every directive
with its default.

    listen 1935;                       # a directive: name, values, ';'
    http_server {                      # a block: name, '{', directives, '}'
        listen 8080;
    }
    vhost __defaultVhost__ {
        security { allow publish 192.168.0.0/16; }
    }

- `#` at the start of a word begins a comment. Values with spaces or `;{}` are quoted: `"..."` or `'...'`, with the
  escapes `\"` `\'` `\\` `\n` `\t` `\r`; a quoted value ends on its line.
- Durations: `350ms`, `10s`, `2m`, `1h`; a bare number is in the unit that the table names. Sizes: `64k`, `16m`, `1g`;
  a bare number is in bytes. k is 1024.
- Addresses: `1935` (every IPv6 and IPv4 address), `127.0.0.1:1935`, `[::1]:1935`; several of them in one directive or
  in several. With port 0 the system chooses. After the addresses, `ssl` (or `tls`) makes it HTTPS or RTMPS, and
  `proxy_protocol` requires the header of a proxy in front of each connection ([tls.md](tls.md)).
- Relative paths start at the folder of the file that they are written in.
- A directive is given once per block, except `vhost`, `application`, `listen`, `ssl_certificate`, `ssl_certificate_key`,
  `trusted_proxies`, `candidate`, `ice_server`, `server_name`, `unresolved`, `source`, `forward`, those of `http_hooks` that take URLs, and those
  of `security` and `http_api` that add a rule, a secret or an origin.
- Instead of a secret (key, password, token), `file:PATH` names a file that holds it: one secret per line, read
  again when the file changes. No message shows a secret.
- `include FILE;` is replaced by other files, in any block: one by its path, or all that match a pattern, as in
  `include conf.d/*.conf;`, sorted by name. Errors name the file they are in. At most 256 files, 8 deep.
- Every vhost inherits the directives of the top level that a `vhost` may also have, before or after it in the
  file; applications inherit those of their vhost.
)";

constexpr std::string_view kMarkdownReload = R"(
## Change it while it runs

`kill -HUP PID`, `POST /api/v1/reload`, or `config_watch on;` make the running server read its files again. It checks all of
them first; on any error, also when a new port cannot be opened, nothing changes, and all errors are in
the log and in the API's answer. Otherwise it applies the changes and reports them:

    $ curl -X POST http://127.0.0.1:1985/api/v1/reload
    {"code":0, ... "data":{"changes":[{"directive":"play queue_length","vhost":"a.example","from":"10s","to":"5s",
     "effect":"applied"}], "needs_restart":false, ...}}

200 means that the new configuration is in force; 400 that the files are wrong; 409 that a port is taken or another reload is running:
`"errors":[{"file":..,"line":..,"column":..,"message":..}]`.

- Nobody is disconnected. Listeners come, go and move; accepted connections continue, and a UDP port of WebRTC
  stays open until the sessions that use it have ended. Only when an address includes an old one of the same port
  (`127.0.0.1:1935` to `1935`), there is a moment without a listener.
- *applied* means that the change holds for all clients at once; *new connections*, that it holds for clients that come later: a
  client that publishes or plays keeps its rules. *needs a restart*: the old value stays, and each reload says so until the restart.
- A vhost that is removed or gets `enabled off;` keeps its clients: its streams and players continue until they end
  (`DELETE /api/v1/clients/ID` ends one). A disabled vhost accepts no new clients; the name of a removed vhost belongs to
  `__defaultVhost__` from then on, with streams of its own.

`weir --dump-config -c FILE` prints the configuration that FILE and the environment give, including defaults, and where each
value comes from. Secrets are `(secret)` in it, and `***` in URLs. A secret with blanks, quotes, `;`, `{` or `}` stands in quotes.

## Environment

Each directive has a variable that replaces the value in the files, at the start and at every reload. Addresses and other
lists are separated by blanks or `;`, several statements of one directive by `;`. Those of `vhost` are for the top level
and for `__defaultVhost__`; another vhost, or an application, with a value of its own keeps it. An empty variable counts as not set.
An unknown `WEIR_` name is a warning; the variables that
Kubernetes sets for a service called weir (`WEIR_PORT`, `WEIR_SERVICE_HOST` ...) are ignored. `WEIR_CONFIG_FILE` names the
file to read if there is no `-c`; `WEIR_CANDIDATE` has priority over `WEIR_RTC_SERVER_CANDIDATE`, and `CANDIDATE` is used if
nothing else names a candidate.

| variable | directive | a change in the running server |
|---|---|---|
)";

constexpr std::string_view kMarkdownApplication = R"(
An application may have all directives of a `vhost`, except `application` itself:

    vhost __defaultVhost__ {
        security { deny publish all; deny play all; }
        application live { security { allow publish 10.0.0.0/8; } }
        application vip  { security { publish_key file:vip.keys; play_key file:viewers.keys; } }
    }

- Other settings are those of its vhost. A `security` block is replaced as a whole; in `http_hooks`, `play` and
  `publish` each directive is replaced separately.
- `application vip` is for the streams of `rtmp://HOST/vip/STREAM` and of all apps below it, as `rtmp://HOST/vip/room/STREAM`;
  the longest name that fits is used. Slashes at the end and doubled slashes do not count.
- Upper and lower case differ: `VIP` is not `vip`. An app that differs from a configured one only in case is
  refused, so that no spelling avoids the rules.
- It holds for every protocol, for hooks and for logins.
- At the top level, `application` belongs to `__defaultVhost__`; it may stand there only in a file without `vhost` sections.
)";

constexpr std::string_view kMarkdownAccess = R"(
Rules are tried in the order of the file, and the first one that matches decides. After them these rules always hold:

    allow publish 127.0.0.0/8;  allow publish ::1;  deny publish all;
    allow play all;

So a remote encoder needs only `security { allow publish 203.0.113.9; }`, and
`security { deny play all; allow play 10.0.0.0/8; }` refuses everybody: write the exception first. An IPv4 client of an
IPv6 socket counts as IPv4: `0.0.0.0/0` is all of IPv4, and no IPv6 network, not even `::/0`, contains an IPv4 client. The
bits of an address after /BITS must be zero, so `10.1.2.3/8` is refused.

If a secret is configured for publishing (`publish_key`, `publish_user`, `jwt_secret`, `jwks_file`), every publisher must show
it, and it replaces the rules above that always hold: without an `allow publish` line every address that has it may
publish. `deny` lines still refuse. The same holds for playing with `play_key` and tokens. [access.md](access.md) has
recipes.
)";

struct Section {
    Context context;
    std::string_view title;
    std::string_view note;
};

constexpr Section kSections[] = {
    {kGlobalContext, "Top level", ""},
    {kHttpServerContext, "http_server { }", ""},
    {kHttpApiContext, "http_api { }", ""},
    {kRtcServerContext, "rtc_server { }", ""},
    {kRtspServerContext, "rtsp_server { }", ""},
    {kSrtServerContext, "srt_server { }", ""},
    {kSipServerContext, "sip_server { }", ""},
    {kVhostContext, "vhost NAME { }",
     "All except `enabled` may also stand at the top level, as the default of every vhost.\n"},
    {kApplicationContext, "application NAME { }", kMarkdownApplication},
    {kSecurityContext, "security { }", kMarkdownAccess},
    {kPlayContext, "play { }", ""},
    {kPublishContext, "publish { }", ""},
    {kHlsContext, "hls { }", "See [protocols/hls.md](protocols/hls.md).\n"},
    {kRecordContext, "record { }", "See [recording.md](recording.md).\n"},
    {kHooksContext, "http_hooks { }",
     "In a vhost, each directive replaces that of the top level; the others are inherited.\n"},
    {kSourceContext, "source URL { }", "See [sources.md](sources.md).\n"},
    {kClusterContext, "cluster { }", "See [cluster.md](cluster.md).\n"},
    {kSipRegisterContext, "register sip:USER@HOST { }",
     "Within sip_server. See [protocols/sip.md](protocols/sip.md).\n"},
};

std::string change_text(const EnvironmentSlot& slot) {
    std::string text(to_string(effect_of(*slot.directive, slot.key)));
    return slot.directive->reloadable ? text : "**" + text + "**";
}

std::string wrapped_comment(std::string_view text, std::string_view indent) {
    std::string out;
    std::string line;
    for (std::string_view word : split(text, ' ')) {
        if (!line.empty() && indent.size() + 2 + line.size() + 1 + word.size() > kCommentWidth) {
            out += fmt::format("{}# {}\n", indent, line);
            line.clear();
        }
        line += line.empty() ? "" : " ";
        line += word;
    }
    return out + fmt::format("{}# {}\n", indent, line);
}

// The explanation and what may be written, over a directive of full.conf.
std::string comment_of(const Directive& directive, std::string_view indent) {
    std::string text(directive.doc);
    if (!is_block(directive)) {
        text += fmt::format(" Takes {}.", expectation(directive));
    }
    return wrapped_comment(text, indent);
}

void append_block(std::string& out, Context context, size_t depth) {
    std::string indent(4 * depth, ' ');
    bool first = true;
    for (const Directive& directive : directives()) {
        // What may stand in both is shown where it is mostly wanted: in the vhost.
        bool elsewhere = context == kGlobalContext && (directive.contexts & kVhostContext) != 0;
        if ((directive.contexts & context) == 0 || elsewhere) {
            continue;
        }
        out += first ? "" : "\n";
        first = false;
        out += comment_of(directive, indent);
        if (directive.type == ValueType::kApplication || may_have_block(directive)) {
            out += fmt::format("{}# {} {}\n", indent, directive.name, directive.example);
        } else if (is_block(directive)) {
            out += fmt::format(
                "{}{}{} {{\n", indent, directive.name,
                directive.type == ValueType::kVhost ? fmt::format(" {}", kDefaultVhost) : "");
            append_block(out, directive.opens, depth + 1);
            out += fmt::format("{}}}\n", indent);
        } else if (directive.default_text.empty()) {
            out += fmt::format("{}# {} {};\n", indent, directive.name, directive.example);
        } else {
            out += fmt::format("{}{} {};\n", indent, directive.name, directive.default_text);
        }
    }
}

}  // namespace

std::string config_markdown() {
    std::string out(kMarkdownHead);
    for (const Section& section : kSections) {
        out += fmt::format("\n## {}\n", section.title);
        if (!section.note.empty()) {
            out += section.note.starts_with('\n') ? "" : "\n";
            out += section.note;
        }
        if (section.context == kApplicationContext) {
            continue;  // what a vhost has
        }
        out += "\n| directive | value | default | range | meaning |\n|---|---|---|---|---|\n";
        for (const Directive& directive : directives()) {
            if ((directive.contexts & section.context) != 0) {
                std::string initial = directive.default_text.empty()
                                          ? ""
                                          : fmt::format("`{}`", directive.default_text);
                out += fmt::format("| `{}` | {} | {} | {} | {} |\n", directive.name,
                                   value_shape(directive), initial, range_text(directive),
                                   directive.doc);
            }
        }
    }
    out += kMarkdownReload;
    for (const EnvironmentSlot& slot : environment_slots()) {
        out += fmt::format("| `{}` | `{}` | {} |\n", slot.name, directive_text(slot.key),
                           change_text(slot));
    }
    return out;
}

std::string annotated_config() {
    std::string out =
        "# Every directive of Weir with its default; those without a default stand in comments, as "
        "examples.\n"
        "# The same as tables: doc/configuration.md. Check a file with `weir -t -c FILE`.\n\n";
    append_block(out, kGlobalContext, 0);
    return out;
}

}  // namespace weir::config
