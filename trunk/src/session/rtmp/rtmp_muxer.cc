#include "session/rtmp/rtmp_muxer.h"

#include <algorithm>

#include "proto/amf/amf0.h"
#include "proto/rtmp/chunk_writer.h"
#include "proto/rtmp/command.h"
#include "proto/rtmp/message.h"
#include "stream/stream.h"

namespace weir::session {
namespace {

using media::TrackKind;

// A chunk stream whose clock lags by more than this at a start would pull the players' common
// origin away.
constexpr int64_t kSilentMs = 500;
// A track that was heard so lately is late rather than silent: its clock is left to it, up to
// kMaxLateMs behind.
constexpr int64_t kHeardMs = 1'000;
constexpr int64_t kMaxLateMs = 3'000;
// Room below the first message, for a track that begins earlier than it.
constexpr int64_t kHeadroomMs = 300;

constexpr std::array<uint32_t, 2> kChunkStreams = {rtmp::kAudioChunkStream,
                                                   rtmp::kVideoChunkStream};
constexpr std::array<uint8_t, 2> kMessageTypes = {rtmp::kAudio, rtmp::kVideo};
constexpr size_t kAudioTrack = static_cast<size_t>(TrackKind::kAudio);
constexpr size_t kVideoTrack = static_cast<size_t>(TrackKind::kVideo);

bool is_frame(const media::MediaPacket& packet) {
    const media::PacketInfo& info = packet.info();
    return info.kind != TrackKind::kData && !info.config && !info.metadata;
}

// A harmless data message, for a chunk stream whose track has not begun.
const Bytes& clock_message() {
    static const Bytes body = [] {
        Bytes out;
        rtmp::write_sample_access(out);
        return out;
    }();
    return body;
}

}  // namespace

void RtmpMuxer::write_message(size_t track, uint8_t type, int64_t time_ms, ByteSpan body) {
    int64_t& clock = clocks_[track];
    const int64_t time = std::max(time_ms, clock);
    rtmp::ChunkHeader header;
    header.format = rtmp::ChunkFormat::kDelta;
    header.type = type;
    header.chunk_stream_id = kChunkStreams[track];
    header.timestamp = static_cast<uint32_t>(time - clock);
    header.length = static_cast<uint32_t>(body.size());
    clock = time;
    std::array<uint8_t, rtmp::kMaxChunkHeaderSize> bytes;
    log().write(ByteSpan(bytes.data(), rtmp::write_chunk_header(header, bytes.data())));
    ByteSpan part = body.first(std::min<size_t>(body.size(), chunk_size_));
    log().write(part);
    while ((body = body.subspan(part.size())).size() > 0) {
        log().write(ByteSpan(bytes.data(), rtmp::write_continuation(header, bytes.data())));
        part = body.first(std::min<size_t>(body.size(), chunk_size_));
        log().write(part);
    }
}

// Before a start: a chunk stream that stood still gets an empty message, which moves its clock, so
// that the fronts of all later players have one common origin near the start. A track that plays
// keeps half a second for a late frame.
void RtmpMuxer::catch_up_silent_track(int64_t time_ms) {
    for (size_t track = 0; track < kTracks; track++) {
        const bool late = has_heard_[track] && time_ms - heard_ms_[track] <= kHeardMs;
        if (time_ms - clocks_[track] <= (late ? kMaxLateMs : kSilentMs)) {
            continue;
        }
        const size_t other = 1 - track;
        const bool other_plays = track_begun_[other] && time_ms - clocks_[other] <= kSilentMs;
        const int64_t target = late                  ? time_ms - kMaxLateMs
                               : track_begun_[track] ? time_ms - kSilentMs
                               : other_plays         ? clocks_[other]
                                                     : time_ms;
        log().begin_entry(time_ms, false);
        write_message(track, kMessageTypes[track], target, {});
        log().end_entry();
    }
}

void RtmpMuxer::hear(size_t track, int64_t time_ms) {
    newest_ms_ = std::max(newest_ms_, time_ms);
    heard_ms_[track] = newest_ms_;
    has_heard_[track] = true;
}

// A log that begins at a start has not seen the audio that came before it, which is in the front of
// its players: the log goes on behind that.
void RtmpMuxer::skip_early_audio(const stream::Configs& configs) {
    for (const media::PacketRef& packet : configs) {
        if (is_frame(*packet) && !is_more_audio(packet->info())) {
            const auto track = static_cast<size_t>(packet->info().kind);
            clocks_[track] = std::max(clocks_[track], packet->time_ms());
            track_begun_[track] = has_frames_[track] = true;
        }
    }
}

size_t RtmpMuxer::track_for_data() const {
    const bool video_ahead =
        track_begun_[kVideoTrack] && clocks_[kVideoTrack] >= clocks_[kAudioTrack];
    return video_ahead || !track_begun_[kAudioTrack] ? kVideoTrack : kAudioTrack;
}

void RtmpMuxer::on_attach(const stream::Stream& stream) {
    stream_ = &stream;
}

void RtmpMuxer::on_packet(const media::PacketRef& packet, const stream::Configs* start) {
    if (const auto audio = stream_ ? stream_->default_audio() : std::nullopt) {
        default_audio_ = audio;
        plain_.set_default_audio(audio);
    }
    if (tracks_ == RtmpTracks::kAll) {
        write(packet, start);
        return;
    }
    if (tracks_ == RtmpTracks::kOneAudio) {
        write_one_audio(packet, start);
        return;
    }
    plain_.take(packet, start, [this](const media::PacketRef& plain, const stream::Configs* begin) {
        write(plain, begin);
    });
}

void RtmpMuxer::on_start_lost(stream::StartLost why) {
    if (why == stream::StartLost::kPublisherCame) {
        plain_.forget();
        default_audio_.reset();
    }
    Muxer::on_start_lost(why);
}

void RtmpMuxer::write_one_audio(const media::PacketRef& packet, const stream::Configs* start) {
    const auto wanted = [this](const media::PacketRef& each) {
        return each->info().kind == TrackKind::kAudio
                   ? flv::plain_form(each, default_audio_.value_or(each->info().track_id))
                   : each;
    };
    stream::Configs configs;
    for (size_t i = 0; start != nullptr && i < start->size(); i++) {
        if (media::PacketRef config = wanted((*start)[i])) {
            configs.push_back(std::move(config));
        }
    }
    if (const media::PacketRef one = wanted(packet)) {
        write(one, start != nullptr ? &configs : nullptr);
    }
}

bool RtmpMuxer::is_more_audio(const media::PacketInfo& info) const {
    return tracks_ == RtmpTracks::kAll && info.kind == TrackKind::kAudio && default_audio_ &&
           info.track_id != *default_audio_;
}

// It does not push the default track, unless that one is silent.
int64_t RtmpMuxer::time_of_more_audio(int64_t time_ms) const {
    const bool silent = newest_ms_ - heard_ms_[kAudioTrack] > kHeardMs;
    return silent ? time_ms : std::min(time_ms, clocks_[kAudioTrack]);
}

// False: it is audio that came far behind its picture, and the log has no times for it (any more).
bool RtmpMuxer::takes(const media::PacketRef& packet, size_t track, bool start) {
    const int64_t time_ms = packet->time_ms();
    if (!is_frame(*packet)) {
        return true;
    }
    if (is_more_audio(packet->info())) {
        newest_ms_ = std::max(newest_ms_, time_ms);
        return time_ms >= origin_ms_;
    }
    const bool is_past = time_ms < origin_ms_ || (!has_frames_[track] && time_ms < clocks_[track]);
    if (is_past && !start) {
        hear(track, time_ms);
        return false;
    }
    has_frames_[track] = true;
    return true;
}

void RtmpMuxer::write(const media::PacketRef& packet, const stream::Configs* start) {
    const bool data = packet->info().kind == TrackKind::kData;
    const size_t track = data ? track_for_data() : static_cast<size_t>(packet->info().kind);
    const int64_t time_ms = packet->time_ms();
    if (!begun_) {
        begun_ = true;
        origin_ms_ = time_ms - kHeadroomMs;
        clocks_.fill(origin_ms_);
        clocks_[track] = time_ms;
        newest_ms_ = time_ms;
        heard_ms_.fill(time_ms);
        if (start) {
            skip_early_audio(*start);
        }
    }
    if (!takes(packet, track, start != nullptr)) {
        return;
    }
    const bool more_audio = is_more_audio(packet->info());
    track_begun_[track] = track_begun_[track] || !data;
    if (start) {
        catch_up_silent_track(time_ms);
        start_clocks_ = clocks_;
        start_begun_ = track_begun_;
        start_configs_ = *start;
    }
    // Audio that is made of another codec begins with the GOP, which may be over when it comes.
    if (!more_audio &&
        (is_frame(*packet) || packet->info().audience != media::Audience::kEverybody)) {
        hear(track, time_ms);
    }
    log().begin_entry(time_ms, start != nullptr, rides(*packet, start));
    // A configuration has the newest time of all tracks; the frames behind it may be of an earlier
    // one.
    write_message(track, data ? uint8_t{rtmp::kDataAmf0} : kMessageTypes[track],
                  packet->info().config ? clocks_[track]
                  : more_audio          ? time_of_more_audio(time_ms)
                                        : time_ms,
                  packet->body());
    if (packet->body().size() <= chunk_size_) {  // else chunk headers are in it
        share_body(*packet);
    }
    log().end_entry();
}

void RtmpMuxer::front(uint32_t stream_id, Bytes& out, For whom) const {
    rtmp::ChunkHeader header;
    const auto begin = [&](uint32_t chunk_stream_id, int64_t time_ms) {
        header.format = rtmp::ChunkFormat::kFull;
        header.chunk_stream_id = chunk_stream_id;
        header.timestamp = static_cast<uint32_t>(time_ms);
        header.stream_id = stream_id;
    };
    const auto add = [&](uint8_t type, ByteSpan body) {
        header.type = type;
        rtmp::write_message(header, body, chunk_size_, out);
        header.format = rtmp::ChunkFormat::kDelta;
        header.timestamp = 0;
    };
    // Metadata of another time than 0 is taken for a subtitle by ffmpeg.
    begin(rtmp::kDataChunkStream, 0);
    for (const media::PacketRef& config : start_configs_) {
        if (config->info().kind != TrackKind::kData) {
            continue;
        }
        if (whom == For::kServer && config->info().metadata) {
            Bytes framed;
            amf::Writer(framed).string("@setDataFrame");
            framed.insert(framed.end(), config->body().begin(), config->body().end());
            add(rtmp::kDataAmf0, framed);
        } else {
            add(rtmp::kDataAmf0, config->body());
        }
    }
    // Early audio moves the clock of its track from its first frame to where the log goes on.
    std::array<int64_t, kTracks> clocks = start_clocks_;
    for (const media::PacketRef& packet : start_configs_) {
        if (is_frame(*packet) && !is_more_audio(packet->info())) {
            int64_t& clock = clocks[static_cast<size_t>(packet->info().kind)];
            clock = std::min(clock, packet->time_ms());
        }
    }
    const int64_t origin = *std::ranges::min_element(clocks);
    for (size_t track : {kVideoTrack, kAudioTrack}) {
        begin(kChunkStreams[track], clocks[track] - origin);
        for (const media::PacketRef& packet : start_configs_) {
            if (static_cast<size_t>(packet->info().kind) != track) {
                continue;
            }
            if (is_frame(*packet) && !is_more_audio(packet->info())) {
                const int64_t time =
                    std::clamp(packet->time_ms(), clocks[track], start_clocks_[track]);
                header.timestamp += static_cast<uint32_t>(time - clocks[track]);
                clocks[track] = time;
            }
            add(kMessageTypes[track], packet->body());
        }
        if (clocks[track] < start_clocks_[track]) {
            header.timestamp = static_cast<uint32_t>(start_clocks_[track] - clocks[track]);
            add(kMessageTypes[track], {});
        }
        if (header.format == rtmp::ChunkFormat::kFull) {
            // No configuration carries the clock. An empty media message would announce a track
            // that may never come.
            if (start_begun_[track]) {
                add(kMessageTypes[track], {});
            } else {
                add(rtmp::kDataAmf0, clock_message());
            }
        }
    }
}

}  // namespace weir::session
