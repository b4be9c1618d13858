#include "proto/mpegts/reader.h"

#include <algorithm>
#include <utility>

namespace weir::mpegts {
namespace {

// Sizes of packets with other things around them.
constexpr size_t kM2tsSize = 192;    // a time of arrival before each
constexpr size_t kParitySize = 204;  // 16 bytes of Reed-Solomon behind each

// Where the first of three packets of that size begins; kParitySize: nowhere.
size_t find_packets(ByteSpan bytes, size_t size) {
    size_t at = 0;
    while (at < kParitySize && (bytes[at] != kSyncByte || bytes[at + size] != kSyncByte ||
                                bytes[at + 2 * size] != kSyncByte)) {
        at++;
    }
    return at;
}

// MPEG audio may be of a layer that hardly anybody takes: another one is better.
bool is_sure_audio(Content content) {
    return is_audio(content) && content != Content::kOtherAudio && content != Content::kMpegAudio;
}

}  // namespace

Reader::Reader(const ReaderOptions& options)
    : programs_(options.program), max_audio_(options.max_audio) {
    follow_tables();
}

// ---- packets ----

size_t Reader::feed(ByteSpan bytes) {
    size_t used = 0;
    const auto hold = [&](size_t up_to) {
        const size_t more = std::min(up_to - held_size_, bytes.size() - used);
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(used), more,
                    held_.begin() + static_cast<std::ptrdiff_t>(held_size_));
        held_size_ += more;
        used += more;
        return held_size_ == up_to;
    };
    while (!failed_ && !tracks_changed_ && !units_ready_) {
        if (!synced_) {
            if (!hold(kProbe) || !find_sync()) {
                break;
            }
            continue;
        }
        if (held_size_ == 0 && bytes.size() - used >= kPacketSize) {
            const ByteSpan packet = bytes.subspan(used, kPacketSize);
            synced_ = packet[0] == kSyncByte;
            if (synced_) {
                used += kPacketSize;
                take_packet(packet);
            } else {
                counters_.sync_losses++;
            }
            continue;
        }
        if (held_size_ < kPacketSize && !hold(kPacketSize)) {
            break;
        }
        synced_ = held_[0] == kSyncByte;
        if (!synced_) {
            counters_.sync_losses++;
            continue;
        }
        take_packet(ByteSpan(held_).first(kPacketSize));
        held_size_ -= kPacketSize;
        std::copy_n(held_.begin() + kPacketSize, held_size_, held_.begin());
    }
    return used;
}

// In held_, which is full. Drops what is before the first packet. False: an error.
bool Reader::find_sync() {
    size_t at = find_packets(held_, kPacketSize);
    synced_ = at < kParitySize;
    for (const size_t size : {kM2tsSize, kParitySize}) {
        if (!synced_ && find_packets(held_, size) < kParitySize) {
            failed_ = true;
            error_ = make_error(ErrorCode::kUnsupported,
                                "a transport stream of packets of {} bytes; those of {} are read",
                                size, kPacketSize);
            return false;
        }
    }
    lose();
    counters_.skipped_bytes += at;
    held_size_ -= at;
    std::copy_n(held_.begin() + static_cast<std::ptrdiff_t>(at), held_size_, held_.begin());
    return true;
}

void Reader::take_packet(ByteSpan bytes) {
    counters_.packets++;
    const std::optional<Packet> packet = Packet::parse(bytes);
    if (!packet) {
        counters_.malformed++;
        return;
    }
    if (packet->transport_error) {
        counters_.transport_errors++;
        return;
    }
    const uint8_t place = place_[packet->pid];
    if (place == 0) {
        return;
    }
    Pid& pid = *pids_[place - 1U];
    if (packet->scrambled) {
        counters_.scrambled++;
        lose(pid);
        return;
    }
    if (!is_in_order(pid, *packet) || !packet->has_payload) {
        return;
    }
    if (pid.use == Use::kStream) {
        take_pes(pid, *packet);
    } else {
        take_sections(pid, *packet);
    }
}

// §2.4.3.3: the counter counts packets with a payload, and one of them may be sent twice. False: it
// is that one.
bool Reader::is_in_order(Pid& pid, const Packet& packet) {
    const std::optional<uint8_t> before = std::exchange(pid.counter, packet.counter);
    const bool repeated = std::exchange(pid.repeated, false);
    if (!before || !packet.has_payload) {
        return true;
    }
    if (packet.counter == ((*before + 1) & 0x0F)) {
        return true;
    }
    if (packet.counter == *before && !repeated && !packet.discontinuity) {
        pid.repeated = true;
        counters_.duplicates++;
        return false;
    }
    counters_.continuity_errors += packet.discontinuity ? 0 : 1;
    lose(pid);
    return true;
}

void Reader::lose(Pid& pid) {
    pid.sections.reset();
    pid.head.clear();
    pid.in_packet = false;
    if (pid.framer) {
        pid.framer->lose();
    }
}

void Reader::lose() {
    for (const std::unique_ptr<Pid>& pid : pids_) {
        lose(*pid);
        pid->counter.reset();
    }
}

// ---- tables ----

void Reader::take_sections(Pid& pid, const Packet& packet) {
    bool changed = false;
    pid.sections.feed(packet.payload, packet.unit_start, [&](ByteSpan section) {
        const bool news =
            pid.use == Use::kPat ? programs_.on_pat(section) : programs_.on_pmt(pid.pid, section);
        changed = changed || news;
    });
    if (changed) {
        follow_tables();  // `pid` may be gone
    }
}

std::vector<Track> Reader::choose_tracks() const {
    std::vector<Track> tracks;
    const Pmt* const pmt = programs_.taken();
    if (pmt == nullptr) {
        return tracks;
    }
    for (const StreamInfo& info : pmt->streams) {
        tracks.push_back({info, false});
    }
    const auto take_first = [&tracks](auto&& fits, size_t most = 1) {
        std::optional<Content> first;
        for (Track& track : tracks) {
            const Content content = track.info.content;
            if (most > 0 && (first ? content == *first : fits(content))) {
                first = content;
                track.taken = true;
                most--;
            }
        }
        return first.has_value();
    };
    take_first([](Content it) { return it == Content::kH264 || it == Content::kHevc; });
    if (!take_first(is_sure_audio, max_audio_)) {
        take_first([](Content it) { return it == Content::kMpegAudio; }, max_audio_);
    }
    return tracks;
}

void Reader::add_pid(uint16_t pid, Use use, std::vector<std::unique_ptr<Pid>>& list) {
    const bool there = std::ranges::any_of(
        list, [pid](const std::unique_ptr<Pid>& each) { return each->pid == pid; });
    if (there || pid == kNullPid) {
        return;  // what uses a PID first has it
    }
    const auto known = std::ranges::find_if(pids_, [&](const std::unique_ptr<Pid>& each) {
        return each && each->pid == pid && each->use == use;
    });
    if (known != pids_.end()) {
        list.push_back(std::move(*known));
        return;
    }
    list.push_back(std::make_unique<Pid>());
    list.back()->pid = pid;
    list.back()->use = use;
}

// Reads the PIDs that the tables name now. Those that stay keep what they have.
void Reader::follow_tables() {
    std::vector<Track> tracks = choose_tracks();
    std::vector<std::unique_ptr<Pid>> next;
    add_pid(kPatPid, Use::kPat, next);
    for (const uint16_t pid : programs_.pmt_pids()) {
        add_pid(pid, Use::kPmt, next);
    }
    for (size_t i = 0; i < tracks.size(); i++) {
        if (!tracks[i].taken) {
            continue;
        }
        const size_t count = next.size();
        add_pid(tracks[i].info.pid, Use::kStream, next);
        if (next.size() == count) {
            tracks[i].taken = false;
            continue;
        }
        Pid& pid = *next.back();
        const bool same = pid.framer && tracks_[pid.track].info == tracks[i].info;
        if (!same) {
            pid.framer = Framer::create(tracks[i].info);
            pid.head.clear();
            pid.in_packet = false;
        }
        pid.track = i;
    }
    for (const std::unique_ptr<Pid>& gone : pids_) {
        if (gone) {
            gone_malformed_ +=
                gone->sections.bad() + (gone->framer ? gone->framer->malformed() : 0);
        }
    }
    pids_ = std::move(next);
    place_.assign(kPids, 0);
    for (size_t i = 0; i < pids_.size(); i++) {
        place_[pids_[i]->pid] = static_cast<uint8_t>(i + 1);
    }
    tracks_changed_ = tracks_changed_ || tracks != tracks_;
    tracks_ = std::move(tracks);
}

// ---- PES packets ----

void Reader::take_pes(Pid& pid, const Packet& packet) {
    if (packet.unit_start) {
        pid.random_access = packet.random_access;
        pid.head.clear();
    } else if (pid.head.empty()) {
        add_payload(pid, packet.payload);
        return;
    }
    ByteSpan bytes = packet.payload;
    if (!packet.unit_start) {
        pid.head.insert(pid.head.end(), bytes.begin(), bytes.end());
        bytes = pid.head;
    }
    PesHeader header;
    switch (PesHeader::parse(bytes, header)) {
        case PesHeader::Status::kNeedMore:
            if (packet.unit_start) {
                end_pes(pid, {});
                pid.head.assign(bytes.begin(), bytes.end());
            }
            return;
        case PesHeader::Status::kMalformed:
            counters_.malformed++;
            end_pes(pid, {});
            pid.head.clear();
            return;
        case PesHeader::Status::kDone: break;
    }
    begin_pes(pid, header, bytes.subspan(header.size));
    pid.head.clear();
}

void Reader::begin_pes(Pid& pid, const PesHeader& header, ByteSpan rest) {
    end_pes(pid, rest);
    if (header.scrambled) {
        counters_.scrambled++;
        return;
    }
    PesTimes times;
    if (header.pts) {
        times.pts = times_.unwrap(*header.pts);
        times.dts = header.dts ? times_.unwrap(*header.dts) : times.pts;
    }
    pid.in_packet = true;
    pid.remaining = header.payload_size;
    pid.framer->begin(times, pid.random_access);
    add_payload(pid, rest);
}

void Reader::add_payload(Pid& pid, ByteSpan payload) {
    if (!pid.in_packet) {
        return;
    }
    if (!pid.remaining) {
        pid.framer->append(payload);
        return;
    }
    const size_t size = std::min(*pid.remaining, payload.size());
    pid.framer->append(payload.first(size));
    *pid.remaining -= size;
    if (*pid.remaining == 0) {
        end_pes(pid, {});
    }
}

// One that is shorter than it says is taken as it is: nothing of it is missing.
void Reader::end_pes(Pid& pid, ByteSpan next) {
    if (std::exchange(pid.in_packet, false)) {
        pid.framer->end(next);
        units_ready_ = units_ready_ || pid.framer->has_units();
    }
}

// ---- what comes out ----

void Reader::finish() {
    for (const std::unique_ptr<Pid>& pid : pids_) {
        if (pid->framer && !pid->framer->has_units()) {
            pid->in_packet = false;
            pid->framer->finish();
            units_ready_ = units_ready_ || pid->framer->has_units();
        }
    }
}

Reader::Event Reader::next(Unit& unit, size_t& track) {
    if (std::exchange(tracks_changed_, false)) {
        return Event::kTracks;
    }
    if (units_ready_) {
        for (const std::unique_ptr<Pid>& pid : pids_) {
            if (pid->framer && pid->framer->next(unit)) {
                track = pid->track;
                counters_.units++;
                return Event::kUnit;
            }
        }
        units_ready_ = false;
    }
    return error_ ? Event::kError : Event::kNeedMore;
}

ReaderCounters Reader::counters() const {
    ReaderCounters out = counters_;
    out.malformed += gone_malformed_;
    for (const std::unique_ptr<Pid>& pid : pids_) {
        out.malformed += pid->sections.bad() + (pid->framer ? pid->framer->malformed() : 0);
    }
    return out;
}

size_t Reader::heap_bytes() const {
    return pids_.capacity() * sizeof(void*) + pids_.size() * sizeof(Pid) +
           tracks_.capacity() * sizeof(Track) + place_.capacity();
}

}  // namespace weir::mpegts
