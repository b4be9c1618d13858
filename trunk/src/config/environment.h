// Settings from the environment: every directive of the table has a variable that replaces what the
// file says, WEIR_LISTEN, WEIR_HTTP_API_LISTEN, WEIR_VHOST_PLAY_QUEUE_LENGTH.
//
// What may stand in a vhost is set for the top level and for __defaultVhost__; a vhost with a value
// of its own keeps it. The rules of a block of access are one variable, in their order:
// WEIR_VHOST_SECURITY="allow publish 10.0.0.0/8; deny play all".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/config_parser.h"
#include "config/directives.h"

namespace weir::config {

// Those variables whose names begin with WEIR_, and CANDIDATE. At start: nobody may change the
// environment meanwhile.
Environment read_environment();

inline constexpr std::string_view kConfigFileVariable = "WEIR_CONFIG_FILE";

// A variable and the directive that it sets.
struct EnvironmentSlot {
    std::string name;  // "WEIR_HTTP_API_LISTEN"
    std::string key;   // "http_api.listen", as in Setting::key
    const Directive* directive = nullptr;
    std::vector<const Directive*> blocks;  // around it, outermost first; without vhost
};

// Of the whole table, in its order.
const std::vector<EnvironmentSlot>& environment_slots();

// Null when the variable sets no directive.
const EnvironmentSlot* find_slot(std::string_view name);

// The value as statements of that directive: one, or several of a repeatable one. Positions name
// `file` of the sink. Reports what is no list of words.
std::vector<Statement> statements_of(const EnvironmentSlot& slot,
                                     std::string_view value,
                                     uint16_t file,
                                     DiagnosticSink& sink);

// True for names that Kubernetes gives to every container for a service called weir or weir-...:
// WEIR_SERVICE_HOST, WEIR_PORT, WEIR_PORT_1935_TCP_ADDR.
bool is_kubernetes_name(std::string_view name, std::string_view value);

// One for each variable that begins with WEIR_ and means nothing here, and at most one for all of
// Kubernetes.
std::vector<std::string> environment_warnings(const Environment& environment);

}  // namespace weir::config
