// What every session needs of the server, handed down by app/.
#pragma once

#include "net/vod_place.h"

namespace weir::stream {
class Registry;
}

namespace weir::net {

class Claims;
class ClientTable;
class ConnectionBudget;
class Fanout;
class Hooks;
class Limits;
class PhoneLinesPlace;
class Placement;
class Policy;
class PrivateStreams;
class RelayNode;

Hooks& no_hooks();  // net/hooks.h

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
