// Multiplexer of transport streams (ISO/IEC 13818-1): one programme, written frame by frame as it
// comes, in whole packets of 188 bytes.
//
// PAT and PMT are written before each key frame, and each kTablesEach or with the frame that
// follows within the gap of PCRs; a PCR each kPcrEach at the latest, or as the constructor says,
// kPcrLead behind the decoding times: so much a receiver buffers at most. No stuffing to a constant
// rate. A value: a copy goes on from the same place. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "proto/mpegts/packet.h"
#include "proto/mpegts/psi.h"

namespace weir::mpegts {

inline constexpr size_t kMaxWrittenStreams = 9;  // a video and media::Description::kMaxAudioTracks
inline constexpr uint16_t kWrittenProgram = 1;
inline constexpr uint16_t kWrittenPmtPid = 0x1000;
inline constexpr uint16_t kFirstWrittenPid = 0x100;  // of stream 0; the others follow

class Writer {
  public:
    static constexpr int64_t kTablesEach = kClockHz / 10;   // 100 ms
    static constexpr int64_t kPcrEach = kClockHz / 25;      // 40 ms
    static constexpr int64_t kMaxPcrGap = kClockHz / 10;    // 100 ms, ISO/IEC 13818-1 §2.7.2
    static constexpr int64_t kPcrLead = kClockHz * 3 / 10;  // 300 ms
    static constexpr int64_t kMaxPcrFill = kClockHz;  // a longer pause is not filled with PCRs
    static constexpr int64_t kMaxOrdered = kClockHz;  // a longer step back is another clock

    struct Frame {
        size_t stream = 0;  // index
        int64_t pts = 0;    // 90 kHz; any: 33 bits of it are written
        int64_t dts = 0;
        bool key = false;                 // of video: decoding can start here
        std::span<const ByteSpan> parts;  // its bytes, as they stand in the stream
    };

    // Where frames of the clock's stream are further apart than `pcr_gap`, packets with a PCR and
    // no payload are written between them. kPcrEach to kMaxPcrGap.
    explicit Writer(int64_t pcr_gap = kPcrEach);

    // What there is from now on, by index; nothing in a place: no stream. The clock is that of the
    // first video, else of the first stream. Another list than before is a new version of the PMT,
    // which comes with the next frame. It names no languages where it would be longer than a packet
    // (eight tracks of AC-3 or Opus).
    void set_streams(std::span<const std::optional<StreamInfo>> streams);

    bool has_stream(size_t index) const { return streams_[index].has_value(); }

    // Appends the packets of a frame of one of the streams, and what is due before it. ISO/IEC
    // 13818-1 §2.4.3.7 has no PTS before its DTS, and no two access units with one DTS: where
    // frames have, the DTS of the stream are earlier by as much from then on, and one that is not
    // behind the last is a tick behind it.
    void write(const Frame& frame, Bytes& out);

    // Appends PAT and PMT, where no frame brings them.
    void write_tables(Bytes& out);

    // Appends what somebody needs who begins to read here, or goes on after a jump: PAT and PMT,
    // and `before`, frames that were written earlier. Counters lead to those of the next write().
    // After a jump (`moved`) the first packet of each PID has a discontinuity_indicator. It is one
    // with payload, but for streams without frames in `before`: they get a packet without.
    void write_beginning(std::span<const Frame> before, bool moved, Bytes& out) const;

  private:
    // Of the decoding times of one stream, in 90 kHz.
    struct Order {
        std::optional<int64_t> last_dts;  // that was written
        int64_t earlier = 0;              // so much all DTS are, to be no later than their PTS
    };

    void put_in_order(Frame& frame);
    void put_tables(bool moved, Bytes& out);
    bool is_late(int64_t due) const;
    void write_due_tables(int64_t time, bool key, Bytes& out);
    void write_section(uint16_t pid, ByteSpan section, bool moved, Bytes& out);
    void write_pcr(Bytes& out);
    void write_pes(const Frame& frame, uint8_t flags, std::optional<int64_t> pcr, Bytes& out);
    static size_t place_of(uint16_t pid);

    uint8_t next_counter(uint16_t pid) { return counters_[place_of(pid)]++ & 0x0F; }

    int64_t pcr_gap_;
    std::array<std::optional<StreamInfo>, kMaxWrittenStreams> streams_;
    size_t clock_stream_ = 0;
    std::array<Order, kMaxWrittenStreams> orders_;
    uint8_t version_ = 0;
    Bytes pat_;  // sections
    Bytes pmt_;
    bool tables_due_ = true;
    std::optional<int64_t> tables_at_;  // when they were written, on the clock
    std::optional<int64_t> looked_at_;  // when it was last looked whether they are due
    std::optional<int64_t> pcr_;        // the newest PCR, in 90 kHz
    std::array<uint8_t, kMaxWrittenStreams + 2> counters_{};  // of streams, PAT and PMT; 8 bits
};

}  // namespace weir::mpegts
