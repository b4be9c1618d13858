// What nginx's RTMP module means by where a directive stands: rules of the blocks around come
// behind those of an application, applications that are not written do not exist, and `live` has to
// be said.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/log.h"
#include "base/strings.h"
#include "config/explain/explainer.h"

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
                look_for_rtmp(statement.block);
            } else if (name == "events") {
                walk_plain(statement.block);
            } else if (name == "include" && !has_rtmp) {
                lose(statement, kNotRead);
            } else if (name == "vhost") {
                lose(statement, "nginx has none: --explain=srs reads a file of SRS.");
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
        for (const Statement& statement : statements) {
            if (statement.name.text != "server") {
                walk_one(statement, {});
                continue;
            }
            explain_one(statement, "server", {});
            if (++servers_ == 2) {
                lose(statement,
                     "a second server { }: here all listeners share applications, rules and hooks, "
                     "so what was reached by one port only is reached by all.");
            }
            walk_server(statement.block, rules_of(statements));
        }
    }

    void walk_server(const Statements& statements, const Values& outer) {
        Values around = rules_of(statements);
        around.insert(around.end(), outer.begin(), outer.end());
        for (const Statement& statement : statements) {
            if (statement.name.text != "application") {
                walk_one(statement, {});
                continue;
            }
            walk_application(statement, around, said_live(statements));
        }
    }

    void walk_application(const Statement& statement, const Values& around, bool live_around) {
        const std::string name = first_word(statement);
        const std::string head = "application " + quoted_word(name);
        if (statement.arguments.size() != 1 || !parse_config(head + " { }", "").ok()) {
            lose(statement, "an application has one name, as in rtmp://HOST/NAME/STREAM.");
            return;
        }
        const Place place = {head};
        if (std::ranges::any_of(output().top().blocks,
                                [&](const OutBlock& each) { return each.head == head; })) {
            lose(statement, "a second application of that name: its rules are not mixed in.");
            return;
        }
        say(statement, "the same: application NAME { }");
        const Place security = {head, "security"};
        (void)output().at(security);  // its own, also where it says nothing
        const std::string outer = around_;
        around_ = fmt::format("application {} ", log::escaped(name));
        const bool live = has_live(statement.block) ? said_live(statement.block) : live_around;
        if (!live) {
            put(security, "deny play all;");
            say(statement, "without `live on` nobody could watch: deny play all;");
        }
        for (const Statement& each : statement.block) {
            walk_one(each, place);
        }
        for (const std::string& line : rules_of(statement.block)) {
            put(security, line);
        }
        for (const std::string& line : around) {
            put(security, line);
        }
        around_ = outer;
    }

    void walk_one(const Statement& statement, const Place& place) {
        const std::string& name = statement.name.text;
        if (name == "include") {
            lose(statement, kNotRead);
        } else if (is_rule(statement)) {
            const Values lines = rule_lines(statement);
            if (lines.empty()) {
                lose(statement, "expected an address, ADDRESS/BITS or all.");
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
                lose(statement, "not known to this program: if it restricted access, do the same.");
            }
        }
    }

    // "1935 so_keepalive=on", "[::]:1935 ipv6only=on", "unix:/x", "1935 proxy_protocol". A bare
    // port is IPv4 alone there.
    void walk_listen(const Statement& statement) {
        std::string address = first_word(statement);
        if (address.empty() || address.starts_with("unix:")) {
            lose(statement,
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
                lose(
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
                lose(
                    fmt::format("{}: {} and [::]:{} are one listener here, and only one of them "
                                "had proxy_protocol: name an address of this machine for one.",
                                line.from, line.text, port));
            }
        }
        if (listens_.empty()) {
            lose(
                "nothing was said to listen: here RTMP listens on port 1935 of every address; "
                "write the listen that you want.");
        }
        put({"security"}, "deny publish all;");
        put({"security"}, "deny play all;");
        put({"http_server"}, "enabled off;");
        put({"http_api"}, std::string(kApiOff));
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

    // In nginx's http { } only what belongs to the RTMP module is of interest.
    void look_for_rtmp(const Statements& statements) {
        for (const Statement& statement : statements) {
            if (statement.name.text.starts_with("rtmp_")) {
                explain_one(statement, statement.name.text, {});
            }
            look_for_rtmp(statement.block);
        }
    }

    struct Listen6 {
        std::string from;  // where it stands
        bool proxy = false;
    };

    size_t servers_ = 0;
    std::map<std::string, Listen6> every6_;  // by port
    std::map<std::string, bool> every4_;
    std::vector<OutLine> listens_;
};

}  // namespace

Explained explain_nginx(const std::vector<Statement>& statements, std::string file) {
    return NginxExplainer(std::move(file)).run(statements);
}

}  // namespace weir::config
