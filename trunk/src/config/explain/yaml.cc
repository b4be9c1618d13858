#include "config/explain/yaml.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <yaml.h>

#include "base/log.h"

namespace weir::config {
namespace {

class YamlParser {
  public:
    YamlParser() : good_(yaml_parser_initialize(&parser_) != 0) {}

    YamlParser(const YamlParser&) = delete;
    YamlParser& operator=(const YamlParser&) = delete;

    ~YamlParser() { yaml_parser_delete(&parser_); }

    bool good() const { return good_; }

    yaml_parser_t* get() { return &parser_; }

    const yaml_parser_t* operator->() const { return &parser_; }

  private:
    yaml_parser_t parser_{};
    bool good_;
};

class Event {
  public:
    Event() = default;
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    ~Event() { yaml_event_delete(&event_); }

    yaml_event_t* get() { return &event_; }

    const yaml_event_t* operator->() const { return &event_; }

  private:
    yaml_event_t event_{};
};

std::string text_of(const yaml_char_t* text, size_t size) {
    return {static_cast<const char*>(static_cast<const void*>(text)), size};
}

std::string text_of(const yaml_char_t* text) {
    return text == nullptr ? std::string()
                           : static_cast<const char*>(static_cast<const void*>(text));
}

// A list or a map that is not at its end, and the key that waits for its value.
struct Open {
    YamlNode node;
    std::string anchor;
    std::string key;
    uint32_t key_line = 0;
    bool has_key = false;
    std::set<std::string, std::less<>> seen;  // keys of a map
    std::vector<YamlNode> merged;             // maps of `<<`
};

class Builder {
  public:
    explicit Builder(DiagnosticSink& sink) : sink_(sink) {}

    // False: it ends here, with a report.
    bool take(const yaml_event_t& event) {
        const auto line = static_cast<uint32_t>(event.start_mark.line + 1);
        switch (event.type) {
            case YAML_DOCUMENT_START_EVENT:
                return ++documents_ == 1 || fail(line, "found a second document, expected one");
            case YAML_SCALAR_EVENT: return take_scalar(event, line);
            case YAML_ALIAS_EVENT: return take_alias(text_of(event.data.alias.anchor), line);
            case YAML_SEQUENCE_START_EVENT:
                return open(YamlNode::Kind::kList, text_of(event.data.sequence_start.anchor), line);
            case YAML_MAPPING_START_EVENT:
                return open(YamlNode::Kind::kMap, text_of(event.data.mapping_start.anchor), line);
            case YAML_SEQUENCE_END_EVENT:
            case YAML_MAPPING_END_EVENT: return close();
            default: return true;
        }
    }

    std::optional<YamlNode> root() { return std::move(root_); }

  private:
    bool fail(uint32_t line, std::string message) {
        sink_.report({line, 1, 0}, std::move(message));
        return false;
    }

    bool count(uint32_t line, size_t nodes) {
        nodes_ += nodes;
        return nodes_ <= kMaxYamlNodes ||
               fail(line, fmt::format("found more than {} values (aliases are counted as often as "
                                      "they are used)",
                                      kMaxYamlNodes));
    }

    bool take_scalar(const yaml_event_t& event, uint32_t line) {
        const auto& scalar = event.data.scalar;
        if (scalar.length > kMaxYamlScalar) {
            return fail(line, fmt::format("found a text of more than {} bytes", kMaxYamlScalar));
        }
        YamlNode node;
        node.line = line;
        node.text = text_of(scalar.value, scalar.length);
        if (scalar.style == YAML_PLAIN_SCALAR_STYLE && (node.text == "~" || node.text == "null")) {
            node.text.clear();
        }
        return count(line, 1) && add(std::move(node), text_of(scalar.anchor));
    }

    bool take_alias(const std::string& name, uint32_t line) {
        const auto found = anchors_.find(name);
        if (found == anchors_.end()) {
            return fail(line, fmt::format("found the alias *{}, but no anchor of that name before "
                                          "it is complete",
                                          log::escaped(name)));
        }
        return count(line, found->second.second) && add(found->second.first, "");
    }

    bool open(YamlNode::Kind kind, std::string anchor, uint32_t line) {
        if (open_.size() == kMaxYamlDepth) {
            return fail(line, fmt::format("found values nested deeper than {}", kMaxYamlDepth));
        }
        Open next;
        next.node.kind = kind;
        next.node.line = line;
        next.anchor = std::move(anchor);
        sizes_.push_back(nodes_);
        open_.push_back(std::move(next));
        return count(line, 1);
    }

    bool close() {
        Open done = std::move(open_.back());
        open_.pop_back();
        for (const YamlNode& each : done.merged) {
            merge(done, each);
        }
        const size_t size = nodes_ - sizes_.back();
        sizes_.pop_back();
        return add(std::move(done.node), done.anchor, size);
    }

    bool add(YamlNode node, const std::string& anchor, size_t size = 1) {
        if (!anchor.empty()) {
            // The copy costs what an alias costs.
            if (!count(node.line, size)) {
                return false;
            }
            anchors_.insert_or_assign(anchor, std::pair(node, size));
        }
        if (open_.empty()) {
            root_ = std::move(node);
            return true;
        }
        Open& parent = open_.back();
        if (parent.node.kind == YamlNode::Kind::kList) {
            parent.node.items.push_back(std::move(node));
            return true;
        }
        if (!parent.has_key) {
            if (node.kind != YamlNode::Kind::kScalar) {
                return fail(node.line, "found a list or a map in the place of a key");
            }
            parent.key = std::move(node.text);
            parent.key_line = node.line;
            parent.has_key = true;
            return true;
        }
        parent.has_key = false;
        return put(parent, std::move(node));
    }

    bool put(Open& parent, YamlNode node) {
        if (parent.key == "<<") {
            parent.merged.push_back(std::move(node));
            return true;
        }
        if (!parent.seen.insert(parent.key).second) {
            return fail(parent.key_line,
                        fmt::format("found '{}' twice in one map", log::escaped(parent.key)));
        }
        parent.node.keys.push_back(std::move(parent.key));
        parent.node.key_lines.push_back(parent.key_line);
        parent.node.values.push_back(std::move(node));
        return true;
    }

    // `<<`: what the map does not say itself; of several the first that says it.
    static void merge(Open& map, const YamlNode& from) {
        for (const YamlNode& each : from.items) {
            merge(map, each);
        }
        for (size_t i = 0; i < from.keys.size(); i++) {
            if (map.seen.insert(from.keys[i]).second) {
                map.node.keys.push_back(from.keys[i]);
                map.node.key_lines.push_back(from.key_lines[i]);
                map.node.values.push_back(from.values[i]);
            }
        }
    }

    DiagnosticSink& sink_;
    std::vector<Open> open_;
    std::vector<size_t> sizes_;  // of nodes_ where each open one began
    std::map<std::string, std::pair<YamlNode, size_t>> anchors_;
    std::optional<YamlNode> root_;
    size_t nodes_ = 0;
    size_t documents_ = 0;
};

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
    const auto found = std::ranges::find(keys, key);
    return found == keys.end() ? nullptr : &values[static_cast<size_t>(found - keys.begin())];
}

std::string YamlNode::word(std::string_view key, std::string_view other) const {
    const YamlNode* found = find(key);
    return found == nullptr || found->text.empty() ? std::string(other) : found->text;
}

std::optional<YamlNode> parse_yaml(std::string_view text, DiagnosticSink& sink) {
    YamlParser parser;
    if (!parser.good()) {
        sink.report({0, 0, 0}, "out of memory");
        return std::nullopt;
    }
    yaml_parser_set_input_string(
        parser.get(), static_cast<const unsigned char*>(static_cast<const void*>(text.data())),
        text.size());
    Builder builder(sink);
    for (;;) {
        Event event;
        if (yaml_parser_parse(parser.get(), event.get()) == 0) {
            const auto line = static_cast<uint32_t>(parser->problem_mark.line + 1);
            const auto column = static_cast<uint32_t>(parser->problem_mark.column + 1);
            sink.report(
                {line, column, 0},
                fmt::format("this is no YAML: {}",
                            parser->problem != nullptr ? parser->problem : "it cannot be read"));
            return std::nullopt;
        }
        if (!builder.take(*event.get())) {
            return std::nullopt;
        }
        if (event->type == YAML_STREAM_END_EVENT) {
            break;
        }
    }
    return builder.root();
}

}  // namespace weir::config
