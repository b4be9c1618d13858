// Invariants: at most one job is under way (busy_), and file_ is touched by nobody else meanwhile;
// ready_ holds at most RecordVod::kAhead fragments.
#include "session/record/record_vod_source.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "proto/flv/packet_maker.h"

namespace weir::session {

// What a reader thread is asked for, and what it found.
struct RecordVodSource::Job {
    VodPiece piece;
    std::shared_ptr<VodFile> file;   // null: to be opened
    std::optional<int64_t> seek_ms;  // where to read, in place of the offset
    uint64_t offset = 0;
    uint64_t generation = 0;
    size_t index = 0;    // of the piece
    bool fresh = false;  // it was opened here

    Error error;
    VodFile::Got got = VodFile::Got::kEnd;
    VodFragment fragment;
    int64_t begin_ms = 0;  // of the span where a seek has led
    int64_t duration_ms = 0;

    void run() {
        if (!file) {
            auto opened = VodFile::open(piece);
            if (!opened.ok()) {
                error = opened.take_error();
                return;
            }
            file = std::move(*opened);
            fresh = true;
        } else if (seek_ms) {
            file->look_again();
        }
        if (seek_ms) {
            offset = file->offset_of(*seek_ms);
        }
        duration_ms = file->duration_ms();
        const auto& spans = file->index().spans;
        const auto span = std::ranges::find(spans, offset, &mp4::FileSpan::offset);
        begin_ms = span != spans.end() ? span->time_ms : 0;
        const auto stop = std::ranges::lower_bound(spans, piece.to_ms, {}, &mp4::FileSpan::time_ms);
        if (stop != spans.end() && offset >= stop->offset) {
            return;  // what was asked for ends here
        }
        auto read = file->read(offset, fragment);
        if (!read.ok()) {
            error = read.take_error();
            return;
        }
        got = *read;
        // In a file that grows, spans come that the index does not have yet.
        if (got == VodFile::Got::kFragment && !fragment.samples.empty() &&
            fragment.samples.front().key && fragment.samples.front().time_ms >= piece.to_ms) {
            got = VodFile::Got::kEnd;
        }
    }
};

RecordVodSource::RecordVodSource(RecordVod& vod,
                                 std::vector<VodPiece> pieces,
                                 net::AddressPlace place)
    : vod_(vod),
      place_(std::move(place)),
      self_(std::make_shared<RecordVodSource*>(this)),
      pieces_(std::move(pieces)),
      seek_ms_(pieces_.front().from_ms),
      wanted_ms_(INT64_MIN),
      last_duration_ms_(pieces_.back().file.duration_ms) {
    vod_.open_++;
    go_on();
}

RecordVodSource::~RecordVodSource() {
    *self_ = nullptr;
    forget_ready();
    vod_.open_--;
}

void RecordVodSource::forget_ready() {
    for (const Ready& ready : ready_) {
        vod_.held_bytes_ -= ready.fragment.bytes.size();
    }
    ready_.clear();
    packets_.clear();
}

// ---- times ----

// What is played of the piece.
int64_t RecordVodSource::length_of(size_t piece) const {
    const VodPiece& of = pieces_[piece];
    return std::max<int64_t>(std::min(of.file.duration_ms, of.to_ms) - of.from_ms, 0);
}

// Where the piece begins in the whole.
int64_t RecordVodSource::base_of(size_t piece) const {
    int64_t base_ms = 0;
    for (size_t i = 0; i < piece; i++) {
        base_ms += length_of(i);
    }
    return base_ms;
}

int64_t RecordVodSource::duration_ms() const {
    const VodPiece& last = pieces_.back();
    return base_of(pieces_.size() - 1) +
           std::max<int64_t>(std::min(last_duration_ms_, last.to_ms) - last.from_ms, 0);
}

bool RecordVodSource::grows() const {
    return pieces_.back().grows;
}

bool RecordVodSource::ended() const {
    return read_all_ && ready_.empty() && packets_.empty();
}

void RecordVodSource::seek(int64_t time_ms) {
    generation_++;
    forget_ready();
    size_t piece = 0;
    int64_t base_ms = 0;
    while (piece + 1 < pieces_.size() && base_ms + length_of(piece) <= time_ms) {
        base_ms += length_of(piece++);
    }
    if (piece != piece_) {
        piece_ = piece;
        file_.reset();
    }
    seek_ms_ = std::max<int64_t>(time_ms - base_ms, 0) + pieces_[piece].from_ms;
    wanted_ms_ = *seek_ms_;
    restarts_ = true;
    waits_ = false;
    read_all_ = false;
    go_on();
}

void RecordVodSource::poll() {
    if (waits_) {
        waits_ = false;
        go_on();
    }
}

// ---- reading ----

void RecordVodSource::go_on() {
    const size_t most = vod_.held_bytes_ > RecordVod::kMaxHeldBytes ? 1 : RecordVod::kAhead;
    if (busy_ || waits_ || read_all_ || ready_.size() >= most) {
        return;
    }
    const auto job = std::make_shared<Job>();
    VodPiece& piece = pieces_[piece_];
    if (piece.grows && piece.file.elsewhere) {
        vod_.service_.look_soon();
    }
    piece.grows = piece.grows && vod_file_grows(vod_.service_, piece.file);
    job->piece = piece;
    job->file = file_;
    job->index = piece_;
    job->seek_ms = std::exchange(seek_ms_, std::nullopt);
    job->offset = offset_;
    job->generation = generation_;
    busy_ = true;
    Error refused = vod_.readers_->submit([job] { job->run(); },
                                          [self = self_, job] {
                                              if (*self != nullptr) {
                                                  (*self)->take_back(*job);
                                              }
                                          });
    if (refused) {  // poll() tries again: nothing is left out
        seek_ms_ = job->seek_ms;
        failed_ = std::move(refused);
        busy_ = false;
        waits_ = true;
    }
}

void RecordVodSource::take_back(Job& job) {
    busy_ = false;
    if (job.generation != generation_) {
        go_on();  // a file that was opened for the old place is opened again
        return;
    }
    if (job.error) {
        take_error(job);
        return;
    }
    file_ = std::move(job.file);
    if (job.fresh) {
        tracks_ = std::make_shared<const std::vector<mp4::StoredTrack>>(file_->tracks());
        if (job.seek_ms && pieces_[piece_].from_ms > 0) {
            // It begins with a whole span.
            pieces_[piece_].from_ms = std::min(pieces_[piece_].from_ms, job.begin_ms);
        }
    }
    offset_ = job.offset;
    if (piece_ + 1 == pieces_.size()) {
        last_duration_ms_ = job.duration_ms;
    }
    if (job.got == VodFile::Got::kFragment) {
        vod_.held_bytes_ += job.fragment.bytes.size();
        ready_.push_back({.fragment = std::move(job.fragment),
                          .tracks = tracks_,
                          .shift_ms = base_of(piece_) - pieces_[piece_].from_ms,
                          .restarts = std::exchange(restarts_, false),
                          .wanted_ms = wanted_ms_});
    } else if (job.got == VodFile::Got::kNotYet && job.piece.grows) {
        waits_ = true;  // nothing that the listener would want to hear of
        return;
    } else {
        next_piece();
    }
    go_on();
    if (listener_ != nullptr) {
        listener_->on_vod_ready();
    }
}

// The rest of that file is left out.
void RecordVodSource::take_error(Job& job) {
    log::warn("recording not played file={}: {}", log::token(job.piece.file.file),
              log::escaped(job.error.message()));
    failed_ = std::move(job.error);
    next_piece();
    go_on();
    if (listener_ != nullptr) {
        listener_->on_vod_ready();
    }
}

void RecordVodSource::next_piece() {
    if (piece_ + 1 == pieces_.size()) {
        read_all_ = true;
        return;
    }
    piece_++;
    file_.reset();
    seek_ms_ = pieces_[piece_].from_ms;
}

// ---- packets ----

// The first track of its kind that has a known codec.
bool RecordVodSource::is_wanted(const std::vector<mp4::StoredTrack>& tracks, size_t track) {
    for (size_t i = 0; i < track; i++) {
        if (tracks[i].video == tracks[track].video && tracks[i].codec != media::Codec::kUnknown) {
            return false;
        }
    }
    return true;
}

// To the last key frame at or before the time that was wanted: a fragment may have several.
void RecordVodSource::skip(Ready& ready) {
    const std::vector<mp4::StoredSample>& samples = ready.fragment.samples;
    const bool video = std::ranges::any_of(samples, [&](const mp4::StoredSample& sample) {
        return (*ready.tracks)[sample.track].video;
    });
    for (size_t i = 0; i < samples.size() && samples[i].time_ms <= ready.wanted_ms; i++) {
        if (samples[i].key && (*ready.tracks)[samples[i].track].video == video) {
            ready.next = i;
        }
    }
}

// Its sequence headers are in force from now on.
void RecordVodSource::enter(Ready& ready) {
    const bool same = entered_ == ready.tracks || (entered_ && *entered_ == *ready.tracks);
    entered_ = ready.tracks;
    if (!same) {
        configs_.clear();
        codecs_ = {};
    }
    for (size_t i = 0; i < ready.tracks->size() && !same; i++) {
        const mp4::StoredTrack& track = (*ready.tracks)[i];
        if (!is_wanted(*ready.tracks, i)) {
            continue;
        }
        if (track.codec != media::Codec::kUnknown) {
            (track.video ? codecs_.video : codecs_.audio) = track.codec;
        }
        if (track.config.empty()) {
            continue;
        }
        media::PacketInfo info;
        info.kind = track.video ? media::TrackKind::kVideo : media::TrackKind::kAudio;
        info.codec = track.codec;
        info.config = true;
        const int64_t time_ms = ready.fragment.samples.empty()
                                    ? 0
                                    : ready.fragment.samples.front().time_ms + ready.shift_ms;
        if (auto packet = flv::make_packet(info, time_ms, track.config)) {
            configs_.insert(track.video ? configs_.begin() : configs_.end(), packet);
            if (!ready.restarts) {
                packets_.push_back(flv::make_packet(info, time_ms, track.config));
            }
        }
    }
}

void RecordVodSource::make_packet(const Ready& ready, const mp4::StoredSample& sample) {
    const mp4::StoredTrack& track = (*ready.tracks)[sample.track];
    if (!is_wanted(*ready.tracks, sample.track)) {
        return;
    }
    media::PacketInfo info;
    info.kind = track.video ? media::TrackKind::kVideo : media::TrackKind::kAudio;
    info.codec = track.codec;
    info.key = track.video && sample.key;
    info.composition_ms = track.video ? sample.composition_ms : 0;
    const ByteSpan data = ByteSpan(ready.fragment.bytes).subspan(sample.offset, sample.size);
    auto packet =
        flv::make_packet(info, std::max<int64_t>(sample.time_ms + ready.shift_ms, 0), data);
    if (packet) {
        packets_.push_back(std::move(packet));
    }
}

media::MediaPacket* RecordVodSource::front() {
    while (packets_.empty() && !ready_.empty()) {
        Ready& ready = ready_.front();
        if (!std::exchange(ready.entered, true)) {
            enter(ready);
            if (ready.restarts) {
                skip(ready);
            }
        }
        if (ready.next < ready.fragment.samples.size()) {
            make_packet(ready, ready.fragment.samples[ready.next++]);
            continue;
        }
        vod_.held_bytes_ -= ready.fragment.bytes.size();
        ready_.pop_front();
        go_on();
    }
    return packets_.empty() ? nullptr : packets_.front().get();
}

Ref<media::MediaPacket> RecordVodSource::pop() {
    Ref<media::MediaPacket> packet = std::move(packets_.front());
    packets_.pop_front();
    return packet;
}

}  // namespace weir::session
