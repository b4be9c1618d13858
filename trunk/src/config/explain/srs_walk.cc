// What SRS means by its blocks: those that are off unless they say otherwise, `security` whose deny
// lines go first, and vhosts beside which no other name is served.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/log.h"
#include "base/strings.h"
#include "config/config.h"
#include "config/explain/explainer.h"
#include "config/explain/srs_media.h"
#include "config/explain/translate.h"

namespace weir::config {
namespace {

using Statements = std::vector<Statement>;

const Statement* child(const Statements& statements, std::string_view name) {
    const auto found = std::ranges::find_if(
        statements, [&](const Statement& each) { return each.name.text == name; });
    return found == statements.end() ? nullptr : &*found;
}

// As SRS reads it: off where nothing is said.
bool is_on(const Statement* block) {
    const Statement* enabled = block != nullptr ? child(block->block, "enabled") : nullptr;
    return enabled != nullptr && only_on(*enabled) == Values{"on"};
}

// Blocks that do nothing until they are switched on, and here a line of theirs is enough.
bool is_off_by_itself(std::string_view name) {
    for (const std::string_view each : {"https",
                                        "rtmps",
                                        "security",
                                        "refer",
                                        "http_hooks",
                                        "auth",
                                        "http_remux",
                                        "rtc",
                                        "rtsp",
                                        "forward",
                                        "exec",
                                        "dvr",
                                        "transcode",
                                        "ingest",
                                        "hds",
                                        "dash",
                                        "stream_caster",
                                        "heartbeat",
                                        "exporter",
                                        "bandcheck",
                                        "http_static",
                                        "tencentcloud_cls",
                                        "tencentcloud_apm"}) {
        if (name == each) {
            return true;
        }
    }
    return false;
}

// Of which there may be several beside one another.
bool may_repeat(std::string_view name) {
    for (const std::string_view each :
         {"vhost", "stream_caster", "allow", "deny", "include", "ingest", "transcode", "engine"}) {
        if (name == each) {
            return true;
        }
    }
    return false;
}

// Why a value closed something that is open here; empty: it did not.
std::string_view lost_value(std::string_view name, const std::string& word) {
    if (name == "vhost.http_remux.mount" && word != "[vhost]/[app]/[stream].flv" &&
        word != "[vhost]/[app]/[stream].ts") {
        return "here the path is always /APP/STREAM.flv (or .ts), also for who was not told "
               "another one.";
    }
    if (name == "vhost.rtc.rtmp_to_rtc" && word != "on") {
        return "here every stream of RTMP can be played by WebRTC as well.";
    }
    if (name == "vhost.rtsp.rtmp_to_rtsp" && word != "on") {
        return "here every stream of RTMP can be played by RTSP as well.";
    }
    if (name == "vhost.rtc.rtc_to_rtmp" && word != "on") {
        return "here every stream of WebRTC can be played by RTMP and HTTP-FLV as well.";
    }
    return {};
}

// Players got the audio alone from there.
bool is_audio_mount(std::string_view name, std::string_view word) {
    return name == "vhost.http_remux.mount" && (word.ends_with(".mp3") || word.ends_with(".aac"));
}

// Of "listen ADDRESS [ssl];".
bool is_beyond_loopback(const OutLine& line) {
    return line.text.starts_with("listen ") && !line.text.starts_with("listen 127.") &&
           !line.text.starts_with("listen [::1]:");
}

class SrsExplainer : private Explainer {
  public:
    explicit SrsExplainer(std::string file) : Explainer(srs_directives(), std::move(file)) {}

    Explained run(const Statements& all) {
        const Statements statements = first_ones(all, "");
        has_default_ = std::ranges::any_of(statements, [](const Statement& each) {
            return each.name.text == "vhost" && first_word(each) == kDefaultVhost;
        });
        const std::string listen = word_of(statements, "listen", "1935");
        port_ = listen.substr(listen.rfind(':') + 1);
        walk(statements, "", {});
        std::ranges::for_each(copies_, [&](const std::string& head) { add_copies(head); });
        close_what_is_not_written(statements);
        return result("SRS", srs_differences());
    }

  private:
    // Without what stands there a second time: the first counts. `path`: as of walk().
    Statements first_ones(const Statements& statements, const std::string& path) {
        Statements kept;
        std::set<std::string> seen;
        for (const Statement& statement : statements) {
            const std::string& name = statement.name.text;
            if (!may_repeat(name) && !seen.insert(name).second) {
                decide(statement, "given twice; there the first counts, and this one is left out.");
                continue;
            }
            kept.push_back(statement);
            if (statement.has_block && !is_whole(path + name)) {
                const std::string outer = around_;
                around_ += (name == "vhost" ? first_word(statement) : name) + " ";
                kept.back().block = first_ones(statement.block, path + name + ".");
                around_ = outer;
            }
        }
        return kept;
    }

    // Those in blocks that are not walked through: such a file could have switched them on.
    void decide_includes(const Statement& block) {
        const std::string outer = around_;
        around_ += block.name.text + " ";
        for (const Statement& each : block.block) {
            if (each.name.text == kIncludeName) {
                decide(each, kNotRead);
            }
            decide_includes(each);
        }
        around_ = outer;
    }

    // `path`: of the blocks around, with a dot behind it.
    void walk(const Statements& statements, const std::string& path, const Place& place) {
        for (const Statement& statement : statements) {
            const std::string name = path + statement.name.text;
            const std::string_view lost = lost_value(name, first_word(statement));
            if (name == "vhost") {
                walk_vhost(statement);
            } else if (statement.name.text == kIncludeName) {
                decide(statement, kNotRead);
            } else if (!lost.empty()) {
                decide(statement, lost);
                if (is_audio_mount(name, first_word(statement))) {
                    lose(statement,
                         "HTTP-MP3 and HTTP-AAC are not made: /APP/STREAM.ts and .flv have the "
                         "audio.");
                }
            } else if (statement.has_block && is_off_by_itself(statement.name.text) &&
                       !is_on(&statement)) {
                say(statement, "switched off there, and left out");
                decide_includes(statement);
            } else if (name == "vhost.security") {
                walk_security(statement, place);
            } else if (name == "stream_caster") {
                decide_includes(statement);
                explain_srs_caster(*this, statement, default_place());
            } else if (name == "vhost.refer" && statement.has_block) {
                decide(statement, fmt::format("no counterpart. {}", kRefer));
            } else if (name == "http_api.auth") {
                walk_auth(statement);
            } else if (statement.has_block && explain_srs_media(*this, statement, name, vhost_)) {
                decide_includes(statement);
            } else if (is_whole(name)) {
                explain_whole(statement, name, place);
            } else {
                walk_inside(statement, name, place);
            }
        }
    }

    void walk_inside(const Statement& statement, const std::string& name, const Place& place) {
        explain_one(statement, name, place);
        if (!statement.has_block) {
            return;
        }
        if (statement.block.empty() && !is_known_block(name)) {
            decide(statement,
                   "not known to this program: if it restricted access, do the same here.");
        }
        const std::string outer = around_;
        around_ += statement.name.text + " ";
        walk(statement.block, name + ".", place);
        around_ = outer;
    }

    bool is_known_block(const std::string& name) const {
        return std::ranges::any_of(srs_directives(), [&](const ForeignDirective& each) {
            return each.name == name || each.name.starts_with(name + ".");
        });
    }

    // A block of which one line says all there is to say.
    bool is_whole(const std::string& name) const {
        const ForeignDirective* all = find(name + ".?");
        return all != nullptr && (all->fate == Fate::kNone || all->fate == Fate::kLost) &&
               all->name == name + ".*" &&
               std::ranges::none_of(srs_directives(), [&](const ForeignDirective& each) {
                   return each.name.starts_with(name + ".") && each.name != name + ".*";
               });
    }

    void explain_whole(const Statement& statement, const std::string& name, const Place& place) {
        explain_one(statement, statement.has_block ? name + ".?" : name, place);
    }

    void walk_vhost(const Statement& statement) {
        std::string section = first_word(statement);
        section = section == kDefaultVhost ? section : to_lower(section);
        const std::string head = "vhost " + quoted_word(section);
        if (statement.arguments.size() != 1 || !parse_config(head + " { }", "").ok()) {
            decide(statement,
                   "no counterpart. A vhost has one name of letters, digits, '.', '-', '_'; what "
                   "stands in it was not looked at.");
            return;
        }
        if (!vhosts_.insert(section).second) {
            decide(statement, "a second vhost of that name: its rules are not mixed in.");
            return;
        }
        say(statement, "the same: vhost NAME { }");
        (void)output().at({head});
        const std::string outer = around_;
        around_ = section + " ";
        vhost_ = {{head}, section, port_, false};
        walk(statement.block, "vhost.", {head});
        if (word_of(statement.block, "mode") == "remote") {  // as it was written long ago
            explain_srs_edge(*this, statement, statement.block, vhost_);
        }
        look_at_hls(statement, head);
        if (vhost_.copies) {
            copies_.push_back(head);
        }
        around_ = outer;
    }

    // SRS looks at all deny lines, then at all allow lines; where there is an allow line, even for
    // the other action, what none of them names is refused; without any line, everything is.
    void walk_security(const Statement& block, const Place& place) {
        Place security = place;
        security.emplace_back("security");
        (void)output().at(security);
        say(block, "the same, with its deny lines first: security { }");
        const std::string outer = around_;
        around_ += "security ";
        size_t allows = 0;
        size_t denies = 0;
        for (const bool allow : {false, true}) {
            for (const Statement& rule : block.block) {
                if (rule.name.text == (allow ? "allow" : "deny")) {
                    (allow ? allows : denies)++;
                    write_rule(rule, security);
                }
            }
        }
        for (const Statement& each : block.block) {
            const std::string& name = each.name.text;
            if (name != "allow" && name != "deny" && name != "enabled") {
                decide(each,
                       "not known to this program: if it restricted access, do the same here.");
            }
        }
        around_ = outer;
        if (allows > 0 || denies == 0) {
            put(security, "deny publish all;");
            put(security, "deny play all;");
            say(block,
                "what no allow line names is refused there: deny publish all; deny play "
                "all; at the end");
        }
    }

    void write_rule(const Statement& rule, const Place& security) {
        const std::string action = first_word(rule);
        const bool whole = rule.arguments.size() == 2 && (action == "publish" || action == "play");
        const std::string network = whole ? network_text(rule.arguments[1].text) : "";
        const bool allow = rule.name.text == "allow";
        // There, networks are of IPv4 only: this line has let nobody in.
        const bool idle = allow && network.find(':') != std::string::npos &&
                          network.find('/') != std::string::npos;
        if (network.empty() || idle) {
            decide(rule, idle ? "there, a network of IPv6 matched nobody: write it if you want it."
                              : "expected publish or play, then an address, ADDRESS/BITS or all.");
            return;
        }
        const std::string line = fmt::format("{} {} {};", rule.name.text, action, network);
        put(security, line);
        say(rule, fmt::format("the same: security {{ {} }}", line));
    }

    // There, files of HLS were given to everybody.
    void look_at_hls(const Statement& vhost, const std::string& head) {
        const bool hls = is_on(child(vhost.block, "hls")) || is_on(child(vhost.block, "dash"));
        const std::vector<OutLine>& rules = output().at({head, "security"}).lines;
        if (hls && std::ranges::any_of(rules, [](const OutLine& each) {
                return each.text.starts_with("deny play ");
            })) {
            lose(vhost,
                 "there, viewers of HLS and DASH were asked no rule; here those for playing hold "
                 "for them too: security { allow play ADDRESS; } lets them in.");
        }
    }

    // The vhost of what programs publish: with the same rules, but without programs and relays.
    void add_copies(const std::string& head) {
        OutBlock copy = output().at({head});
        copy.head = "vhost " + quoted_word(srs_copies_vhost(head.substr(6)));
        const auto keep_settings = [](OutBlock& block) {
            std::erase_if(block.lines, [](const OutLine& line) {
                return line.text.starts_with("exec_push ") || line.text.starts_with("forward ") ||
                       line.text.starts_with("source ") || line.text.starts_with("origin ");
            });
        };
        keep_settings(copy);
        std::ranges::for_each(copy.blocks, keep_settings);
        output().at({copy.head}) = std::move(copy);
    }

    // Of the vhost for names without one; empty: they are refused.
    Place default_place() const {
        return has_default_ ? Place{"vhost " + std::string(kDefaultVhost)} : Place();
    }

    void walk_auth(const Statement& block) {
        decide_includes(block);
        const Statement* user = child(block.block, "username");
        const Statement* password = child(block.block, "password");
        const std::string name = user != nullptr ? first_word(*user) : "";
        const std::string secret = password != nullptr ? first_word(*password) : "";
        const std::string line =
            fmt::format("user admin {} {};", quoted_word(name), quoted_word(secret));
        if (name.empty() || secret.starts_with("file:") ||
            !parse_config(fmt::format("http_api {{ {} }}", line), "").ok()) {
            decide(block,
                   "a user of the API needs a name and a password: write http_api { user "
                   "admin NAME PASSWORD; }.");
            return;
        }
        put_secret({"http_api"}, {line, "user admin (secret);", place_of(block), true});
        say(block, "becomes http_api { user admin NAME (secret); }");
    }

    // Where SRS was silent and this server would not be.
    void close_what_is_not_written(const Statements& statements) {
        if (!vhosts_.contains(std::string(kDefaultVhost))) {
            put({"vhost " + std::string(kDefaultVhost)}, "enabled off;");
        }
        if (child(statements, "listen") == nullptr) {
            decide(
                "nothing was said to listen: here RTMP listens on port 1935 of every address; "
                "write the listen that you want.");
        }
        if (child(statements, "max_connections") == nullptr) {
            put({}, "max_connections 1000;");
        }
        switch_off(statements,
                   {"http_server", {"http_remux", "hls", "dash"}, "HTTP-FLV", "0.0.0.0:8080"});
        switch_off(statements, {"rtc_server", {"rtc"}, "WebRTC", "0.0.0.0:8000"});
        if (child(statements, "rtsp_server") != nullptr) {  // off by itself
            switch_off(statements, {"rtsp_server", {"rtsp"}, "RTSP", "0.0.0.0:554"});
        }
        put({"http_server"}, "stream_list none;");
        close_api(child(statements, "http_api"));
    }

    // The API is off there until it is switched on. Here whoever reaches it without a login can do
    // all that it can.
    void close_api(const Statement* api) {
        if (!is_on(api)) {
            replace_enabled("http_api", std::string(kApiOff));
            return;
        }
        move_api();
        if (std::ranges::none_of(output().at({"http_api"}).lines, is_beyond_loopback)) {
            return;
        }
        const Statement* raw = child(api->block, "raw_api");
        if (!is_on(child(api->block, "auth"))) {
            decide(*api,
                   "it listens beyond this machine without a login, and here it can read the "
                   "configuration again as well: write user admin NAME PASSWORD; or listen "
                   "127.0.0.1:1985;");
        } else if (raw != nullptr && !is_on(raw)) {
            decide(*raw, "here the API can always read the configuration again, with a login.");
        }
    }

    // There, the API may have the port of the HTTP server.
    void move_api() {
        const std::vector<OutLine>& http = output().at({"http_server"}).lines;
        const auto port_of = [](const OutLine& line) {
            const std::string port = line.text.substr(line.text.rfind(':') + 1);
            return port.substr(0, port.find_first_of(" ;"));
        };
        const auto is_taken = [&](const OutLine& line) {
            return line.text.starts_with("listen ") &&
                   std::ranges::any_of(http, [&](const OutLine& each) {
                       return each.text.starts_with("listen ") && port_of(each) == port_of(line);
                   });
        };
        std::vector<OutLine>& api = output().at({"http_api"}).lines;
        if (std::erase_if(api, is_taken) == 0) {
            return;
        }
        lose("the API had the port of http_server; here it has one of its own, 127.0.0.1:1985.");
        if (std::ranges::none_of(
                api, [](const OutLine& line) { return line.text.starts_with("listen "); })) {
            put({"http_api"}, "listen 127.0.0.1:1985;");
        }
    }

    // A server that no vhost used is off; one that some vhosts did not use is for all of them here.
    struct Served {
        std::string server;
        std::vector<std::string_view> blocks;  // of a vhost: one of them is on
        std::string_view what;
        std::string_view listen;  // where nothing is said
    };

    void switch_off(const Statements& statements, const Served& served) {
        const auto& [server, blocks, what, listen] = served;
        std::vector<std::string> without;
        size_t with = 0;
        for (const Statement& statement : statements) {
            if (statement.name.text == "vhost") {
                const bool used = std::ranges::any_of(blocks, [&](std::string_view block) {
                    return is_on(child(statement.block, block));
                });
                with += used ? 1U : 0U;
                if (!used) {
                    without.push_back(log::escaped(first_word(statement)));
                }
            }
        }
        if (!is_on(child(statements, server)) || with == 0) {
            if (server == "http_server" && is_on(child(statements, server))) {
                lose(*child(statements, server),
                     "no vhost had streams by HTTP, so it is off here; its pages need another web "
                     "server, or http_server { enabled on; dir FOLDER; }, which has the streams.");
            }
            replace_enabled(server, "enabled off;");
            return;
        }
        if (child(child(statements, server)->block, "listen") == nullptr) {
            put({server}, fmt::format("listen {};", listen));
        }
        if (!without.empty()) {
            decide(
                fmt::format("{} was off in vhost {}; here it is on for every vhost where {} is, "
                            "under the vhost's rules for publishing and playing.",
                            what, join(without, ", "), server));
        }
    }

    void replace_enabled(const std::string& server, std::string line) {
        std::vector<OutLine>& lines = output().at({server}).lines;
        std::erase_if(lines, [](const OutLine& each) { return each.text.starts_with("enabled "); });
        put({server}, std::move(line));
    }

    static constexpr std::string_view kNotRead =
        "that file was not read: put it in place of this line, and explain the whole.";

    static constexpr std::string_view kRefer =
        "Pages are not told apart by their address, which a client writes itself: ask for a key or "
        "a token (security { play_key KEY; }), or in a hook.";

    std::set<std::string> vhosts_;
    SrsVhost vhost_;                   // while it is walked through
    std::vector<std::string> copies_;  // heads of vhosts whose programs publish
    std::string port_;                 // of RTMP
    bool has_default_ = false;
};

}  // namespace

Explained explain_srs(const std::vector<Statement>& statements, std::string file) {
    return SrsExplainer(std::move(file)).run(statements);
}

}  // namespace weir::config
