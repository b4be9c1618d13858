// cluster { }: several nodes.
#include "config/directive_tables.h"

namespace weir::config {
namespace {

const Directive kClusterDirectives[] = {
    {.name = "cluster",
     .opens = kClusterContext,
     .doc = "This server is one of several nodes. The block turns it on.",
     .apply = [](const Target& t, const Value&) { t.config.cluster.enabled = true; }},
    {.name = "enabled",
     .contexts = kClusterContext,
     .type = ValueType::kFlag,
     .default_text = "off",
     .reloadable = false,
     .doc = "Turns the cluster on or off; in a cluster block it is on unless this says off.",
     .apply = [](const Target& t, const Value& v) { t.config.cluster.enabled = v.number != 0; }},
    {.name = "node",
     .contexts = kClusterContext,
     .type = ValueType::kText,
     .reloadable = false,
     .example = "media-1",
     .doc = "Name of this node, of letters, digits, dots, dashes and underscores, at most 64; no "
            "two nodes may have the same. Unless given, the name of the host.",
     .apply = [](const Target& t, const Value& v) { t.config.cluster.node = v.text; }},
    {.name = "registry",
     .contexts = kClusterContext,
     .type = ValueType::kText,
     .reloadable = false,
     .secret_from = 0,
     .example = "redis://10.0.0.5:6379",
     .doc = "Redis, where the nodes say which of them has which stream: redis://HOST[:PORT], "
            "rediss:// with TLS, redis+sentinel://HOST,HOST/MASTER or redis+cluster://HOST,HOST. "
            "Without it a node knows only what is configured.",
     .apply = [](const Target& t, const Value& v) { t.config.cluster.registry = v.text; }},
    {.name = "registry_password",
     .contexts = kClusterContext,
     .type = ValueType::kSecret,
     .reloadable = false,
     .secret_from = 0,
     .example = "file:/run/secrets/redis",
     .doc = "Password for `registry`; file:PATH reads it from the first line of a file.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.cluster.registry_password = v.secrets.front(); }},
    {.name = "advertise",
     .contexts = kClusterContext,
     .type = ValueType::kText,
     .reloadable = false,
     .example = "http://10.0.0.7:8080",
     .doc = "Where the other nodes reach http_server of this one: http://HOST[:PORT] or https://. "
            "They pull its streams there; without it, nobody plays them at other nodes.",
     .apply = [](const Target& t, const Value& v) { t.config.cluster.advertise = v.text; }},
    {.name = "secret",
     .contexts = kClusterContext,
     .type = ValueType::kSecret,
     .min = 16,
     .max = 256,
     .reloadable = false,
     .secret_from = 0,
     .example = "file:/run/secrets/cluster",
     .doc = "What all nodes of the cluster know, 16 to 256 bytes: it signs what they ask each "
            "other. file:PATH reads it from the first line of a file.",
     .apply = [](const Target& t, const Value& v) { t.config.cluster.secret = v.secrets.front(); }},
    {.name = "allow_nodes",
     .contexts = kClusterContext,
     .type = ValueType::kNetworks,
     .reloadable = false,
     .example = "127.0.0.0/8",
     .doc = "Addresses that nodes may have though nobody else reaches them: loopback and "
            "link-local ones are refused unless this names them, in `advertise` and in what the "
            "registry says of other nodes.",
     .apply = [](const Target& t, const Value& v) { t.config.cluster.allow_nodes = v.networks; }},
    {.name = "lease",
     .contexts = kClusterContext,
     .type = ValueType::kDuration,
     .default_text = "5s",
     .min = 2'000,
     .max = 60'000,
     .reloadable = false,
     .doc = "How long a node that does not say anything keeps its streams. Then another may "
            "publish them.",
     .apply = [](const Target& t, const Value& v) { t.config.cluster.lease = millis(v); }},
    {.name = "relay_linger",
     .contexts = kClusterContext,
     .type = ValueType::kDuration,
     .default_text = "10s",
     .max = kHour,
     .reloadable = false,
     .doc = "How long a stream of another node is pulled after its last viewer here has left.",
     .apply = [](const Target& t, const Value& v) { t.config.cluster.relay_linger = millis(v); }},
    {.name = "relay_input_timeout",
     .contexts = kClusterContext,
     .type = ValueType::kDuration,
     .default_text = "3s",
     .min = 500,
     .max = kMinute,
     .reloadable = false,
     .doc = "A pull from another node that brings nothing for so long ends; then the registry is "
            "asked again.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.cluster.relay_input_timeout = millis(v); }},
    {.name = "relay_hops",
     .contexts = kClusterContext,
     .type = ValueType::kCount,
     .default_text = "2",
     .min = 1,
     .max = 8,
     .reloadable = false,
     .doc = "Over how many relays a stream may come to a viewer.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.cluster.relay_hops = static_cast<uint32_t>(v.number);
         }},
    {.name = "on_registry_loss",
     .contexts = kClusterContext,
     .type = ValueType::kChoice,
     .default_text = "accept",
     .choices = "accept|refuse",
     .reloadable = false,
     .doc = "New publishers while Redis cannot be asked. Those that there are go on anyway.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.cluster.accept_without_registry = v.number == 0; }},
};

}  // namespace

std::span<const Directive> cluster_directives() {
    return kClusterDirectives;
}

}  // namespace weir::config
