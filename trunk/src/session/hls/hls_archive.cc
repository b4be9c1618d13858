#include "session/hls/hls_archive.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "proto/http/target.h"
#include "session/hls/hls_file_names.h"
#include "session/hls/hls_folder.h"

namespace weir::session {

HlsArchive::HlsArchive(HlsFolder& folder, stream::StreamKey key, const HlsOptions& options)
    : folder_(folder),
      key_(std::move(key)),
      options_(options),
      name_(hls_folder_of(key_)),
      history_(options.container == net::SegmentContainer::kMp4) {}

HlsArchive::~HlsArchive() {
    folder_.note_waiting(-static_cast<int64_t>(waiting_bytes_));
}

const std::string& HlsArchive::root() const {
    return folder_.path();
}

// How long what has left a playlist is kept: for the longest one and a segment of it, RFC 8216
// §6.2.2.
// Deviation: with `dvr`, only as long as without: twice the disk would be for players that have not
// loaded the playlist for hours.
int64_t HlsArchive::keep_ms() const {
    return (std::max(options_.segments.window, net::SegmentStore::kMinWindow) + 2) *
           facts_.target_s * 1000;
}

// ---- what comes ----

void HlsArchive::add(const net::Segment& segment, const Facts& facts) {
    const bool independent = !segment.parts.empty() && segment.parts.front().independent;
    history_.add({.number = segment.number,
                  .header = segment.format->id,
                  .duration_ms = segment.duration_ms,
                  .wall_ms = segment.wall_ms,
                  .discontinuity = segment.discontinuity,
                  .key = segment.key},
                 independent);
    ended_ = false;
    const bool room = waiting_.empty() || (waiting_.size() < kMaxWaiting &&
                                           waiting_bytes_ + segment.bytes <= kMaxWaitingBytes);
    if (!room || !folder_.has_room(segment.bytes)) {
        folder_.note_too_slow();
        history_.settle(segment.number, false);
        folder_.note_lost();
        return;
    }
    waiting_.push_back({segment, facts});
    waiting_bytes_ += segment.bytes;
    folder_.note_waiting(static_cast<int64_t>(segment.bytes));
    folder_.want_turn(*this);
}

void HlsArchive::end(const Facts& facts) {
    if (ended_ || history_.empty()) {
        return;
    }
    facts_.target_s = std::max(facts_.target_s, facts.target_s);
    ended_ = true;
    lists_due_ = true;
    folder_.want_turn(*this);
}

void HlsArchive::leave() {
    left_ = true;
    kept_until_ =
        MonoClock::now() + std::max<Millis>(Millis(options_.dvr_ms + 2 * keep_ms()), kMinKept);
}

// ---- what is served ----

hls::History::Listed HlsArchive::older(uint64_t end, int64_t behind_ms) {
    if (has_dvr() && history_.find(end - 1) != nullptr) {
        dvr_first_ = history_.first_of(end - 1, options_.dvr_ms - behind_ms, dvr_first_);
        if (history_.find(dvr_first_)->state != hls::History::State::kLost) {
            return history_.listed(dvr_first_, end);
        }
    }
    dvr_first_ = std::max(dvr_first_, end);
    return {};
}

const net::Segment* HlsArchive::find_waiting(uint64_t number) const {
    if (const net::Segment* const now = folder_.segment_at_disk(*this, number)) {
        return now;
    }
    const auto found = std::ranges::find_if(
        waiting_, [number](const Waiting& each) { return each.segment.number == number; });
    return found == waiting_.end() ? nullptr : &found->segment;
}

std::string HlsArchive::segment_file(uint64_t number) const {
    const hls::History::Entry* const entry = has_dvr() ? history_.find(number) : nullptr;
    return entry != nullptr && entry->state == hls::History::State::kStored
               ? fmt::format("{}/{}", name_, hls::segment_name(number, mp4()))
               : "";
}

std::string HlsArchive::header_file(uint64_t header) const {
    return has_dvr() && history_.has_header(header)
               ? fmt::format("{}/{}", name_, hls::header_name(header))
               : "";
}

// ---- the disk ----

bool HlsArchive::next_turn(Turn& turn) {
    if (gone_whole_) {
        return false;
    }
    HlsWrite& write = turn.write;
    write.folder = name_;
    if (disposing_) {
        turn.clears = write.clears = true;
        return true;
    }
    write.begins = !begun_;
    if (!waiting_.empty()) {
        Waiting& first = waiting_.front();
        const net::Segment& segment = turn.segment.emplace(std::move(first.segment));
        const int64_t target_s = facts_.target_s;
        facts_ = std::move(first.facts);
        facts_.target_s = std::max(facts_.target_s, target_s);
        waiting_bytes_ -= segment.bytes;
        folder_.note_waiting(-static_cast<int64_t>(segment.bytes));
        waiting_.pop_front();
        last_ = segment.number;
        any_ = true;
        write.segment_name = hls::segment_name(last_, mp4());
        for (const net::SegmentPart& part : segment.parts) {
            write.segment.push_back(part.bytes->bytes());
        }
        if (mp4()) {
            write.header_name = hls::header_name(segment.format->id);
            write.header = segment.format->header;
        }
    } else if (!lists_due_ || !any_) {
        return false;
    }
    add_lists(write);
    return true;
}

void HlsArchive::add_lists(HlsWrite& write) {
    const int64_t window_ms =
        std::max(options_.segments.window, net::SegmentStore::kMinWindow) * facts_.target_s * 1000;
    disk_first_ = history_.first_of(last_, std::max(window_ms, options_.dvr_ms), disk_first_);
    history_.forget_before(disk_first_, keep_ms(), gone_);
    if (gone_.size() > kMaxGone) {
        gone_.erase(gone_.begin(), gone_.end() - kMaxGone);
    }
    write.gone = gone_;
    const hls::History::Listed listed = history_.listed(disk_first_, last_ + 1);
    hls::MediaPlaylist playlist;
    playlist.mp4 = mp4();
    playlist.target_s = facts_.target_s;
    playlist.discontinuity_sequence = listed.discontinuities_before;
    playlist.independent = listed.independent;
    playlist.ended = ended_ && waiting_.empty();
    playlist.next_number = last_ + 1;
    playlist.older = listed.older;
    write.lists.push_back({fmt::format("{}/{}", name_, hls::kMediaPlaylistName),
                           hls::write_media_playlist(playlist)});
    std::vector<HlsWrite::Other> others;
    std::string text = hls::write_multivariant(variants(others));
    write.lists.push_back({name_ + ".m3u8", std::move(text), std::move(others)});
    lists_due_ = false;
}

// Itself, then those of its variants that this process writes. `others`: those that it does not.
std::vector<hls::Variant> HlsArchive::variants(std::vector<HlsWrite::Other>& others) {
    const size_t above = name_.rfind('/') + 1;
    std::string up;
    for (const char c : name_) {
        up += c == '/' ? "../" : "";
    }
    const auto uri_of = [&](const std::string& other) {
        const bool beside = other.starts_with(name_.substr(0, above));
        return http::percent_encoded(fmt::format("{}{}/{}", beside ? "" : up,
                                                 beside ? other.substr(above) : other,
                                                 hls::kMediaPlaylistName));
    };
    const auto add = [&](const HlsArchive& files, std::vector<hls::Variant>& out) {
        out.push_back(files.facts_.variant);
        out.back().uri = uri_of(files.name_);
    };
    std::vector<hls::Variant> out;
    add(*this, out);
    for (const stream::StreamKey& key : options_.variants) {
        const HlsArchive* const files = folder_.find(key);
        if (files != nullptr && files != this && files->is_playable()) {
            add(*files, out);
        } else if (files != this) {
            const std::string other = hls_folder_of(key);
            others.push_back({other, uri_of(other)});
        }
    }
    return out;
}

void HlsArchive::take_back(const Turn& turn, const HlsWritten& done) {
    if (turn.clears) {
        gone_whole_ = !done.error;
        return;
    }
    if (done.taken) {
        if (turn.segment) {
            history_.settle(turn.segment->number, false);
        }
        lose_folder();
        return;
    }
    if (done.lost) {
        history_.lose_all();
        begun_ = false;
    }
    begun_ = begun_ || done.segment || !done.error;
    if (turn.segment) {
        const net::Segment& segment = *turn.segment;
        history_.settle(segment.number, done.segment);
        if (done.segment) {
            folder_.note_stored({.key = key_,
                                 .root = folder_.path(),
                                 .folder = name_,
                                 .file = turn.write.segment_name,
                                 .duration_ms = segment.duration_ms,
                                 .number = segment.number});
        } else {
            folder_.note_lost();
        }
    }
    if (done.gone) {
        gone_.clear();
    }
    listed_ = done.lists || (listed_ && !done.lost);
    lists_due_ = lists_due_ || !done.lists;
    if (!waiting_.empty() || (lists_due_ && ended_ && done.lists)) {
        folder_.want_turn(*this);
    }
}

void HlsArchive::begin_anew() {
    history_.lose_all();
    gone_.clear();
    begun_ = false;
    listed_ = false;
}

void HlsArchive::lose_folder() {
    for (const Waiting& each : waiting_) {
        history_.settle(each.segment.number, false);
    }
    waiting_.clear();
    folder_.note_waiting(-static_cast<int64_t>(std::exchange(waiting_bytes_, 0)));
    begin_anew();
    lists_due_ = false;
    any_ = false;  // there is nothing to end
}

}  // namespace weir::session
