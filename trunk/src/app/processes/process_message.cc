#include "app/processes/process_message.h"

#include "base/strings.h"

namespace weir::app {
namespace {

// Words are separated by line feeds, and have none.
constexpr char kSeparator = '\n';
constexpr char kEscape = '\\';

void append_escaped(std::string_view word, std::string& out) {
    for (const char c : word) {
        if (c == kSeparator || c == kEscape) {
            out += kEscape;
        }
        out += c == kSeparator ? 'n' : c;
    }
}

std::optional<std::string> unescaped(std::string_view text) {
    std::string word;
    for (size_t i = 0; i < text.size(); i++) {
        if (text[i] != kEscape) {
            word += text[i];
            continue;
        }
        if (++i == text.size() || (text[i] != 'n' && text[i] != kEscape)) {
            return std::nullopt;
        }
        word += text[i] == 'n' ? kSeparator : kEscape;
    }
    return word;
}

}  // namespace

std::string ProcessMessage::encode() const {
    std::string out;
    append_escaped(verb, out);
    for (const std::string& word : words) {
        out += kSeparator;
        append_escaped(word, out);
    }
    return out;
}

Result<ProcessMessage> ProcessMessage::decode(std::string_view bytes) {
    if (bytes.size() > kMaxBytes) {
        return make_error(ErrorCode::kLimit, "a message of {} bytes", bytes.size());
    }
    ProcessMessage message;
    const std::vector<std::string_view> parts = split(bytes, kSeparator, kMaxWords + 2);
    if (parts.size() > kMaxWords + 1) {
        return make_error(ErrorCode::kLimit, "a message of more than {} words", kMaxWords);
    }
    for (size_t i = 0; i < parts.size(); i++) {
        std::optional<std::string> word = unescaped(parts[i]);
        if (!word) {
            return make_error(ErrorCode::kMalformed, "word {} of a message ends within an escape",
                              i);
        }
        if (i == 0) {
            message.verb = std::move(*word);
        } else {
            message.words.push_back(std::move(*word));
        }
    }
    return message;
}

std::optional<uint64_t> ProcessMessage::number(size_t index) const {
    return index < words.size() ? parse_uint(words[index]) : std::nullopt;
}

Result<stream::StreamKey> ProcessMessage::key(size_t index) const {
    if (index + 3 > words.size()) {
        return make_error(ErrorCode::kMalformed, "{}: the name of a stream is missing", verb);
    }
    return stream::StreamKey{words[index], words[index + 1], words[index + 2]};
}

std::vector<std::string> peers_words(const std::vector<ProcessFigures>& peers) {
    std::vector<std::string> words;
    for (const ProcessFigures& each : peers) {
        for (const uint64_t value : {each.busy, each.clients, each.streams, each.publishers,
                                     each.players, each.pid, each.restarts, each.given_up}) {
            words.push_back(std::to_string(value));
        }
    }
    return words;
}

std::vector<ProcessFigures> peers_of(const ProcessMessage& message) {
    constexpr size_t kWords = 8;
    std::vector<ProcessFigures> peers;
    for (size_t at = 0; at + kWords <= message.words.size(); at += kWords) {
        peers.push_back({.busy = message.number(at).value_or(ProcessFigures::kNotThere),
                         .clients = message.number(at + 1).value_or(0),
                         .streams = message.number(at + 2).value_or(0),
                         .publishers = message.number(at + 3).value_or(0),
                         .players = message.number(at + 4).value_or(0),
                         .pid = message.number(at + 5).value_or(0),
                         .restarts = message.number(at + 6).value_or(0),
                         .given_up = message.number(at + 7).value_or(0)});
    }
    return peers;
}

}  // namespace weir::app
