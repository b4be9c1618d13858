// The one list of the protocols that this server speaks.
#pragma once

#include <functional>
#include <memory>

#include "app/protocols/protocol.h"
#include "config/environment.h"
#include "io/worker_pool.h"
#include "net/services.h"

namespace weir::app {

class ProcessLink;

// What protocols are made of.
struct ProtocolContext {
    const config::Config& config;  // in force; good until the protocol's constructor returns
    const net::Services& services;
    const net::ServerIdentity& who;
    // Threads on the cores of workers, for a protocol that has some of its own. Good as long as the
    // server.
    std::function<Result<std::unique_ptr<io::WorkerPool>>(size_t threads, size_t queue_limit)>
        make_workers = io::WorkerPool::create;
    // To the other processes of the server; null: there are none. Good as long as the server.
    const ProcessLink* link = nullptr;
};

using Wiring = std::function<void(const ProtocolContext& context, ProtocolSet& protocols)>;

// One row for each.
void wire_protocols(const ProtocolContext& context, ProtocolSet& protocols);

// What a protocol takes from the environment besides the directives' variables. kMalformed names
// the variable and what is wrong with it.
Error apply_environment(config::Config& config, const config::Environment& environment);

}  // namespace weir::app
