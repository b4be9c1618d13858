// Transport streams in memory: packets made field by field (not by the writer that is tested), and
// what a reader makes of them.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "proto/mpegts/packet.h"
#include "proto/mpegts/pes.h"
#include "proto/mpegts/psi.h"
#include "proto/mpegts/reader.h"

#include "test/support/payloads.h"

namespace weir::test {

// A packet, filled up with an adaptation field of stuffing. `flags`: of the adaptation field, which
// is there in any case when they are not 0.
inline Bytes ts_packet(
    uint16_t pid, uint8_t counter, bool start, ByteSpan payload, uint8_t flags = 0) {
    Bytes out;
    const size_t room = mpegts::kMaxPayload - payload.size();
    ByteWriter writer(out);
    writer.u8(0x47).u16(static_cast<uint16_t>((start ? 0x4000 : 0) | pid));
    writer.u8(static_cast<uint8_t>((room > 0 ? 0x20 : 0) | (payload.empty() ? 0 : 0x10) |
                                   (counter & 0x0F)));
    if (room > 0) {
        writer.u8(static_cast<uint8_t>(room - 1));
        if (room > 1) {
            writer.u8(flags);
        }
        out.resize(mpegts::kHeaderSize + room, 0xFF);
    }
    out.insert(out.end(), payload.begin(), payload.end());
    return out;
}

// Start codes and NAL units.
inline Bytes annex_b(const std::vector<Bytes>& nals) {
    Bytes out;
    for (const Bytes& nal : nals) {
        ByteWriter(out).u32(1).bytes(nal);
    }
    return out;
}

// Makes a stream packet by packet, with a counter for each PID.
class TsBuilder {
  public:
    TsBuilder& section(uint16_t pid, const Bytes& section) {
        Bytes payload = {0};
        payload.insert(payload.end(), section.begin(), section.end());
        return cut(pid, payload, true);
    }

    TsBuilder& pat(const std::vector<mpegts::Pat::Entry>& programs, uint8_t version = 0) {
        mpegts::Pat pat;
        pat.version = version;
        pat.programs = programs;
        Bytes bytes;
        pat.write(bytes);
        return section(mpegts::kPatPid, bytes);
    }

    TsBuilder& pmt(uint16_t pid,
                   uint16_t program,
                   const std::vector<mpegts::StreamInfo>& streams,
                   uint8_t version = 0) {
        mpegts::Pmt pmt;
        pmt.program = program;
        pmt.version = version;
        pmt.pcr_pid = streams.empty() ? mpegts::kNullPid : streams[0].pid;
        pmt.streams = streams;
        Bytes bytes;
        pmt.write(bytes);
        return section(pid, bytes);
    }

    // A PES packet. `sized`: it says its length.
    TsBuilder& pes(uint16_t pid,
                   std::optional<uint64_t> pts,
                   std::optional<uint64_t> dts,
                   ByteSpan payload,
                   bool sized = true) {
        mpegts::PesHeader header;
        header.stream_id = mpegts::kVideoStreamId;
        header.pts = pts;
        header.dts = dts;
        header.payload_size = sized ? std::optional(payload.size()) : std::nullopt;
        std::array<uint8_t, mpegts::kMaxWrittenPesHeader> head;
        Bytes bytes(head.data(), head.data() + header.write(head.data()));
        bytes.insert(bytes.end(), payload.begin(), payload.end());
        return cut(pid, bytes, false);
    }

    TsBuilder& raw(const Bytes& bytes) {
        out.insert(out.end(), bytes.begin(), bytes.end());
        return *this;
    }

    // Packets up to here.
    size_t count() const { return out.size() / mpegts::kPacketSize; }

    // The packet with that number is lost, or changed.
    void erase(size_t index) {
        const auto at = out.begin() + static_cast<std::ptrdiff_t>(index * mpegts::kPacketSize);
        out.erase(at, at + mpegts::kPacketSize);
    }

    uint8_t& byte(size_t packet, size_t place) { return out[packet * mpegts::kPacketSize + place]; }

    Bytes out;
    std::map<uint16_t, uint8_t> counters;

  private:
    TsBuilder& cut(uint16_t pid, ByteSpan bytes, bool is_section) {
        bool start = true;
        while (!bytes.empty()) {
            const size_t size = std::min(bytes.size(), mpegts::kMaxPayload);
            Bytes payload(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
            if (is_section) {
                payload.resize(mpegts::kMaxPayload, 0xFF);
            }
            raw(ts_packet(pid, counters[pid]++, start, payload));
            bytes = bytes.subspan(size);
            start = false;
        }
        return *this;
    }
};

struct ReadUnit {
    size_t track = 0;
    int64_t pts = 0;
    int64_t dts = 0;
    bool key = false;
    bool after_loss = false;
    std::vector<Bytes> nals;
    Bytes data;

    bool operator==(const ReadUnit&) const = default;
};

struct ReadStream {
    std::vector<std::vector<mpegts::Track>> tracks;  // each time that they were told
    std::vector<ReadUnit> units;
    std::string error;

    bool operator==(const ReadStream&) const = default;
};

// What is ready in the reader.
inline void drain(mpegts::Reader& reader, ReadStream& out) {
    for (;;) {
        mpegts::Unit unit;
        size_t track = 0;
        switch (reader.next(unit, track)) {
            case mpegts::Reader::Event::kNeedMore: return;
            case mpegts::Reader::Event::kTracks:
                out.tracks.emplace_back(reader.tracks().begin(), reader.tracks().end());
                break;
            case mpegts::Reader::Event::kUnit: {
                ReadUnit read{track, unit.pts, unit.dts, unit.key, unit.after_loss, {}, {}};
                for (const ByteSpan nal : unit.nals) {
                    read.nals.emplace_back(nal.begin(), nal.end());
                }
                read.data.assign(unit.data.begin(), unit.data.end());
                out.units.push_back(std::move(read));
                break;
            }
            case mpegts::Reader::Event::kError: out.error = reader.take_error().message(); return;
        }
    }
}

// Feeds in pieces of `step` bytes; `finish`: the input ends there.
inline ReadStream read_ts(mpegts::Reader& reader,
                          ByteSpan bytes,
                          size_t step = SIZE_MAX,
                          bool finish = true) {
    ReadStream out;
    while (!bytes.empty() && out.error.empty()) {
        ByteSpan piece = bytes.first(std::min(step, bytes.size()));
        bytes = bytes.subspan(piece.size());
        while (!piece.empty() && out.error.empty()) {
            piece = piece.subspan(reader.feed(piece));
            drain(reader, out);
        }
    }
    if (finish && out.error.empty()) {
        reader.finish();
        drain(reader, out);
    }
    return out;
}

inline ReadStream read_ts(ByteSpan bytes, size_t step = SIZE_MAX) {
    mpegts::Reader reader;
    return read_ts(reader, bytes, step);
}

}  // namespace weir::test
