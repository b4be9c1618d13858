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
- Durations: `350ms`, `10s`, `2m`, `1h`; a bare number counts the unit that the table names. Sizes: `64k`, `16m`, `1g`;
  a bare number counts bytes. k is 1024.
- Addresses: `1935` (every IPv6 and IPv4 address), `127.0.0.1:1935`, `[::1]:1935`; several of them in one directive or
  in several. Port 0 lets the system choose. Behind the addresses, `ssl` (or `tls`) makes it HTTPS or RTMPS, and
  `proxy_protocol` expects the header of a proxy in front of each connection ([tls.md](tls.md)).
- Relative paths start at the folder of the file that they are written in.
- A directive is given once per block, but for `vhost`, `application`, `listen`, `ssl_certificate`, `ssl_certificate_key`,
  `trusted_proxies`, `candidate`, `ice_server`, `server_name`, `unresolved`, those of `http_hooks` that take URLs, and those
  of `security` and `http_api` that add a rule, a secret or an origin.
- Where a secret stands (keys, passwords, tokens), `file:PATH` names a file that holds it: one secret per line, read
  again when the file changes. No message shows a secret.
- `include FILE;` puts other files in its place, in any block: one by its path, or all that match a pattern, as in
  `include conf.d/*.conf;`, sorted by name. Errors name the file they are in. At most 256 files, 8 deep.
- What stands at the top level and may also stand in a `vhost` is inherited by every vhost, before or behind it in the
  file; and what a vhost says, by its applications.
)";

constexpr std::string_view kMarkdownReload = R"(
## Change it while it runs

`kill -HUP PID`, `POST /api/v1/reload`, or `config_watch on;` make the running server read its files again. All of them
are checked first; on any error, also when a new port cannot be opened, everything stays as it is, and all errors are in
the log and in the API's answer. Otherwise what is different is applied, and a report says what that was:

    $ curl -X POST http://127.0.0.1:1985/api/v1/reload
    {"code":0, ... "data":{"changes":[{"directive":"play queue_length","vhost":"a.example","from":"10s","to":"5s",
     "effect":"applied"}], "needs_restart":false, ...}}

200 means it is in force; 400 that the files are wrong, 409 that a port is taken or another reload is under way:
`"errors":[{"file":..,"line":..,"column":..,"message":..}]`.

- Nobody is disconnected. Listeners come, go and move; connections that were accepted go on, and a UDP port of WebRTC
  stays open until the sessions that use it have ended. An address that includes an old one of the same port
  (`127.0.0.1:1935` to `1935`) is the one change during which, for an instant, nobody listens.
- *applied* holds for everybody from then on, *new connections* for what begins then: who publishes or plays keeps the
  rules with which it began. *needs a restart* is kept as it was, and said at each reload until the restart.
- A vhost that is removed or gets `enabled off;` loses nobody who is there: its streams and players go on until they end
  (`DELETE /api/v1/clients/ID` ends one). Nothing new begins in a disabled one; the name of a removed one belongs to
  `__defaultVhost__` from then on, with streams of its own.

`weir --dump-config -c FILE` prints the configuration that FILE and the environment give, defaults included, and where each
value comes from.

## Environment

Each directive has a variable that replaces what the files say, at the start and at every reload. Addresses and other
lists are separated by blanks or `;`, several statements of one directive by `;`. Those of `vhost` are for the top level
and for `__defaultVhost__`; another vhost, or an application, with a value of its own keeps it. An empty one counts as not set.
An unknown `WEIR_` name is a warning; what
Kubernetes sets for a service called weir (`WEIR_PORT`, `WEIR_SERVICE_HOST` ...) is ignored. `WEIR_CONFIG_FILE` is the
file to read where there is no `-c`; `WEIR_CANDIDATE` goes before `WEIR_RTC_SERVER_CANDIDATE`, and `CANDIDATE` counts where
nothing else names a candidate.

| variable | directive | a change in the running server |
|---|---|---|
)";

constexpr std::string_view kMarkdownApplication = R"(
An application holds what a `vhost` holds, but for `application` itself:

    vhost __defaultVhost__ {
        security { deny publish all; deny play all; }
        application live { security { allow publish 10.0.0.0/8; } }
        application vip  { security { publish_key file:vip.keys; play_key file:viewers.keys; } }
    }

- What it does not say is as in its vhost. A `security` block is replaced as a whole; of `http_hooks`, `play` and
  `publish` each directive by itself.
- `application vip` is for the streams of `rtmp://HOST/vip/STREAM` and of everything below, as `rtmp://HOST/vip/room/STREAM`;
  the longest name that fits goes first. Slashes at the end and doubled ones do not count.
- Upper and lower case differ: `VIP` is not `vip`. So that nobody gets other rules by spelling, an app that differs from a
  configured one only by that is refused.
- It holds for every protocol, for hooks and for logins.
- At the top level, `application` belongs to `__defaultVhost__`, in a file without `vhost` sections.
)";

constexpr std::string_view kMarkdownAccess = R"(
Rules are tried in the order of the file and the first that matches decides. Behind them always stand, unwritten:

    allow publish 127.0.0.0/8;  allow publish ::1;  deny publish all;
    allow play all;

So `security { allow publish 203.0.113.9; }` is all that a remote encoder needs, and
`security { deny play all; allow play 10.0.0.0/8; }` refuses everybody: write the exception first. An IPv4 client of an
IPv6 socket counts as IPv4: `0.0.0.0/0` is all of IPv4, and no network of IPv6, as `::/0`, has a client of IPv4 in it. The
part of an address behind /BITS must be zero, so that `10.1.2.3/8` is refused and not guessed at.

A secret that is configured for publishing (`publish_key`, `publish_user`, `jwt_secret`, `jwks_file`) is asked from
everybody, and takes the place of the unwritten rules: without an `allow publish` line every address that has it may
publish. `deny` lines still refuse. The same goes for playing with `play_key` and tokens. [access.md](access.md) has
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
    {kVhostContext, "vhost NAME { }",
     "All but `enabled` may also stand at the top level, where it is the default of every "
     "vhost.\n"},
    {kApplicationContext, "application NAME { }", kMarkdownApplication},
    {kSecurityContext, "security { }", kMarkdownAccess},
    {kPlayContext, "play { }", ""},
    {kPublishContext, "publish { }", ""},
    {kHooksContext, "http_hooks { }",
     "Of a vhost: what stands there replaces the same directive of the top level, the others are "
     "inherited.\n"},
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
        if (directive.type == ValueType::kApplication) {
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
