// http_hooks { }: whom to ask and tell what clients do.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/access_config.h"
#include "net/hook_action.h"
#include "proto/http/url.h"

namespace weir::config {

struct HttpHooksConfig {
    bool enabled = false;
    std::array<std::vector<http::Url>, net::kHookActions> urls;  // by net::HookAction
    Millis timeout{0};            // that a client is kept waiting; of each attempt to tell
    Millis retry{0};              // a notification is tried again for so long
    bool allow_on_error = false;  // when nobody can be asked
    SecretSource secret;          // signs what is sent; empty: unsigned

    const std::vector<http::Url>& urls_of(net::HookAction action) const {
        return urls[static_cast<size_t>(action)];
    }

    // Somebody is asked or told of this.
    bool has(net::HookAction action) const { return enabled && !urls_of(action).empty(); }

    bool operator==(const HttpHooksConfig&) const = default;
};

}  // namespace weir::config
