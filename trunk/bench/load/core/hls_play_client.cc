#include "bench/load/core/hls_play_client.h"

#include <algorithm>

#include <fmt/format.h>

namespace weir::load {

HlsPlayClient::HlsPlayClient(const HlsTarget& target, PlayerCheck& check, uint64_t now_ns)
    : target_(target), check_(check), totals_(check.totals().hls) {
    totals_.used = true;
    check_.joined(now_ns);
    request(Want::kFirst, target.path, now_ns);
}

void HlsPlayClient::request(Want want, const std::string& path, uint64_t now_ns) {
    want_ = want;
    asked_ns_ = now_ns;
    due_ns_ = 0;
    body_ = HttpBody();
    text_ = std::string();
    ByteWriter(output_).text(fmt::format(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: weir-bench\r\n\r\n", path, target_.authority));
}

bool HlsPlayClient::feed(ByteSpan bytes, uint64_t now_ns) {
    now_ns_ = now_ns;
    check_.received(bytes.size(), now_ns);
    if (due_ns_ != 0) {
        return fail("bytes came that nobody had asked for");
    }
    const bool read = body_.feed(bytes, [&](ByteSpan part) {
        if (want_ != Want::kFirst && want_ != Want::kPlaylist) {
            (void)take_media(part);
        } else if (text_.size() + part.size() <= kMaxPlaylist) {
            text_.append(as_text(part));
        } else {
            (void)fail("a playlist is too long");
        }
    });
    if (!read) {
        return fail(fmt::format(
            "{} of {}", body_.failure(),
            want_ == Want::kFirst || want_ == Want::kPlaylist ? "a playlist" : "media"));
    }
    return failure_.empty() && (!body_.ended() || end_answer(now_ns));
}

bool HlsPlayClient::take_media(ByteSpan bytes) {
    if (ts_) {
        if (!ts_->feed(bytes, check_)) {
            return fail(ts_->error());
        }
        return ts_->faults() == 0 || fail("packets of the transport stream are missing or broken");
    }
    return mp4_.feed(bytes, check_) || fail(mp4_.error());
}

bool HlsPlayClient::end_answer(uint64_t now_ns) {
    const uint64_t took_us = (now_ns - asked_ns_) / 1000;
    switch (want_) {
        case Want::kFirst: totals_.playlists++; return take_first();
        case Want::kPlaylist:
            totals_.playlists++;
            if (blocks_) {
                totals_.blocked++;
            } else {
                totals_.playlist.add(took_us);
            }
            return take_playlist();
        case Want::kHeader: totals_.headers++; break;
        case Want::kSegment: totals_.segments++; break;
        case Want::kPart: totals_.parts++; break;
    }
    if (want_ != Want::kHeader) {
        totals_.media.add(took_us);
    }
    return end_media();
}

bool HlsPlayClient::take_first() {
    const std::string variant = first_variant(text_);
    if (variant.empty()) {  // it is a media playlist
        list_path_ = target_.path;
        return take_playlist();
    }
    Result<std::string> path = resolve_hls(target_.path, variant);
    if (!path.ok()) {
        return fail(std::string(path.error().message()));
    }
    list_path_ = *path;
    blocks_ = false;
    request(Want::kPlaylist, list_path_, now_ns_);
    return true;
}

bool HlsPlayClient::take_playlist() {
    Result<HlsList> list = parse_hls_list(text_);
    if (!list.ok()) {
        return fail(std::string(list.error().message()));
    }
    if (has_list_ && list->next_number < list_.next_number) {
        return fail(fmt::format("the playlist went back: to {} from {}", list->next_number,
                                list_.next_number));
    }
    read_ns_ = now_ns_;
    changed_ = !has_list_ || list->next_number != list_.next_number || list->ended != list_.ended;
    has_list_ = true;
    list_ = std::move(*list);
    if (!has_place_ && !list_.segments.empty()) {
        has_place_ = true;
        place_ = list_.start(target_.low_latency && list_.part_hold_back_us > 0);
    }
    return go_on();
}

bool HlsPlayClient::end_media() {
    if (ts_ ? !ts_->end_file(check_) : !mp4_.end()) {
        return fail(ts_ ? ts_->error() : mp4_.error());
    }
    if (want_ == Want::kSegment) {
        place_ = {place_.number + 1, 0};
    } else if (want_ == Want::kPart) {
        place_.part++;
    }
    if (want_ != Want::kHeader) {
        play(coming_us_);
    }
    return go_on();
}

// The next request, or the time of it.
bool HlsPlayClient::go_on() {
    const bool by_parts = target_.low_latency && list_.part_hold_back_us > 0;
    const HlsSegment* segment = has_place_ ? list_.find(place_.number) : nullptr;
    if (segment != nullptr && segment->complete() && place_.part > 0 &&
        place_.part >= segment->parts.size()) {
        if (segment->parts.empty()) {
            return fail("fell behind: the playlist has no parts of a segment any more");
        }
        place_ = {place_.number + 1, 0};
        segment = list_.find(place_.number);
    }
    if (segment != nullptr && by_parts && place_.part < segment->parts.size()) {
        const HlsPart& part = segment->parts[place_.part];
        return fetch(part.uri, segment->header, Want::kPart, part.duration_us);
    }
    if (segment != nullptr && segment->complete() && place_.part == 0) {
        return fetch(segment->uri, segment->header, Want::kSegment, segment->duration_us);
    }
    if (has_place_ && !list_.segments.empty() && place_.number < list_.segments.front().number) {
        return fail(fmt::format("fell behind: segment {} has left the playlist, which begins at {}",
                                place_.number, list_.segments.front().number));
    }
    if (list_.ended) {
        stream_ended_ = true;
        return true;
    }
    ask_again();
    return true;
}

bool HlsPlayClient::fetch(const std::string& reference,
                          const std::string& header,
                          Want want,
                          int64_t duration_us) {
    const bool needs_header = header != header_ && !header.empty();
    Result<std::string> path = resolve_hls(list_path_, needs_header ? header : reference);
    if (!path.ok()) {
        return fail(std::string(path.error().message()));
    }
    if (header.empty() && !ts_) {
        ts_ = std::make_unique<TsScanner>();
    }
    header_ = header;
    coming_us_ = duration_us;
    request(needs_header ? Want::kHeader : want, *path, now_ns_);
    return true;
}

// Low latency: at once, answered when what comes next is there. Else as §6.3.4 of RFC 8216 says.
void HlsPlayClient::ask_again() {
    blocks_ = target_.low_latency && list_.can_block && has_place_;
    if (blocks_) {
        std::string path = list_path_;
        path += path.find('?') == std::string::npos ? '?' : '&';
        path += fmt::format("_HLS_msn={}", place_.number);
        if (list_.part_hold_back_us > 0) {
            path += fmt::format("&_HLS_part={}", place_.part);
        }
        request(Want::kPlaylist, path, now_ns_);
        return;
    }
    const auto target_ns = static_cast<uint64_t>(list_.target_us) * 1000;
    due_ns_ = std::max(read_ns_ + (changed_ ? target_ns : target_ns / 2), now_ns_ + 1);
}

void HlsPlayClient::wake(uint64_t now_ns) {
    if (due_ns_ != 0 && now_ns >= due_ns_) {
        now_ns_ = now_ns;
        request(Want::kPlaylist, list_path_, now_ns);
    }
}

// A viewer begins with one segment, or with as many parts as the hold-back asks for; after its
// buffer was empty it waits for two segments, or these parts again.
void HlsPlayClient::play(int64_t duration_us) {
    const auto now_us = static_cast<int64_t>(now_ns_ / 1000);
    if (playing_ && now_us > dry_us_) {
        playing_ = false;
        totals_.stalls++;
        stalled_us_ = dry_us_;
        dry_us_ = now_us;
    }
    if (playing_) {
        dry_us_ += duration_us;
    } else {
        waiting_us_ += duration_us;
        const int64_t enough = want_ == Want::kPart ? list_.part_hold_back_us
                               : stalled_us_ == 0   ? duration_us
                                                    : 2 * duration_us;
        if (waiting_us_ < enough) {
            return;
        }
        playing_ = true;
        dry_us_ = now_us + waiting_us_;
        waiting_us_ = 0;
        if (stalled_us_ != 0) {
            totals_.stall_us += static_cast<uint64_t>(now_us - stalled_us_);
        }
    }
    if (check_.delay_us() > 0) {
        totals_.behind.add(check_.delay_us() + static_cast<uint64_t>(dry_us_ - now_us));
    }
}

}  // namespace weir::load
