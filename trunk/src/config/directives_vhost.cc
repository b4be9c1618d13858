// vhost NAME { } and what stands in one: security { }, play { }, publish { }.
#include "config/directive_tables.h"

namespace weir::config {
namespace {

const Directive kVhostDirectives[] = {
    {.name = "vhost",
     .type = ValueType::kVhost,
     .opens = kVhostContext,
     .repeatable = true,
     .doc = "Settings of one virtual host: the name that a client asks for, as host or as "
            "?vhost=NAME. __defaultVhost__ serves every name without a section of its own."},
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
     .doc = "Settings of one application of the vhost: for the streams of "
            "rtmp://HOST/NAME/... and of all apps below it. Other settings are those of its "
            "vhost. At the top level it belongs to __defaultVhost__; it may stand there only "
            "in a file without vhost sections."},
    {.name = "publish_conflict",
     .contexts = kStreamContexts,
     .type = ValueType::kChoice,
     .default_text = "refuse",
     .choices = "refuse|takeover",
     .doc = "A second publisher of a live name is refused, or takes over, and the first one "
            "is closed.",
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
     .doc = "A player that accepts or acknowledges no byte for this time is closed.",
     .apply = [](const Target& t, const Value& v) { t.vhost.write_stall_timeout = millis(v); }},
    {.name = "send_buffer",
     .contexts = kStreamContexts,
     .type = ValueType::kSize,
     .default_text = "512k",
     .min = 16 * kKilo,
     .max = 64 * kMega,
     .special = "0",
     .doc = "Bytes that the kernel may hold for one client (SO_SNDBUF). A stalled player "
            "then costs at most twice this, since the kernel counts double; without a limit "
            "the buffer grows to 4 MB and more. 512k carries 20 Mbit/s over a path of 200 "
            "ms. net.core.wmem_max (208k unless raised) is the upper bound. With 0 the "
            "kernel chooses the size.",
     .apply = [](const Target& t, const Value& v) { t.vhost.send_buffer = v.number; }},

    {.name = "security",
     .contexts = kStreamContexts,
     .opens = kSecurityContext,
     .doc = "Who may publish and play. The first rule that matches decides; when none does, "
            "publishing is allowed from loopback only and playing from everywhere. In a "
            "vhost it replaces that of the top level, in an application that of its vhost, "
            "as a whole: rules and secrets.",
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
     .doc = "Allows these addresses.",
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
     .doc = "Settings for players."},
    {.name = "mw_latency",
     .contexts = kPlayContext,
     .type = ValueType::kDuration,
     .default_text = "auto",
     .min = 0,
     .max = 5 * kSecond,
     .unit = 1,
     .special = "auto",
     .effect = Effect::kApplied,
     .doc = "Merge window of writes: the time between two writes to a player. A longer "
            "window costs less processor time and adds as much latency. auto is 0 on an idle "
            "machine and grows to 100ms under load; with it, audio waits for the next video frame, "
            "50ms at most. 0 sends every message at once.",
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
     .doc = "Bytes kept per stream, from the latest key frame on, so that a new player "
            "starts at once. Beyond that, new players wait for the next key frame.",
     .apply = [](const Target& t, const Value& v) { t.vhost.play.gop_cache_max_size = v.number; }},
    {.name = "snapshots",
     .contexts = kPlayContext,
     .type = ValueType::kFlag,
     .default_text = "on",
     .doc =
         "on: GET /APP/STREAM.jpg is the newest key frame as a picture, for whoever may play the "
         "stream.",
     .apply = [](const Target& t, const Value& v) { t.vhost.play.snapshots = v.number != 0; }},
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
     .doc = "How long a player waits for a stream that is not live, or for the next "
            "publisher of one that ended. 0: no wait.",
     .apply = [](const Target& t, const Value& v) { t.vhost.play.wait_publisher = millis(v); }},

    {.name = "publish",
     .contexts = kStreamContexts,
     .opens = kPublishContext,
     .doc = "Settings for publishers."},
    {.name = "firstpkt_timeout",
     .contexts = kPublishContext,
     .type = ValueType::kDuration,
     .default_text = "20s",
     .min = kSecond,
     .max = 10 * kMinute,
     .unit = 1,
     .doc = "A publisher that sends no media for this time after its publish command is "
            "closed.",
     .apply = [](const Target& t,
                 const Value& v) { t.vhost.publish.firstpkt_timeout = millis(v); }},
    {.name = "normal_timeout",
     .contexts = kPublishContext,
     .type = ValueType::kDuration,
     .default_text = "10s",
     .min = kSecond,
     .max = 10 * kMinute,
     .unit = 1,
     .doc = "A publisher that sends nothing for this time is closed, and its name is free "
            "again.",
     .apply = [](const Target& t, const Value& v) { t.vhost.publish.normal_timeout = millis(v); }},
    {.name = "publisher_clock",
     .contexts = kPublishContext,
     .type = ValueType::kFlag,
     .default_text = "off",
     .doc = "on: players are told the wall clock of the publisher in place of the server's, where "
            "it comes by RTSP or WebRTC: a camera's time in EXT-X-PROGRAM-DATE-TIME, prft and RTP "
            "sender reports. See [protocols/rtsp.md](protocols/rtsp.md#the-clock-of-a-camera).",
     .apply = [](const Target& t,
                 const Value& v) { t.vhost.publish.publisher_clock = v.number != 0; }},
};

}  // namespace

std::span<const Directive> vhost_directives() {
    return kVhostDirectives;
}

}  // namespace weir::config
