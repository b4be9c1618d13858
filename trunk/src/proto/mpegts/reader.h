// Demultiplexer of transport streams (ISO/IEC 13818-1): feed bytes, get the tracks of one programme
// and their access units.
//
// Shape as of flv::TagReader: feed() stops behind each packet that completes something, next()
// hands it out. What a broadcast does on its way is no error: lost and repeated packets, tables
// that change, clocks that jump, other programmes; it is counted. Cut into units are the first
// video of H.264 or HEVC and one audio stream of the programme, or several where the options say
// so; its other streams are named, and passed over. A unit that lost a packet is never given out.
//
// Packets of 192 bytes (M2TS) and 204 (with parity) are refused.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "proto/mpegts/framer.h"
#include "proto/mpegts/packet.h"
#include "proto/mpegts/pes.h"
#include "proto/mpegts/programs.h"
#include "proto/mpegts/section.h"

namespace weir::mpegts {

struct ReaderOptions {
    uint16_t program = 0;  // its number; 0: see Programs
    size_t max_audio = 1;  // streams of audio that are given out, all of the content of the first
};

struct ReaderCounters {
    uint64_t packets = 0;
    uint64_t skipped_bytes = 0;  // without sync
    uint64_t sync_losses = 0;
    uint64_t transport_errors = 0;   // packets with transport_error_indicator
    uint64_t continuity_errors = 0;  // of PIDs that are read
    uint64_t duplicates = 0;         // packets that were sent twice, as is allowed
    uint64_t scrambled = 0;          // packets of tracks that are read
    uint64_t malformed = 0;          // headers, sections and frames that cannot be
    uint64_t units = 0;
};

struct Track {
    StreamInfo info;
    bool taken = false;  // its units are given out

    bool operator==(const Track&) const = default;
};

class Reader {
  public:
    enum class Event : uint8_t {
        kNeedMore,
        kTracks,  // tracks() are known, or have changed
        kUnit,
        kError,  // the input is no transport stream that is read here
    };

    explicit Reader(const ReaderOptions& options = {});
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    // Returns how many bytes were consumed; 0 while something waits in next(), and after an error.
    size_t feed(ByteSpan bytes);

    // Bytes are missing here: what is being put together is dropped.
    void lose();

    // The input ends: what is there is whole. Then next().
    void finish();

    // kUnit: `unit` is of the track with that index, and good until the next feed(). Call it until
    // it gives kNeedMore.
    Event next(Unit& unit, size_t& track);

    // kUnsupported. Once.
    Error take_error() { return std::move(error_); }

    // Of the programme that is taken, in the order of its PMT; empty: not known yet.
    std::span<const Track> tracks() const { return tracks_; }

    ReaderCounters counters() const;

    // Programmes of the stream.
    size_t programs() const { return programs_.count(); }

    // What it holds besides itself, without what frames being put together take.
    size_t heap_bytes() const;

  private:
    enum class Use : uint8_t { kPat, kPmt, kStream };

    // Of a PID that is read.
    struct Pid {
        uint16_t pid = 0;
        Use use = Use::kPat;
        std::optional<uint8_t> counter;
        bool repeated = false;
        SectionAssembler sections;
        // Of a stream:
        size_t track = 0;
        std::unique_ptr<Framer> framer;
        Bytes head;                       // of a PES packet whose header is not whole
        std::optional<size_t> remaining;  // bytes of the packet; nothing: up to the next one
        bool in_packet = false;
        bool random_access = false;  // of the packet
    };

    bool find_sync();
    void take_packet(ByteSpan bytes);
    bool is_in_order(Pid& pid, const Packet& packet);
    void lose(Pid& pid);
    void take_sections(Pid& pid, const Packet& packet);
    void take_pes(Pid& pid, const Packet& packet);
    void begin_pes(Pid& pid, const PesHeader& header, ByteSpan rest);
    void add_payload(Pid& pid, ByteSpan payload);
    void end_pes(Pid& pid, ByteSpan next);
    void follow_tables();
    std::vector<Track> choose_tracks() const;
    void add_pid(uint16_t pid, Use use, std::vector<std::unique_ptr<Pid>>& list);

    Programs programs_;
    size_t max_audio_;
    TimeUnwrapper times_;
    std::vector<Track> tracks_;
    std::vector<std::unique_ptr<Pid>> pids_;
    std::vector<uint8_t> place_;  // by PID: index in pids_ and 1; 0: not read

    // Bytes that are not a whole packet, or in which the sync is looked for.
    static constexpr size_t kProbe = 640;  // three packets of any size, and where they may begin
    std::array<uint8_t, kProbe> held_{};
    size_t held_size_ = 0;
    bool synced_ = false;

    bool tracks_changed_ = false;
    bool units_ready_ = false;
    bool failed_ = false;
    Error error_;
    ReaderCounters counters_;
    uint64_t gone_malformed_ = 0;  // of PIDs that are not read any more
};

}  // namespace weir::mpegts
