// Log facade: one line per event, "time level [id] message key=value ...".
//
// The id is that of the coroutine's client; io/ installs the hook that knows it. A sink never
// yields. Untrusted strings go through escaped(); keys and tokens are never logged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"

namespace weir::log {

enum class Level : uint8_t { kDebug, kInfo, kWarn, kError };

std::string_view to_string(Level level);

// Lines below the level are not formatted. Default kInfo.
void set_level(Level level);
bool enabled(Level level);

// Gets the finished line without its newline. Default: stderr. nullptr restores the default.
using Sink = void (*)(Level level, std::string_view line);
void set_sink(Sink sink);

// Waits until what was written so far has left the process, or `most` has passed. For the moment
// before the end of the process; a sink that writes on its own needs no hook. True when it has.
bool flush(Millis most);
void set_flush_hook(bool (*hook)(Millis most));

// Which of several processes that write the same log this is: stands in front of the id, "2/r1234".
void set_process(std::string text);

// Gives the current client id, empty when there is none.
using IdHook = std::string_view (*)();
void set_id_hook(IdHook hook);

void write(Level level, fmt::string_view format, fmt::format_args args);

// The same with an explicit id instead of the coroutine's (for event handlers that act for a
// client).
void write_as(std::string_view id, Level level, fmt::string_view format, fmt::format_args args);

template <typename... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
    if (enabled(Level::kDebug)) {
        write(Level::kDebug, format, fmt::make_format_args(args...));
    }
}

template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
    if (enabled(Level::kInfo)) {
        write(Level::kInfo, format, fmt::make_format_args(args...));
    }
}

template <typename... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
    if (enabled(Level::kWarn)) {
        write(Level::kWarn, format, fmt::make_format_args(args...));
    }
}

template <typename... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
    if (enabled(Level::kError)) {
        write(Level::kError, format, fmt::make_format_args(args...));
    }
}

template <typename... Args>
void info_as(std::string_view id, fmt::format_string<Args...> format, Args&&... args) {
    if (enabled(Level::kInfo)) {
        write_as(id, Level::kInfo, format, fmt::make_format_args(args...));
    }
}

template <typename... Args>
void warn_as(std::string_view id, fmt::format_string<Args...> format, Args&&... args) {
    if (enabled(Level::kWarn)) {
        write_as(id, Level::kWarn, format, fmt::make_format_args(args...));
    }
}

// A peer's text made safe for a log line: UTF-8 as it is, but what is none, controls and what hides
// or turns text (is_plain_character()) as \xNN; quotes and backslashes escaped; cut at `limit`
// bytes, between characters, with "..." at the end.
std::string escaped(std::string_view text, size_t limit = 200);

// The same for a value without quotes, as in "stream={}": spaces as \x20, so that it stays one word
// and can fake no other pair; "-" for an empty one.
std::string token(std::string_view text, size_t limit = 200);

// Lets one event per period through and counts the rest. For conditions that a peer can repeat at
// will.
class Throttle {
  public:
    explicit Throttle(Millis period) : period_(period) {}

    // True when the caller may log now; `suppressed()` then says how many were swallowed since the
    // last line.
    bool allow(MonoTime now);

    uint64_t suppressed() const { return reported_; }

  private:
    Millis period_;
    MonoTime next_{};
    uint64_t swallowed_ = 0;
    uint64_t reported_ = 0;
};

// A line that a peer can cause at will: at most one per period of the throttle, which says how many
// it swallowed. The place of the call needs no more than a Throttle.
template <typename... Args>
void throttled(Throttle& throttle,
               Level level,
               fmt::format_string<Args...> format,
               Args&&... args) {
    if (!enabled(level) || !throttle.allow(MonoClock::now())) {
        return;
    }
    std::string text = fmt::format(format, std::forward<Args>(args)...);
    if (const uint64_t swallowed = throttle.suppressed(); swallowed > 0) {
        text += fmt::format(" ({} more were not logged)", swallowed);
    }
    write(level, "{}", fmt::make_format_args(text));
}

}  // namespace weir::log
