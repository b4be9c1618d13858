#include "net/ts/ts_carrier.h"

#include <algorithm>

namespace weir::net {
namespace {

using mpegts::Content;
using mpegts::kHeaderSize;
using mpegts::kPacketSize;
using mpegts::kSyncByte;

constexpr uint8_t kAny = 0xFF;  // no counter

constexpr uint8_t kErrorBit = 0x80;
constexpr uint8_t kStartBit = 0x40;
constexpr uint8_t kScrambledBits = 0xC0;
constexpr uint8_t kFieldBit = 0x20;
constexpr uint8_t kPayloadBit = 0x10;
constexpr uint8_t kDiscontinuityFlag = 0x80;
constexpr uint8_t kRandomAccessFlag = 0x40;

constexpr size_t kPesHeaderSize = 9;  // ISO/IEC 13818-1 §2.4.3.6, up to the header's length

uint16_t pid_of(ByteSpan packet) {
    return static_cast<uint16_t>((packet[1] & 0x1F) << 8 | packet[2]);
}

// The flags of the adaptation field; 0: there is none.
uint8_t flags_of(ByteSpan packet) {
    return (packet[3] & kFieldBit) != 0 && packet[kHeaderSize] > 0 ? packet[kHeaderSize + 1] : 0;
}

ByteSpan payload_of(ByteSpan packet) {
    if ((packet[3] & kPayloadBit) == 0) {
        return {};
    }
    const size_t field = (packet[3] & kFieldBit) != 0 ? 1 + size_t{packet[kHeaderSize]} : 0;
    return packet.subspan(std::min(kHeaderSize + field, packet.size()));
}

enum class Picture : uint8_t { kUnknown, kKey, kOther };

// What the byte behind a start code says of the picture that it is of (ITU-T H.264 table 7-1, H.265
// table 7-1, H.262 table 6-1).
Picture picture_of(Content content, uint8_t code) {
    if (content == Content::kH264) {
        const int type = code & 0x1F;
        return type == 5 || type == 7   ? Picture::kKey  // IDR, SPS
               : type >= 1 && type <= 4 ? Picture::kOther
                                        : Picture::kUnknown;
    }
    if (content == Content::kHevc) {
        const int type = code >> 1 & 0x3F;
        return (type >= 16 && type <= 23) || type == 32 || type == 33 ? Picture::kKey  // IRAP, VPS
               : type < 16                                            ? Picture::kOther
                                                                      : Picture::kUnknown;
    }
    return code == 0xB3   ? Picture::kKey  // a sequence begins
           : code == 0x00 ? Picture::kOther
                          : Picture::kUnknown;
}

}  // namespace

TsCarrier::TsCarrier(uint64_t most_bytes) : most_bytes_(most_bytes) {
    continuity_.fill(kAny);
    tables_.emplace_back().pid = mpegts::kPatPid;
    has_table_.set(mpegts::kPatPid);
}

void TsCarrier::feed(ByteSpan bytes) {
    gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
    scan();
}

void TsCarrier::lose() {
    gathered_.resize(scanned_);
}

void TsCarrier::scan() {
    while (gathered_.size() - scanned_ >= kPacketSize) {
        if (gathered_[scanned_] != kSyncByte) {
            skip_to_sync();
            continue;
        }
        look_at(ByteSpan(gathered_).subspan(scanned_, kPacketSize));
        scanned_ += kPacketSize;
    }
}

// Drops what stands before the next packet, or all.
void TsCarrier::skip_to_sync() {
    const auto begin = gathered_.begin() + static_cast<std::ptrdiff_t>(scanned_);
    const auto next = std::find(begin + 1, gathered_.end(), kSyncByte);
    counters_.unsynced_bytes += static_cast<uint64_t>(next - begin);
    gathered_.erase(begin, next);
}

void TsCarrier::look_at(ByteSpan packet) {
    counters_.packets++;
    const uint16_t pid = pid_of(packet);
    if (pid == mpegts::kNullPid || (packet[1] & kErrorBit) != 0) {
        return;
    }
    count(packet, pid);
    if (has_table_.test(pid)) {
        if (Table* const table = table_of(pid)) {
            take_table(*table, packet);
        }
    } else if (video_ && pid == video_->pid && (packet[1] & kStartBit) != 0 &&
               begins_key_frame(packet)) {
        note_start();
    }
}

// ISO/IEC 13818-1 §2.4.3.3: counts packets with payload; each may come twice.
void TsCarrier::count(ByteSpan packet, uint16_t pid) {
    const uint8_t counter = packet[3] & 0x0F;
    const uint8_t before = continuity_[pid];
    const bool has_payload = (packet[3] & kPayloadBit) != 0;
    const bool jumps = (flags_of(packet) & kDiscontinuityFlag) != 0;
    if (before != kAny && !jumps && counter != before &&
        (!has_payload || counter != ((before + 1) & 0x0F))) {
        counters_.continuity_errors++;
        if (has_table_.test(pid)) {
            if (Table* const table = table_of(pid)) {
                table->sections.reset();
                table->open = false;
            }
        }
    }
    continuity_[pid] = counter;
}

// ---- tables ----

TsCarrier::Table* TsCarrier::table_of(uint16_t pid) {
    const auto found = std::ranges::find(tables_, pid, &Table::pid);
    return found == tables_.end() ? nullptr : &*found;
}

// The newest packets that hold a whole section are kept: their counters are the newest, so what
// comes in the stream goes on from them.
void TsCarrier::take_table(Table& table, ByteSpan packet) {
    const bool start = (packet[1] & kStartBit) != 0;
    const uint16_t pid = table.pid;
    if (start) {
        table.coming.clear();
        table.open = true;
    }
    if (table.open && table.coming.size() < kMaxTablePackets * kPacketSize) {
        table.coming.insert(table.coming.end(), packet.begin(), packet.end());
    }
    bool changed = false;
    bool whole = false;
    const uint64_t bad = table.sections.bad();
    table.sections.feed(payload_of(packet), start, [&](ByteSpan section) {
        whole = true;
        changed =
            (pid == mpegts::kPatPid ? programs_.on_pat(section) : programs_.on_pmt(pid, section)) ||
            changed;
    });
    counters_.bad_sections += table.sections.bad() - bad;
    if (whole && table.open) {
        table.packets = table.coming;
    }
    if (changed) {
        follow_tables();  // the table may be gone then
    }
}

void TsCarrier::follow_tables() {
    const std::vector<uint16_t> pids = programs_.pmt_pids();
    std::erase_if(tables_, [&](const Table& table) {
        const bool gone = table.pid != mpegts::kPatPid && std::ranges::count(pids, table.pid) == 0;
        if (gone) {
            has_table_.reset(table.pid);
        }
        return gone;
    });
    for (const uint16_t pid : pids) {
        if (!has_table_.test(pid)) {
            has_table_.set(pid);
            tables_.emplace_back().pid = pid;
        }
    }
    video_.reset();
    if (const mpegts::Pmt* const program = programs_.taken()) {
        const auto video = std::ranges::find_if(
            program->streams, [](const auto& each) { return mpegts::is_video(each.content); });
        if (video != program->streams.end()) {
            video_ = *video;
        }
    }
}

Bytes TsCarrier::tables() const {
    Bytes all;
    for (const Table& table : tables_) {
        if (all.size() + table.packets.size() <= kMaxTableBytes) {
            all.insert(all.end(), table.packets.begin(), table.packets.end());
        }
    }
    return all;
}

// ---- where players begin ----

// A PES packet of the video begins in `packet`: with a key frame?
bool TsCarrier::begins_key_frame(ByteSpan packet) const {
    if ((flags_of(packet) & kRandomAccessFlag) != 0) {
        return true;
    }
    const ByteSpan pes = payload_of(packet);
    if ((packet[3] & kScrambledBits) != 0 || pes.size() < kPesHeaderSize || pes[0] != 0 ||
        pes[1] != 0 || pes[2] != 1) {
        return false;
    }
    for (size_t at = kPesHeaderSize + pes[kPesHeaderSize - 1]; at + 3 < pes.size(); at++) {
        if (pes[at] == 0 && pes[at + 1] == 0 && pes[at + 2] == 1) {
            const Picture picture = picture_of(video_->content, pes[at + 3]);
            if (picture != Picture::kUnknown) {
                return picture == Picture::kKey;
            }
        }
    }
    return false;
}

// At the packet that is looked at.
void TsCarrier::note_start() {
    counters_.starts++;
    if (!start_) {
        start_.emplace(Start{0, tables()});
    }
    start_->at = scanned_;
}

void TsCarrier::close(MonoTime now) {
    Bytes whole = std::exchange(gathered_, {});
    const size_t size = std::exchange(scanned_, 0);
    gathered_.reserve(whole.size());
    gathered_.insert(gathered_.end(), whole.begin() + static_cast<std::ptrdiff_t>(size),
                     whole.end());
    whole.resize(size);
    if (!start_) {
        close_other(now, std::move(whole));
        return;
    }
    const Start start = std::move(*start_);
    start_.reset();
    const auto at = whole.begin() + static_cast<std::ptrdiff_t>(start.at);
    close_other(now, Bytes(whole.begin(), at));
    started_ = now;
    behind_start_ = size - start.at;
    close_start(start.tables, ByteSpan(whole).subspan(start.at));
}

// From here to the next start, or the present.
void TsCarrier::close_start(const Bytes& tables, ByteSpan bytes) {
    Bytes body;
    body.reserve(tables.size() + bytes.size());
    body.insert(body.end(), tables.begin(), tables.end());
    body.insert(body.end(), bytes.begin(), bytes.end());
    media::PacketInfo info;
    info.audience = media::Audience::kTransportStream;
    info.key = true;
    info.payload_offset = static_cast<uint16_t>(tables.size());
    closed_.push_back(make_ref<media::MediaPacket>(info, 0, std::move(body)));
}

void TsCarrier::close_other(MonoTime now, Bytes bytes) {
    if (bytes.empty()) {
        return;
    }
    behind_start_ += bytes.size();
    if (!started_ || now - *started_ > kOldestStart || behind_start_ > most_bytes_) {
        started_.reset();  // up to the next key frame
        close_start(tables(), bytes);
        return;
    }
    media::PacketInfo info;
    info.audience = media::Audience::kTransportStream;
    closed_.push_back(make_ref<media::MediaPacket>(info, 0, std::move(bytes)));
}

}  // namespace weir::net
