#include "config/explain/nginx_http.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "config/explain/translate.h"

namespace weir::config {
namespace {

using Statements = std::vector<Statement>;

// Directives of nginx that refuse a request, or may.
bool is_rule_of_http(std::string_view name) {
    for (const std::string_view each : {"allow", "deny", "auth_basic", "auth_request", "auth_jwt",
                                        "secure_link", "secure_link_secret", "valid_referers",
                                        "internal", "limit_except", "if", "ssl_verify_client"}) {
        if (name == each) {
            return true;
        }
    }
    return false;
}

// Of files that only name types and parameters.
bool is_harmless_include(std::string_view file) {
    return file.ends_with("mime.types") || file.ends_with("_params") ||
           file.ends_with("fastcgi.conf");
}

bool is_off(const Statement& statement) {
    return first_word(statement) == "off";
}

bool serves_streams(const Statement& statement, const std::vector<std::string>& folders) {
    const std::string& name = statement.name.text;
    const std::string word = first_word(statement);
    if (name == "flv_live" || name.find("mpegurl") != std::string::npos ||
        name.find("dash+xml") != std::string::npos) {
        return true;
    }
    const bool folder = (name == "root" || name == "alias") && word.size() > 1;
    if (folder && std::ranges::any_of(folders, [&](const std::string& each) {
            return each.starts_with(word) || word.starts_with(each);
        })) {
        return true;
    }
    return std::ranges::any_of(
        statement.block, [&](const Statement& each) { return serves_streams(each, folders); });
}

class HttpWriter {
  public:
    explicit HttpWriter(Explainer& out) : out_(out) {}

    void write(const Statements& http, const std::vector<std::string>& folders) {
        std::vector<const Statement*> servers;
        for (const Statement& each : http) {
            if (each.name.text == "server" && serves_streams(each, folders)) {
                servers.push_back(&each);
            }
        }
        if (servers.empty()) {
            const Statement* first = child_of(http, "server");
            servers.assign(first != nullptr ? 1 : 0, first);
        }
        out_.around_ = "http ";
        decide_rules(http, false);
        for (const Statement* server : servers) {
            out_.around_ = "http server ";
            write_listens(http, server->block);
            decide_rules(server->block, true);
        }
        out_.around_.clear();
        if (!listens_) {
            out_.put({"http_server"}, "listen 0.0.0.0:8080;");
        }
        out_.put({"http_server"}, "stream_list none;");
    }

  private:
    // The certificate and the key that `server` has, by itself or from around it, become those of
    // http_server. False: it has none, or http_server has others already.
    bool write_certificate(const Statements& http, const Statements& server) {
        const Statement* found[2] = {};
        const char* const names[] = {"ssl_certificate", "ssl_certificate_key"};
        for (size_t i = 0; i < 2; i++) {
            const Statement* own = child_of(server, names[i]);
            found[i] = own != nullptr ? own : child_of(http, names[i]);
            if (found[i] == nullptr || first_word(*found[i]).find('$') != std::string::npos) {
                return false;
            }
        }
        const std::string file = first_word(*found[0]);
        if (!certificate_.empty()) {
            return certificate_ == file;
        }
        certificate_ = file;
        for (size_t i = 0; i < 2; i++) {
            out_.become(*found[i], {"http_server"},
                        {fmt::format("{} {};", names[i], quoted_word(first_word(*found[i]))),
                         {},
                         "a path starts at the folder of the new configuration"});
        }
        return true;
    }

    void write_listens(const Statements& http, const Statements& server) {
        for (const Statement& statement : server) {
            if (statement.name.text != "listen") {
                continue;
            }
            std::string address = first_word(statement);
            const bool ssl = std::ranges::any_of(
                statement.arguments, [](const Token& each) { return each.text == "ssl"; });
            if (address.starts_with("unix:") || (ssl && !write_certificate(http, server))) {
                out_.lose(statement,
                          "not taken over: http_server { listen ADDRESS ssl; ssl_certificate FILE; "
                          "ssl_certificate_key FILE; }");
                continue;
            }
            const bool bare = address.find_first_not_of("0123456789") == std::string::npos;
            if (bare || address.starts_with("*:")) {
                address = "0.0.0.0:" + address.substr(bare ? 0 : 2);
            } else if (address.find(':') == std::string::npos) {
                address += ":80";
            }
            out_.become(statement, {"http_server"},
                        {fmt::format("listen {}{};", quoted_word(address), ssl ? " ssl" : ""),
                         {},
                         "HLS is at /APP/STREAM.m3u8; a nginx that stays needs another port"});
            listens_ = true;
        }
    }

    void decide_rules(const Statements& statements, bool deep) {
        for (const Statement& each : statements) {
            const std::string& name = each.name.text;
            const bool unread = name == "include" && !is_harmless_include(first_word(each));
            if ((is_rule_of_http(name) && !is_off(each)) || unread) {
                out_.decide(each, unread
                                      ? "that file was not read: if it says who gets the streams "
                                        "by HTTP, write it in security { }."
                                      : "who gets the streams by HTTP: the play rules of "
                                        "security { } say it here.");
            }
            if (deep) {
                decide_rules(each.block, true);
            }
        }
    }

    Explainer& out_;
    bool listens_ = false;
    std::string certificate_;  // of all listeners with ssl; empty: none yet
};

}  // namespace

NginxHttp look_at_nginx_http(Explainer& out, const Statements& http) {
    NginxHttp found;
    for (const Statement& statement : http) {
        const std::string& name = statement.name.text;
        if (name.starts_with("rtmp_")) {
            out.explain_one(statement, name, {});
            found.status = found.status || name == "rtmp_stat" || name == "rtmp_control";
        } else if (name == "flv_live" && !is_off(statement)) {
            out.say(statement, "needs no directive here. /APP/STREAM.flv of http_server");
            found.flv_live = true;
        }
        const NginxHttp inner = look_at_nginx_http(out, statement.block);
        found.status = found.status || inner.status;
        found.flv_live = found.flv_live || inner.flv_live;
    }
    return found;
}

void write_nginx_http(Explainer& out,
                      const Statements& http,
                      const std::vector<std::string>& folders) {
    HttpWriter(out).write(http, folders);
}

}  // namespace weir::config
