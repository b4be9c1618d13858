#include "net/rtp/rtp_sender.h"

#include <algorithm>

#include "proto/rtcp/writer.h"

namespace weir::net {
namespace {

using stream::RtpRun;

constexpr Micros kFirstReport{20'000};  // soon: without one, audio and video do not fit
constexpr Micros kReportInterval{2'000'000};
constexpr uint32_t kLeastStep = 90;  // of RTP time, 1 ms, between frames of two log tracks
constexpr size_t kBurstBuffer = 64 * 1024;

// What flush() builds bursts in. One for the process: a burst is sent before the next is built.
std::array<uint8_t, kBurstBuffer>& burst_buffer() {
    static std::array<uint8_t, kBurstBuffer> buffer;
    return buffer;
}

}  // namespace

RtpSender::RtpSender(const stream::RtpLog& log,
                     RtpSealer& sealer,
                     const RtpTrackSetup* audio,
                     const RtpTrackSetup* video,
                     RandomSource& random,
                     MonoTime now,
                     int64_t pace_bps)
    : log_(log), sealer_(sealer), pacer_(pace_bps), next_report_(now + kFirstReport) {
    set_up(tracks_[kRtpAudioTrack], audio, random);
    set_up(tracks_[kRtpVideoTrack], video, random);
}

void RtpSender::set_up(Track& track, const RtpTrackSetup* setup, RandomSource& random) {
    if (setup == nullptr) {
        return;
    }
    track.used = true;
    track.setup = *setup;
    // In the lower half: libraries that guess the roll-over counter see no wrap at the start.
    track.first_sequence = static_cast<uint16_t>(random_u32(random) & 0x7FFFU);
    track.time_offset = random_u32(random);
}

std::optional<uint8_t> RtpSender::track_of(uint32_t ssrc) const {
    for (const uint8_t index : {kRtpAudioTrack, kRtpVideoTrack}) {
        if (tracks_[index].used && tracks_[index].setup.ssrc == ssrc) {
            return index;
        }
    }
    return std::nullopt;
}

// Never back: audio that was sent is not sent again when the video begins anew.
void RtpSender::place(MonoTime now, uint64_t number) {
    for (Track& track : tracks_) {
        track.cursor = std::max(track.cursor, number);
    }
    placed_ = true;
    placed_at_ = now;
    audio_begun_ = false;
    skip_old_audio();
}

void RtpSender::skip_old_audio() {
    Track& track = tracks_[kRtpAudioTrack];
    track.cursor = std::max(track.cursor, log_.oldest());
    for (; track.cursor < log_.head(); track.cursor++) {
        const RtpRun* run = log_.run(track.cursor);
        if (run != nullptr && run->track == kRtpAudioTrack &&
            log_.lag_ms(*run) <= kFirstAudioLagMs) {
            return;
        }
    }
}

// How far behind the newest of its track audio may be to be sent.
int64_t RtpSender::oldest_audio_ms(MonoTime now) const {
    const bool starts = !audio_begun_ && now - placed_at_ <= kFirstAudioWait;
    const bool waited =
        audio_blocked_since_ && now - *audio_blocked_since_ > Millis(kMaxAudioLagMs);
    return starts || waited ? kMaxAudioLagMs : kMaxAudioBunchMs;
}

// The newest place from which the wanted track, or the present one, can be shown.
std::optional<uint64_t> RtpSender::where_to_begin() const {
    if (!log_.has_start()) {
        return std::nullopt;
    }
    if (!one_of_many_) {
        return log_.start();
    }
    const std::optional<uint64_t> key = log_.newest_key(wanted_track_);
    if (key || !video_track_) {
        return key.value_or(log_.start());
    }
    return log_.newest_key(*video_track_);
}

// Whether a run is of the video that is sent; the wanted track takes over at its key frame.
bool RtpSender::takes_video(const RtpRun& run) {
    if (run.track < kRtpVideoTrack) {
        return false;
    }
    if (video_track_ != wanted_track_ && run.key && run.track == wanted_track_) {
        Track& track = tracks_[kRtpVideoTrack];
        if (video_track_) {
            stats_.layer_changes++;
            // The tracks' clocks agree but for some milliseconds, and times must rise.
            const auto behind = static_cast<int32_t>(track.last_time + kLeastStep - run.rtp_time);
            track.time_shift = static_cast<uint32_t>(std::max(behind, 0));
        }
        video_track_ = wanted_track_;
    }
    return video_track_ == run.track;
}

// ---- sending ----

// Before a run is sent: what its packets are to the player. Runs that were skipped make no hole.
void RtpSender::note_mapping(Track& track, const RtpRun& run) {
    const uint64_t behind = run.first_packet - track.next;
    const Mapping mapping{track.next, behind, track.time_shift, run.track};
    const Mapping& last = track.mappings[0];
    if (track.next > 0 && last.behind == behind && last.log_track == run.track &&
        last.time_shift == track.time_shift) {
        return;
    }
    if (track.mappings[0].from != track.next) {
        std::shift_right(track.mappings.begin(), track.mappings.end(), 1);
    }
    track.mappings[0] = mapping;
}

// Not paced: it is little, and late audio is heard.
RtpFlush RtpSender::flush_audio(MonoTime now, RtpOutlet& outlet) {
    Track& track = tracks_[kRtpAudioTrack];
    track.cursor = std::max(track.cursor, log_.oldest());
    const bool any = track.used && track.cursor < log_.head();
    const int64_t oldest_ms = any ? oldest_audio_ms(now) : 0;
    for (; track.used && track.cursor < log_.head(); track.cursor++) {
        const RtpRun* run = log_.run(track.cursor);
        if (run == nullptr || run->track != kRtpAudioTrack || log_.lag_ms(*run) > oldest_ms) {
            continue;
        }
        if (!send_run(now, kRtpAudioTrack, *run, outlet)) {
            audio_blocked_since_ = audio_blocked_since_.value_or(now);
            return RtpFlush::kBlocked;
        }
        audio_begun_ = true;
    }
    audio_blocked_since_.reset();
    return RtpFlush::kCaughtUp;
}

RtpFlush RtpSender::flush_video(MonoTime now, RtpOutlet& outlet, size_t most_runs) {
    Track& track = tracks_[kRtpVideoTrack];
    for (size_t sent = 0; track.used && track.cursor < log_.head();) {
        const RtpRun* run = log_.run(track.cursor);
        const int64_t lag_ms = run ? log_.lag_ms(*run) : kLagToJumpMs + 1;
        // A frame that has begun is finished: what is left out makes no hole in the numbers, so a
        // frame that was broken off would be taken for a whole one.
        const bool may_leave_out = !frame_open_ || run == nullptr;
        const std::optional<uint64_t> newer =
            lag_ms > kLagToJumpMs && may_leave_out ? where_to_begin() : std::nullopt;
        if (run == nullptr && frame_open_) {
            track.next++;  // its rest is gone: that is a loss, and the player must see one
            frame_open_ = false;
        }
        if (newer && *newer > track.cursor) {
            stats_.resyncs++;
            stats_.skipped_runs += *newer - track.cursor;
            track.cursor = *newer;
            continue;
        }
        if (run == nullptr) {
            placed_ = false;  // gone, and nowhere to begin: the next key frame
            return RtpFlush::kCaughtUp;
        }
        const bool video = takes_video(*run);
        lag_ms_ = video ? lag_ms : lag_ms_;
        const bool thin =
            lag_ms > kLagToThinMs && may_leave_out && (run->discardable || run->temporal_layer > 0);
        if (!video || thin) {
            stats_.skipped_runs += video ? 1U : 0U;
            track.cursor++;
            continue;
        }
        if (!pacer_.may_send(now)) {
            return RtpFlush::kPaced;
        }
        if (sent == most_runs) {
            return RtpFlush::kMore;
        }
        if (!send_run(now, kRtpVideoTrack, *run, outlet)) {
            return RtpFlush::kBlocked;
        }
        frame_open_ = !run->frame_end;
        track.cursor++;
        sent++;
    }
    return RtpFlush::kCaughtUp;
}

RtpFlush RtpSender::flush(MonoTime now, RtpOutlet& outlet, size_t most_runs) {
    head_.note(log_.head_time_ms(), now);
    if (!placed_) {
        const std::optional<uint64_t> begin = where_to_begin();
        if (!begin) {
            return RtpFlush::kCaughtUp;
        }
        place(now, *begin);
        video_track_ = one_of_many_ ? std::nullopt : std::optional(wanted_track_);
    }
    const RtpFlush audio = flush_audio(now, outlet);
    return audio == RtpFlush::kBlocked ? audio : flush_video(now, outlet, most_runs);
}

bool RtpSender::send_run(MonoTime now, uint8_t index, const RtpRun& run, RtpOutlet& outlet) {
    if (!outlet.takes_burst()) {
        return false;
    }
    Track& track = tracks_[index];
    note_mapping(track, run);
    const RtpRunHeader header{index, track.setup.payload_type, track.setup.ssrc,
                              run.rtp_time + track.time_shift + track.time_offset,
                              track.first_sequence + track.next};
    const std::span<uint8_t> out = burst_buffer();
    const RtpBurst burst = sealer_.seal(now, header, run, out);
    if (burst.bytes == 0) {
        return true;  // cannot be: the buffer holds the longest run
    }
    if (!outlet.send_burst(ByteSpan(out).first(burst.bytes), burst.segment_bytes)) {
        sealer_.take_back(index, run.packets);
        return false;
    }
    if (track.packets == 0) {
        next_report_ = std::min(next_report_, now + kFirstReport);
    }
    track.last_time = run.rtp_time + track.time_shift;
    track.next += run.packets;
    track.packets += run.packets;
    track.bytes += run.size_bytes;
    stats_.packets += run.packets;
    stats_.bytes += run.size_bytes;
    pacer_.on_sent(now, burst.bytes);
    return true;
}

std::optional<RtpSender::Sent> RtpSender::find_sent(uint8_t index, uint16_t sequence) const {
    const Track& track = tracks_[index];
    const auto back = static_cast<uint16_t>(
        static_cast<uint16_t>(track.first_sequence + track.next - 1) - sequence);
    if (track.next == 0 || back >= track.next || back >= 0x8000) {
        return std::nullopt;
    }
    const uint64_t number = track.next - 1 - back;
    const auto mapping = std::ranges::find_if(
        track.mappings, [number](const Mapping& m) { return m.from <= number; });
    Sent sent;
    if (mapping == track.mappings.end()) {
        return sent;
    }
    const uint64_t packet = number + mapping->behind;
    const std::optional<uint64_t> found = log_.find(mapping->log_track, packet);
    const RtpRun* run = found ? log_.run(*found) : nullptr;
    if (run == nullptr || packet - run->first_packet >= run->packets) {
        return sent;
    }
    sent.run = run;
    sent.index = packet - run->first_packet;
    sent.header = {index, track.setup.payload_type, track.setup.ssrc,
                   run->rtp_time + mapping->time_shift + track.time_offset,
                   track.first_sequence + number};
    return sent;
}

// ---- reports ----

RtpReception RtpSender::on_report(MonoTime now, const rtcp::ReportBlocksView& blocks) {
    RtpReception reception;
    for (size_t i = 0; i < blocks.size(); i++) {
        const rtcp::ReportBlock block = blocks[i];
        const std::optional<uint8_t> index = track_of(block.ssrc);
        if (!index) {
            continue;
        }
        if (block.last_sr != 0 && block.last_sr == last_report_ntp_) {
            const Micros rtt =
                now - last_report_at_ - Micros(rtcp::compact_ntp_to_us(block.delay_since_sr));
            if (rtt >= Micros(0)) {
                stats_.rtt = rtt;
                reception.rtt = rtt;
            }
        }
        if (index != kRtpVideoTrack) {
            continue;
        }
        stats_.loss = block.fraction_lost / 256.0;
        if (reported_highest_ != 0) {
            const auto expected = static_cast<int32_t>(block.highest_sequence - reported_highest_);
            const int32_t lost =
                std::clamp(block.cumulative_lost - reported_lost_, 0, std::max(expected, 0));
            if (expected > 0) {
                reception.received += static_cast<size_t>(expected - lost);
                reception.lost += static_cast<size_t>(lost);
            }
        }
        reported_highest_ = block.highest_sequence;
        reported_lost_ = block.cumulative_lost;
    }
    return reception;
}

RtpReception RtpSender::on_rtcp(MonoTime now, const rtcp::PacketView& packet) {
    if (const auto report = rtcp::parse_receiver_report(packet)) {
        return on_report(now, report->blocks);
    }
    if (const auto sent = rtcp::parse_sender_report(packet)) {
        return on_report(now, sent->blocks);
    }
    return {};
}

void RtpSender::postpone_report(MonoTime now) {
    next_report_ = std::max(next_report_, now + kFirstReport);
}

size_t RtpSender::report(MonoTime now,
                         MonoTime unix_epoch,
                         std::span<uint8_t> out,
                         std::optional<int64_t> wall_offset_us) {
    if (now < next_report_) {
        return 0;
    }
    next_report_ = now + kReportInterval;
    rtcp::CompoundWriter writer(out);
    const int64_t stream_us = head_.at(now);
    const rtcp::NtpTime ntp = rtcp::ntp_from_unix_us(wall_offset_us ? *wall_offset_us + stream_us
                                                                    : (now - unix_epoch).count());
    for (const Track& track : tracks_) {
        if (!track.used || track.packets == 0) {
            continue;
        }
        // One clock for all tracks: RTP times count from the beginning of the stream's timeline
        // (RtpLogWriter).
        rtcp::SenderInfo info;
        info.ssrc = track.setup.ssrc;
        info.ntp_time = ntp;
        info.rtp_time = track.time_offset + track.time_shift +
                        static_cast<uint32_t>(stream_us * track.setup.clock_hz / 1'000'000);
        info.packets = track.packets;
        info.octets = track.bytes;
        if (!writer.sender_report(info, {}) ||
            !writer.source_description(track.setup.ssrc, "weir")) {
            break;
        }
    }
    if (writer.size() > 0) {
        last_report_ntp_ = rtcp::compact_ntp(ntp);
        last_report_at_ = now;
    }
    return writer.size();
}

}  // namespace weir::net
