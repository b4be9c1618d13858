#include "proto/mpegts/writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "proto/mpegts/pes.h"

namespace weir::mpegts {
namespace {

constexpr uint8_t kStartBit = 0x40;
constexpr uint8_t kFieldBit = 0x20;
constexpr uint8_t kPayloadBit = 0x10;
constexpr uint8_t kDiscontinuityFlag = 0x80;
constexpr uint8_t kRandomAccessFlag = 0x40;
constexpr uint8_t kPcrFlag = 0x10;

// An adaptation field with its length: flags, and a PCR where there is one.
constexpr size_t kFlagsSize = 2;
constexpr size_t kPcrFieldSize = 8;

// Copies bytes of several parts, one behind the other.
class PartsReader {
  public:
    explicit PartsReader(std::span<const ByteSpan> parts) : parts_(parts) {}

    void copy(uint8_t* to, size_t size) {
        while (size > 0) {
            const ByteSpan part = parts_[index_].subspan(at_);
            const size_t now = std::min(size, part.size());
            to = std::copy_n(part.begin(), now, to);
            size -= now;
            at_ += now;
            if (now == part.size()) {
                index_++;
                at_ = 0;
            }
        }
    }

  private:
    std::span<const ByteSpan> parts_;
    size_t index_ = 0;
    size_t at_ = 0;
};

// Header, and an adaptation field of `field` bytes with its length (0: none), filled up with
// stuffing behind flags and PCR. Gives where the payload begins.
uint8_t* write_head(uint16_t pid,
                    uint8_t bits,
                    uint8_t flags,
                    size_t field,
                    std::optional<int64_t> pcr,
                    uint8_t* out) {
    out[0] = kSyncByte;
    out[1] = static_cast<uint8_t>((bits & kStartBit) | pid >> 8);
    out[2] = static_cast<uint8_t>(pid);
    out[3] = static_cast<uint8_t>((bits & ~kStartBit) | (field > 0 ? kFieldBit : 0));
    uint8_t* at = out + kHeaderSize;
    if (field == 0) {
        return at;
    }
    uint8_t* const end = at + field;
    *at++ = static_cast<uint8_t>(field - 1);
    if (field > 1) {
        *at++ = static_cast<uint8_t>(flags | (pcr ? kPcrFlag : 0));
    }
    if (pcr) {
        const uint64_t base = static_cast<uint64_t>(*pcr) & kTimeMask;
        store_u32(at, static_cast<uint32_t>(base >> 1U));
        // The last bit, six reserved ones, and the extension of 27 MHz, which is 0.
        store_u16(at + 4, static_cast<uint16_t>((base & 1U) << 15U | 0x7E00U));
        at += 6;
    }
    std::memset(at, 0xFF, static_cast<size_t>(end - at));
    return end;
}

uint8_t* add_packet(Bytes& out) {
    out.resize(out.size() + kPacketSize);
    return out.data() + out.size() - kPacketSize;
}

uint8_t stream_id(Content content) {
    if (is_video(content)) {
        return kVideoStreamId;
    }
    const bool is_private =
        content == Content::kAc3 || content == Content::kEac3 || content == Content::kOpus;
    return is_private ? kPrivateStreamId : kAudioStreamId;
}

uint16_t pid_of(size_t stream) {
    return static_cast<uint16_t>(kFirstWrittenPid + stream);
}

}  // namespace

Writer::Writer(int64_t pcr_gap) : pcr_gap_(pcr_gap) {
    WEIR_DCHECK(pcr_gap >= kPcrEach && pcr_gap <= kMaxPcrGap);
    Pat pat;
    pat.transport_stream = 1;
    pat.programs.push_back({kWrittenProgram, kWrittenPmtPid});
    pat.write(pat_);
    set_streams({});
}

void Writer::set_streams(std::span<const std::optional<StreamInfo>> streams) {
    WEIR_CHECK(streams.size() <= kMaxWrittenStreams);
    std::array<std::optional<StreamInfo>, kMaxWrittenStreams> next;
    std::ranges::copy(streams, next.begin());
    for (size_t i = 0; i < next.size(); i++) {
        if (next[i]) {
            next[i]->pid = pid_of(i);
        }
    }
    if (!pmt_.empty() && next == streams_) {
        return;
    }
    streams_ = next;
    const auto find = [this](auto&& fits) {
        return static_cast<size_t>(std::ranges::find_if(streams_, fits) - streams_.begin());
    };
    clock_stream_ = find([](const auto& each) { return each && is_video(each->content); });
    if (clock_stream_ == streams_.size()) {
        clock_stream_ = find([](const auto& each) { return each.has_value(); });
    }
    Pmt pmt;
    pmt.program = kWrittenProgram;
    version_ = pmt_.empty() ? uint8_t{0} : static_cast<uint8_t>((version_ + 1) & kMaxVersion);
    pmt.version = version_;
    pmt.pcr_pid = clock_stream_ == streams_.size() ? kNullPid : pid_of(clock_stream_);
    for (const std::optional<StreamInfo>& stream : streams_) {
        if (stream) {
            pmt.streams.push_back(*stream);
        }
    }
    constexpr size_t kOnePacket = kMaxPayload - kFlagsSize;
    pmt_.clear();
    pmt.write(pmt_);
    if (pmt_.size() >= kOnePacket) {
        for (StreamInfo& stream : pmt.streams) {
            stream.language = {};
        }
        pmt_.clear();
        pmt.write(pmt_);
    }
    WEIR_CHECK(pmt_.size() < kOnePacket);
    tables_due_ = true;
}

size_t Writer::place_of(uint16_t pid) {
    switch (pid) {
        case kPatPid: return kMaxWrittenStreams;
        case kWrittenPmtPid: return kMaxWrittenStreams + 1;
        default: return size_t{pid} - kFirstWrittenPid;
    }
}

void Writer::write_section(uint16_t pid, ByteSpan section, bool moved, Bytes& out) {
    uint8_t* const packet = add_packet(out);
    uint8_t* at = write_head(pid, kStartBit | kPayloadBit | next_counter(pid), kDiscontinuityFlag,
                             moved ? kFlagsSize : 0, {}, packet);
    *at++ = 0;  // pointer_field
    std::memcpy(at, section.data(), section.size());
    at += section.size();
    std::memset(at, 0xFF, static_cast<size_t>(packet + kPacketSize - at));
}

void Writer::put_tables(bool moved, Bytes& out) {
    write_section(kPatPid, pat_, moved, out);
    write_section(kWrittenPmtPid, pmt_, moved, out);
}

// Whether the clock cannot wait for the frame that is due then.
bool Writer::is_late(int64_t due) const {
    return pcr_ && due - *pcr_ > pcr_gap_;
}

// At this time of the clock. The next time is expected after as long as since the last.
void Writer::write_due_tables(int64_t time, bool key, Bytes& out) {
    const int64_t step = std::clamp(time - looked_at_.value_or(time), kPcrEach, pcr_gap_);
    looked_at_ = time;
    const bool late =
        !tables_at_ || time - *tables_at_ > kTablesEach - step || time < *tables_at_ - kClockHz;
    if (tables_due_ || key || late) {
        write_tables(out);
        tables_at_ = time;
    }
}

void Writer::write_tables(Bytes& out) {
    put_tables(false, out);
    tables_due_ = false;
}

// A packet of the clock's stream with a PCR and no payload, which does not count (§2.4.3.3).
void Writer::write_pcr(Bytes& out) {
    const uint16_t pid = pid_of(clock_stream_);
    const auto before = static_cast<uint8_t>((counters_[clock_stream_] - 1U) & 0x0F);
    write_head(pid, before, 0, kMaxPayload, pcr_, add_packet(out));
}

void Writer::put_in_order(Frame& frame) {
    Order& order = orders_[frame.stream];
    const int64_t lead = frame.dts - frame.pts;
    if (order.last_dts && *order.last_dts - (frame.dts - order.earlier) > kMaxOrdered) {
        order = {};
    }
    if (lead > order.earlier && lead <= kMaxOrdered) {
        order.earlier = lead;
    }
    frame.dts -= order.earlier;
    if (order.last_dts && frame.dts <= *order.last_dts) {
        frame.dts = *order.last_dts + 1;
    }
    frame.pts = std::max(frame.pts, frame.dts);
    order.last_dts = frame.dts;
}

void Writer::write(const Frame& as_given, Bytes& out) {
    WEIR_DCHECK(has_stream(as_given.stream));
    Frame frame = as_given;
    put_in_order(frame);
    const int64_t due = frame.dts - kPcrLead;
    if (pcr_ && (due - *pcr_ > kMaxPcrFill || due < *pcr_ - kMaxPcrFill)) {
        pcr_.reset();
    }
    const bool late = is_late(due);
    while (late && due - *pcr_ > kPcrEach) {
        *pcr_ += kPcrEach;
        write_due_tables(*pcr_, false, out);
        write_pcr(out);
    }
    write_due_tables(due, frame.key, out);
    std::optional<int64_t> pcr;
    if (frame.stream == clock_stream_ && (!pcr_ || due > *pcr_)) {
        pcr_ = due;
        pcr = due;
    }
    write_pes(frame, frame.key ? kRandomAccessFlag : 0, pcr, out);
}

void Writer::write_pes(const Frame& frame, uint8_t flags, std::optional<int64_t> pcr, Bytes& out) {
    const Content content = streams_[frame.stream]->content;
    const uint16_t pid = pid_of(frame.stream);
    size_t left = 0;
    for (const ByteSpan part : frame.parts) {
        left += part.size();
    }
    PesHeader header;
    header.stream_id = stream_id(content);
    header.aligned = true;
    header.pts = static_cast<uint64_t>(frame.pts) & kTimeMask;
    if (frame.dts != frame.pts) {
        header.dts = static_cast<uint64_t>(frame.dts) & kTimeMask;
    }
    header.payload_size = left;
    std::array<uint8_t, kMaxWrittenPesHeader> pes;
    size_t pes_left = header.write(pes.data());
    left += pes_left;

    size_t field = pcr ? kPcrFieldSize : flags != 0 ? kFlagsSize : 0;
    const size_t count = (left + field + kMaxPayload - 1) / kMaxPayload;
    const size_t start = out.size();
    out.resize(start + count * kPacketSize);
    PartsReader parts(frame.parts);
    uint8_t bits = kStartBit | kPayloadBit;
    for (uint8_t* packet = out.data() + start; left > 0; packet += kPacketSize) {
        const size_t size = std::min(left, kMaxPayload - field);
        field = kMaxPayload - size;
        uint8_t* at = write_head(pid, bits | next_counter(pid),
                                 bits & kStartBit ? flags : uint8_t{0}, field, pcr, packet);
        std::memcpy(at, pes.data(), pes_left);
        parts.copy(at + pes_left, size - pes_left);
        left -= size;
        pes_left = 0;
        pcr.reset();
        field = 0;
        bits = kPayloadBit;
    }
}

void Writer::write_beginning(std::span<const Frame> before, bool moved, Bytes& out) const {
    Writer copy = *this;
    Bytes packets;
    copy.orders_ = {};
    std::array<bool, kMaxWrittenStreams> is_told{};  // the discontinuity
    for (Frame frame : before) {
        copy.put_in_order(frame);
        const bool tells = moved && !std::exchange(is_told[frame.stream], true);
        copy.write_pes(frame, tells ? kDiscontinuityFlag : uint8_t{0}, {}, packets);
    }
    // So many packets before the counters of this.
    std::array<uint8_t, kMaxWrittenStreams> ahead{};
    for (size_t i = 0; i < ahead.size(); i++) {
        ahead[i] = static_cast<uint8_t>(copy.counters_[i] - counters_[i]);
    }
    for (size_t at = 0; at < packets.size(); at += kPacketSize) {
        const auto pid = static_cast<uint16_t>((packets[at + 1] & 0x1F) << 8 | packets[at + 2]);
        uint8_t& bits = packets[at + 3];
        bits = static_cast<uint8_t>((bits & 0xF0) | ((bits - ahead[place_of(pid)]) & 0x0F));
    }
    copy.counters_[place_of(kPatPid)]--;
    copy.counters_[place_of(kWrittenPmtPid)]--;
    copy.put_tables(moved, out);
    // A new reader needs no such packet, and go2rtc 1.9 ends at any packet without payload.
    for (size_t i = 0; moved && i < streams_.size(); i++) {
        if (streams_[i] && !is_told[i]) {
            const auto last = static_cast<uint8_t>((counters_[i] - 1) & 0x0F);
            // §2.4.3.5: the flag stays up to the next PCR, so this has one.
            write_head(pid_of(i), last, kDiscontinuityFlag, kMaxPayload,
                       i == clock_stream_ ? pcr_ : std::nullopt, add_packet(out));
        }
    }
    out.insert(out.end(), packets.begin(), packets.end());
}

}  // namespace weir::mpegts
