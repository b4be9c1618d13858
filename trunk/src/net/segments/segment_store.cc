#include "net/segments/segment_store.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace weir::net {

SegmentStore::SegmentStore(const SegmentOptions& options, uint64_t first_number)
    : options_(options), next_number_(first_number) {
    if (options.segments_per_key > 0) {
        cipher_.emplace(first_number, options.segments_per_key);
    }
}

void SegmentStore::open(Ref<const SegmentFormat> format,
                        int64_t start_ms,
                        int64_t wall_ms,
                        bool discontinuity,
                        int64_t expected_ms,
                        const SegmentClock& clock) {
    WEIR_CHECK(!has_open());
    ended_ = false;
    Segment segment;
    segment.number = next_number_++;
    segment.format = std::move(format);
    segment.clock = clock;
    segment.start_ms = start_ms;
    segment.wall_ms = wall_ms;
    segment.discontinuity = discontinuity;
    segment.expected_ms = expected_ms;
    segments_.push_back(std::move(segment));
    if (cipher_) {
        segments_.back().key = cipher_->key_id(segments_.back().number);
        cipher_->begin(segments_.back().number);
    }
}

void SegmentStore::add_part(NewPart part) {
    WEIR_CHECK(has_open());
    Bytes bytes = std::move(part.bytes);
    if (cipher_) {
        bytes = cipher_->encrypt(bytes);
        part.audio_at = 0;  // no place in the plain text is one in this
    }
    const int64_t duration_ms = part.duration_ms;
    append(std::move(bytes), std::move(part));
    parts_made_++;
    if (duration_ms <= 2 * options_.part_ms && duration_ms > usual_part_ms_) {
        usual_part_ms_ = duration_ms + kPartSlackMs;
    }
    changed();
}

void SegmentStore::append(Bytes bytes, NewPart part) {
    Segment& segment = segments_.back();
    bytes.shrink_to_fit();
    segment.bytes += bytes.size();
    bytes_ += bytes.size();
    segment.duration_ms += part.duration_ms;
    segment.video_frames += part.video_frames;
    std::vector<Ref<const SegmentBytes>> more;
    segment.more_bytes.resize(segment.format->more.size());
    for (size_t i = 0; i < part.more.size(); i++) {
        part.more[i].shrink_to_fit();
        segment.more_bytes[i] += part.more[i].size();
        bytes_ += part.more[i].size();
        more.push_back(make_ref<const SegmentBytes>(std::move(part.more[i])));
    }
    segment.parts.push_back({.bytes = make_ref<const SegmentBytes>(std::move(bytes)),
                             .audio_at = part.audio_at,
                             .duration_ms = part.duration_ms,
                             .independent = part.independent,
                             .composition_ms = part.composition_ms,
                             .more = std::move(more)});
}

void SegmentStore::close() {
    if (!has_open()) {
        return;
    }
    Segment& segment = segments_.back();
    if (segment.parts.empty()) {
        segments_.pop_back();
        next_number_--;
        return;
    }
    if (cipher_) {
        append(cipher_->finish(), {});
    }
    segment.complete = true;
    segments_made_++;
    expect(segment.duration_ms);
    move_window();
    changed();
}

void SegmentStore::end() {
    close();
    ended_ = true;
    changed();
}

void SegmentStore::expect(int64_t duration_ms) {
    if (!target_fixed_) {
        longest_ms_ = std::max(longest_ms_, duration_ms);
    }
}

void SegmentStore::fix_target() {
    if (has_open()) {
        expect(segments_.back().duration_ms);
    }
    target_fixed_ = true;
}

std::optional<int64_t> SegmentStore::longest_ms() const {
    return target_fixed_ ? std::optional(target_seconds() * 1000 + 499) : std::nullopt;
}

size_t SegmentStore::first_with_parts() const {
    int64_t behind_ms = 0;
    size_t first = segments_.size();
    while (first > first_listed_ && behind_ms < kPartTargets * target_seconds() * 1000) {
        behind_ms += segments_[--first].duration_ms;
    }
    return first;
}

int64_t SegmentStore::part_target_ms() const {
    int64_t longest = 0;
    for (size_t i = first_with_parts(); i < segments_.size(); i++) {
        for (const SegmentPart& part : segments_[i].parts) {
            longest = std::max(longest, part.duration_ms);
        }
    }
    if (longest <= usual_part_ms_) {
        return usual_part_ms_;
    }
    return (longest + kPartSlackMs + kLongPartStepMs - 1) / kLongPartStepMs * kLongPartStepMs;
}

// Segments leave the list while it stays as long as it has to be without them, and memory when
// those that have left are as long together as the list.
void SegmentStore::move_window() {
    const int64_t wanted_ms = std::max(options_.window, kMinWindow) * target_seconds() * 1000;
    int64_t listed_ms = 0;
    for (size_t i = first_listed_; i < segments_.size(); i++) {
        listed_ms += segments_[i].duration_ms;
    }
    const auto unlist = [&] {
        const Segment& first = segments_[first_listed_++];
        listed_ms -= first.duration_ms;
        // The discontinuity goes with the segment behind it.
        discontinuities_before_ += first.discontinuity ? 1 : 0;
    };
    while (segments_.size() - first_listed_ > kMinWindow &&
           listed_ms - segments_[first_listed_].duration_ms >= wanted_ms) {
        unlist();
    }
    int64_t kept_ms = 0;
    for (size_t i = 0; i < first_listed_; i++) {
        kept_ms += segments_[i].duration_ms;
    }
    // A segment stays for its own length and that of the playlist (RFC 8216 §6.2.2).
    while (first_listed_ > 0 &&
           (kept_ms - 2 * segments_.front().duration_ms >= listed_ms || bytes_ > kMaxBytes)) {
        kept_ms -= segments_.front().duration_ms;
        drop_first();
    }
    while (bytes_ > kMaxBytes && segments_.size() > 1) {
        unlist();
        drop_first();
    }
}

// It has left the list.
void SegmentStore::drop_first() {
    const Segment& first = segments_.front();
    bytes_ -= std::accumulate(first.more_bytes.begin(), first.more_bytes.end(), first.bytes);
    segments_.pop_front();
    first_listed_--;
}

const Segment* SegmentStore::find(uint64_t number) const {
    if (segments_.empty() || number < segments_.front().number ||
        number > segments_.back().number) {
        return nullptr;
    }
    return &segments_[number - segments_.front().number];
}

const SegmentFormat* SegmentStore::find_format(uint64_t id) const {
    const auto found = std::ranges::find_if(
        segments_, [id](const Segment& segment) { return segment.format->id == id; });
    return found == segments_.end() ? nullptr : found->format.get();
}

const Segment* SegmentStore::find_at(uint64_t format_id, uint64_t start_ms) const {
    const auto found = std::ranges::find_if(segments_, [&](const Segment& segment) {
        return segment.format->id == format_id &&
               segment.start_ms == static_cast<int64_t>(start_ms);
    });
    return found == segments_.end() ? nullptr : &*found;
}

// Rounded as the rule is for what it bounds, RFC 8216 §4.3.3.1.
int64_t SegmentStore::target_seconds() const {
    return std::max<int64_t>({1, (options_.fragment_ms + 500) / 1000, (longest_ms_ + 500) / 1000});
}

bool SegmentStore::independent() const {
    return std::all_of(segments_.begin() + static_cast<std::ptrdiff_t>(first_listed_),
                       segments_.end(), [](const Segment& segment) {
                           return segment.parts.empty() || segment.parts.front().independent;
                       });
}

void SegmentStore::changed() {
    version_++;
    if (listener_ != nullptr) {
        listener_->on_segments();
    }
}

}  // namespace weir::net
