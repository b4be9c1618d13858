// What the pages' answers tell browsers about safety: who may frame them (Content-Security-Policy),
// and that the name is reached by https only (RFC 6797). Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "config/config.h"
#include "proto/http/fields.h"

namespace weir::app {

// Of `auto`: it protects whoever comes daily, and a mistake heals in a day.
inline constexpr Seconds kAutoHsts{24 * 60 * 60};

// Who may show pages in a frame.
http::Fields frame_fields(const config::HttpServerConfig& config);

// The value of Strict-Transport-Security for an answer over TLS of this process to a request with
// that Host; empty: none. It holds for all ports of the name, so `auto` sends none where the
// network is offered a page without TLS on another port than 80, which browsers could then not
// reach; and never where others share the name: addresses, localhost, names without a dot.
std::string hsts_value(const config::Config& config, std::string_view host);

}  // namespace weir::app
