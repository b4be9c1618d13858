// weir.conf(5) from the table of directives.
#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "config/config_doc.h"
#include "config/directives.h"
#include "config/value_types.h"

namespace weir::config {
namespace {

constexpr std::string_view kHead = R"(.TH WEIR.CONF 5 "" "Weir" "File Formats"
.SH NAME
weir.conf \- configuration of the live streaming server weir
.SH DESCRIPTION
.BR weir (1)
reads one file of directives, each ended by a semicolon, and of blocks in braces.
All mistakes are reported at once, with file, line and column;
.B weir \-t
only checks.
.PP
.nf
listen 1935;
http_server {
    listen 8080;
}
vhost __defaultVhost__ {
    security { allow publish 192.168.0.0/16; }
}
.fi
.PP
A # at the start of a word begins a comment.
Values with spaces or one of ; { } are quoted.
Durations are written 350ms, 10s, 2m or 1h, sizes 64k, 16m or 1g.
Relative paths start at the folder of the file.
What stands at the top level and may also stand in a vhost is inherited by every vhost, and what a
vhost says by its applications.
)";

constexpr std::string_view kTail = R"(.SH SEE ALSO
.BR weir (1).
.I /usr/share/weir/conf/full.conf
has every directive with its default.
)";

// "[sources.md](sources.md#programs)" as "sources.md": what is in brackets, where an address
// follows.
std::string without_links(std::string_view text) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
        const size_t open = std::min(text.find('[', at), text.size());
        const size_t middle = text.find("](", open);
        const size_t end = text.find(')', middle);
        out += text.substr(at, open - at);
        // "[app] and [more](x)": the brackets that are next to the address.
        const bool is_link = end != std::string_view::npos && text.find('[', open + 1) > middle;
        if (is_link) {
            out += text.substr(open + 1, middle - open - 1);
            at = end + 1;
        } else {
            out += text.substr(open, 1);
            at = open + 1;
        }
    }
    return out;
}

// Text of a man page: a backslash, a hyphen that somebody may copy, and a leading dot or quote have
// meanings of their own.
std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
        }
    }
    return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (const char c : escaped(text)) {
        out += c == '"' ? std::string("\\(dq") : std::string(1, c);
    }
    return out + "\"";
}

void append_directive(std::string& out, const Directive& directive) {
    out += fmt::format(".TP\n.B {}\n{}\n", in_quotes(directive.name),
                       escaped(without_links(directive.doc)));
    if (is_block(directive)) {
        return;
    }
    out += fmt::format("Takes {}.\n", escaped(expectation(directive)));
    if (!directive.default_text.empty()) {
        out += fmt::format("Default: {}.\n", escaped(directive.default_text));
    }
    if (!directive.reloadable) {
        out += "A change needs a restart.\n";
    }
}

}  // namespace

std::string config_man_page() {
    std::string out(kHead);
    for (Contexts bit = 1; bit <= kLastContext; bit *= 2) {
        const auto context = static_cast<Context>(bit);
        if (context == kApplicationContext) {
            continue;  // what a vhost has
        }
        std::string section;
        for (const Directive& directive : directives()) {
            const bool elsewhere =
                context == kGlobalContext && (directive.contexts & kVhostContext) != 0;
            if ((directive.contexts & context) != 0 && !elsewhere) {
                append_directive(section, directive);
            }
        }
        if (!section.empty()) {
            out += fmt::format(
                ".SH {}\n{}",
                in_quotes(context == kGlobalContext ? "TOP LEVEL" : to_string(context)), section);
        }
    }
    return out + std::string(kTail);
}

}  // namespace weir::config
