// Who may publish and play at MediaMTX.
#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "config/explain/mediamtx.h"
#include "config/explain/translate.h"

namespace weir::config {
namespace {

struct User {
    std::string name;
    std::string password;
    std::vector<std::string> networks;  // empty: every address
    uint32_t line = 0;
};

// What no permission names is refused there.
void close(MtxRules& rules, std::string_view action, std::string_view secret) {
    const std::string allow = fmt::format("allow {} ", action);
    const auto has = [&](std::string_view begin) {
        return std::ranges::any_of(
            rules.lines, [&](const OutLine& line) { return line.text.starts_with(begin); });
    };
    if (has(allow + "all;")) {
        std::erase_if(rules.lines,
                      [&](const OutLine& line) { return line.text.starts_with(secret); });
    } else if (has(secret) && has(allow)) {
        rules.lines.insert(rules.lines.begin(),
                           {"satisfy any;", "satisfy any;", "authInternalUsers", true});
    } else if (!has(secret)) {
        const std::string deny = fmt::format("deny {} all;", action);
        rules.lines.push_back({deny, deny, "authInternalUsers", true});
    }
}

bool is_hashed(std::string_view text) {
    return text.starts_with("sha256:") || text.starts_with("argon2:");
}

class Access {
  public:
    Access(Explainer& out, const YamlNode& root) : out_(out), root_(root) {}

    MtxAccess write() {
        const std::string method = root_.word("authMethod", "internal");
        if (method == "http" || root_.find("externalAuthenticationURL") != nullptr) {
            write_http();
        } else if (method == "jwt") {
            out_.decide(where("authMethod"),
                        "tokens have other claims here, and keys stand in a file: security { "
                        "jwks_file FILE; } (doc/access.md).");
        } else if (const YamlNode* users = root_.find("authInternalUsers")) {
            access_.all.said = true;
            for (const YamlNode& user : users->items) {
                walk_user(user);
            }
        }
        return access_;
    }

  private:
    Statement where(std::string_view key) const {
        const auto found = std::ranges::find(root_.keys, key);
        if (found == root_.keys.end()) {
            return statement_of(key, 1, YamlNode());
        }
        const auto i = static_cast<size_t>(found - root_.keys.begin());
        return statement_of(key, root_.key_lines[i], root_.values[i]);
    }

    // There an empty answer of 2xx is enough.
    void write_http() {
        const std::string key = root_.find("authHTTPAddress") != nullptr
                                    ? "authHTTPAddress"
                                    : "externalAuthenticationURL";
        const std::string url = root_.word(key);
        for (const char* hook : {"on_publish", "on_play"}) {
            out_.become(where(key), {"http_hooks"},
                        {fmt::format("{} {};", hook, quoted_word(url)),
                         fmt::format("{} {};", hook, shown_word(url)),
                         "POST of other JSON; answer 0 or {\"code\":0} instead of 2xx"},
                        true);
        }
        access_.all.said = true;
        for (const char* line : {"allow publish all;", "allow play all;"}) {
            access_.all.lines.push_back({line, line, key, true});
        }
        if (!root_.word("authHTTPFingerprint").empty()) {
            out_.lose(where("authHTTPFingerprint"),
                      "the certificate of a hook server has to be valid for its name.");
        }
    }

    void walk_user(const YamlNode& node) {
        User user;
        user.name = node.word("user", "any");
        user.password = node.word("pass");
        user.line = node.line;
        const YamlNode* networks = node.find("ips");
        for (const YamlNode& each :
             networks != nullptr ? networks->items : std::vector<YamlNode>()) {
            user.networks.push_back(network_text(each.text));
            if (user.networks.back().empty()) {
                out_.decide(statement_of("ips", each.line, each),
                            "expected an address or ADDRESS/BITS.");
                return;
            }
        }
        const YamlNode* permissions = node.find("permissions");
        for (const YamlNode& each :
             permissions != nullptr ? permissions->items : std::vector<YamlNode>()) {
            walk_permission(user, each);
        }
    }

    void walk_permission(const User& user, const YamlNode& permission) {
        const std::string action = permission.word("action");
        const Statement at = statement_of(
            "authInternalUsers", permission.line,
            permission.find("action") != nullptr ? *permission.find("action") : YamlNode());
        if (action == "api") {
            walk_api(user, at);
            return;
        }
        if (action != "publish" && action != "read") {
            return;  // playback is that of read; metrics is that of api
        }
        const std::string path = permission.word("path");
        const MtxName name = parse_mtx_name(path);
        if (!path.empty() && name.kind != MtxName::Kind::kApplication &&
            name.kind != MtxName::Kind::kAll) {
            out_.decide(at, "rules hold for an application, not for one path: security { } in it.");
            return;
        }
        MtxRules& rules =
            name.kind == MtxName::Kind::kApplication ? access_.apps[name.app] : access_.all;
        rules.said = true;
        grant(rules, user, at, action == "publish");
    }

    void grant(MtxRules& rules, const User& user, const Statement& at, bool publish) {
        const char* action = publish ? "publish" : "play";
        if (user.name == "any") {
            for (const std::string& network :
                 user.networks.empty() ? std::vector<std::string>{"all"} : user.networks) {
                add(rules, at, fmt::format("allow {} {};", action, network));
            }
            return;
        }
        if (is_hashed(user.name) || is_hashed(user.password)) {
            out_.decide(at, "a password is stored here as it is, or in a file: file:PATH.");
            return;
        }
        if (!user.networks.empty()) {
            out_.decide(at, "a password that is good from some addresses only.");
            return;
        }
        if (publish) {
            add(rules, at,
                fmt::format("publish_user {} {};", quoted_word(user.name),
                            quoted_word(user.password)),
                "publish_user NAME (secret);");
            return;
        }
        add(rules, at, fmt::format("play_key {};", quoted_word(user.password)),
            "play_key (secret);");
        out_.lose(at,
                  "players have keys, no names: ?key=PASSWORD, or any name with it by RTSP; their "
                  "names are not asked.");
    }

    void walk_api(const User& user, const Statement& at) {
        if (user.name == "any") {
            return;  // it listens on this machine
        }
        if (is_hashed(user.name) || is_hashed(user.password)) {
            out_.decide(at,
                        "a password is stored here as it is, or in a file: http_api { user "
                        "admin NAME file:PATH; }.");
            return;
        }
        out_.become(
            at, {"http_api"},
            {fmt::format("user admin {} {};", quoted_word(user.name), quoted_word(user.password)),
             "user admin NAME (secret);",
             {}},
            true);
    }

    void add(MtxRules& rules, const Statement& at, std::string text, std::string shown = {}) {
        const std::string visible = shown.empty() ? text : shown;
        out_.say(at, fmt::format("becomes security {{ {} }}", visible));
        if (!shown.empty()) {
            out_.note_secret();
        }
        rules.lines.push_back({std::move(text), visible, out_.place_of(at), true});
    }

    Explainer& out_;
    const YamlNode& root_;
    MtxAccess access_;
};

}  // namespace

MtxRules MtxRules::closed() const {
    MtxRules all = *this;
    if (said) {
        close(all, "publish", "publish_user ");
        close(all, "play", "play_key ");
    }
    return all;
}

bool is_mtx_access_key(std::string_view key) {
    return key.starts_with("auth") || key == "externalAuthenticationURL";
}

MtxAccess explain_mtx_access(Explainer& out, const YamlNode& root) {
    return Access(out, root).write();
}

}  // namespace weir::config
