// The parts of the table of directives, one function per file, and what they share. directives()
// puts them together.
#pragma once

#include <span>

#include "config/directives.h"

namespace weir::config {

inline constexpr uint64_t kKilo = 1024;
inline constexpr uint64_t kMega = 1024 * kKilo;
inline constexpr uint64_t kGiga = 1024 * kMega;
inline constexpr uint64_t kSecond = 1000;  // durations count milliseconds
inline constexpr uint64_t kMinute = 60 * kSecond;
inline constexpr uint64_t kHour = 60 * kMinute;

Millis millis(const Value& value);

// The first `listen` of a block replaces the default one, the others add to it.
void add_listeners(std::vector<ListenAddress>& list, const Target& target, const Value& value);

std::span<const Directive> core_directives();
std::span<const Directive> tls_directives();
std::span<const Directive> life_directives();
std::span<const Directive> http_directives();
std::span<const Directive> observe_directives();
std::span<const Directive> rtc_directives();
std::span<const Directive> rtsp_directives();
std::span<const Directive> srt_directives();
std::span<const Directive> sip_directives();
std::span<const Directive> hls_directives();
std::span<const Directive> record_directives();
std::span<const Directive> vhost_directives();
std::span<const Directive> hook_directives();
std::span<const Directive> access_directives();
std::span<const Directive> source_directives();
std::span<const Directive> cluster_directives();

}  // namespace weir::config
