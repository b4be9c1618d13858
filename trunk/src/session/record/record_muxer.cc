#include "session/record/record_muxer.h"

#include <algorithm>
#include <utility>

#include "net/record_name.h"
#include "proto/flv/plain_form.h"
#include "proto/flv/recording.h"
#include "proto/flv/tag.h"
#include "proto/mp4/fragment.h"

namespace weir::session {
namespace {

using net::kPartAudio;
using net::kPartVideo;
using net::PartFrame;
using net::PartFrames;

struct Sums {
    uint64_t frames = 0;
    uint64_t bytes = 0;
    int64_t first_ms = 0;
    int64_t end_ms = 0;
};

int64_t to_ms(uint64_t ticks, uint32_t timescale) {
    return static_cast<int64_t>(ticks * 1000 / std::max<uint32_t>(timescale, 1));
}

Sums sum_of(const PartFrames& frames, const net::PartTracks& tracks) {
    Sums sums;
    bool any = false;
    for (size_t i = 0; i < frames.size(); i++) {
        if (frames[i].empty() || !tracks[i]) {
            continue;
        }
        const uint32_t scale = tracks[i]->track.timescale;
        const int64_t first = to_ms(frames[i].front().ticks, scale);
        const int64_t end = to_ms(frames[i].back().ticks + frames[i].back().duration, scale);
        sums.first_ms = any ? std::min(sums.first_ms, first) : first;
        sums.end_ms = std::max(sums.end_ms, end);
        sums.frames += frames[i].size();
        for (const PartFrame& frame : frames[i]) {
            sums.bytes += frame.packet->payload().size();
        }
        any = true;
    }
    return sums;
}

}  // namespace

struct RecordMuxer::Moved {
    Moved(const PartFrames& from, const net::PartTracks& tracks, int64_t origin_ms) {
        for (size_t i = 0; i < from.size(); i++) {
            lists[i].assign(from[i].begin(), from[i].end());
            const auto scale = tracks[i] ? int64_t{tracks[i]->track.timescale} : 1;
            const auto back = static_cast<uint64_t>(std::max<int64_t>(origin_ms, 0) * scale / 1000);
            for (PartFrame& frame : lists[i]) {
                frame.ticks -= std::min(frame.ticks, back);
            }
            frames[i] = lists[i];
        }
    }

    std::array<std::vector<PartFrame>, net::kPartPlaces> lists;
    PartFrames frames;
};

RecordMuxer::RecordMuxer(RecordFormat format, const SplitRules& split, RecordOutput& output)
    : format_(format), split_(split), output_(output) {
    if (format != RecordFormat::kFlv) {
        writer_ =
            net::PartWriter::create(format == RecordFormat::kTs ? net::SegmentContainer::kTs
                                                                : net::SegmentContainer::kMp4File);
    }
}

// FLV has the bodies as they came, whatever their codec is.
bool RecordMuxer::carries(media::Codec codec) const {
    return writer_ ? writer_->carries(codec) : mp4::carries(codec);
}

Bytes RecordMuxer::begin(const net::PartTracks& tracks) {
    tracks_ = tracks;
    renew_ = true;
    return {};
}

void RecordMuxer::end(const char* why) {
    if (std::exchange(open_, false)) {
        output_.end_file(why);
    }
}

const char* RecordMuxer::reason_to_split(const PartFrames& frames) const {
    if (renew_) {
        return "codecs";
    }
    const Sums sums = sum_of(frames, tracks_);
    if (split_.after_ms > 0 && sums.first_ms - origin_ms_ >= split_.after_ms) {
        return "split";
    }
    if (split_.after_bytes > 0 &&
        bytes_ + std::max(last_bytes_, since_start_) > split_.after_bytes) {
        return "split_size";
    }
    if (split_.midnight && output_.wall_now_ms() >= midnight_ms_) {
        return "midnight";
    }
    return nullptr;
}

bool RecordMuxer::may_begin_with(const PartFrames& frames, int64_t duration_ms) {
    const auto& video = frames[kPartVideo];
    without_video_ms_ = video.empty() ? without_video_ms_ + duration_ms : 0;
    if (!tracks_[kPartVideo]) {
        return true;
    }
    return video.empty() ? without_video_ms_ > kVideoGoneMs : video.front().packet->info().key;
}

size_t RecordMuxer::write(const PartFrames& frames, bool first, Bytes&) {
    const Sums sums = sum_of(frames, tracks_);
    const int64_t duration_ms = sums.end_ms - sums.first_ms;
    const bool start = may_begin_with(frames, duration_ms);
    if (open_ && start) {
        if (const char* why = reason_to_split(frames)) {
            end(why);
        } else if (tracks_[kPartVideo]) {
            last_bytes_ = std::exchange(since_start_, 0);
        }
    }
    const bool fresh = !open_;
    if (fresh && (!start || !begin_file(frames))) {
        output_.lose(sums.frames, sums.bytes, duration_ms);
        return 0;
    }
    RecordUnit unit;
    unit.frames = static_cast<uint32_t>(sums.frames);
    unit.end_ms = std::max(end_ms_, sums.end_ms - origin_ms_);
    if (writer_) {
        const Moved moved(frames, tracks_, format_ == RecordFormat::kTs ? 0 : origin_ms_);
        // No styp: it is a file, not segments. Tables of a transport stream are due.
        const bool tables = (first || fresh) && format_ == RecordFormat::kTs;
        writer_->write(moved.frames, tables, unit.bytes);
    } else {
        write_flv(frames, unit.bytes);
    }
    const uint64_t size = unit.bytes.size();
    const int64_t end_ms = unit.end_ms;
    if (!output_.add(std::move(unit))) {
        open_ = false;
        output_.lose(sums.frames, sums.bytes, duration_ms);
        return 0;
    }
    end_ms_ = end_ms;
    bytes_ += size;
    since_start_ += size;
    return 0;
}

bool RecordMuxer::begin_file(const PartFrames& frames) {
    origin_ms_ = sum_of(frames, tracks_).first_ms;
    end_ms_ = 0;
    Bytes beginning = write_beginning();
    bytes_ = beginning.size();
    last_bytes_ = since_start_ = 0;
    if (!output_.begin_file(origin_ms_, std::move(beginning))) {
        return false;
    }
    midnight_ms_ = net::next_midnight_ms(output_.wall_now_ms());
    open_ = true;
    renew_ = false;
    return true;
}

Bytes RecordMuxer::write_beginning() {
    Bytes out;
    if (format_ == RecordFormat::kMp4) {
        (void)writer_->begin(tracks_);
        std::vector<mp4::Track> list;
        for (const auto& track : tracks_) {
            if (track) {
                list.push_back(track->track);
            }
        }
        mp4::write_header(list, out, mp4::Length::kFilledIn);
    } else if (format_ == RecordFormat::kTs) {
        (void)writer_->begin(tracks_);
    } else {
        const auto& video = tracks_[kPartVideo];
        flv::write_file_beginning({.audio = tracks_[kPartAudio].has_value(),
                                   .video = video.has_value(),
                                   .width = video ? video->track.width : 0,
                                   .height = video ? video->track.height : 0,
                                   .metadata = output_.metadata()},
                                  out);
        for (const auto& track : tracks_) {
            if (track && track->config) {
                put_tag(track->config, 0, out);
            }
        }
    }
    return out;
}

// For players that know no tracks.
void RecordMuxer::put_tag(const media::PacketRef& packet, int64_t time_ms, Bytes& out) const {
    const media::PacketRef plain = flv::plain_form(packet, packet->info().track_id);
    if (!plain) {
        return;
    }
    std::array<uint8_t, flv::kTagHeaderSize> header;
    std::array<uint8_t, flv::kTagTrailerSize> trailer;
    const auto size = static_cast<uint32_t>(plain->body().size());
    const auto time = static_cast<uint32_t>(std::max<int64_t>(time_ms, 0));
    ByteWriter(out)
        .bytes({header.data(), flv::write_tag_header(flv::tag_type(plain->info().kind), time, size,
                                                     header.data())})
        .bytes(plain->body())
        .bytes({trailer.data(), flv::write_tag_trailer(size, trailer.data())});
}

// In order of time. Audio keeps the times that it came with, so that no rounding adds up.
void RecordMuxer::write_flv(const PartFrames& frames, Bytes& out) {
    std::vector<const media::PacketRef*> order;
    size_t bytes = 0;
    for (const auto& list : frames) {
        for (const PartFrame& frame : list) {
            order.push_back(&frame.packet);
            bytes += flv::tag_size(frame.packet->body().size());
        }
    }
    std::ranges::stable_sort(order, {}, [](const auto* each) { return (*each)->time_ms(); });
    out.reserve(bytes);
    for (const media::PacketRef* packet : order) {
        put_tag(*packet, (*packet)->time_ms() - origin_ms_, out);
    }
}

}  // namespace weir::session
