// Reads a transport stream and hands its frames on as messages with FLV tag bodies, like
// FlvScanner, for PlayerCheck: what a server puts in front of a frame (delimiters, parameter sets,
// ADTS) is taken off again. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "proto/mpegts/reader.h"

#include "bench/load/core/player_check.h"

namespace weir::load {

class TsScanner {
  public:
    // False: this is no transport stream; `error()` says why.
    bool feed(ByteSpan bytes, PlayerCheck& check);

    const std::string& error() const { return error_; }

    // Packets that are missing or broken; a server that sends by TCP leaves none out but where it
    // says so.
    uint64_t faults() const;

  private:
    void take_video(const mpegts::Track& track, const mpegts::Unit& unit, PlayerCheck& check);
    void take_audio(const mpegts::Track& track, const mpegts::Unit& unit, PlayerCheck& check);

    mpegts::Reader reader_;
    std::string error_;
};

}  // namespace weir::load
