// What every session needs of the server, handed down by app/.
#pragma once

#include "net/client_table.h"
#include "net/cluster/claims.h"
#include "net/cluster/relay_node.h"
#include "net/fanout.h"
#include "net/hooks.h"
#include "net/limits.h"
#include "net/phone_lines.h"
#include "net/placement.h"
#include "net/policy.h"
#include "net/private_streams.h"
#include "net/vod_place.h"
#include "stream/registry.h"

namespace weir::net {

struct Services {
    stream::Registry& registry;
    Fanout& fanout;
    ClientTable& clients;
    ConnectionBudget& connections;
    const Policy& policy;
    Limits& limits;
    Hooks& hooks = no_hooks();
    PhoneLinesPlace* phones = nullptr;          // null: nobody can have a line
    PrivateStreams* private_streams = nullptr;  // null: there are none
    VodPlace* vod = nullptr;                    // null: no recording is played
    Placement* placement = nullptr;             // null: this process is the only one
    RelayNode* relays = nullptr;                // null: no other node gets streams
    Claims* claims = nullptr;                   // null: this node is alone

    // Where recordings are played; null: nowhere.
    VodLibrary* recordings() const { return vod != nullptr ? vod->library() : nullptr; }
};

}  // namespace weir::net
