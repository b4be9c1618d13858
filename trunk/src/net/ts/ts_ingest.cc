#include "net/ts/ts_ingest.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "media/adts.h"
#include "media/language.h"
#include "media/mp3.h"
#include "media/opus.h"
#include "proto/flv/metadata.h"
#include "proto/flv/packet_maker.h"

namespace weir::net {
namespace {

using media::Codec;
using media::TrackKind;
using mpegts::Content;

// NAL units of these types and above are for nobody who decodes pictures.
constexpr uint8_t kFirstUnspecifiedAvc = 24;
constexpr uint8_t kFirstUnspecifiedHevc = 48;
constexpr size_t kMaxAudioTracks = media::Description::kMaxAudioTracks;

Codec codec_of(Content content) {
    switch (content) {
        case Content::kH264: return Codec::kH264;
        case Content::kHevc: return Codec::kHevc;
        case Content::kAac:
        case Content::kAacLatm: return Codec::kAac;
        case Content::kMpegAudio: return Codec::kMp3;
        case Content::kAc3: return Codec::kAc3;
        case Content::kEac3: return Codec::kEac3;
        case Content::kOpus: return Codec::kOpus;
        default: return Codec::kUnknown;
    }
}

bool is_for_decoders(Codec codec, ByteSpan nal) {
    const auto type =
        static_cast<uint8_t>(codec == Codec::kH264 ? nal[0] & 0x1F : nal[0] >> 1 & 0x3F);
    return codec == Codec::kH264 ? type != 0 && type < kFirstUnspecifiedAvc
                                 : type < kFirstUnspecifiedHevc;
}

media::PacketInfo info_of(TrackKind kind, Codec codec) {
    media::PacketInfo info;
    info.kind = kind;
    info.codec = codec;
    return info;
}

}  // namespace

TsIngest::TsIngest(TsOutput& output, const mpegts::ReaderOptions& options)
    : output_(output), reader_({.program = options.program, .max_audio = kMaxAudioTracks}) {}

Error TsIngest::feed(MonoTime now, ByteSpan bytes) {
    while (!bytes.empty()) {
        const size_t used = reader_.feed(bytes);
        bytes = bytes.subspan(used);
        drain(now);
        if (Error failed = reader_.take_error()) {
            return failed;
        }
        if (used == 0) {
            break;  // it has failed before
        }
    }
    return {};
}

void TsIngest::drain(MonoTime now) {
    for (;;) {
        mpegts::Unit unit;
        size_t track = 0;
        switch (reader_.next(unit, track)) {
            case mpegts::Reader::Event::kNeedMore:
            case mpegts::Reader::Event::kError: return;
            case mpegts::Reader::Event::kTracks: begin_tracks(); break;
            case mpegts::Reader::Event::kUnit: {
                const mpegts::StreamInfo& info = reader_.tracks()[track].info;
                const auto more = std::ranges::find(more_audio_, info, &Audio::info);
                if (mpegts::is_video(info.content)) {
                    take_video(now, unit);
                } else {
                    take_audio(now, more != more_audio_.end() ? *more : audio_, unit);
                }
                break;
            }
        }
    }
}

// ---- tracks ----

// Those that were there before go on.
void TsIngest::begin_tracks() {
    for (const mpegts::Track& track : reader_.tracks()) {
        if (!track.taken || !mpegts::is_video(track.info.content) || video_.info == track.info) {
            continue;
        }
        const Codec codec = codec_of(track.info.content);
        auto audio_tracks = std::move(video_.size.audio_tracks);
        video_ = {};
        video_.size.audio_tracks = std::move(audio_tracks);
        video_.info = track.info;
        video_.codec = codec;
        video_.front = flv::body_header_size(info_of(TrackKind::kVideo, codec), true).value_or(0);
        rtp::PayloadParameters parameters;
        parameters.recovery_points = true;
        video_.frames = rtp::make_depacketizer(codec, video_.front, parameters);
    }
    begin_audio();
    name_others();
}

void TsIngest::begin_audio() {
    std::vector<mpegts::StreamInfo> found;
    for (const mpegts::Track& track : reader_.tracks()) {
        if (track.taken && !mpegts::is_video(track.info.content)) {
            found.push_back(track.info);
        }
    }
    std::erase_if(more_audio_, [&found](const Audio& audio) {
        const auto at = std::ranges::find(found, audio.info);
        return at == found.end() || at == found.begin();
    });
    for (size_t i = 0; i < found.size(); i++) {
        if (i == 0) {
            if (audio_.info != found[i]) {
                begin_audio(audio_, found[i]);
            }
        } else if (std::ranges::find(more_audio_, found[i], &Audio::info) == more_audio_.end()) {
            Audio audio;
            audio.number = free_number();
            begin_audio(audio, found[i]);
            clock_.forget_beside(audio.number);
            more_audio_.push_back(std::move(audio));
        }
    }
    describe_audio();
}

// Whether it has begun is a matter of the number, whatever track has it.
void TsIngest::begin_audio(Audio& audio, const mpegts::StreamInfo& info) {
    const Audio before = std::exchange(audio, {});
    audio.number = before.number;
    audio.begun = before.begun;
    audio.info = info;
    audio.codec = codec_of(info.content);
    if (info.content == Content::kAacLatm) {
        rtp::PayloadParameters parameters;
        parameters.audio = rtp::AudioFraming::kLatm;
        parameters.latm_in_band = true;
        parameters.clock_hz = mpegts::kClockHz;
        audio.frames = rtp::make_depacketizer(audio.codec, 0, parameters);
    }
}

uint8_t TsIngest::free_number() const {
    uint8_t number = 1;
    while (std::ranges::find(more_audio_, number, &Audio::number) != more_audio_.end()) {
        number++;
    }
    return number;
}

// Of one track alone there is nothing to choose.
void TsIngest::describe_audio() {
    std::vector<media::AudioTrack> tracks;
    const auto add = [&tracks](const Audio& audio) {
        const auto& said = audio.info.language;
        tracks.push_back({audio.number, media::language_tag({said.data(), said.size()}), {}});
    };
    if (!more_audio_.empty()) {
        add(audio_);
        std::ranges::for_each(more_audio_, add);
    }
    if (tracks != video_.size.audio_tracks) {
        video_.size.audio_tracks = std::move(tracks);
        told_ = false;
    }
}

void TsIngest::name_others() {
    std::string names;
    for (const mpegts::Track& track : reader_.tracks()) {
        if (!track.taken) {
            names += fmt::format("{}{} (PID {})", names.empty() ? "" : ", ",
                                 mpegts::to_string(track.info.content), track.info.pid);
        }
    }
    if (!names.empty() && names != named_) {
        named_ = names;
        unused_.clear();
        warn_once(names);
    }
}

void TsIngest::warn_once(std::string_view what) {
    if (lines_ < kMaxLines) {
        lines_++;
        unused_ += fmt::format("{}{}", unused_.empty() ? "" : ", ", what);
        told_ = false;
        log::warn("transport stream: not passed on: {}", what);
    }
}

// ---- video ----

void TsIngest::take_video(MonoTime now, const mpegts::Unit& unit) {
    if (!feed_nals(unit)) {
        video_.awaits_key = true;
        stats_.dropped_frames++;
    }
    for (rtp::Frame frame; video_.frames->next(frame);) {
        publish_video(now, unit, frame);
    }
}

// Each unit is a frame, and each of its NAL units comes as if it were a packet.
bool TsIngest::feed_nals(const mpegts::Unit& unit) {
    std::optional<size_t> last;
    for (size_t i = 0; i < unit.nals.size(); i++) {
        last = is_for_decoders(video_.codec, unit.nals[i]) ? std::optional(i) : last;
    }
    video_.units++;
    bool gap = unit.after_loss;
    for (size_t i = 0; last && i <= *last; i++) {
        const ByteSpan nal = unit.nals[i];
        if (!is_for_decoders(video_.codec, nal)) {
            continue;
        }
        const rtp::PayloadInfo info{video_.units, i == *last, std::exchange(gap, false)};
        if (video_.frames->feed(nal, info) == rtp::FeedStatus::kMalformed) {
            return false;
        }
    }
    return true;
}

void TsIngest::publish_video(MonoTime now, const mpegts::Unit& unit, rtp::Frame& frame) {
    if (!frame.config.empty()) {
        video_.config = std::move(frame.config);
        video_.config_published = false;
        video_.size.width = frame.width;
        video_.size.height = frame.height;
    }
    const TsClock::Times times = clock_.map(TrackKind::kVideo, unit.dts, unit.pts, now);
    if (frame.key) {
        video_.awaits_key = false;
    } else if (frame.after_loss) {
        video_.awaits_key = true;
    }
    if (video_.awaits_key) {
        stats_.dropped_frames++;
        return;
    }
    media::PacketInfo info = info_of(TrackKind::kVideo, video_.codec);
    if (!std::exchange(video_.config_published, true)) {
        info.config = true;
        publish(now, flv::make_packet(info, times.decoded_ms, video_.config));
        info.config = false;
        video_.size.names_video = true;
        // It may come later. Of MPEG audio only frames say whether it is one that is passed on.
        video_.size.names_audio = first_audio_ || (audio_.codec != Codec::kUnknown &&
                                                   audio_.info.content != Content::kMpegAudio);
        output_.on_ts_description(video_.size);
    }
    info.key = frame.key;
    info.composition_ms = times.composition_ms;
    if (publish(now,
                flv::make_packet(info, times.decoded_ms, std::move(frame.data), video_.front))) {
        first_video_ms_ = first_video_ms_.value_or(times.decoded_ms);
        stats_.frames++;
    }
}

// ---- audio ----

void TsIngest::take_audio(MonoTime now, Audio& audio, const mpegts::Unit& unit) {
    switch (audio.info.content) {
        case Content::kAac: take_adts(now, audio, unit); return;
        case Content::kAacLatm: take_latm(now, audio, unit); return;
        case Content::kMpegAudio:
            if (!media::mp3::parse_header(unit.data)) {
                if (stats_.dropped_frames++ == 0) {
                    warn_once("MPEG audio of layers I and II");
                }
                return;
            }
            publish_audio(now, audio, unit.pts, {}, unit.data);
            return;
        case Content::kOpus: {
            const uint8_t channels = audio.info.channels == 1 ? 1 : 2;
            publish_audio(now, audio, unit.pts, media::opus::build_head(channels), unit.data);
            return;
        }
        default: publish_audio(now, audio, unit.pts, {}, unit.data); return;
    }
}

void TsIngest::take_adts(MonoTime now, Audio& audio, const mpegts::Unit& unit) {
    const auto header = media::adts::Header::parse(unit.data);
    // Of several blocks nothing says where one ends; of channel configuration 0 the frame itself
    // says what it has.
    if (!header || header->blocks != 1 || header->channel_config == 0) {
        if (stats_.dropped_frames++ == 0) {
            warn_once(
                "AAC with several blocks in a frame, or channels that its header does not "
                "name");
        }
        return;
    }
    publish_audio(now, audio, unit.pts, header->config(), unit.data.subspan(header->size()));
}

void TsIngest::take_latm(MonoTime now, Audio& audio, const mpegts::Unit& unit) {
    const auto first = static_cast<uint32_t>(unit.pts);
    const rtp::PayloadInfo info{first, true, unit.after_loss};
    if (audio.frames->feed(unit.data, info) == rtp::FeedStatus::kMalformed) {
        stats_.dropped_frames++;
    }
    for (rtp::Frame frame; audio.frames->next(frame);) {
        // An element may have several frames, each later than the one before.
        const auto later = static_cast<int32_t>(frame.rtp_time - first);
        if (!frame.config.empty()) {
            audio.latm_config = std::move(frame.config);
        }
        publish_audio(now, audio, unit.pts + later, audio.latm_config, frame.data);
    }
}

// Not before the first picture: a track that begins there would not rise. The default track begins
// first, since what comes first is the default one to players.
bool TsIngest::may_begin(MonoTime now, const Audio& audio, int64_t time_ms) {
    if (audio.number != 0) {
        return audio_.begun;
    }
    first_audio_ = first_audio_.value_or(now);
    const bool video_comes = video_.frames && !first_video_ms_ && now - *first_audio_ < kVideoWait;
    return !video_comes && time_ms >= first_video_ms_.value_or(time_ms);
}

void TsIngest::publish_audio(
    MonoTime now, Audio& audio, int64_t pts, ByteSpan config, ByteSpan frame) {
    const std::optional<int64_t> time_ms =
        audio.number == 0 ? clock_.map(TrackKind::kAudio, pts, pts, now).decoded_ms
                          : clock_.beside(audio.number, pts, now);
    if (!time_ms) {
        stats_.dropped_frames++;
        return;
    }
    if (!audio.begun && !may_begin(now, audio, *time_ms)) {
        return;
    }
    audio.begun = true;
    media::PacketInfo info = info_of(TrackKind::kAudio, audio.codec);
    info.multitrack = audio.number != 0;
    info.track_id = audio.number;
    if (!std::equal(config.begin(), config.end(), audio.config.begin(), audio.config.end())) {
        audio.config.assign(config.begin(), config.end());
        info.config = true;
        publish(now, flv::make_packet(info, *time_ms, config));
        info.config = false;
    }
    if (publish(now, flv::make_packet(info, *time_ms, frame))) {
        stats_.frames++;
    }
}

bool TsIngest::publish(MonoTime now, Ref<media::MediaPacket> packet) {
    if (!packet) {
        stats_.dropped_frames++;
        return false;
    }
    const int64_t time_ms = packet->time_ms();
    output_.on_ts_packet(now, std::move(packet));
    if (!std::exchange(told_, true)) {
        video_.size.unused_tracks = unused_;
        output_.on_ts_description(video_.size);
        name_tracks(now, time_ms);
    }
    return true;
}

// Of several; and of one, once several were named.
void TsIngest::name_tracks(MonoTime now, int64_t time_ms) {
    if (named_tracks_ != video_.size.audio_tracks) {
        named_tracks_ = video_.size.audio_tracks;
        output_.on_ts_packet(now, flv::make_metadata(video_.size, time_ms));
    }
}

size_t TsIngest::bytes() const {
    return sizeof(*this) + reader_.heap_bytes() +
           sizeof(rtp::Depacketizer) * ((video_.frames ? 1U : 0U) + (audio_.frames ? 1U : 0U)) +
           more_audio_.capacity() * sizeof(Audio);
}

}  // namespace weir::net
