// paths of MediaMTX: sources, recording, programs and forwards.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"
#include "config/explain/mediamtx.h"
#include "config/explain/translate.h"

namespace weir::config {
namespace {

using Place = std::vector<std::string>;

// A path with what pathDefaults say for it.
struct Path {
    std::string text;
    uint32_t line = 0;
    MtxName name;
    const YamlNode* own = nullptr;
    const YamlNode* defaults = nullptr;

    const YamlNode* find(std::string_view key) const {
        const YamlNode* found = own->find(key);
        return found == nullptr && defaults != nullptr ? defaults->find(key) : found;
    }

    std::string word(std::string_view key, std::string_view other = {}) const {
        const YamlNode* found = find(key);
        return found == nullptr || found->text.empty() ? std::string(other) : found->text;
    }

    bool publishes() const {
        const std::string source = word("source", "publisher");
        return source == "publisher";
    }
};

// A line that all paths of a section need, or one that only some of them have.
struct Setting {
    Statement from;
    Place block;  // within the section: {}, {"record"}
    Written written;
};

// The keys whose lines Paths writes.
bool is_known(std::string_view key) {
    for (const std::string_view each :
         {"source", "sourceOnDemand", "sourceOnDemandCloseAfter", "rtspTransport", "sourceProtocol",
          "record", "recordPath", "recordFormat", "recordPartDuration", "recordSegmentDuration",
          "recordDeleteAfter", "maxReaders", "overridePublisher", "disablePublisherOverride",
          "runOnReady", "runOnAvailable", "runOnOnline", "forward"}) {
        if (key == each) {
            return true;
        }
    }
    return false;
}

class Settings {
  public:
    Settings(Explainer& out, const Path& path, std::string rtsp_port)
        : out_(out), path_(path), rtsp_port_(std::move(rtsp_port)) {}

    std::vector<Setting> all() {
        record();
        limits();
        for (const char* key : {"runOnReady", "runOnAvailable", "runOnOnline"}) {
            program(key);
        }
        forward();
        return std::move(settings_);
    }

  private:
    Statement at(std::string_view key) const {
        for (const YamlNode* map : {path_.own, path_.defaults}) {
            const auto found = map == nullptr ? std::vector<std::string>::const_iterator()
                                              : std::ranges::find(map->keys, key);
            if (map != nullptr && found != map->keys.end()) {
                const auto i = static_cast<size_t>(found - map->keys.begin());
                return statement_of(key, map->key_lines[i], map->values[i]);
            }
        }
        return statement_of(key, path_.line, YamlNode());
    }

    void add(std::string_view key, Place block, std::string line, std::string note = {}) {
        settings_.push_back({at(key), std::move(block), {std::move(line), {}, std::move(note)}});
    }

    void record() {
        if (!is_yes(path_.word("record", "no"))) {
            if (path_.find("record") != nullptr) {
                add("record", {"record"}, "enabled off;");
            }
            return;
        }
        add("record", {"record"}, "enabled on;");
        std::string folder = path_.word("recordPath", "./recordings/%path/%Y-%m-%d_%H-%M-%S-%f");
        folder = folder.substr(0, folder.find('%'));
        folder = folder.substr(0, std::max<size_t>(folder.rfind('/'), 1));
        add("recordPath", {"record"},
            fmt::format("path {};", quoted_word(folder.empty() ? "." : folder)),
            "a folder that exists");
        add("recordPath", {"record"}, "name \"{app}/{stream}/{time}\";");
        add("recordFormat", {"record"},
            path_.word("recordFormat", "fmp4") == "mpegts" ? "format ts;" : "format mp4;");
        const double part = seconds_of(path_.word("recordPartDuration", "1s")).value_or(1);
        add("recordPartDuration", {"record"},
            fmt::format("fragment {};", seconds_text(std::clamp(part, 0.2, 30.0))));
        const double split = seconds_of(path_.word("recordSegmentDuration", "1h")).value_or(3600);
        add("recordSegmentDuration", {"record"},
            fmt::format("split {};", seconds_text(std::max(split, 5.0))));
        const double keep = seconds_of(path_.word("recordDeleteAfter", "1d")).value_or(86'400);
        if (keep > 0) {
            add("recordDeleteAfter", {"record"},
                fmt::format("keep {}h;", static_cast<uint64_t>(std::ceil(keep / 3600))),
                "older recordings are deleted, as there");
        }
    }

    void limits() {
        if (path_.find("maxReaders") != nullptr) {
            add("maxReaders", {}, fmt::format("max_players {};", path_.word("maxReaders", "0")));
        }
        const bool refuses = path_.word("overridePublisher", "yes") == "no" ||
                             path_.word("overridePublisher", "yes") == "false" ||
                             is_yes(path_.word("disablePublisherOverride", "no"));
        add("overridePublisher", {},
            refuses ? "publish_conflict refuse;" : "publish_conflict takeover;");
    }

    // Whether one of the streams for which the program runs is one that it publishes itself.
    bool publishes_here(const std::vector<std::string>& words) const {
        for (size_t i = 0; i < words.size(); i++) {
            const bool input = i > 0 && words[i - 1] == "-i";
            if (!input && is_own_address(words[i])) {
                const size_t path = words[i].find('/', words[i].find("://") + 3);
                const std::string name = path == std::string::npos ? "" : words[i].substr(path + 1);
                const MtxName to = parse_mtx_name(name.substr(0, name.find('?')));
                if (path_.name.kind == MtxName::Kind::kAll || name.find('$') != std::string::npos ||
                    to.app == path_.name.app) {
                    return true;
                }
            }
        }
        return false;
    }

    void program(std::string_view key) {
        const std::string text = path_.word(key);
        if (text.empty()) {
            return;
        }
        const Variable variables[] = {
            {"MTX_PATH", "$app/$name"}, {"RTSP_PATH", "$app/$name"}, {"RTSP_PORT", rtsp_port_}};
        std::vector<std::string> words;
        for (const std::string& word : shell_words(text)) {
            const Substituted done = substitute(word, variables, VariableForm::kDollar);
            if (!done.unknown.empty()) {
                out_.lose(at(key), fmt::format("${} is not known: exec_push has $app, $name and "
                                               "$vhost.",
                                               done.unknown));
                return;
            }
            words.push_back(done.text);
        }
        if (publishes_here(words)) {
            out_.lose(at(key),
                      "it publishes into the application whose streams it runs beside, so it would "
                      "run for its own ones too: let it publish into another application, and "
                      "write exec_push.");
        } else if (!words.empty()) {
            settings_.push_back({at(key), {}, exec_line(words)});
        }
    }

    void forward() {
        const YamlNode* list = path_.find("forward");
        for (const YamlNode& each : list != nullptr ? list->items : std::vector<YamlNode>()) {
            std::string url = each.word("dest");
            YamlNode shown;
            shown.text = url;
            const Statement where = statement_of("dest", each.line, shown);
            const size_t key = url.find('#');
            if (key != std::string::npos && url.starts_with("rtmp")) {
                url[key] = '/';
            }
            const bool known =
                url.starts_with("rtmp") || url.starts_with("rtsp") || url.starts_with("srt://");
            if (!known) {
                out_.lose(where, "forward sends by RTMP, RTSP and SRT.");
            } else if (!each.word("destFingerprint").empty()) {
                out_.lose(where,
                          "the certificate of the other server has to be valid for its name.");
            } else {
                settings_.push_back({where, {}, forward_line(url, {})});
            }
        }
    }

    // Words as a shell splits them: blanks, quotes, a backslash.
    static std::vector<std::string> shell_words(std::string_view text) {
        std::vector<std::string> words;
        bool open = false;
        char quote = '\0';
        for (size_t i = 0; i < text.size(); i++) {
            const char c = text[i];
            const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
            if (quote == '\0' && blank) {
                open = false;
                continue;
            }
            if (!open) {
                words.emplace_back();
                open = true;
            }
            if (quote == '\0' ? c == '"' || c == '\'' : c == quote) {
                quote = quote == '\0' ? c : '\0';
            } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
                words.back() += text[++i];
            } else {
                words.back() += c;
            }
        }
        return words;
    }

    Explainer& out_;
    const Path& path_;
    std::string rtsp_port_;
    std::vector<Setting> settings_;
};

// The address of a source here; empty: none.
std::string source_url(std::string url) {
    for (const auto& [there, here] :
         {std::pair("wheps://", "whep+https://"), std::pair("whep://", "whep+http://"),
          std::pair("udp+mpegts://", "udp://"), std::pair("udp://", "udp://"),
          std::pair("rtmp://", "rtmp://"), std::pair("rtmps://", "rtmps://"),
          std::pair("rtsp://", "rtsp://"), std::pair("rtsps://", "rtsps://"),
          std::pair("srt://", "srt://")}) {
        if (!url.starts_with(there)) {
            continue;
        }
        url = here + url.substr(std::string_view(there).size());
        const size_t key = url.find('#');
        if (key != std::string::npos && url.starts_with("rtmp")) {
            url[key] = '/';
        }
        const size_t query = url.find('?');
        if (!url.starts_with("udp://") || query == std::string::npos) {
            return url;
        }
        // ?interface=IF, ?source=ADDRESS
        std::string end;
        std::string begin;
        for (const QueryItem& item : parse_query(std::string_view(url).substr(query + 1))) {
            end = item.key == "interface" ? "@" + item.value : end;
            begin = item.key == "source" ? item.value + "@" : begin;
        }
        return "udp://" + begin + url.substr(6, query - 6) + end;
    }
    return {};
}

class Paths {
  public:
    Paths(Explainer& out, const YamlNode& root, const MtxAccess& access)
        : out_(out), root_(root), access_(access) {}

    void run() {
        const YamlNode* paths = root_.find("paths");
        for (size_t i = 0; paths != nullptr && i < paths->keys.size(); i++) {
            walk(paths->keys[i], paths->key_lines[i], paths->values[i]);
        }
        if (paths == nullptr || paths->keys.empty()) {  // as of the file that comes with it
            walk("all_others", 1, no_path_);
        }
        if (const YamlNode* defaults = root_.find("pathDefaults")) {
            tell(*defaults, {});
        }
        write_sections();
        write_access();
    }

  private:
    void walk(const std::string& text, uint32_t line, const YamlNode& own) {
        Path path{text, line, parse_mtx_name(text), &own, root_.find("pathDefaults")};
        const Statement where = statement_of("paths", line, scalar(text));
        if (path.name.kind == MtxName::Kind::kOther) {
            out_.lose(where,
                      "no application has these names: a pattern is APP/* at most, and names have "
                      "letters, digits and -_.~ only.");
            return;
        }
        if (path.name.kind == MtxName::Kind::kStream) {
            out_.say(where, fmt::format("becomes {}/{}{}", path.name.app, path.name.stream,
                                        text.find('/') == std::string::npos
                                            ? ": in each address it has its application in front"
                                            : ""));
        }
        const Place place = place_of(path.name);
        if (!path.publishes()) {
            write_source(path, place);
        }
        tell(own, text + " ");
        sections_[path.name.kind == MtxName::Kind::kAll ? "" : path.name.app].push_back(path);
    }

    static YamlNode scalar(std::string text) {
        YamlNode node;
        node.text = std::move(text);
        return node;
    }

    static Place place_of(const MtxName& name) {
        return name.kind == MtxName::Kind::kAll ? Place()
                                                : Place{"application " + quoted_word(name.app)};
    }

    // The keys that need no line together with others.
    void tell(const YamlNode& map, const std::string& around) {
        const std::string outer = out_.around_;
        out_.around_ = around;
        for (size_t i = 0; i < map.keys.size(); i++) {
            if (is_known(map.keys[i])) {
                continue;
            }
            const Statement statement = statement_of(map.keys[i], map.key_lines[i], map.values[i]);
            const bool empty = statement.arguments.empty() && map.values[i].items.empty();
            if (!empty) {
                out_.explain_one(statement, "paths." + map.keys[i], {});
            }
        }
        out_.around_ = outer;
    }

    void write_source(const Path& path, const Place& place) {
        const std::string text = path.word("source");
        const Statement where = statement_of("source", path.line, scalar(text));
        std::string url = source_url(text);
        const bool pattern = path.name.kind != MtxName::Kind::kStream;
        if (pattern) {  // "URL/$G1" brings what is asked for
            for (const std::string_view end : {"/$G1", "/$MTX_PATH"}) {
                url = url.ends_with(end) ? url.substr(0, url.size() - end.size()) : url;
            }
        }
        if (url.empty() || url.find('$') != std::string::npos) {
            out_.lose(where,
                      "source brings streams of RTMP, RTSP, SRT, WHEP, HTTP-FLV and groups.");
            return;
        }
        if (!path.word("sourceFingerprint").empty()) {
            out_.lose(where,
                      "the certificate of the other server has to be valid for its name, or "
                      "tls_verify off; takes any.");
        }
        std::string options;
        const auto add = [&](const std::string& option) {
            options += (options.empty() ? "" : " ") + option;
        };
        if (is_yes(path.word("sourceOnDemand", "no"))) {
            add("on_demand on;");
            const double linger =
                seconds_of(path.word("sourceOnDemandCloseAfter", "10s")).value_or(10);
            add(fmt::format("linger {};", seconds_text(std::min(linger, 3600.0))));
        }
        const std::string transport =
            path.word("rtspTransport", path.word("sourceProtocol", "automatic"));
        if (url.starts_with("rtsp") &&
            (transport == "tcp" || transport == "udp" || transport == "multicast")) {
            add(fmt::format("transport {};", transport));
        }
        out_.become(where, place,
                    source_line(url, pattern ? "" : path.name.stream, options,
                                pattern ? "on demand, under the same name" : ""));
    }

    void write_sections() {
        const std::string port = mtx_port(root_.word("rtspAddress", ":8554"));
        for (const auto& [app, paths] : sections_) {
            std::vector<std::vector<Setting>> settings;
            for (const Path& path : paths) {
                out_.around_ = path.text + " ";
                settings.push_back(Settings(out_, path, port).all());
            }
            out_.around_.clear();
            const Place place = app.empty() ? Place() : Place{"application " + quoted_word(app)};
            write_section(place, app, settings);
        }
    }

    // Lines that all paths have are those of the application.
    void write_section(const Place& place,
                       const std::string& app,
                       const std::vector<std::vector<Setting>>& settings) {
        std::map<std::string_view, size_t> paths_with;  // by line
        for (const std::vector<Setting>& path : settings) {
            for (const Setting& each : path) {
                paths_with[each.written.line]++;
            }
        }
        for (const std::vector<Setting>& path : settings) {
            for (const Setting& each : path) {
                const bool common = paths_with[each.written.line] == settings.size();
                if (common && &path == &settings.front()) {
                    Place inner = place;
                    inner.insert(inner.end(), each.block.begin(), each.block.end());
                    out_.become(each.from, inner, each.written);
                } else if (!common && each.written.line != "enabled off;") {
                    out_.lose(each.from,
                              fmt::format("only some paths of application {} have it, and here it "
                                          "is a setting of the application: give them one of "
                                          "their own.",
                                          app.empty() ? "NAME" : app));
                }
            }
        }
    }

    // Names that are not written were refused there.
    void write_access() {
        const bool every_name = sections_.contains("");
        const MtxRules all = access_.all.closed();
        for (const auto& [app, paths] : sections_) {
            if (!app.empty()) {
                write_application(app, paths, every_name);
            }
        }
        const bool publishes =
            every_name && std::ranges::any_of(sections_.at(""), &Path::publishes);
        for (const OutLine& line : every_name ? all.lines : std::vector<OutLine>()) {
            out_.put_line({"security"}, line);
        }
        if (!publishes) {
            out_.put({"security"}, "deny publish all;");
        }
        if (!every_name) {
            out_.put({"security"}, "deny play all;");
        }
    }

    void write_application(const std::string& app,
                           const std::vector<Path>& paths,
                           bool every_name) {
        const Place place = {"application " + quoted_word(app), "security"};
        const auto own = access_.apps.find(app);
        const MtxRules rules = own == access_.apps.end() ? access_.all.closed()
                                                         : access_.all.with(own->second).closed();
        const bool publishes = std::ranges::any_of(paths, &Path::publishes);
        const bool any_name = every_name || std::ranges::any_of(paths, [](const Path& path) {
                                  return path.name.kind == MtxName::Kind::kApplication;
                              });
        if (!publishes && !every_name) {
            out_.put(place, "deny publish all;");
        }
        for (const OutLine& line : rules.lines) {
            if (publishes || every_name || line.text.find(" publish ") == std::string::npos) {
                out_.put_line(place, line);
            }
        }
        (void)out_.output().at(place);
        if (publishes && !any_name) {
            out_.lose(fmt::format(
                "application {}: there, only the names of the file could be published; here, who "
                "may publish one may publish any name of the application.",
                app));
        }
    }

    Explainer& out_;
    const YamlNode& root_;
    const MtxAccess& access_;
    const YamlNode no_path_;
    std::map<std::string, std::vector<Path>> sections_;  // by application; "": every one
};

}  // namespace

void explain_mtx_paths(Explainer& out, const YamlNode& root, const MtxAccess& access) {
    Paths(out, root, access).run();
}

}  // namespace weir::config
