#include "config/explain/nginx_media.h"

#include <algorithm>

#include <fmt/format.h>

#include "config/explain/translate.h"

namespace weir::config {
namespace {

using Statements = std::vector<Statement>;
using Place = std::vector<std::string>;

constexpr double kFragment = 5;  // seconds; defaults there
constexpr double kPlaylist = 30;
constexpr double kMinSplit = 5;              // of record { split; }
constexpr uint64_t kMinSplitSize = 1 << 20;  // of record { split_size; }

constexpr Variable kVariables[] = {
    {"name", "$name"}, {"app", "$app"},  {"addr", ""},    {"flashver", ""},
    {"swfurl", ""},    {"tcurl", ""},    {"pageurl", ""}, {"clientid", ""},
    {"filename", ""},  {"basename", ""}, {"path", ""},    {"recorder", ""},
};

// Words of `exec` that say where its output goes: ">file", "2>>file", "<file".
bool is_redirection(std::string_view word) {
    if (word.starts_with('&') || word.starts_with('1') || word.starts_with('2')) {
        word.remove_prefix(1);
    }
    return word.starts_with('>') || word.starts_with('<');
}

// "name=value" of push and pull; empty: it has none. nginx reads names in any case.
std::string option_of(const Statement& statement, std::string_view name) {
    for (const Token& token : statement.arguments) {
        const size_t equal = token.text.find('=');
        if (equal != std::string::npos && token.text.substr(0, equal) == name) {
            return token.text.substr(equal + 1);
        }
    }
    return {};
}

// The address of the other server, taken apart: "[rtmp://]HOST[:PORT][/APP[/STREAM]]", and its app=
// and playpath=.
struct Remote {
    std::string host;
    std::string app;
    std::string stream;

    std::string url(std::string_view own_app) const {
        return fmt::format("rtmp://{}/{}{}{}", host, app.empty() ? own_app : app,
                           stream.empty() ? "" : "/", stream);
    }
};

Remote remote_of(const Statement& statement) {
    std::string text = first_word(statement);
    if (text.starts_with("rtmp://")) {
        text = text.substr(7);
    }
    Remote remote;
    const size_t slash = text.find('/');
    remote.host = text.substr(0, slash);
    const std::string path = slash == std::string::npos ? "" : text.substr(slash + 1);
    const size_t second = path.find('/');
    remote.app = path.substr(0, second);
    remote.stream = second == std::string::npos ? "" : path.substr(second + 1);
    if (const std::string app = option_of(statement, "app"); !app.empty()) {
        remote.app = app;
    }
    for (const char* name : {"playpath", "playPath"}) {
        if (const std::string path_name = option_of(statement, name); !path_name.empty()) {
            remote.stream = path_name;
        }
    }
    return remote;
}

// What the other server was told, and is not told here.
std::string told_note(const Statement& statement) {
    std::string names;
    for (const char* name : {"tcUrl", "pageUrl", "swfUrl", "flashVer"}) {
        if (!option_of(statement, name).empty()) {
            names += (names.empty() ? "" : ", ") + std::string(name);
        }
    }
    return names.empty() ? "" : names + " not sent";
}

void explain_push(Explainer& out, const Statement& statement, const Place& place) {
    const Remote remote = remote_of(statement);
    if (!is_host(remote.host)) {
        out.lose(statement, "the address of the other server cannot be read: forward URL;");
    } else if (!option_of(statement, "name").empty()) {
        out.lose(statement,
                 "only one stream was sent there; forward sends each stream of its application, so "
                 "publish that one in an application of its own, with forward.");
    } else {
        out.become(statement, place, forward_line(remote.url("[app]"), told_note(statement)));
    }
}

void explain_pull(Explainer& out, const Statement& statement, const Place& place) {
    const Remote remote = remote_of(statement);
    const std::string name = option_of(statement, "name");
    const bool is_static = std::ranges::any_of(
        statement.arguments, [](const Token& each) { return each.text == "static"; });
    const bool in_application = !place.empty();
    if (!is_host(remote.host)) {
        out.lose(statement, "the address of the other server cannot be read: source URL;");
    } else if (!in_application && (remote.app.empty() || !name.empty())) {
        out.lose(statement, "outside of an application: write source in each one that needs it.");
    } else if (name.empty() && !remote.stream.empty()) {
        out.lose(statement,
                 "every name was the same stream of the other server; source URL { stream NAME; } "
                 "brings it under one name.");
    } else {
        const std::string app =
            in_application ? place.front().substr(std::string_view("application ").size()) : "";
        Remote wanted = remote;
        wanted.stream = remote.stream.empty() ? name : remote.stream;
        out.become(
            statement, place,
            source_line(wanted.url(app), name, is_static || name.empty() ? "" : "on_demand on;",
                        told_note(statement)));
    }
}

void explain_exec(Explainer& out, const Statement& statement, const Place& place) {
    std::vector<std::string> words;
    for (const std::string& word : words_of(statement)) {
        if (is_redirection(word)) {
            continue;
        }
        const Substituted done = substitute(word, kVariables, VariableForm::kDollar);
        if (!done.unknown.empty()) {
            out.lose(statement,
                     fmt::format("${} is not known: exec_push has $app, $name and $vhost.",
                                 done.unknown));
            return;
        }
        words.push_back(done.text);
    }
    if (words.empty()) {
        out.lose(statement, "it names no program: exec_push PROGRAM ARGUMENT ...;");
        return;
    }
    out.become(statement, place, exec_line(words));
}

// Its own directives, and what it inherits.
class Scope {
  public:
    explicit Scope(const NginxScopes& scopes) : scopes_(scopes) {}

    // In the innermost block that says it, or null.
    const Statement* find(std::string_view name) const {
        for (auto each = scopes_.rbegin(); each != scopes_.rend(); each++) {
            if (const Statement* found = child_of(**each, name)) {
                return found;
            }
        }
        return nullptr;
    }

    const Statement* own(std::string_view name) const { return child_of(*scopes_.back(), name); }

    std::string word(std::string_view name) const {
        const Statement* found = find(name);
        return found != nullptr ? first_word(*found) : "";
    }

    bool is_on(std::string_view name) const { return word(name) == "on"; }

    const Statements& own_block() const { return *scopes_.back(); }

  private:
    const NginxScopes& scopes_;
};

bool has_word(const Statement& statement, std::string_view word) {
    return std::ranges::any_of(statement.arguments,
                               [&](const Token& each) { return each.text == word; });
}

bool records(const Statement* record) {
    return record != nullptr && first_word(*record) != "off" && !has_word(*record, "manual");
}

Place inner(const Place& place, const char* block) {
    Place all = place;
    all.emplace_back(block);
    return all;
}

// Writes record { }.
class Recording {
  public:
    Recording(Explainer& out, const Place& place) : out_(out), place_(inner(place, "record")) {}

    void write(const Statements& block, bool has_path) {
        for (const Statement& statement : block) {
            const std::string& name = statement.name.text;
            if (name == "record") {
                write_flags(statement, has_path);
            } else if (name == "record_path") {
                line(statement, fmt::format("path {};", quoted_word(first_word(statement))));
            } else if (name == "record_max_size") {
                write_size(statement);
            } else if (name == "record_interval") {
                write_interval(statement);
            } else if (name.starts_with("record_")) {
                out_.explain_one(statement, name, place_);
            }
        }
    }

  private:
    void line(const Statement& statement, std::string text, std::string note = {}) {
        out_.become(statement, place_, {std::move(text), {}, std::move(note)});
    }

    void write_flags(const Statement& statement, bool has_path) {
        if (first_word(statement) == "off") {
            line(statement, "enabled off;");
            return;
        }
        if (has_word(statement, "manual")) {
            line(statement, "enabled off;", "POST /api/v1/recordings begins and ends one");
        } else {
            line(statement, "enabled on;",
                 has_word(statement, "all") ? "" : "audio and video, and every frame");
        }
        line(statement, "format flv;", "mp4 plays while it grows, and by HLS");
        line(statement, "name \"{stream}-{time}\";", "each publish has a file of its own");
        if (!has_path) {
            line(statement, "path /tmp;", "the default there");
        }
    }

    void write_size(const Statement& statement) {
        const std::optional<uint64_t> bytes = bytes_of(first_word(statement));
        if (!bytes || *bytes < kMinSplitSize) {
            out_.lose(statement, "files may not be that small: record { split_size 1m; }.");
            return;
        }
        line(statement, fmt::format("split_size {};", *bytes),
             "another file begins; there the recording ended");
    }

    void write_interval(const Statement& statement) {
        const std::optional<double> seconds = seconds_of(first_word(statement), 0.001);
        if (!seconds || *seconds < kMinSplit) {
            out_.lose(statement, "files may not be that short: record { split 5s; }.");
            return;
        }
        line(statement, fmt::format("split {};", seconds_text(*seconds)));
    }

    Explainer& out_;
    Place place_;
};

void explain_record(Explainer& out, const Scope& scope, const Place& place) {
    Recording recording(out, place);
    recording.write(scope.own_block(), scope.find("record_path") != nullptr);
    bool taken = records(scope.find("record"));
    for (const Statement& recorder : scope.own_block()) {
        if (recorder.name.text != "recorder") {
            continue;
        }
        const Statement* flags = child_of(recorder.block, "record");
        if (flags != nullptr && !records(flags) && !has_word(*flags, "manual")) {
            out.say(recorder, "switched off there, and left out");
        } else if (taken) {
            out.lose(recorder, "a second recording of the same stream: record { } makes one.");
        } else {
            out.say(recorder, "becomes record { }");
            const bool path = child_of(recorder.block, "record_path") != nullptr;
            recording.write(recorder.block, path || scope.find("record_path") != nullptr);
            taken = true;
        }
    }
}

void explain_variants(Explainer& out, const Scope& scope, const Place& place) {
    std::string names;
    const Statement* first = nullptr;
    for (const Statement& statement : scope.own_block()) {
        if (statement.name.text == "hls_variant") {
            first = first == nullptr ? &statement : first;
            names += " [app]/[stream]" + first_word(statement);
        }
    }
    if (first != nullptr) {
        out.become(*first, inner(place, "hls"), {fmt::format("variants{};", names), {}, {}});
        out.lose(*first,
                 "there the playlist of NAME had its qualities only; here it is that of a stream "
                 "NAME, which has to be published too, and variants stand behind it.");
    }
}

void explain_lengths(Explainer& out, const Scope& scope, const Place& place) {
    const Place hls = inner(place, "hls");
    const bool dash = !scope.is_on("hls") && scope.is_on("dash");
    const std::string_view fragment_name = dash ? "dash_fragment" : "hls_fragment";
    const std::string_view length_name = dash ? "dash_playlist_length" : "hls_playlist_length";
    const double fragment = seconds_of(scope.word(fragment_name), 0.001).value_or(kFragment);
    const double written = std::clamp(fragment, 1.0, 60.0);
    const double length = seconds_of(scope.word(length_name), 0.001).value_or(kPlaylist);
    if (const Statement* own = scope.own(fragment_name)) {
        out.become(*own, hls,
                   {fmt::format("fragment {};", seconds_text(written)), {}, "cut at key frames"});
    }
    const Statement* own = scope.own(length_name);
    own = own != nullptr ? own : scope.own(fragment_name);
    if (own != nullptr) {
        out.become(*own, hls, {fmt::format("window {};", window_text(written, length)), {}, {}});
    }
}

// Of directives that explain_lengths() and explain_variants() read.
bool is_read_elsewhere(std::string_view name) {
    return name == "hls_variant" || name == "hls_fragment" || name == "hls_playlist_length";
}

// Lengths of DASH, which count where there is no HLS.
bool is_length_of_dash(std::string_view name) {
    return name == "dash_fragment" || name == "dash_playlist_length";
}

void explain_hls(Explainer& out, const Scope& scope, const Place& place) {
    const Place hls = inner(place, "hls");
    for (const Statement& statement : scope.own_block()) {
        const std::string& name = statement.name.text;
        const std::string word = first_word(statement);
        if (name == "hls") {
            out.become(statement, hls, {word == "on" ? "enabled on;" : "enabled off;", {}, {}});
        } else if (name == "hls_path") {
            out.become(statement, hls,
                       {fmt::format("path {};", quoted_word(word)),
                        {},
                        "as APP/STREAM.m3u8; players get it from memory, also without a folder"});
        } else if (name == "hls_keys") {
            out.become(statement, hls, {word == "on" ? "encrypt on;" : "encrypt off;", {}, {}});
        } else if (name == "hls_fragments_per_key") {
            out.become(statement, hls, {fmt::format("rotate {};", quoted_word(word)), {}, {}});
        } else if (name == "hls_type" && word == "event") {
            out.lose(statement, "playlists of a live stream always slide: hls { dvr; } has more.");
        } else if (is_length_of_dash(name)) {
            if (scope.is_on("hls") || !scope.is_on("dash")) {
                out.say(statement, scope.is_on("hls") ? "DASH has the segments of HLS here"
                                                      : "DASH is off there");
            }
        } else if ((name.starts_with("hls_") || name.starts_with("dash")) &&
                   !is_read_elsewhere(name)) {
            out.explain_one(statement, name, hls);
        }
    }
    explain_lengths(out, scope, place);
    explain_variants(out, scope, place);
}

}  // namespace

bool explain_nginx_relay(Explainer& out, const Statement& statement, const Place& place) {
    const std::string& name = statement.name.text;
    if (name == "push") {
        explain_push(out, statement, place);
    } else if (name == "pull") {
        explain_pull(out, statement, place);
    } else if (name == "exec" || name == "exec_push") {
        explain_exec(out, statement, place);
    } else if (name == "on_done") {
        const std::string url = quoted_word(first_word(statement));
        const std::string shown = shown_word(first_word(statement));
        for (const char* hook : {"on_unpublish", "on_stop"}) {
            out.become(statement, inner(place, "http_hooks"),
                       {fmt::format("{} {};", hook, url), fmt::format("{} {};", hook, shown), {}});
        }
    } else {
        return false;
    }
    return true;
}

bool is_nginx_media(std::string_view name) {
    return name == "record" || name.starts_with("record_") || name == "recorder" || name == "hls" ||
           name.starts_with("hls_") || name == "dash" || name.starts_with("dash_");
}

bool explain_nginx_media(Explainer& out, const NginxScopes& scopes, const Place& place) {
    const Scope scope(scopes);
    explain_record(out, scope, place);
    explain_hls(out, scope, place);
    return scope.is_on("hls") || scope.is_on("dash");
}

}  // namespace weir::config
