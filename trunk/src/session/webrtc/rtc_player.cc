#include "session/webrtc/rtc_player.h"

#include <algorithm>

#include "proto/rtp/header.h"

namespace weir::session {
namespace {

using stream::RtpRun;

constexpr Micros kFirstReport{20'000};  // soon: without one, sound and picture do not fit
constexpr Micros kReportInterval{2'000'000};
constexpr int64_t kStartBps = 4'000'000;
constexpr double kPace = 2.5;                   // times the estimate, to spread frames out
constexpr int64_t kResendShareBps = 3'000'000;  // what a player may make us send again
constexpr int64_t kResendBurst = 256 * 1024;    // bytes
constexpr Micros kChoiceInterval{200'000};      // of the layer
constexpr Micros kLayerRequestInterval{1'000'000};
constexpr double kStrainedLoss = 0.1;
constexpr uint32_t kLeastStep = 90;  // of RTP time, 1 ms, between pictures of two layers
// Of the stream's time against ours: what jitter has set too far ahead is forgotten so slowly.
constexpr int64_t kHeadLeakPpm = 1'000;
constexpr size_t kMaxHeader = 24;
constexpr size_t kBurstBuffer = 64 * 1024;

// What flush() builds bursts in. One for the process: a burst is sent before the next is built.
std::array<uint8_t, kBurstBuffer>& burst_buffer() {
    static std::array<uint8_t, kBurstBuffer> buffer;
    return buffer;
}

uint32_t random_u32(RandomSource& random) {
    std::array<uint8_t, 4> bytes;
    random.fill(bytes);
    return static_cast<uint32_t>(bytes[0]) << 24U | static_cast<uint32_t>(bytes[1]) << 16U |
           static_cast<uint32_t>(bytes[2]) << 8U | bytes[3];
}

}  // namespace

RtcPlayer::RtcPlayer(const stream::RtpLog& log,
                     srtp::Protector& protector,
                     const sdp::NegotiatedMedia* audio,
                     const sdp::NegotiatedMedia* video,
                     RandomSource& random,
                     MonoTime now,
                     const RtcLayerOptions& layers)
    : log_(log),
      protector_(protector),
      layers_(layers),
      chooser_(layers.fixed),
      pacer_(static_cast<int64_t>(kPace * static_cast<double>(kStartBps))),
      next_report_(now + kFirstReport) {
    set_up(tracks_[kRtpAudioTrack], audio, random);
    set_up(tracks_[kRtpVideoTrack], video, random);
    if (tracks_[kRtpVideoTrack].twcc_id != 0) {
        history_ = std::make_unique<rtp::TwccHistory>();
    }
    rtp::RateLimits limits;
    limits.start_bps = kStartBps;
    estimator_ = std::make_unique<rtp::BandwidthEstimator>(limits);
}

void RtcPlayer::set_up(Track& track, const sdp::NegotiatedMedia* media, RandomSource& random) {
    if (media == nullptr) {
        return;
    }
    track.used = true;
    track.payload_type = media->payload_type;
    track.ssrc = media->ssrc;
    track.clock_hz = media->clock_hz;
    track.nack = media->feedback.nack;
    if (media->rtx_ssrc != 0 && media->rtx_payload_type) {
        track.rtx_ssrc = media->rtx_ssrc;
        track.rtx_payload_type = *media->rtx_payload_type;
    }
    // A packet that is resent without RTX must be the first one byte for byte, transport-wide
    // number included, and that one is not kept: such a track has none.
    if (track.rtx_ssrc != 0 && media->feedback.transport_cc) {
        track.twcc_id = media->extensions[sdp::Extension::kTransportCc];
    }
    // In the lower half: libraries that guess the roll-over counter see no wrap at the start.
    track.first_sequence = static_cast<uint16_t>(random_u32(random) & 0x7FFFU);
    track.time_offset = random_u32(random);
}

RtcPlayer::Track* RtcPlayer::track_of(uint32_t ssrc) {
    for (Track& track : tracks_) {
        if (track.used && track.ssrc == ssrc) {
            return &track;
        }
    }
    return nullptr;
}

// Never back: sound that was sent is not sent again when the pictures begin anew.
void RtcPlayer::place(uint64_t number) {
    for (Track& track : tracks_) {
        track.cursor = std::max(track.cursor, number);
    }
    placed_ = true;
    skip_old_sound();
}

void RtcPlayer::skip_old_sound() {
    Track& track = tracks_[kRtpAudioTrack];
    track.cursor = std::max(track.cursor, log_.oldest());
    for (; track.cursor < log_.head(); track.cursor++) {
        const RtpRun* run = log_.run(track.cursor);
        if (run != nullptr && run->track == kRtpAudioTrack &&
            log_.head_time_ms() - run->time_ms <= kFirstSoundLagMs) {
            return;
        }
    }
}

// ---- layers ----

void RtcPlayer::choose_layer(MonoTime now) {
    if (now < next_choice_) {
        return;
    }
    next_choice_ = now + kChoiceInterval;
    if (!layered()) {
        wanted_ = 0;
        return;
    }
    PathView path;
    path.estimate_bps = estimator_->bps();
    path.strained = estimator_->load() == rtp::PathLoad::kOver ||
                    estimator_->loss() > kStrainedLoss || lag_ms_ > kLagToThinMs;
    wanted_ = chooser_.choose(now, *layers_.layers, path, layer_);
    if (const int64_t carried = chooser_.take_carried()) {
        estimator_->on_carried(carried);
    }
    update_pace();
    const bool missing = placed_ ? layer_ != wanted_ : !log_.newest_key(picture_track(wanted_));
    if (missing && now >= next_layer_request_) {
        next_layer_request_ = now + kLayerRequestInterval;
        layer_request_ = wanted_;
    }
}

// The newest place from which the wanted layer, or the present one, can be shown.
std::optional<uint64_t> RtcPlayer::where_to_begin() const {
    if (!log_.has_start()) {
        return std::nullopt;
    }
    if (!layered()) {
        return log_.start();
    }
    const std::optional<uint64_t> key = log_.newest_key(picture_track(wanted_));
    if (key || !layer_) {
        return key.value_or(log_.start());
    }
    return log_.newest_key(picture_track(*layer_));
}

// Whether a run is of the layer that is sent; the wanted one takes over at its key frame.
bool RtcPlayer::takes_picture(const RtpRun& run) {
    if (run.track < kRtpVideoTrack) {
        return false;
    }
    if (layer_ != wanted_ && run.key && run.track == picture_track(wanted_)) {
        Track& track = tracks_[kRtpVideoTrack];
        if (layer_) {
            stats_.layer_changes++;
            // The layers' clocks agree but for some milliseconds, and times must rise.
            const auto behind = static_cast<int32_t>(track.last_time + kLeastStep - run.rtp_time);
            track.time_shift = static_cast<uint32_t>(std::max(behind, 0));
        }
        layer_ = wanted_;
    }
    return layer_ && run.track == picture_track(*layer_);
}

// ---- sending ----

// The stream's time now: that of the newest frame and what has passed since. Frames that come late
// do not set it back at once.
void RtcPlayer::note_head(MonoTime now) {
    const Micros ahead =
        std::chrono::duration_cast<Micros>(Millis(log_.head_time_ms()) - now.time_since_epoch());
    if (head_ahead_) {
        const Micros passed = std::chrono::duration_cast<Micros>(now - head_noted_);
        const Micros leaked = *head_ahead_ - passed * kHeadLeakPpm / 1'000'000;
        head_ahead_ = std::max(ahead, leaked);
    } else {
        head_ahead_ = ahead;
    }
    head_noted_ = now;
}

// Before a run is sent: what its packets are to the player. Runs that were skipped make no hole.
void RtcPlayer::note_mapping(Track& track, const RtpRun& run) {
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

// Not paced: it is little, and late sound is heard.
RtcPlayer::Flush RtcPlayer::flush_sound(MonoTime now, RtcSender& sender) {
    Track& track = tracks_[kRtpAudioTrack];
    track.cursor = std::max(track.cursor, log_.oldest());
    for (; track.used && track.cursor < log_.head(); track.cursor++) {
        const RtpRun* run = log_.run(track.cursor);
        if (run == nullptr || run->track != kRtpAudioTrack ||
            log_.head_time_ms() - run->time_ms > kMaxSoundLagMs) {
            continue;
        }
        if (!send_run(now, track, *run, sender)) {
            return Flush::kBlocked;
        }
    }
    return Flush::kCaughtUp;
}

RtcPlayer::Flush RtcPlayer::flush_pictures(MonoTime now, RtcSender& sender, size_t most_runs) {
    Track& track = tracks_[kRtpVideoTrack];
    for (size_t sent = 0; track.used && track.cursor < log_.head();) {
        const RtpRun* run = log_.run(track.cursor);
        const int64_t lag_ms = run ? log_.head_time_ms() - run->time_ms : kLagToJumpMs + 1;
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
            return Flush::kCaughtUp;
        }
        const bool video = takes_picture(*run);
        lag_ms_ = video ? lag_ms : lag_ms_;
        const bool thin =
            lag_ms > kLagToThinMs && may_leave_out && (run->discardable || run->temporal_layer > 0);
        if (!video || thin) {
            stats_.skipped_runs += video ? 1U : 0U;
            track.cursor++;
            continue;
        }
        if (!pacer_.may_send(now)) {
            return Flush::kPaced;
        }
        if (sent == most_runs) {
            return Flush::kMore;
        }
        if (!send_run(now, track, *run, sender)) {
            return Flush::kBlocked;
        }
        frame_open_ = !run->marker;
        track.cursor++;
        sent++;
    }
    return Flush::kCaughtUp;
}

RtcPlayer::Flush RtcPlayer::flush(MonoTime now, RtcSender& sender, size_t most_runs) {
    note_head(now);
    choose_layer(now);
    if (!placed_) {
        const std::optional<uint64_t> begin = where_to_begin();
        if (!begin) {
            return Flush::kCaughtUp;
        }
        place(*begin);
        layer_ = layered() ? std::nullopt : std::optional(wanted_);
    }
    const Flush sound = flush_sound(now, sender);
    return sound == Flush::kBlocked ? sound : flush_pictures(now, sender, most_runs);
}

bool RtcPlayer::send_run(MonoTime now, Track& track, const RtpRun& run, RtcSender& sender) {
    if (!sender.takes_burst()) {
        return false;
    }
    note_mapping(track, run);
    std::span<uint8_t> out = burst_buffer();
    size_t used = 0;
    size_t segment = 0;
    for (size_t i = 0; i < run.packets; i++) {
        const size_t size =
            write_packet(now, track, run, i, track.next + i, track.time_shift, out.subspan(used));
        if (size == 0) {
            return true;  // cannot be: the buffer holds the longest run
        }
        segment = i == 0 ? size : segment;
        used += size;
    }
    if (!sender.send_burst(ByteSpan(out).first(used), segment)) {
        if (track.twcc_id != 0) {
            history_->take_back(run.packets);  // or the peer would report them as lost
        }
        return false;
    }
    track.last_time = run.rtp_time + track.time_shift;
    track.next += run.packets;
    track.packets += run.packets;
    track.bytes += run.size_bytes;
    stats_.packets += run.packets;
    stats_.bytes += run.size_bytes;
    pacer_.on_sent(now, used);
    return true;
}

size_t RtcPlayer::write_packet(MonoTime now,
                               Track& track,
                               const RtpRun& run,
                               size_t index,
                               uint64_t number,
                               uint32_t time_shift,
                               std::span<uint8_t> out) {
    const uint64_t full = track.first_sequence + number;
    const rtp::Header header{track.payload_type, run.marker && index + 1 == run.packets,
                             static_cast<uint16_t>(full),
                             run.rtp_time + time_shift + track.time_offset, track.ssrc};
    return seal(now, track, header, {}, run.packet(index), full, out);
}

size_t RtcPlayer::write_rtx(MonoTime now,
                            Track& track,
                            const RtpRun& run,
                            size_t index,
                            uint64_t number,
                            uint32_t time_shift,
                            std::span<uint8_t> out) {
    const rtp::Header header{track.rtx_payload_type, run.marker && index + 1 == run.packets,
                             static_cast<uint16_t>(track.next_rtx),
                             run.rtp_time + time_shift + track.time_offset, track.rtx_ssrc};
    std::array<uint8_t, 2> original;
    store_u16(original.data(), static_cast<uint16_t>(track.first_sequence + number));
    return seal(now, track, header, original, run.packet(index), track.next_rtx++, out);
}

// `front`: in front of the payload. `number`: the packet's, in full, of its SSRC.
size_t RtcPlayer::seal(MonoTime now,
                       const Track& track,
                       const rtp::Header& header,
                       ByteSpan front,
                       ByteSpan payload,
                       uint64_t number,
                       std::span<uint8_t> out) {
    std::array<uint8_t, kMaxHeader> bytes;
    size_t size = 0;
    if (track.twcc_id != 0) {
        std::array<uint8_t, 2> value;
        store_u16(value.data(), history_->add(now, payload.size() + kMaxHeader));
        const rtp::Extension extension{track.twcc_id, value};
        size = rtp::write_header(header, {&extension, 1}, bytes.data());
    } else {
        size = rtp::write_header(header, bytes.data());
    }
    return protector_.protect_rtp({ByteSpan(bytes).first(size), front, payload}, number, out);
}

void RtcPlayer::resend(MonoTime now, Track& track, uint16_t sequence, RtcSender& sender) {
    // The newest packet with that number.
    const auto back = static_cast<uint16_t>(
        static_cast<uint16_t>(track.first_sequence + track.next - 1) - sequence);
    if (track.next == 0 || back >= track.next || back >= 0x8000) {
        return;
    }
    const uint64_t number = track.next - 1 - back;
    const auto mapping = std::ranges::find_if(
        track.mappings, [number](const Mapping& m) { return m.from <= number; });
    const RtpRun* run = nullptr;
    uint64_t packet = 0;
    if (mapping != track.mappings.end()) {
        packet = number + mapping->behind;
        if (const std::optional<uint64_t> found = log_.find(mapping->log_track, packet)) {
            run = log_.run(*found);
        }
    }
    if (run == nullptr || packet - run->first_packet >= run->packets) {
        stats_.too_late++;
        return;
    }
    const size_t at = packet - run->first_packet;
    if (resend_budget_ < static_cast<int64_t>(run->packet(at).size())) {
        return;
    }
    std::span<uint8_t> out = burst_buffer();
    const size_t size = track.rtx_ssrc != 0
                            ? write_rtx(now, track, *run, at, number, mapping->time_shift, out)
                            : write_packet(now, track, *run, at, number, mapping->time_shift, out);
    if (size > 0 && sender.send_burst(ByteSpan(out).first(size), 0)) {
        resend_budget_ -= static_cast<int64_t>(size);
        stats_.retransmitted++;
        pacer_.on_sent(now, size);
    } else if (track.twcc_id != 0) {
        history_->take_back(1);
    }
}

void RtcPlayer::on_report(MonoTime now, const rtcp::ReportBlocksView& blocks) {
    for (size_t i = 0; i < blocks.size(); i++) {
        const rtcp::ReportBlock block = blocks[i];
        Track* track = track_of(block.ssrc);
        if (track == nullptr) {
            continue;
        }
        if (block.last_sr != 0 && block.last_sr == last_report_ntp_) {
            const Micros rtt =
                now - last_report_at_ - Micros(rtcp::compact_ntp_to_us(block.delay_since_sr));
            if (rtt >= Micros(0)) {
                stats_.rtt = rtt;
                estimator_->set_rtt(rtt);
            }
        }
        if (track != &tracks_[kRtpVideoTrack]) {
            continue;
        }
        stats_.loss = block.fraction_lost / 256.0;
        if (!history_ && track->reported_highest != 0) {
            const auto expected =
                static_cast<int32_t>(block.highest_sequence - track->reported_highest);
            const int32_t lost =
                std::clamp(block.cumulative_lost - track->reported_lost, 0, std::max(expected, 0));
            if (expected > 0) {
                estimator_->on_loss_report(now, static_cast<size_t>(expected - lost),
                                           static_cast<size_t>(lost));
            }
        }
        track->reported_highest = block.highest_sequence;
        track->reported_lost = block.cumulative_lost;
    }
}

bool RtcPlayer::on_rtcp(MonoTime now, const rtcp::PacketView& packet, RtcSender& sender) {
    if (const auto report = rtcp::parse_receiver_report(packet)) {
        on_report(now, report->blocks);
    } else if (const auto sent = rtcp::parse_sender_report(packet)) {
        on_report(now, sent->blocks);
    } else if (const auto nack = rtcp::parse_nack(packet)) {
        Track* track = track_of(nack->sources.media_ssrc);
        if (track != nullptr && track->nack) {
            const Micros elapsed = std::min<Micros>(now - resend_at_, Seconds(1));
            resend_budget_ = std::min(
                resend_budget_ + elapsed.count() * kResendShareBps / 8'000'000, kResendBurst);
            resend_at_ = now;
            nack->for_each_lost([&](uint16_t sequence) { resend(now, *track, sequence, sender); });
        }
    } else if (const auto feedback = rtcp::TransportFeedbackView::parse(packet)) {
        if (history_) {
            estimator_->on_feedback(now, *history_, *feedback);
        }
    } else if (const auto limit = rtcp::parse_bitrate_limit(packet)) {
        estimator_->on_remote_limit(
            static_cast<int64_t>(std::min<uint64_t>(limit->bits_per_second, INT64_MAX)));
    } else if (rtcp::parse_picture_loss(packet) ||
               rtcp::find_full_intra_request(packet, tracks_[kRtpVideoTrack].ssrc)) {
        stats_.key_requests++;
        return true;
    }
    update_pace();
    return false;
}

void RtcPlayer::update_pace() {
    const int64_t bps = std::max(estimator_->bps(), chooser_.trial_bps());
    pacer_.set_rate(static_cast<int64_t>(kPace * static_cast<double>(bps)));
}

void RtcPlayer::handle_timeout(MonoTime now) {
    const std::optional<MonoTime> due = estimator_->next_timeout();
    if (due && *due <= now) {
        estimator_->handle_timeout(now, history_ && history_->has_unanswered());
        update_pace();
    }
}

size_t RtcPlayer::report(MonoTime now, MonoTime unix_epoch, std::span<uint8_t> out) {
    if (now < next_report_) {
        return 0;
    }
    next_report_ = now + kReportInterval;
    rtcp::CompoundWriter writer(out);
    const rtcp::NtpTime ntp = rtcp::ntp_from_unix_us((now - unix_epoch).count());
    const int64_t stream_us = std::chrono::duration_cast<Micros>(now.time_since_epoch()).count() +
                              head_ahead_.value_or(Micros(0)).count();
    for (const Track& track : tracks_) {
        if (!track.used || track.packets == 0) {
            continue;
        }
        // One clock for all tracks: RTP times count from the beginning of the stream's timeline
        // (RtpMuxer).
        rtcp::SenderInfo info;
        info.ssrc = track.ssrc;
        info.ntp_time = ntp;
        info.rtp_time = track.time_offset + track.time_shift +
                        static_cast<uint32_t>(stream_us * track.clock_hz / 1'000'000);
        info.packets = static_cast<uint32_t>(track.packets);
        info.octets = static_cast<uint32_t>(track.bytes);
        if (!writer.sender_report(info, {}) || !writer.source_description(track.ssrc, "weir")) {
            break;
        }
    }
    if (writer.size() > 0) {
        last_report_ntp_ = rtcp::compact_ntp(ntp);
        last_report_at_ = now;
    }
    return writer.size();
}

}  // namespace weir::session
