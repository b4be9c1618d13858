#include "proto/hls/history.h"

#include <algorithm>
#include <utility>

namespace weir::hls {
namespace {

constexpr std::string_view kGap = "#EXT-X-GAP\n";

}  // namespace

void History::add(const PlaylistSegment& segment, bool independent) {
    if (!entries_.empty() && segment.number != entries_.back().number + 1) {
        for (const Entry& entry : entries_) {
            discontinuities_gone_ += entry.discontinuity ? 1U : 0U;
        }
        entries_.clear();
    }
    Entry entry{.number = segment.number,
                .header = segment.header,
                .duration_ms = segment.duration_ms,
                .discontinuity = segment.discontinuity,
                .independent = independent};
    entry.begins_header = entries_.empty() || entries_.back().header != segment.header;
    write_segment(segment, mp4_, entry.begins_header, entry.text);
    entries_.push_back(std::move(entry));
    if (entries_.size() > kMaxEntries) {
        discontinuities_gone_ += entries_.front().discontinuity ? 1U : 0U;
        entries_.pop_front();
    }
    version_++;
}

// Behind the last entry for what is not there.
size_t History::index_of(uint64_t number) const {
    return entries_.empty() || number < entries_.front().number
               ? entries_.size()
               : std::min<size_t>(number - entries_.front().number, entries_.size());
}

const History::Entry* History::find(uint64_t number) const {
    const size_t index = index_of(number);
    return index < entries_.size() ? &entries_[index] : nullptr;
}

bool History::has_header(uint64_t header) const {
    return mp4_ && std::ranges::any_of(entries_, [header](const Entry& entry) {
               return entry.header == header && entry.state == State::kStored;
           });
}

void History::settle(uint64_t number, bool stored) {
    const size_t index = index_of(number);
    if (index == entries_.size()) {
        return;
    }
    Entry& entry = entries_[index];
    if (!stored && entry.state != State::kLost) {
        entry.text.insert(entry.text.rfind("#EXTINF"), kGap);
        version_++;
    }
    entry.state = stored ? State::kStored : State::kLost;
}

void History::lose_all() {
    for (const Entry& entry : entries_) {
        if (entry.state == State::kStored) {
            settle(entry.number, false);
        }
    }
}

uint64_t History::first_of(uint64_t last, int64_t least_ms, uint64_t before) const {
    const Entry* const newest = find(last);
    if (newest == nullptr) {
        return std::max(before, last);
    }
    size_t index = index_of(last);
    size_t count = 1;
    int64_t length_ms = newest->duration_ms;
    while (index > 0 && count < kMaxListed && (count < kMinListed || length_ms < least_ms) &&
           entries_[index - 1].number >= before) {
        length_ms += entries_[--index].duration_ms;
        count++;
    }
    while (entries_[index].number < last && entries_[index].state == State::kLost) {
        index++;
    }
    return entries_[index].number;
}

History::Listed History::listed(uint64_t first, uint64_t end) {
    const size_t begin = index_of(first);
    const size_t stop = entries_.empty() || end <= entries_.front().number ? begin : index_of(end);
    if (text_version_ == version_ && text_first_ == first && text_end_ == end) {
        listed_.older.text = text_;
        return listed_;
    }
    text_version_ = version_;
    text_first_ = first;
    text_end_ = end;
    text_.clear();
    listed_ = {};
    listed_.discontinuities_before = discontinuities_gone_;
    for (size_t i = 0; i < begin && i < entries_.size(); i++) {
        listed_.discontinuities_before += entries_[i].discontinuity ? 1U : 0U;
    }
    for (size_t i = begin; i < stop; i++) {
        text_ += entries_[i].text;
        listed_.independent = listed_.independent && entries_[i].independent;
    }
    if (begin < stop) {
        listed_.older = {.count = stop - begin,
                         .first_number = entries_[begin].number,
                         .last_header = entries_[stop - 1].header,
                         .missing_header = entries_[begin].begins_header
                                               ? std::nullopt
                                               : std::optional(entries_[begin].header)};
    }
    listed_.older.text = text_;
    return listed_;
}

void History::skip(Listed& listed, int64_t behind_ms, int64_t skip_ms) {
    OlderSegments& older = listed.older;
    const size_t begin = index_of(older.first_number);
    size_t index = begin + older.count;
    size_t bytes = 0;
    while (index > begin && behind_ms < skip_ms) {
        index--;
        behind_ms += entries_[index].duration_ms;
        bytes += entries_[index].text.size();
    }
    older.skipped = index - begin;
    skip_text_ = older.text.substr(older.text.size() - bytes);
    older.text = skip_text_;
    if (older.skipped > 0) {
        older.missing_header.reset();
    }
}

void History::pop_front(std::vector<std::string>& gone) {
    const Entry& entry = entries_.front();
    if (entry.state == State::kStored) {
        gone.push_back(segment_name(entry.number, mp4_));
    }
    const bool last_of_header = entries_.size() == 1 || entries_[1].header != entry.header;
    if (mp4_ && last_of_header) {
        gone.push_back(header_name(entry.header));
    }
    discontinuities_gone_ += entry.discontinuity ? 1 : 0;
    entries_.pop_front();
    version_++;
}

void History::forget_before(uint64_t first, int64_t keep_ms, std::vector<std::string>& gone) {
    int64_t kept_ms = 0;
    for (size_t i = 0; i < std::min(index_of(first), entries_.size()); i++) {
        kept_ms += entries_[i].duration_ms;
    }
    while (entries_.size() > 1 && entries_.front().state != State::kWaiting &&
           entries_.front().number < first && kept_ms - entries_.front().duration_ms >= keep_ms) {
        kept_ms -= entries_.front().duration_ms;
        pop_front(gone);
    }
}

}  // namespace weir::hls
