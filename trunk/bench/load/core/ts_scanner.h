// Reads a transport stream and hands its frames on as messages with FLV tag bodies, like
// FlvScanner, for PlayerCheck: what a server puts in front of a frame (delimiters, parameter sets,
// ADTS) is taken off again. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "proto/mpegts/reader.h"

#include "bench/load/core/player_check.h"

namespace weir::load {

class TsScanner {
  public:
    // False: this is no transport stream; `error()` says why.
    bool feed(ByteSpan bytes, PlayerCheck& check);

    // A file ends here, and another one may follow: the last frame is whole, and the counters of
    // packets begin anew, as they may in each segment of HLS. False as with feed().
    bool end_file(PlayerCheck& check);

    const std::string& error() const { return error_; }

    // Packets that are missing or broken; a server that sends by TCP leaves none out but where it
    // says so.
    uint64_t faults() const;

  private:
    bool take_units(PlayerCheck& check);
    void take_video(const mpegts::Track& track, const mpegts::Unit& unit, PlayerCheck& check);
    void take_audio(const mpegts::Track& track, const mpegts::Unit& unit, PlayerCheck& check);

    std::optional<mpegts::Reader> reader_{std::in_place};
    uint64_t faults_ = 0;  // of files that have ended
    std::string error_;
};

}  // namespace weir::load
