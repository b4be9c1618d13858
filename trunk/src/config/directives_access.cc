// Who may do what, and how much: security { } besides its rules by address, the logins of
// http_api { }, limits.
#include "config/directive_tables.h"

namespace weir::config {
namespace {

// The first of a block replaces what was there (of the file, when a variable is given).
template <typename List>
List& begun(List& list, const Target& target) {
    if (target.first) {
        list.clear();
    }
    return list;
}

void add_all(std::vector<SecretSource>& list, const Target& target, const Value& value) {
    begun(list, target).insert(list.end(), value.secrets.begin(), value.secrets.end());
}

void add_all(std::vector<std::string>& list, const Target& target, const Value& value) {
    begun(list, target).insert(list.end(), value.words.begin(), value.words.end());
}

const Directive kAccessDirectives[] = {
    {.name = "server_name",
     .type = ValueType::kHosts,
     .repeatable = true,
     .example = "media.example.org",
     .doc = "Names under which browsers reach this server, besides addresses, localhost and names "
            "without a dot. A page that was loaded under another name may not use the API, nor "
            "publish without a key: it may be a stranger's name that points here.",
     .apply = [](const Target& t, const Value& v) { add_all(t.config.server_names, t, v); }},
    {.name = "max_connections_per_ip",
     .type = ValueType::kCount,
     .default_text = "0",
     .min = 1,
     .max = 1000000,
     .special = "0",
     .doc = "Connections and WebRTC sessions of one address (IPv6: of one /64) at the same "
            "time. Loopback is exempt. Players behind one router share an address: leave "
            "room for them. 0: half of `max_connections` for a public address, so that the other "
            "half is for others, and any number for private ones, where proxies are.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.max_connections_per_ip = static_cast<uint32_t>(v.number);
         }},
    {.name = "max_players",
     .contexts = kStreamContexts,
     .type = ValueType::kCount,
     .default_text = "0",
     .min = 1,
     .max = 1000000,
     .special = "0",
     .doc = "Players of one stream at the same time, of all protocols. 0: any number.",
     .apply = [](const Target& t,
                 const Value& v) { t.vhost.max_players = static_cast<uint32_t>(v.number); }},
    {.name = "max_publish_bitrate",
     .contexts = kStreamContexts,
     .type = ValueType::kBitrate,
     .default_text = "0",
     .min = 10'000,
     .max = 100'000'000'000,
     .special = "0",
     .doc = "A publisher that sends more bits per second than this, over 10 seconds, is ended. 0: "
            "any rate.",
     .apply = [](const Target& t, const Value& v) { t.vhost.max_publish_bitrate = v.number; }},

    {.name = "publish_key",
     .contexts = kSecurityContext,
     .type = ValueType::kSecret,
     .repeatable = true,
     .secret_from = 0,
     .example = "file:/run/secrets/publish_key",
     .doc = "Keys that publishers show, as in rtmp://host/app/stream?key=KEY; each of them "
            "is valid. file:PATH reads them from a file, one per line, and again when it "
            "changes.",
     .apply = [](const Target& t, const Value& v) { add_all(t.vhost.access.publish_keys, t, v); }},
    {.name = "play_key",
     .contexts = kSecurityContext,
     .type = ValueType::kSecret,
     .repeatable = true,
     .secret_from = 0,
     .example = "file:/run/secrets/play_key",
     .doc = "The same for players.",
     .apply = [](const Target& t, const Value& v) { add_all(t.vhost.access.play_keys, t, v); }},
    {.name = "publish_user",
     .contexts = kSecurityContext,
     .type = ValueType::kLogin,
     .repeatable = true,
     .secret_from = 1,
     .example = "studio file:/run/secrets/studio",
     .doc = "A user and the password for RTMP publishers that have fields for them (OBS, "
            "rtmp://USER:PASSWORD@host/app/stream in ffmpeg), by Adobe's challenge and response.",
     .apply =
         [](const Target& t, const Value& v) {
             begun(t.vhost.access.publish_users, t).push_back({v.text, v.secrets.at(0)});
         }},
    {.name = "jwt_secret",
     .contexts = kSecurityContext,
     .type = ValueType::kSecret,
     .min = 32,
     .max = 4096,
     .repeatable = true,
     .secret_from = 0,
     .example = "file:/run/secrets/jwt",
     .doc =
         "Secrets of at least 32 bytes by which tokens (JWT) are signed with HS256. Such a token "
         "is shown like a key.",
     .apply = [](const Target& t, const Value& v) { add_all(t.vhost.access.jwt_secrets, t, v); }},
    {.name = "jwks_file",
     .contexts = kSecurityContext,
     .type = ValueType::kPath,
     .repeatable = true,
     .example = "jwks.json",
     .doc = "Keys for tokens: a JSON Web Key Set (RS256, ES256, HS256), or one public key in "
            "PEM. Read again when it changes.",
     .apply = [](const Target& t,
                 const Value& v) { begun(t.vhost.access.jwks_files, t).push_back(v.text); }},
    {.name = "jwt_audience",
     .contexts = kSecurityContext,
     .type = ValueType::kText,
     .example = "weir",
     .doc = "The name that the claim aud of a token must contain. Without this directive a "
            "token that has an audience is refused: it was made for another server.",
     .apply = [](const Target& t, const Value& v) { t.vhost.access.jwt_audience = v.text; }},
    {.name = "jwt_actions",
     .contexts = kSecurityContext,
     .type = ValueType::kChoice,
     .default_text = "all",
     .choices = "all|publish|play",
     .doc = "The actions that need a token.",
     .apply =
         [](const Target& t, const Value& v) {
             t.vhost.access.jwt_actions = static_cast<JwtActions>(v.number);
         }},
    {.name = "satisfy",
     .contexts = kSecurityContext,
     .type = ValueType::kChoice,
     .default_text = "all",
     .choices = "all|any",
     .doc = "If there are secrets: with all, every client that the rules by address allow "
            "must show one; with any, an address that an allow line names needs none.",
     .apply = [](const Target& t, const Value& v) { t.vhost.access.satisfy_any = v.number != 0; }},
    {.name = "allow_origin",
     .contexts = kSecurityContext,
     .type = ValueType::kOrigins,
     .repeatable = true,
     .example = "https://studio.example.org",
     .doc = "Pages of other sites that may publish without a key, from a browser whose "
            "address is allowed to publish. * allows every page.",
     .apply = [](const Target& t, const Value& v) { add_all(t.vhost.access.allow_origins, t, v); }},

    {.name = "token",
     .contexts = kHttpApiContext,
     .type = ValueType::kRoleSecret,
     .repeatable = true,
     .secret_from = 1,
     .example = "read file:/run/secrets/metrics_token",
     .doc = "A role and the token for it: Authorization: Bearer TOKEN. read may look; operate may "
            "also end clients, start, end and remove recordings; admin may do everything else, "
            "such as to reload and to start measurements. When a token or a user is configured, "
            "everybody needs one.",
     .apply =
         [](const Target& t, const Value& v) {
             begun(t.config.http_api.access.tokens, t)
                 .push_back({static_cast<ApiRole>(v.number), v.secrets.at(0)});
         }},
    {.name = "user",
     .contexts = kHttpApiContext,
     .type = ValueType::kRoleLogin,
     .repeatable = true,
     .secret_from = 2,
     .example = "admin alice file:/run/secrets/alice",
     .doc = "A role (see token), a name and a password, for browsers: Authorization: Basic.",
     .apply =
         [](const Target& t, const Value& v) {
             begun(t.config.http_api.access.users, t)
                 .push_back({static_cast<ApiRole>(v.number), {v.text, v.secrets.at(0)}});
         }},
    {.name = "metrics",
     .contexts = kHttpApiContext,
     .type = ValueType::kChoice,
     .default_text = "read",
     .choices = "read|open",
     .doc = "Whether /metrics needs the role read (if there are logins), or is open to "
            "everybody.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.http_api.access.open_metrics = v.number != 0; }},
    {.name = "max_request_rate",
     .contexts = kHttpApiContext,
     .type = ValueType::kCount,
     .default_text = "0",
     .min = 1,
     .max = 100000,
     .special = "0",
     .doc = "Requests per second of one address, and twice as many at once; more are "
            "answered with 429. 0: any number.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.http_api.access.max_request_rate = static_cast<uint32_t>(v.number);
         }},
    {.name = "allow_origin",
     .contexts = kHttpApiContext,
     .type = ValueType::kOrigins,
     .repeatable = true,
     .example = "https://dashboard.example.org",
     .doc = "Pages of other sites that may use the API from a browser.",
     .apply = [](const Target& t,
                 const Value& v) { add_all(t.config.http_api.access.allow_origins, t, v); }},
};

}  // namespace

std::span<const Directive> access_directives() {
    return kAccessDirectives;
}

}  // namespace weir::config
