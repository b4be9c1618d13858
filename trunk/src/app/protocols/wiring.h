// The one list of the protocols that this server speaks.
#pragma once

#include <functional>

#include "app/protocols/protocol.h"
#include "config/environment.h"
#include "net/services.h"

namespace weir::app {

// What protocols are made of.
struct ProtocolContext {
    const config::Config& config;  // in force; good until the protocol's constructor returns
    const net::Services& services;
    const net::ServerIdentity& who;
};

using Wiring = std::function<void(const ProtocolContext& context, ProtocolSet& protocols)>;

// One row for each.
void wire_protocols(const ProtocolContext& context, ProtocolSet& protocols);

// What a protocol takes from the environment besides the directives' variables. kMalformed names
// the variable and what is wrong with it.
Error apply_environment(config::Config& config, const config::Environment& environment);

}  // namespace weir::app
