// What nginx's RTMP module means by where a directive stands: rules of the blocks around come
// behind those of an application, applications that are not written do not exist, and `live` has to
// be said.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/log.h"
#include "base/strings.h"
#include "config/explain/explainer.h"
#include "config/explain/nginx_http.h"
#include "config/explain/nginx_media.h"
#include "config/explain/translate.h"

namespace weir::config {
namespace {

using Statements = std::vector<Statement>;

bool is_rule(const Statement& statement) {
    return statement.name.text == "allow" || statement.name.text == "deny";
}

// allow|deny [publish] [play] ADDRESS|all, as lines of ours; empty: it is none.
Values rule_lines(const Statement& statement) {
    const auto& words = statement.arguments;
    if (words.empty()) {
        return {};
    }
    bool publish = words.size() == 1;
    bool play = words.size() == 1;
    for (size_t i = 0; i + 1 < words.size(); i++) {
        publish = publish || words[i].text == "publish";
        play = play || words[i].text == "play";
        if (words[i].text != "publish" && words[i].text != "play") {
            return {};
        }
    }
    const std::string network = network_text(words.back().text);
    Values lines;
    if (publish && !network.empty()) {
        lines.push_back(fmt::format("{} publish {};", statement.name.text, network));
    }
    if (play && !network.empty()) {
        lines.push_back(fmt::format("{} play {};", statement.name.text, network));
    }
    return lines;
}

class NginxExplainer : private Explainer {
  public:
    explicit NginxExplainer(std::string file) : Explainer(nginx_directives(), std::move(file)) {}

    Explained run(const Statements& statements) {
        const bool has_rtmp = std::ranges::any_of(
            statements, [](const Statement& each) { return each.name.text == "rtmp"; });
        for (const Statement& statement : statements) {
            const std::string& name = statement.name.text;
            if (name == "rtmp") {
                explain_one(statement, name, {});
                walk_rtmp(statement.block);
            } else if (name == "http") {
                explain_one(statement, name, {});
                const NginxHttp found = look_at_nginx_http(*this, statement.block);
                api_ = api_ || found.status;
                http_ = http_ || found.flv_live;
                http_block_.insert(http_block_.end(), statement.block.begin(),
                                   statement.block.end());
            } else if (name == "events") {
                walk_plain(statement.block);
            } else if (name == "include" && !has_rtmp) {
                decide(statement, kNotRead);
            } else if (name == "vhost") {
                decide(statement, "nginx has none: --explain=srs reads a file of SRS.");
            } else if (find(name) != nullptr && name != "include") {
                explain_one(statement, name, {});
            } else {
                say(statement, "of nginx itself, and left out");
            }
        }
        close_what_is_not_written();
        return result("nginx with its RTMP module", nginx_differences());
    }

  private:
    static constexpr std::string_view kNotRead =
        "that file was not read: put it in place of this line, and explain the whole.";

    void walk_rtmp(const Statements& statements) {
        (void)explain_nginx_media(*this, {&statements}, {});
        for (const Statement& statement : statements) {
            if (statement.name.text != "server") {
                walk_one(statement, {});
                continue;
            }
            explain_one(statement, "server", {});
            if (++servers_ == 2) {
                decide(
                    statement,
                    "a second server { }: here all listeners share applications, rules and hooks, "
                    "so what was reached by one port only is reached by all.");
            }
            walk_server(statement.block, {&statements, &statement.block});
        }
    }

    // `scopes`: rtmp { }, then that server { }.
    void walk_server(const Statements& statements, const NginxScopes& scopes) {
        Values around = rules_of(statements);
        const Values outer = rules_of(*scopes.front());
        around.insert(around.end(), outer.begin(), outer.end());
        (void)explain_nginx_media(*this, scopes, {});
        for (const Statement& statement : statements) {
            if (statement.name.text != "application") {
                walk_one(statement, {});
                continue;
            }
            walk_application(statement, around, scopes);
        }
    }

    void walk_application(const Statement& statement, const Values& around, NginxScopes scopes) {
        const std::string name = first_word(statement);
        const std::string head = "application " + quoted_word(name);
        if (statement.arguments.size() != 1 || !parse_config(head + " { }", "").ok()) {
            decide(statement, "an application has one name, as in rtmp://HOST/NAME/STREAM.");
            return;
        }
        const Place place = {head};
        if (output().top().by_head.contains(head)) {
            decide(statement, "a second application of that name: its rules are not mixed in.");
            return;
        }
        say(statement, "the same: application NAME { }");
        const Place security = {head, "security"};
        (void)output().at(security);  // its own, also where it says nothing
        const std::string outer = around_;
        around_ = fmt::format("application {} ", log::escaped(name));
        const bool live_around =
            has_live(*scopes.back()) ? said_live(*scopes.back()) : said_live(*scopes.front());
        const bool live = has_live(statement.block) ? said_live(statement.block) : live_around;
        if (!live) {
            put(security, "deny play all;");
            say(statement, "without `live on` nobody could watch: deny play all;");
        }
        for (const Statement& each : statement.block) {
            walk_one(each, place);
        }
        Values rules = rules_of(statement.block);
        rules.insert(rules.end(), around.begin(), around.end());
        for (const std::string& line : rules) {
            put(security, line);
        }
        scopes.push_back(&statement.block);
        walk_media(statement, scopes, place, rules, live);
        around_ = outer;
    }

    void walk_media(const Statement& application,
                    const NginxScopes& scopes,
                    const Place& place,
                    const Values& rules,
                    bool live) {
        if (!explain_nginx_media(*this, scopes, place)) {
            without_hls_.push_back(place);
            return;
        }
        http_ = true;
        const bool refuses = std::ranges::any_of(
            rules, [](const std::string& each) { return each.starts_with("deny play "); });
        if (refuses || !live) {
            lose(application,
                 "there, viewers of HLS and DASH were asked no rule; here those for playing hold "
                 "for them too: security { allow play ADDRESS; } lets them in.");
        }
        for (const Statements* each : scopes) {
            for (const char* name : {"hls_path", "dash_path"}) {
                if (const std::string folder = word_of(*each, name); !folder.empty()) {
                    folders_.push_back(folder);
                }
            }
        }
    }

    void walk_one(const Statement& statement, const Place& place) {
        const std::string& name = statement.name.text;
        if (name == "include") {
            decide(statement, kNotRead);
        } else if (is_nginx_media(name) || explain_nginx_relay(*this, statement, place)) {
            // Told by explain_nginx_media(), or just now.
        } else if (is_rule(statement)) {
            const Values lines = rule_lines(statement);
            if (lines.empty()) {
                decide(statement, "expected an address, ADDRESS/BITS or all.");
                return;
            }
            say(statement,
                fmt::format("the same{}: security {{ {} }}",
                            place.empty() ? ", in every application behind its own rules" : "",
                            join(lines, " ")));
        } else if (name == "listen") {
            walk_listen(statement);
        } else {
            explain_one(statement, name, place);
            const bool misplaced = name == "application" || name == "server" || name == "rtmp";
            if (statement.has_block && (misplaced || find(name) == nullptr)) {
                decide(statement,
                       "not known to this program: if it restricted access, do the same.");
            }
        }
    }

    // "1935 so_keepalive=on", "[::]:1935 ipv6only=on", "unix:/x", "1935 proxy_protocol". A bare
    // port is IPv4 alone there.
    void walk_listen(const Statement& statement) {
        std::string address = first_word(statement);
        if (address.empty() || address.starts_with("unix:")) {
            decide(statement,
                   "a socket of this machine only: write listen 127.0.0.1:PORT; or what "
                   "you want in its place.");
            return;
        }
        const auto has = [&](std::string_view word) {
            return std::ranges::any_of(statement.arguments,
                                       [&](const Token& each) { return each.text == word; });
        };
        const std::string port = address.substr(address.rfind(':') + 1);
        if (address == port || address == "*:" + port) {
            address = (port.find_first_not_of("0123456789") == std::string::npos)
                          ? "0.0.0.0:" + port
                          : address + ":1935";
        }
        const bool proxy = has("proxy_protocol");
        const bool every6 = address.starts_with("[::]:");
        if (every6 && !has("ipv6only=off")) {
            every6_.emplace(port, Listen6{place_of(statement), proxy});
        }
        if (address == "0.0.0.0:" + port) {
            every4_.insert_or_assign(port, true);
        }
        const std::string line =
            fmt::format("listen {}{};", quoted_word(address), proxy ? " proxy_protocol" : "");
        listens_.push_back({line, line, place_of(statement), true});
        say(statement,
            fmt::format("the same: {}{}", line,
                        proxy ? " (believes trusted_proxies only: name yours; clients that come "
                                "without that header are refused)"
                              : " (TCP options are set by themselves)"));
    }

    void close_what_is_not_written() {
        for (const auto& [port, listen] : every6_) {
            if (!every4_.contains(port)) {
                decide(
                    fmt::format("{}: listen [::]:{} took IPv6 only, here it takes IPv4 too: name "
                                "an address of this machine, or accept it.",
                                listen.from, port));
            }
        }
        for (OutLine& line : listens_) {
            // [::] takes IPv4 as well, and one port has one listener.
            const size_t at = line.text.find("0.0.0.0:");
            const std::string port =
                at == std::string::npos
                    ? ""
                    : line.text.substr(at + 8, line.text.find_first_of(" ;", at) - at - 8);
            const auto other = every6_.find(port);
            if (other == every6_.end()) {
                output().top().lines.push_back(line);
            } else if ((line.text.find(" proxy_protocol") != std::string::npos) !=
                       other->second.proxy) {
                decide(
                    fmt::format("{}: {} and [::]:{} are one listener here, and only one of them "
                                "had proxy_protocol: name an address of this machine for one.",
                                line.from, line.text, port));
            }
        }
        if (listens_.empty()) {
            decide(
                "nothing was said to listen: here RTMP listens on port 1935 of every address; "
                "write the listen that you want.");
        }
        put({"security"}, "deny publish all;");
        put({"security"}, "deny play all;");
        close_http();
    }

    void close_http() {
        if (http_) {
            write_nginx_http(*this, http_block_, folders_);
            for (const Place& place : without_hls_) {
                put({place.front(), "hls"}, "enabled off;");
            }
        } else {
            put({"http_server"}, "enabled off;");
        }
        put({"http_api"}, api_ ? "listen 127.0.0.1:1985;" : std::string(kApiOff));
    }

    static bool has_live(const Statements& statements) {
        return std::ranges::any_of(statements,
                                   [](const Statement& each) { return each.name.text == "live"; });
    }

    static bool said_live(const Statements& statements) {
        return std::ranges::any_of(statements, [](const Statement& each) {
            return each.name.text == "live" && flag(each) == Values{"on"};
        });
    }

    static Values rules_of(const Statements& statements) {
        Values all;
        for (const Statement& each : statements) {
            if (is_rule(each)) {
                std::ranges::copy(rule_lines(each), std::back_inserter(all));
            }
        }
        return all;
    }

    void walk_plain(const Statements& statements) {
        for (const Statement& each : statements) {
            if (find(each.name.text) != nullptr && each.name.text != "include") {
                explain_one(each, each.name.text, {});
            } else {
                say(each, "of nginx itself, and left out");
            }
        }
    }

    struct Listen6 {
        std::string from;  // where it stands
        bool proxy = false;
    };

    size_t servers_ = 0;
    bool http_ = false;                      // somebody watches by HTTP
    bool api_ = false;                       // there was something like our API
    Statements http_block_;                  // of http { }
    std::vector<std::string> folders_;       // of HLS and DASH
    std::vector<Place> without_hls_;         // applications
    std::map<std::string, Listen6> every6_;  // by port
    std::map<std::string, bool> every4_;
    std::vector<OutLine> listens_;
};

}  // namespace

Explained explain_nginx(const std::vector<Statement>& statements, std::string file) {
    return NginxExplainer(std::move(file)).run(statements);
}

}  // namespace weir::config
