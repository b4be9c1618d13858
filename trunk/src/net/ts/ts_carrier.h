// TsCarrier: cuts a transport stream into packets of a stream that carries it as it is
// (stream::Stream::publish_transport), so that players can begin at a random access point, and
// counts what is missing in it. Looks at headers, tables and the beginnings of pictures; changes
// nothing. Pure, never yields.
//
// Players begin at the newest key frame of the first video track of a programme. Where there is no
// video, none can be seen (scrambled, tables missing) or the newest is too old or too far back,
// they begin at the present.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "media/packet.h"
#include "proto/mpegts/packet.h"
#include "proto/mpegts/programs.h"
#include "proto/mpegts/section.h"

namespace weir::net {

struct TsCarrierCounters {
    uint64_t packets = 0;
    uint64_t continuity_errors = 0;
    uint64_t unsynced_bytes = 0;  // between packets
    uint64_t bad_sections = 0;    // of PAT and PMT
    uint64_t starts = 0;          // key frames at which players can begin
};

class TsCarrier {
  public:
    static constexpr Millis kOldestStart{10'000};
    static constexpr size_t kMaxTableBytes = 32 * 1024;  // that players are sent first
    static constexpr size_t kMaxTablePackets = 8;        // of one PID

    // `most_bytes`: from where players begin to the present.
    explicit TsCarrier(uint64_t most_bytes);

    // The next bytes; beginnings of packets are found.
    void feed(ByteSpan bytes);

    // Bytes are missing here.
    void lose();

    // Gives what was fed since the last call, without the beginning of a packet that is not whole,
    // to visit(Ref<media::MediaPacket>): mostly one packet, more where players can begin between.
    template <typename Visit>
    void take(MonoTime now, Visit&& visit) {
        close(now);
        for (Ref<media::MediaPacket>& packet : closed_) {
            visit(std::move(packet));
        }
        closed_.clear();
    }

    const TsCarrierCounters& counters() const { return counters_; }

  private:
    // What is known of a PID with tables.
    struct Table {
        uint16_t pid = 0;
        mpegts::SectionAssembler sections;
        Bytes packets;  // the newest ones that hold a whole table
        Bytes coming;   // those that came since
        bool open = false;
    };

    // The newest place in gathered_ where players can begin, and the tables of the first one: a
    // sender of nothing but starts costs no more.
    struct Start {
        size_t at = 0;
        Bytes tables;
    };

    void scan();
    void look_at(ByteSpan packet);
    void count(ByteSpan packet, uint16_t pid);
    void skip_to_sync();
    void note_start();
    void take_table(Table& table, ByteSpan packet);
    void follow_tables();
    bool begins_key_frame(ByteSpan packet) const;
    Table* table_of(uint16_t pid);
    Bytes tables() const;
    void close(MonoTime now);
    void close_start(const Bytes& tables, ByteSpan bytes);
    void close_other(MonoTime now, Bytes bytes);

    uint64_t most_bytes_;
    Bytes gathered_;
    size_t scanned_ = 0;  // of gathered_: whole packets
    std::optional<Start> start_;
    std::vector<Ref<media::MediaPacket>> closed_;
    std::array<uint8_t, mpegts::kPids> continuity_;  // the newest counter; kAny: none
    std::bitset<mpegts::kPids> has_table_;
    std::vector<Table> tables_;  // PAT, then PMTs
    mpegts::Programs programs_{0};
    std::optional<mpegts::StreamInfo> video_;
    std::optional<MonoTime> started_;  // when the key frame came where players begin; none: none
    uint64_t behind_start_ = 0;        // bytes since
    TsCarrierCounters counters_;
};

}  // namespace weir::net
