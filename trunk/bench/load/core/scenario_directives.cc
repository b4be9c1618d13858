#include "bench/load/core/scenario_directives.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/config_number.h"
#include "base/strings.h"

#include "bench/load/core/units.h"

namespace weir::load {
namespace {

using Type = ScenarioType;
using Target = ScenarioTarget;
using Value = ScenarioValue;

constexpr uint64_t kSecond = 1000;
constexpr uint64_t kDay = 24 * 3600 * kSecond;
constexpr uint64_t kMaxClients = 1'000'000;
constexpr uint64_t kMaxStreams = 100'000;

Millis millis(const Value& value) {
    return Millis(static_cast<Millis::rep>(value.number));
}

uint32_t count(const Value& value) {
    return static_cast<uint32_t>(value.number);
}

const ScenarioDirective kDirectives[] = {
    {.name = "title",
     .type = Type::kText,
     .example = "\"500 viewers of one stream\"",
     .doc = "What the test is, for the report.",
     .apply = [](const Target& t, const Value& v) { t.scenario.title = v.text; }},
    {.name = "connect_timeout",
     .type = Type::kDuration,
     .default_text = "10s",
     .min = 100,
     .max = 600 * kSecond,
     .doc = "Time for a connection, and for publishers to be let in.",
     .apply = [](const Target& t, const Value& v) { t.scenario.connect_timeout = millis(v); }},
    {.name = "expect",
     .contexts = kScenarioTop | kScenarioPhase,
     .type = Type::kCondition,
     .repeatable = true,
     .example = "loss == 0 and latency.p99 < 500ms",
     .doc = "What must hold: in a phase for that phase, at the top level for the whole test. "
            "Write it in quotes if it holds characters that a word may not hold.",
     .apply =
         [](const Target& t, const Value& v) {
             auto& list = t.phase != nullptr ? t.phase->expects : t.scenario.expects;
             list.push_back(*v.condition);
         }},

    {.name = "server", .opens = kScenarioServer, .doc = "Where figures of the server come from."},
    {.name = "pid",
     .contexts = kScenarioServer,
     .type = Type::kCount,
     .min = 1,
     .max = 4'194'304,
     .example = "4711",
     .doc = "Process of the server, on this machine. --server-pid replaces it.",
     .apply = [](const Target& t, const Value& v) { t.scenario.server_pid = count(v); }},
    {.name = "api",
     .contexts = kScenarioServer,
     .type = Type::kUrl,
     .example = "http://127.0.0.1:1985",
     .doc = "Its HTTP API. --server-api replaces it.",
     .apply = [](const Target& t, const Value& v) { t.scenario.server_api = v.text; }},

    {.name = "publishers",
     .type = Type::kNamed,
     .opens = kScenarioPublishers,
     .repeatable = true,
     .doc = "Streams that this process publishes from before the first phase to the end."},
    {.name = "url",
     .contexts = kScenarioPublishers,
     .type = Type::kUrl,
     .required = true,
     .example = "rtmp://127.0.0.1:1935/live/livestream_%d",
     .doc = "The address; %d is the number of the stream, from 0.",
     .apply = [](const Target& t, const Value& v) { t.publishers->url = v.text; }},
    {.name = "streams",
     .contexts = kScenarioPublishers,
     .type = Type::kCount,
     .default_text = "1",
     .min = 1,
     .max = kMaxStreams,
     .doc = "How many.",
     .apply = [](const Target& t, const Value& v) { t.publishers->streams = count(v); }},
    {.name = "ramp",
     .contexts = kScenarioPublishers,
     .type = Type::kDuration,
     .default_text = "0",
     .max = kDay,
     .doc = "Time over which they are started; 0 for all at once.",
     .apply = [](const Target& t, const Value& v) { t.publishers->ramp = millis(v); }},
    {.name = "serve",
     .contexts = kScenarioPublishers,
     .type = Type::kFlag,
     .default_text = "off",
     .doc = "on: this process is the server. The streams are cameras at an rtsp:// address, which "
            "wait until somebody plays them.",
     .apply = [](const Target& t, const Value& v) { t.publishers->serve = v.number != 0; }},
    {.name = "outage_every",
     .contexts = kScenarioPublishers,
     .type = Type::kDuration,
     .default_text = "0",
     .max = kDay,
     .doc = "With serve: the last camera fails so often; 0 for never.",
     .apply = [](const Target& t, const Value& v) { t.publishers->outage_every = millis(v); }},
    {.name = "outage_for",
     .contexts = kScenarioPublishers,
     .type = Type::kDuration,
     .default_text = "2s",
     .max = kDay,
     .doc = "And is away for so long.",
     .apply = [](const Target& t, const Value& v) { t.publishers->outage_for = millis(v); }},
    {.name = "file",
     .contexts = kScenarioPublishers,
     .type = Type::kPath,
     .example = "clip.mp4",
     .doc = "FLV or MP4 file to publish in a loop, in place of synthetic frames.",
     .apply = [](const Target& t, const Value& v) { t.publishers->file = v.text; }},
    {.name = "bitrate",
     .contexts = kScenarioPublishers,
     .type = Type::kBitRate,
     .default_text = "500k",
     .min = 1'000,
     .max = 1'000'000'000,
     .doc = "Bit rate of each synthetic stream, audio included.",
     .apply = [](const Target& t,
                 const Value& v) { t.publishers->shape.bits_per_second = v.number; }},
    {.name = "audio",
     .contexts = kScenarioPublishers,
     .type = Type::kBitRate,
     .default_text = "64k",
     .min = 0,
     .max = 1'000'000,
     .doc = "The part of it that is audio; 0 for none.",
     .apply = [](const Target& t,
                 const Value& v) { t.publishers->shape.audio_bits_per_second = v.number; }},
    {.name = "fps",
     .contexts = kScenarioPublishers,
     .type = Type::kCount,
     .default_text = "30",
     .min = 1,
     .max = 240,
     .doc = "Frames per second.",
     .apply = [](const Target& t, const Value& v) { t.publishers->shape.fps = count(v); }},
    {.name = "gop",
     .contexts = kScenarioPublishers,
     .type = Type::kCount,
     .default_text = "60",
     .min = 1,
     .max = 10'000,
     .doc = "Frames from key frame to key frame.",
     .apply = [](const Target& t, const Value& v) { t.publishers->shape.gop = count(v); }},

    {.name = "players",
     .type = Type::kNamed,
     .opens = kScenarioPlayers,
     .repeatable = true,
     .doc = "A group of players of one kind; phases say when they come."},
    {.name = "protocol",
     .contexts = kScenarioPlayers,
     .type = Type::kChoice,
     .default_text = "rtmp",
     .choices = "rtmp|flv|ws-flv|ts|ws-ts|rtc|rtsp|rtsp-udp|rtsp-multicast",
     .doc = "flv is HTTP-FLV, ts HTTP-TS, ws-flv and ws-ts the same over WebSocket, rtc WebRTC "
            "(WHEP), rtsp RTSP over TCP.",
     .apply =
         [](const Target& t, const Value& v) {
             t.players->protocol = static_cast<ScenarioProtocol>(v.number);
         }},
    {.name = "url",
     .contexts = kScenarioPlayers,
     .type = Type::kUrl,
     .required = true,
     .example = "http://127.0.0.1:8080/live/livestream_%d.flv",
     .doc = "The address; %d is the number of the stream. Players take streams in turn.",
     .apply = [](const Target& t, const Value& v) { t.players->url = v.text; }},
    {.name = "plays",
     .contexts = kScenarioPlayers,
     .type = Type::kReference,
     .example = "main",
     .doc = "The block of publishers of these streams: it tells their number and bit rate. The "
            "default is the only block of publishers.",
     .apply = [](const Target& t, const Value& v) { t.players->publishers = v.text; }},
    {.name = "streams",
     .contexts = kScenarioPlayers,
     .type = Type::kCount,
     .min = 1,
     .max = kMaxStreams,
     .example = "4",
     .doc = "Number of streams that the players are spread over; the default is that of the "
            "publishers.",
     .apply = [](const Target& t, const Value& v) { t.players->streams = count(v); }},
    {.name = "stay",
     .contexts = kScenarioPlayers,
     .type = Type::kDuration,
     .default_text = "0",
     .max = 30 * kDay,
     .doc = "Time after which a connected player leaves; 0 for never.",
     .apply = [](const Target& t, const Value& v) { t.players->stay = millis(v); }},
    {.name = "stall",
     .contexts = kScenarioPlayers,
     .type = Type::kDuration,
     .default_text = "1s",
     .min = 10,
     .max = 600 * kSecond,
     .doc = "A gap between frames that counts as a stall.",
     .apply = [](const Target& t, const Value& v) { t.players->stall = millis(v); }},
    {.name = "behind",
     .contexts = kScenarioPlayers,
     .type = Type::kDuration,
     .default_text = "500ms",
     .min = 1,
     .max = 600 * kSecond,
     .doc = "Growth of a player's mean delay within a phase that counts as falling behind.",
     .apply = [](const Target& t, const Value& v) { t.players->behind = millis(v); }},
    {.name = "verify",
     .contexts = kScenarioPlayers,
     .type = Type::kFlag,
     .default_text = "on",
     .doc = "off is for streams of any publisher: frames are counted, not checked.",
     .apply = [](const Target& t, const Value& v) { t.players->verify = v.number != 0; }},

    {.name = "phase",
     .type = Type::kNamed,
     .opens = kScenarioPhase,
     .repeatable = true,
     .required = true,
     .doc = "A part of the test with figures of its own. Phases follow one another in the order "
            "of the file; players stay from one to the next."},
    {.name = "duration",
     .contexts = kScenarioPhase,
     .type = Type::kDuration,
     .min = 100,
     .max = 30 * kDay,
     .required = true,
     .example = "30s",
     .doc = "Its length.",
     .apply = [](const Target& t, const Value& v) { t.phase->duration = millis(v); }},
    {.name = "join",
     .contexts = kScenarioPhase,
     .type = Type::kStep,
     .opens = kScenarioJoin,
     .repeatable = true,
     .doc = "Players of the named group are added."},
    {.name = "leave",
     .contexts = kScenarioPhase,
     .type = Type::kStep,
     .opens = kScenarioLeave,
     .repeatable = true,
     .doc = "Players of the named group leave, the newest first."},
    {.name = "clients",
     .contexts = kScenarioJoin | kScenarioLeave,
     .type = Type::kCount,
     .min = 1,
     .max = kMaxClients,
     .required = true,
     .example = "500",
     .doc = "How many.",
     .apply = [](const Target& t, const Value& v) { t.step->clients = count(v); }},
    {.name = "after",
     .contexts = kScenarioJoin | kScenarioLeave,
     .type = Type::kDuration,
     .default_text = "0",
     .max = 30 * kDay,
     .doc = "Time from the beginning of the phase.",
     .apply = [](const Target& t, const Value& v) { t.step->after = millis(v); }},
    {.name = "ramp",
     .contexts = kScenarioJoin,
     .type = Type::kDuration,
     .default_text = "0",
     .max = kDay,
     .doc = "Time over which they come, evenly; 0 for all at once.",
     .apply = [](const Target& t, const Value& v) { t.step->ramp = millis(v); }},
};

struct Section {
    ScenarioContext context;
    std::string_view title;
};

constexpr Section kSections[] = {
    {kScenarioTop, "The top level"},
    {kScenarioServer, "server { }"},
    {kScenarioPublishers, "publishers NAME { }"},
    {kScenarioPlayers, "players NAME { }"},
    {kScenarioPhase, "phase NAME { }"},
    {kScenarioJoin, "join PLAYERS { }"},
    {kScenarioLeave, "leave PLAYERS { }"},
};

std::string shape_of(const ScenarioDirective& directive) {
    switch (directive.type) {
        case Type::kBlock: return "{ ... }";
        case Type::kNamed: return "NAME { ... }";
        case Type::kStep: return "PLAYERS { ... }";
        case Type::kReference: return "name";
        case Type::kFlag: return "on, off";
        case Type::kCount: return fmt::format("{} to {}", directive.min, directive.max);
        case Type::kDuration:
            return fmt::format("{} to {}", duration_text(directive.min),
                               duration_text(directive.max));
        case Type::kBitRate: return "bit rate";
        case Type::kChoice: return either_of(directive.choices);
        case Type::kText: return "text";
        case Type::kPath: return "path";
        case Type::kUrl: return "URL";
        case Type::kCondition: return "condition";
    }
    return {};
}

}  // namespace

std::string_view to_string(ScenarioContext context) {
    switch (context) {
        case kScenarioTop: return "the top level";
        case kScenarioServer: return "server";
        case kScenarioPublishers: return "publishers";
        case kScenarioPlayers: return "players";
        case kScenarioPhase: return "phase";
        case kScenarioJoin: return "join";
        case kScenarioLeave: return "leave";
    }
    return {};
}

std::span<const ScenarioDirective> scenario_directives() {
    return kDirectives;
}

const ScenarioDirective* find_scenario_directive(std::string_view name, ScenarioContext context) {
    for (const ScenarioDirective& directive : kDirectives) {
        if (directive.name == name && (directive.contexts & context) != 0) {
            return &directive;
        }
    }
    return nullptr;
}

bool is_scenario_directive(std::string_view name) {
    return std::any_of(std::begin(kDirectives), std::end(kDirectives),
                       [&](const ScenarioDirective& each) { return each.name == name; });
}

bool is_block(const ScenarioDirective& directive) {
    return directive.type == Type::kBlock || directive.type == Type::kNamed ||
           directive.type == Type::kStep;
}

std::string expectation(const ScenarioDirective& directive) {
    switch (directive.type) {
        case Type::kBlock: return "'{'";
        case Type::kNamed: return "a name of letters, digits, '-' and '_'";
        case Type::kStep: return "the name of a group of players";
        case Type::kReference: return "the name of a block of publishers";
        case Type::kFlag: return "on or off";
        case Type::kCount:
            return fmt::format("a number from {} to {}", directive.min, directive.max);
        case Type::kDuration:
            return fmt::format(
                "a duration from {} to {} (with ms, s, m or h; a bare number counts seconds)",
                duration_text(directive.min), duration_text(directive.max));
        case Type::kBitRate:
            return fmt::format("a bit rate from {} to {} (bits per second, or with k or M)",
                               bit_rate_text(static_cast<double>(directive.min)),
                               bit_rate_text(static_cast<double>(directive.max)));
        case Type::kChoice: return either_of(directive.choices);
        case Type::kText: return "a text";
        case Type::kPath: return "a path";
        case Type::kUrl: return "a URL";
        case Type::kCondition: return "a condition such as loss == 0";
    }
    return {};
}

std::string scenario_markdown() {
    std::string out;
    for (const Section& section : kSections) {
        out += fmt::format(
            "\n### {}\n\n| directive | value | default | meaning |\n|---|---|---|---|\n",
            section.title);
        for (const ScenarioDirective& each : kDirectives) {
            if ((each.contexts & section.context) == 0) {
                continue;
            }
            std::string initial = each.required ? "required"
                                  : each.default_text.empty()
                                      ? ""
                                      : fmt::format("`{}`", each.default_text);
            std::string example =
                each.example.empty() ? "" : fmt::format(" Example: `{}`.", each.example);
            out += fmt::format("| `{}` | {} | {} | {}{} |\n", each.name, shape_of(each), initial,
                               each.doc, example);
        }
    }
    return out;
}

}  // namespace weir::load
