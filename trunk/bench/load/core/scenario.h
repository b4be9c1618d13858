// A whole test as a file: streams, groups of players, phases one after the other, what counts as a
// pass. Same grammar as the server's configuration (base/config_parser.h); its directives are those
// of scenario_directives.h. Only values here; ScenarioRun (scenario_run.h) carries them out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/config_diagnostic.h"

#include "bench/load/core/bitrate_plan.h"
#include "bench/load/core/condition.h"

namespace weir::load {

struct ScenarioPublishers {
    std::string name;
    std::string url;
    uint32_t streams = 0;
    Millis ramp{0};
    std::string file;  // empty: synthetic frames of this shape
    StreamShape shape;
    bool serve = false;      // cameras that wait at the URL
    Millis outage_every{0};  // of the last one
    Millis outage_for{0};
};

enum class ScenarioProtocol : uint8_t {
    kRtmp,
    kFlv,
    kWsFlv,
    kTs,
    kWsTs,
    kRtc,
    kRtsp,
    kRtspUdp,
    kRtspMulticast,
};

struct ScenarioPlayers {
    std::string name;
    ScenarioProtocol protocol = ScenarioProtocol::kRtmp;
    std::string url;
    std::string publishers;  // whose streams they play; empty: unknown
    uint32_t streams = 0;    // 0: as many as the publishers have, or one
    Millis stay{0};          // 0: to the end
    Millis stall{0};
    Millis behind{0};
    bool verify = true;
};

// Players of a group come or go, so long after the beginning of the phase.
struct ScenarioStep {
    bool join = true;
    std::string players;
    size_t group = 0;  // index in Scenario::players
    uint32_t clients = 0;
    Millis after{0};
    Millis ramp{0};  // join only; 0: all at once
};

struct ScenarioPhase {
    std::string name;
    Millis duration{0};
    std::vector<ScenarioStep> steps;
    std::vector<Expression> expects;
};

struct Scenario {
    std::string file;
    std::string title;
    uint32_t server_pid = 0;
    std::string server_api;
    Millis connect_timeout{0};
    std::vector<ScenarioPublishers> publishers;
    std::vector<ScenarioPlayers> players;
    std::vector<ScenarioPhase> phases;
    std::vector<Expression> expects;

    const ScenarioPublishers* find_publishers(std::string_view name) const;

    // Of the players' group: its own, else those of its publishers, else one.
    uint32_t streams_of(const ScenarioPlayers& group) const;

    Millis duration() const;
};

struct ScenarioOutcome {
    std::optional<Scenario> scenario;  // only when there is no error
    std::vector<Diagnostic> errors;    // in the order of the file

    bool ok() const { return scenario.has_value(); }
};

// Pure. `file_name`: for messages, and relative paths of media files start at its folder.
ScenarioOutcome parse_scenario(std::string_view text, std::string_view file_name);

// Blocks for the disk.
ScenarioOutcome load_scenario(const std::string& path);

}  // namespace weir::load
