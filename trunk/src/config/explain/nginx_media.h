// What nginx's RTMP module does with a stream besides passing it on: recording, HLS, relays,
// programs. Private to `weir --explain`.
#pragma once

#include <string_view>
#include <vector>

#include "config/explain/explainer.h"

namespace weir::config {

// The blocks around a statement, the outermost first; each inherits what it does not say.
using NginxScopes = std::vector<const std::vector<Statement>*>;

// push, pull, exec and exec_push, on_done. False: it is none of them.
bool explain_nginx_relay(Explainer& out,
                         const Statement& statement,
                         const std::vector<std::string>& place);

// record { } and hls { } of the innermost scope, from all of its directives together. Returns
// whether the scope has HLS or DASH, perhaps inherited.
bool explain_nginx_media(Explainer& out,
                         const NginxScopes& scopes,
                         const std::vector<std::string>& place);

// Whether explain_nginx_media() looks at the directive.
bool is_nginx_media(std::string_view name);

}  // namespace weir::config
