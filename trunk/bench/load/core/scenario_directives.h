// The table of the directives of a scenario: the one place that knows their names, where they may
// stand, what they take, and what they mean. The checker and the tables at the end of
// doc/load-client.md come from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "bench/load/core/scenario.h"

namespace weir::load {

// Where a directive stands; a set of bits.
using ScenarioContexts = uint8_t;

enum ScenarioContext : ScenarioContexts {
    kScenarioTop = 1,
    kScenarioServer = 2,
    kScenarioPublishers = 4,
    kScenarioPlayers = 8,
    kScenarioPhase = 16,
    kScenarioJoin = 32,
    kScenarioLeave = 64,
};

// "the top level", "players" ...
std::string_view to_string(ScenarioContext context);

enum class ScenarioType : uint8_t {
    kBlock,      // { ... }
    kNamed,      // NAME { ... }: gives the name
    kStep,       // NAME { ... }: the name of a group of players
    kReference,  // the name of publishers
    kFlag,       // on|off
    kCount,
    kDuration,  // ms, s, m, h; a bare number counts seconds
    kBitRate,   // k, M; 1000 and its powers
    kChoice,
    kText,
    kPath,  // relative to the folder of the file
    kUrl,
    kCondition,
};

struct ScenarioValue {
    uint64_t number = 0;  // count, milliseconds, bits per second, index of the choice, flag
    std::string text;     // name, text, path, URL
    std::optional<Expression> condition;
};

// What a value goes into: the innermost block of each kind that is open.
struct ScenarioTarget {
    Scenario& scenario;
    ScenarioPublishers* publishers = nullptr;
    ScenarioPlayers* players = nullptr;
    ScenarioPhase* phase = nullptr;
    ScenarioStep* step = nullptr;
};

struct ScenarioDirective {
    std::string_view name = {};
    ScenarioContexts contexts = kScenarioTop;
    ScenarioType type = ScenarioType::kBlock;
    ScenarioContext opens = kScenarioTop;  // blocks: the context inside
    std::string_view default_text = {};    // empty: none
    uint64_t min = 0;                      // count, duration (ms), bit rate
    uint64_t max = 0;
    std::string_view choices = {};  // "rtmp|flv"
    bool repeatable = false;
    bool required = false;
    std::string_view example = {};
    std::string_view doc = {};  // one line
    void (*apply)(const ScenarioTarget& target, const ScenarioValue& value) = nullptr;
};

std::span<const ScenarioDirective> scenario_directives();

// nullptr when there is no such directive in that context.
const ScenarioDirective* find_scenario_directive(std::string_view name, ScenarioContext context);

bool is_scenario_directive(std::string_view name);

bool is_block(const ScenarioDirective& directive);

// Completes "expected ...".
std::string expectation(const ScenarioDirective& directive);

// The tables of all directives, as they stand at the end of doc/load-client.md.
std::string scenario_markdown();

}  // namespace weir::load
