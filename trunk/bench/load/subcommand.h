// The subcommands of weir-bench: one line in the table of main.cc each.
#pragma once

#include <span>
#include <string_view>

namespace weir::load {

// Exit codes.
constexpr int kExitPassed = 0;
constexpr int kExitFailed = 1;      // a condition of the report was not met
constexpr int kExitUsage = 2;       // wrong options, or the run could not start
constexpr int kExitIncomplete = 3;  // SIGINT or SIGTERM ended it

struct Subcommand {
    std::string_view name;
    std::string_view about;
    // Yields. Gets the arguments behind the name and returns the exit code; the runtime is up.
    int (*run)(std::span<const char* const> arguments);
};

int rtmp_play(std::span<const char* const> arguments);
int rtmp_publish(std::span<const char* const> arguments);
int flv_play(std::span<const char* const> arguments);
int ts_play(std::span<const char* const> arguments);
int hls_play(std::span<const char* const> arguments);
int rtc_play(std::span<const char* const> arguments);
int rtc_publish(std::span<const char* const> arguments);
int rtsp_play(std::span<const char* const> arguments);
int rtsp_publish(std::span<const char* const> arguments);
int mcast(std::span<const char* const> arguments);
int srt_play(std::span<const char* const> arguments);
int srt_publish(std::span<const char* const> arguments);
int sip_call(std::span<const char* const> arguments);
int scenario(std::span<const char* const> arguments);
int garbage(std::span<const char* const> arguments);

}  // namespace weir::load
