// The part of the configuration that says who may do what, besides the rules by address: keys,
// users, signed tokens, and the API's logins. Secrets are kept as they were written: their files
// are read by app/access/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

// A secret as the configuration gives it: itself, or the file that holds it. Never shown.
struct SecretSource {
    bool is_file = false;
    std::string text;  // the secret, or the path (resolved) of a file with one secret per line

    bool operator==(const SecretSource&) const = default;
};

struct LoginConfig {
    std::string name;
    SecretSource password;

    bool operator==(const LoginConfig&) const = default;
};

// For what a JWT is asked.
enum class JwtActions : uint8_t { kAll, kPublish, kPlay };

// `security { }` without its rules by address. What a default-made one says must be the defaults of
// the table.
struct AccessConfig {
    // Of a rule by address and a secret, which is asked: both, or either.
    bool satisfy_any = false;
    std::vector<SecretSource> publish_keys;
    std::vector<SecretSource> play_keys;
    std::vector<LoginConfig> publish_users;
    std::vector<SecretSource> jwt_secrets;  // HS256
    std::vector<std::string> jwks_files;    // RS256, ES256, HS256
    std::string jwt_audience;               // empty: a token that names one is refused
    JwtActions jwt_actions = JwtActions::kAll;
    std::vector<std::string> allow_origins;  // pages that may publish without a secret; "*": all

    bool has_jwt() const { return !jwt_secrets.empty() || !jwks_files.empty(); }

    bool jwt_for_publish() const { return has_jwt() && jwt_actions != JwtActions::kPlay; }

    bool jwt_for_play() const { return has_jwt() && jwt_actions != JwtActions::kPublish; }

    // Whether there is anything that one has to know.
    bool asks_to_publish() const {
        return !publish_keys.empty() || !publish_users.empty() || jwt_for_publish();
    }

    bool asks_to_play() const { return !play_keys.empty() || jwt_for_play(); }

    bool operator==(const AccessConfig&) const = default;
};

// Which streams /live.json of the public server names: all, those that whoever asks may play as he
// is, or none.
enum class StreamList : uint8_t { kAll, kOpen, kNone };

constexpr std::string_view to_string(StreamList list) {
    switch (list) {
        case StreamList::kAll: return "all";
        case StreamList::kOpen: return "open";
        case StreamList::kNone: break;
    }
    return "none";
}

// What a login may do, each also what those before it may: look; end clients and record; all.
enum class ApiRole : uint8_t { kRead, kOperate, kAdmin };

constexpr std::string_view to_string(ApiRole role) {
    switch (role) {
        case ApiRole::kRead: return "read";
        case ApiRole::kOperate: return "operate";
        case ApiRole::kAdmin: break;
    }
    return "admin";
}

struct ApiTokenConfig {
    ApiRole role = ApiRole::kRead;
    SecretSource token;

    bool operator==(const ApiTokenConfig&) const = default;
};

struct ApiUserConfig {
    ApiRole role = ApiRole::kRead;
    LoginConfig login;

    bool operator==(const ApiUserConfig&) const = default;
};

// The part of `http_api { }` that says who may ask.
struct ApiAccessConfig {
    std::vector<ApiTokenConfig> tokens;
    std::vector<ApiUserConfig> users;
    std::vector<std::string> allow_origins;
    bool open_metrics = false;      // /metrics without a login
    uint32_t max_request_rate = 0;  // a second and address; 0: any

    bool asks() const { return !tokens.empty() || !users.empty(); }

    bool operator==(const ApiAccessConfig&) const = default;
};

}  // namespace weir::config
