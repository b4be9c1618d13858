#include "base/log.h"

#include <algorithm>
#include <cstdio>

#include "base/utf8.h"

namespace weir::log {
namespace {

struct Facade {
    Level level = Level::kInfo;
    Sink sink = nullptr;
    IdHook id_hook = nullptr;
    std::string process;
    bool (*flush_hook)(Millis) = nullptr;
};

Facade& facade() {
    static Facade instance;
    return instance;
}

void stderr_sink(Level, std::string_view line) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

}  // namespace

std::string_view to_string(Level level) {
    switch (level) {
        case Level::kDebug: return "debug";
        case Level::kInfo: return "info";
        case Level::kWarn: return "warn";
        case Level::kError: return "error";
    }
    return "error";
}

void set_level(Level level) {
    facade().level = level;
}

bool enabled(Level level) {
    return level >= facade().level;
}

void set_sink(Sink sink) {
    facade().sink = sink;
}

bool flush(Millis most) {
    return facade().flush_hook == nullptr || facade().flush_hook(most);
}

void set_flush_hook(bool (*hook)(Millis most)) {
    facade().flush_hook = hook;
}

void set_process(std::string text) {
    facade().process = std::move(text);
}

void set_id_hook(IdHook hook) {
    facade().id_hook = hook;
}

void write(Level level, fmt::string_view format, fmt::format_args args) {
    write_as(facade().id_hook ? facade().id_hook() : std::string_view(), level, format, args);
}

void write_as(std::string_view id, Level level, fmt::string_view format, fmt::format_args args) {
    fmt::memory_buffer line;
    auto out = fmt::appender(line);
    fmt::format_to(out, "{} {:<5} ", wall_time_text(), to_string(level));
    if (const std::string& process = facade().process; !process.empty()) {
        fmt::format_to(out, "[{}{}{}] ", process, id.empty() ? "" : "/", id);
    } else if (!id.empty()) {
        fmt::format_to(out, "[{}] ", id);
    }
    fmt::vformat_to(out, format, args);
    Sink sink = facade().sink ? facade().sink : &stderr_sink;
    sink(level, {line.data(), line.size()});
}

std::string escaped(std::string_view text, size_t limit) {
    std::string out;
    while (!text.empty()) {
        if (out.size() >= limit) {
            out += "...";
            break;
        }
        const size_t size = utf8_size(text);
        const std::string_view character = text.substr(0, std::max<size_t>(size, 1));
        if (character == "\"" || character == "\\") {
            out += '\\';
            out += character;
        } else if (size > 0 && is_plain_character(character)) {
            out += character;
        } else {
            for (const char c : character) {
                out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
            }
        }
        text.remove_prefix(character.size());
    }
    return out;
}

std::string token(std::string_view text, size_t limit) {
    if (text.empty()) {
        return "-";
    }
    std::string out;
    for (char c : escaped(text, limit)) {
        if (c == ' ') {
            out += "\\x20";
        } else {
            out += c;
        }
    }
    return out;
}

bool Throttle::allow(MonoTime now) {
    if (now < next_) {
        swallowed_++;
        return false;
    }
    next_ = now + period_;
    reported_ = std::exchange(swallowed_, 0);
    return true;
}

}  // namespace weir::log
