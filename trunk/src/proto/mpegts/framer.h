// Cuts the payloads of PES packets of one elementary stream into access units: frames of video with
// their NAL units, frames of audio, each with its times.
//
// Driven by a reader: begin() a PES packet, append() its bytes, end() it; then unit() gives what
// became whole. A unit may begin in one packet and end in another; the times of a packet are those
// of the first unit that begins in it (ISO/IEC 13818-1 §2.4.3.7), and units without times of their
// own follow from the one before. Pure; its memory is bounded by the caller's limit of a packet and
// the longest unit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "proto/mpegts/psi.h"

namespace weir::mpegts {

// 4 MiB: video at 100 Mbit/s and one frame a second would fit. Audio says its length in 16 bits.
inline constexpr size_t kMaxPesBytes = size_t{4} << 20U;
inline constexpr size_t kMaxAudioPesBytes = size_t{64} << 10U;
inline constexpr size_t kMaxUnitsOfPes = 512;  // more are dropped

// Times of a PES packet, widened.
struct PesTimes {
    std::optional<int64_t> pts;  // 90 kHz
    std::optional<int64_t> dts;
};

// An access unit. Views are good until the next call of the framer that made it.
struct Unit {
    int64_t pts = 0;  // 90 kHz
    int64_t dts = 0;
    bool key = false;            // video: decoding can start here (IDR, IRAP, recovery point)
    bool after_loss = false;     // packets are missing since the unit before
    bool random_access = false;  // as the multiplexer says
    // Video: NAL units without start codes.
    std::span<const ByteSpan> nals;
    // Audio: a frame as it stands in the stream (with its header: ADTS, MPEG audio, AC-3); of LATM
    // an audioMuxElement, of Opus a packet.
    ByteSpan data;
};

class Framer {
  public:
    Framer() = default;
    Framer(const Framer&) = delete;
    Framer& operator=(const Framer&) = delete;
    virtual ~Framer() = default;

    // nullptr: streams of this content are not cut into units.
    static std::unique_ptr<Framer> create(const StreamInfo& stream);

    // A PES packet begins. The one before has ended.
    void begin(const PesTimes& times, bool random_access);

    // Without a packet that was begun, or after lose(), it does nothing.
    void append(ByteSpan bytes);

    // The packet is whole. `next`: the first bytes of the payload behind it; empty: not known yet.
    void end(ByteSpan next);

    // Packets are missing, or broken: what was not given out is dropped.
    void lose();

    // The stream ends: what is there is whole.
    void finish();

    // What became whole; each once.
    bool next(Unit& out);

    bool has_units() const { return units_at_ < units_.size(); }

    // Bytes that belong to no unit, and units that could not be taken.
    uint64_t malformed() const { return malformed_; }

  protected:
    struct Stamp {
        PesTimes times;
        bool random_access = false;
    };

    // A unit in data().
    struct Cut {
        int64_t pts = 0;
        int64_t dts = 0;
        size_t first = 0;  // of video: index of its first NAL unit; of audio: where it begins
        size_t count = 0;  // NAL units; bytes
        bool key = false;
        bool random_access = false;
        bool after_loss = false;
    };

    // Finds the units in data(). Gives how many bytes are done with; the rest waits for the next
    // packet, and is there again. `last`: what is there is whole.
    virtual size_t cut(bool last) = 0;

    // Whether these bytes surely begin a unit.
    virtual bool begins_unit(ByteSpan bytes) const = 0;

    virtual size_t max_bytes() const = 0;
    virtual void view(const Cut& cut, Unit& out) const = 0;

    // What waits is dropped.
    virtual void forget() {}

    ByteSpan data() const { return data_; }

    // Where the packet begins in data(): what is before came earlier.
    size_t packet_start() const { return left_; }

    // The stamp of a unit that begins at that place of data(); the packet's is given once.
    Stamp take_stamp(size_t at);

    // What goes beyond kMaxUnitsOfPes is dropped.
    void add(Cut cut);

    // The newest unit of data(), to be made longer; null: there is none.
    Cut* newest() { return units_.empty() ? nullptr : &units_.back(); }

    void count_malformed() { malformed_++; }

  private:
    void close(bool last);

    Bytes open_;        // what waits for the rest of its packet, and of its unit
    Bytes data_;        // what was cut; units are views of it
    size_t left_ = 0;   // bytes at the front of open_ that came before the packet
    Stamp left_stamp_;  // of the unit that begins there
    Stamp stamp_;       // of the packet
    std::vector<Cut> units_;
    size_t units_at_ = 0;
    bool aligned_ = true;  // each packet so far began with a unit
    bool lost_ = false;
    bool dropping_ = true;  // up to the next begin()
    uint64_t malformed_ = 0;
};

}  // namespace weir::mpegts
