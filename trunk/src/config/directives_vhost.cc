// vhost NAME { } and what stands in one: security { }, play { }, publish { }.
#include "config/directive_tables.h"

namespace weir::config {
namespace {

const Directive kVhostDirectives[] = {
    {.name = "vhost",
     .type = ValueType::kVhost,
     .opens = kVhostContext,
     .repeatable = true,
     .doc = "Settings of one virtual host: the name a client asks for, as host or as ?vhost=NAME. "
            "__defaultVhost__ "
            "serves every name without a section of its own."},
    {.name = "enabled",
     .contexts = kVhostContext | kApplicationContext,
     .type = ValueType::kFlag,
     .default_text = "on",
     .doc = "off refuses every client of this vhost, or of this application; for __defaultVhost__ "
            "that means every name without a section.",
     .apply = [](const Target& t, const Value& v) { t.vhost.enabled = v.number != 0; }},
    {.name = "application",
     .contexts = kGlobalContext | kVhostContext,
     .type = ValueType::kApplication,
     .opens = kApplicationContext,
     .repeatable = true,
     .example = "vip { security { deny play all; } }",
     .doc = "Settings of one application of the vhost: of the streams of rtmp://HOST/NAME/... and "
            "of all below it. What it does not say is as in its vhost. At the top level it belongs "
            "to __defaultVhost__, in a file without vhost sections."},
    {.name = "publish_conflict",
     .contexts = kStreamContexts,
     .type = ValueType::kChoice,
     .default_text = "refuse",
     .choices = "refuse|takeover",
     .doc =
         "A second publisher of a live name is refused, or takes over and the first one is closed.",
     .apply =
         [](const Target& t, const Value& v) {
             t.vhost.publish_conflict = static_cast<PublishConflict>(v.number);
         }},
    {.name = "write_stall_timeout",
     .contexts = kStreamContexts,
     .type = ValueType::kDuration,
     .default_text = "20s",
     .min = kSecond,
     .max = 10 * kMinute,
     .unit = kSecond,
     .effect = Effect::kApplied,
     .doc = "A player whose side of the connection takes, or acknowledges, not one byte for this "
            "long is closed.",
     .apply = [](const Target& t, const Value& v) { t.vhost.write_stall_timeout = millis(v); }},
    {.name = "send_buffer",
     .contexts = kStreamContexts,
     .type = ValueType::kSize,
     .default_text = "512k",
     .min = 16 * kKilo,
     .max = 64 * kMega,
     .special = "0",
     .doc = "Bytes that the kernel may hold for one client (SO_SNDBUF). A stalled player then "
            "costs at most twice "
            "this, which is how the kernel counts, and not the 4 MB and more that it grows to "
            "otherwise; 512k "
            "carries 20 Mbit/s over a path of 200 ms. net.core.wmem_max (208k unless raised) is "
            "the upper bound. 0 "
            "leaves the size to the kernel.",
     .apply = [](const Target& t, const Value& v) { t.vhost.send_buffer = v.number; }},

    {.name = "security",
     .contexts = kStreamContexts,
     .opens = kSecurityContext,
     .doc = "Who may publish and play. The first rule that matches decides; when none does, "
            "publishing is allowed "
            "from loopback only and playing from everywhere. In a vhost it replaces the one of the "
            "top level, in an application that of its vhost, as a whole: rules and secrets.",
     .apply =
         [](const Target& t, const Value&) {
             t.vhost.security = {};
             t.vhost.access = {};
         }},
    {.name = "allow",
     .contexts = kSecurityContext,
     .type = ValueType::kAccess,
     .repeatable = true,
     .example = "publish 192.168.0.0/16",
     .doc = "Lets these addresses in.",
     .apply = [](const Target& t, const Value& v) { t.vhost.security.add(v.rule); }},
    {.name = "deny",
     .contexts = kSecurityContext,
     .type = ValueType::kAccess,
     .repeatable = true,
     .example = "play 2001:db8::/32",
     .doc = "Refuses these addresses.",
     .apply = [](const Target& t, const Value& v) { t.vhost.security.add(v.rule); }},

    {.name = "play",
     .contexts = kStreamContexts,
     .opens = kPlayContext,
     .doc = "What players get."},
    {.name = "mw_latency",
     .contexts = kPlayContext,
     .type = ValueType::kDuration,
     .default_text = "auto",
     .min = 0,
     .max = 5 * kSecond,
     .unit = 1,
     .special = "auto",
     .effect = Effect::kApplied,
     .doc = "Merge window of writes: a player is written to when this has passed since its last "
            "write. A longer one "
            "costs less processor time and adds as much latency. auto is 0 on an idle machine and "
            "grows to 100ms as "
            "it fills.",
     .apply =
         [](const Target& t, const Value& v) {
             t.vhost.play.mw_latency = v.special ? std::nullopt : std::optional(millis(v));
         }},
    {.name = "gop_cache_max_size",
     .contexts = kPlayContext,
     .type = ValueType::kSize,
     .default_text = "32m",
     .min = 64 * kKilo,
     .max = kGiga,
     .doc = "Bytes kept from the latest key frame on, per stream, so that a new player starts at "
            "once. Beyond that, "
            "new players wait for the next key frame.",
     .apply = [](const Target& t, const Value& v) { t.vhost.play.gop_cache_max_size = v.number; }},
    {.name = "queue_length",
     .contexts = kPlayContext,
     .type = ValueType::kDuration,
     .default_text = "10s",
     .min = kSecond,
     .max = 10 * kMinute,
     .unit = kSecond,
     .effect = Effect::kApplied,
     .doc = "A player further behind than this is moved to the newest key frame.",
     .apply = [](const Target& t, const Value& v) { t.vhost.play.queue_length = millis(v); }},
    {.name = "queue_size",
     .contexts = kPlayContext,
     .type = ValueType::kSize,
     .default_text = "16m",
     .min = 256 * kKilo,
     .max = kGiga,
     .effect = Effect::kApplied,
     .doc = "The same in bytes; whichever is reached first.",
     .apply = [](const Target& t, const Value& v) { t.vhost.play.queue_size = v.number; }},
    {.name = "wait_publisher",
     .contexts = kPlayContext,
     .type = ValueType::kDuration,
     .default_text = "30s",
     .min = 0,
     .max = kHour,
     .unit = kSecond,
     .effect = Effect::kApplied,
     .doc = "How long a player waits for a stream that is not live, or for the next publisher of "
            "one that ended. 0: "
            "not at all.",
     .apply = [](const Target& t, const Value& v) { t.vhost.play.wait_publisher = millis(v); }},

    {.name = "publish",
     .contexts = kStreamContexts,
     .opens = kPublishContext,
     .doc = "What is asked of publishers."},
    {.name = "firstpkt_timeout",
     .contexts = kPublishContext,
     .type = ValueType::kDuration,
     .default_text = "20s",
     .min = kSecond,
     .max = 10 * kMinute,
     .unit = 1,
     .doc = "A publisher that sends no media for this long after its publish command is closed.",
     .apply = [](const Target& t,
                 const Value& v) { t.vhost.publish.firstpkt_timeout = millis(v); }},
    {.name = "normal_timeout",
     .contexts = kPublishContext,
     .type = ValueType::kDuration,
     .default_text = "10s",
     .min = kSecond,
     .max = 10 * kMinute,
     .unit = 1,
     .doc = "A publisher that falls silent for this long is closed and its name is free again.",
     .apply = [](const Target& t, const Value& v) { t.vhost.publish.normal_timeout = millis(v); }},
};

}  // namespace

std::span<const Directive> vhost_directives() {
    return kVhostDirectives;
}

}  // namespace weir::config
