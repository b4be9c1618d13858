// What a supervisor and its processes tell each other: a verb and words, one datagram each. Pure.
//
// Of a process:
//   ready
//   listen ID ADDRESS
//   keep ADDRESS...                 it listens there alone; "udp/...": a port that all have
//   claim ID VHOST APP NAME TAKEOVER
//   release VHOST APP NAME EPOCH
//   beat FIGURES                    of itself
//   cannot_start WHY
//   drain                           somebody asked for it, all are to
//
// Of the supervisor:
//   seat INDEX COUNT TOKEN
//   listening ID ERROR              with the socket, when ERROR is empty
//   claimed ID EPOCH                0: another process has it
//   owner VHOST APP NAME INDEX EPOCH    of none: EPOCH 0
//   peers FIGURES...                of each process
//
// FIGURES: BUSY CLIENTS STREAMS PUBLISHERS PLAYERS PID RESTARTS GIVEN_UP
// BUSY is the share of its time that the media thread works, in thousandths; 1000: it is not there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "stream/stream_key.h"

namespace weir::app {

struct ProcessMessage {
    static constexpr size_t kMaxBytes = 16 * 1024;
    static constexpr size_t kMaxWords = 1'000;

    std::string verb;
    std::vector<std::string> words;

    // As it is sent. Words may have any bytes.
    std::string encode() const;

    // kMalformed, kLimit.
    static Result<ProcessMessage> decode(std::string_view bytes);

    // None: there is no such word, or it is no number.
    std::optional<uint64_t> number(size_t index) const;

    // Words `index` to `index` + 2. kMalformed: there are not as many.
    Result<stream::StreamKey> key(size_t index) const;

    bool operator==(const ProcessMessage&) const = default;
};

// To the supervisor, by a process that has no log yet: why it cannot start.
inline constexpr std::string_view kCannotStart = "cannot_start";

// A process as the others know it, a second or two ago.
struct ProcessFigures {
    static constexpr uint64_t kNotThere = 1'000;  // as `busy`

    uint64_t busy = kNotThere;
    uint64_t clients = 0;
    uint64_t streams = 0;  // live there, also those that come from elsewhere
    uint64_t publishers = 0;
    uint64_t players = 0;
    uint64_t pid = 0;       // 0: it does not run
    uint64_t restarts = 0;  // since the supervisor was started
    uint64_t given_up = 0;  // 1: it does not come up, and others do its work

    bool operator==(const ProcessFigures&) const = default;
};

// The words of "peers", and what they say. Of what is missing or no number: as of one that is not
// there.
std::vector<std::string> peers_words(const std::vector<ProcessFigures>& peers);
std::vector<ProcessFigures> peers_of(const ProcessMessage& message);

}  // namespace weir::app
