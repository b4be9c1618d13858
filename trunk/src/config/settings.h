// What was written, directive by directive, and where: for the report of a reload and for
// `weir --dump-config`. A Config holds one; it is no part of what the configuration means.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

struct Directive;

// One directive as it was given, in a file or in the environment. Defaults are not listed.
struct Setting {
    // The place in the table: "listen", "http_api.listen", "vhost.play.queue_length". What may
    // stand in a vhost begins with "vhost." wherever it was written; rules of access go under their
    // block, "vhost.security".
    std::string key;
    std::string vhost;  // the section it stands in (VhostConfig::section()); empty: the top level
    std::string text;   // the value in one form of several: "10s" for 10000ms. A secret is in here.
    std::string shown;  // the same without its secrets
    std::vector<std::string> secrets;  // what was left out, where it can be looked for (value.h)
    std::string origin;                // "conf/weir.conf:3", "WEIR_LISTEN in the environment"
    const Directive* directive = nullptr;
};

struct Settings {
    std::vector<Setting> list;

    // How a configuration was written is no difference.
    bool operator==(const Settings&) const { return true; }
};

enum class ChangeEffect : uint8_t {
    kApplied,         // holds for everybody
    kNewConnections,  // for what begins from now on; who is connected keeps what it began with
    kRestart,         // the running process keeps the old value
};

// "applied", "new connections", "needs a restart".
std::string_view to_string(ChangeEffect effect);

// What a change of that directive does.
ChangeEffect effect_of(const Directive& directive, std::string_view key);

// "play queue_length" of the key "vhost.play.queue_length".
std::string directive_text(std::string_view key);

struct SettingChange {
    std::string directive;  // "play queue_length", "http_api listen", "vhost"
    std::string vhost;      // the section, "a.example" or "a.example/vip"; empty: the top level
    std::string from;       // empty: it was not there
    std::string to;
    ChangeEffect effect = ChangeEffect::kApplied;

    bool operator==(const SettingChange&) const = default;
};

// "play queue_length 10s -> 5s vhost=a.example (new connections)", for the log.
std::string to_string(const SettingChange& change);

// What is not the same, in the order of the table. Values of secrets are not in it.
std::vector<SettingChange> changes_between(const Settings& before, const Settings& after);

// `after` with what cannot be changed in a running process as it was: the next reload then says
// again what still waits for a restart.
Settings still_running(const Settings& before, Settings after);

// The whole configuration, defaults included, as a file that means the same; behind each directive
// where it comes from. Secrets are left out: "(secret)".
std::string dump_config(const Settings& settings);

// All secrets that can be looked for in other texts, each once.
std::vector<std::string> secrets_of(const Settings& settings);

}  // namespace weir::config
