#if WEIR_TRANSCODE

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "media/speex.h"
#include "transcode/audio_path.h"
#include "transcode/av_library.h"

namespace weir::transcode {
namespace {

using media::Codec;

constexpr size_t kMaxChannels = 2;
constexpr uint32_t kG722Rate = 16'000;
constexpr uint32_t kFlvSpeexRate = 16'000;
constexpr uint32_t kG711Rate = 8'000;
constexpr Millis kSpeexFrame{20};

constexpr const char* kPcmName =
    std::endian::native == std::endian::little ? "pcm_s16le" : "pcm_s16be";

// Names by which the library finds what is here; a second one where two can do it.
using Names = std::array<const char*, 2>;

Names decoder_names(Codec codec) {
    switch (codec) {
        case Codec::kAac: return {"aac", nullptr};
        case Codec::kMp3: return {"mp3float", nullptr};
        case Codec::kOpus: return {"opus", nullptr};
        case Codec::kG711A: return {"pcm_alaw", nullptr};
        case Codec::kG711U: return {"pcm_mulaw", nullptr};
        case Codec::kG722: return {"g722", nullptr};
        case Codec::kSpeex: return {"libspeex", "speex"};
        case Codec::kPcm: return {kPcmName, nullptr};
        default: return {};
    }
}

const char* encoder_name(Codec codec) {
    switch (codec) {
        case Codec::kOpus: return "libopus";
        case Codec::kAac: return "aac";
        case Codec::kG711A: return "pcm_alaw";
        case Codec::kG711U: return "pcm_mulaw";
        case Codec::kG722: return "g722";
        case Codec::kSpeex: return "libspeex";
        case Codec::kPcm: return kPcmName;
        default: return nullptr;
    }
}

// Of codecs whose frames do not say it; 0 for the others.
uint32_t input_rate_of(const AudioOptions& options) {
    switch (options.from) {
        case Codec::kG711A:
        case Codec::kG711U: return kG711Rate;
        case Codec::kG722: return kG722Rate;
        case Codec::kSpeex: return options.from_rate == 0 ? kFlvSpeexRate : options.from_rate;
        case Codec::kPcm: return options.from_rate == 0 ? kG711Rate : options.from_rate;
        default: return 0;
    }
}

AVSampleFormat sample_format_of(Codec codec) {
    return codec == Codec::kOpus  ? AV_SAMPLE_FMT_FLT
           : codec == Codec::kAac ? AV_SAMPLE_FMT_FLTP
                                  : AV_SAMPLE_FMT_S16;
}

int16_t sample_of(float value) {
    return static_cast<int16_t>(std::lrintf(std::clamp(value * 32768.0F, -32768.0F, 32767.0F)));
}

class AvPath final : public AudioPath {
  public:
    AvPath(const AvLibrary& library, const AudioOptions& options)
        : lib_(&library),
          from_(options.from),
          rate_(output_rate(options)),
          channels_(output_channels(options)),
          clock_(rate_),
          pending_(channels_) {}

    ~AvPath() override {
        lib_->av_packet_free(&packet_);
        lib_->av_frame_free(&decoded_);
        lib_->av_frame_free(&frame_);
        lib_->swr_free(&resampler_);
        lib_->avcodec_free_context(&decoder_);
        lib_->avcodec_free_context(&encoder_);
    }

    Error open(const AudioOptions& options);

    Error transcode(ByteSpan bytes, int64_t time_us, const AudioTranscoder::Output& out) override;

    const Bytes& output_config() const override { return config_; }

  private:
    Error open_decoder(const AudioOptions& options);
    Error open_encoder(const AudioOptions& options);
    void set_encoder_options(const AudioOptions& options);
    Error make_frame();
    Error decode(ByteSpan bytes,
                 std::optional<int64_t> time_us,
                 const AudioTranscoder::Output& out);
    Error prepare_resampler();
    Error resample(std::optional<int64_t> time_us);
    Error encode_pending(const AudioTranscoder::Output& out);
    Error encode_one(const AudioTranscoder::Output& out);
    void fill_frame(size_t count);

    const AvLibrary* lib_;
    Codec from_;
    uint32_t rate_;    // of what comes out
    size_t channels_;  // likewise
    AVCodecContext* decoder_ = nullptr;
    AVCodecContext* encoder_ = nullptr;
    SwrContext* resampler_ = nullptr;
    AVPacket* packet_ = nullptr;
    AVFrame* decoded_ = nullptr;
    AVFrame* frame_ = nullptr;
    int input_rate_ = 0;  // what the resampler is made for
    int input_format_ = -1;
    int input_channels_ = 0;
    int64_t frame_samples_ = 0;
    OutputClock clock_;
    // Samples that wait for a whole frame, one vector a channel.
    std::vector<std::vector<float>> pending_;
    Bytes config_;
};

Error AvPath::open_decoder(const AudioOptions& options) {
    const AVCodec* codec = nullptr;
    for (const char* name : decoder_names(options.from)) {
        if (codec == nullptr && name != nullptr) {
            codec = lib_->avcodec_find_decoder_by_name(name);
        }
    }
    if (codec == nullptr) {
        return make_error(ErrorCode::kUnsupported, "{} cannot be decoded here",
                          media::to_string(options.from));
    }
    decoder_ = lib_->avcodec_alloc_context3(codec);
    decoder_->thread_count = 1;
    if (const uint32_t known = input_rate_of(options); known != 0) {
        decoder_->sample_rate = static_cast<int>(known);
        lib_->av_channel_layout_default(&decoder_->ch_layout, 1);
    } else if (options.from == Codec::kOpus) {
        decoder_->sample_rate = static_cast<int>(kAudioClockHz);
        lib_->av_channel_layout_default(&decoder_->ch_layout, static_cast<int>(channels_));
    }
    if (!options.from_config.empty()) {
        // The library frees it with the context.
        decoder_->extradata = static_cast<uint8_t*>(
            lib_->av_mallocz(options.from_config.size() + AV_INPUT_BUFFER_PADDING_SIZE));
        std::memcpy(decoder_->extradata, options.from_config.data(), options.from_config.size());
        decoder_->extradata_size = static_cast<int>(options.from_config.size());
    }
    if (lib_->avcodec_open2(decoder_, codec, nullptr) < 0) {
        return make_error(ErrorCode::kMalformed, "the configuration of {} is not understood",
                          media::to_string(options.from));
    }
    return {};
}

Error AvPath::open_encoder(const AudioOptions& options) {
    const char* name = encoder_name(options.to);
    const AVCodec* codec = name ? lib_->avcodec_find_encoder_by_name(name) : nullptr;
    if (codec == nullptr) {
        return make_error(ErrorCode::kUnsupported, "{} cannot be encoded here",
                          media::to_string(options.to));
    }
    encoder_ = lib_->avcodec_alloc_context3(codec);
    encoder_->thread_count = 1;
    encoder_->sample_rate = static_cast<int>(rate_);
    encoder_->sample_fmt = sample_format_of(options.to);
    encoder_->time_base = {1, static_cast<int>(rate_)};
    encoder_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    lib_->av_channel_layout_default(&encoder_->ch_layout, static_cast<int>(channels_));
    set_encoder_options(options);
    if (lib_->avcodec_open2(encoder_, codec, nullptr) < 0) {
        return make_error(ErrorCode::kUnsupported, "the encoder of {} does not start for {} Hz",
                          media::to_string(options.to), rate_);
    }
    frame_samples_ = encoder_->frame_size;
    if (frame_samples_ == 0) {  // any size will do
        frame_samples_ = int64_t{rate_} * options.frame_duration.count() / 1000;
    }
    if (options.to == Codec::kAac && encoder_->extradata_size > 0) {
        config_.assign(encoder_->extradata, encoder_->extradata + encoder_->extradata_size);
    }
    return {};
}

void AvPath::set_encoder_options(const AudioOptions& options) {
    const int64_t frame_ms = options.frame_duration.count();
    if (options.to == Codec::kAac || options.to == Codec::kOpus) {
        encoder_->bit_rate = options.bits_per_second;
    }
    if (options.to == Codec::kOpus) {
        // Concealment on the player's side, and less delay than the 26 ms of "audio".
        lib_->av_opt_set(encoder_->priv_data, "application", options.voice ? "voip" : "lowdelay",
                         0);
        lib_->av_opt_set(encoder_->priv_data, "frame_duration", std::to_string(frame_ms).c_str(),
                         0);
        if (options.voice) {
            lib_->av_opt_set(encoder_->priv_data, "fec", "1", 0);
            lib_->av_opt_set(encoder_->priv_data, "packet_loss", "5", 0);
        }
    } else if (options.to == Codec::kSpeex) {
        const int64_t frames = std::max<int64_t>(1, frame_ms / kSpeexFrame.count());
        lib_->av_opt_set(encoder_->priv_data, "frames_per_packet", std::to_string(frames).c_str(),
                         0);
    } else if (options.to == Codec::kG722) {
        encoder_->frame_size = static_cast<int>(rate_ * static_cast<uint32_t>(frame_ms) / 1000);
    }
}

Error AvPath::make_frame() {
    frame_->nb_samples = static_cast<int>(frame_samples_);
    frame_->format = encoder_->sample_fmt;
    frame_->sample_rate = encoder_->sample_rate;
    if (lib_->av_channel_layout_copy(&frame_->ch_layout, &encoder_->ch_layout) < 0 ||
        lib_->av_frame_get_buffer(frame_, 0) < 0) {
        return make_error(ErrorCode::kInternal, "out of memory");
    }
    return {};
}

Error AvPath::open(const AudioOptions& options) {
    WEIR_TRY(open_decoder(options));
    WEIR_TRY(open_encoder(options));
    packet_ = lib_->av_packet_alloc();
    decoded_ = lib_->av_frame_alloc();
    frame_ = lib_->av_frame_alloc();
    if (packet_ == nullptr || decoded_ == nullptr || frame_ == nullptr) {
        return make_error(ErrorCode::kInternal, "out of memory");
    }
    return make_frame();
}

// The decoder knows the true rate and channels only with a frame (HE-AAC doubles what its
// configuration says), and they may change under way.
Error AvPath::prepare_resampler() {
    const bool same = resampler_ != nullptr && decoded_->sample_rate == input_rate_ &&
                      decoded_->format == input_format_ &&
                      decoded_->ch_layout.nb_channels == input_channels_;
    if (same) {
        return {};
    }
    lib_->swr_free(&resampler_);
    AVChannelLayout layout;
    lib_->av_channel_layout_default(&layout, static_cast<int>(channels_));
    const bool made = lib_->swr_alloc_set_opts2(&resampler_, &layout, AV_SAMPLE_FMT_FLTP,
                                                static_cast<int>(rate_), &decoded_->ch_layout,
                                                static_cast<AVSampleFormat>(decoded_->format),
                                                decoded_->sample_rate, 0, nullptr) >= 0;
    if (made && channels_ == 1) {
        // Of two equal channels one as loud as they are, not 3 dB louder.
        lib_->av_opt_set(resampler_, "rematrix_maxval", "1.0", 0);
    }
    if (!made || lib_->swr_init(resampler_) < 0) {
        return make_error(ErrorCode::kMalformed, "sound of {} Hz and {} channels",
                          decoded_->sample_rate, decoded_->ch_layout.nb_channels);
    }
    input_rate_ = decoded_->sample_rate;
    input_format_ = decoded_->format;
    input_channels_ = decoded_->ch_layout.nb_channels;
    return {};
}

// `time_us`: of the first frame that a packet gives; those after it follow.
Error AvPath::resample(std::optional<int64_t> time_us) {
    WEIR_TRY(prepare_resampler());
    using Follows = OutputClock::Follows;
    const Follows follows = time_us ? clock_.note(*time_us, pending_[0].size()) : Follows::kGoesOn;
    if (follows == Follows::kIsOver) {
        return {};
    }
    for (std::vector<float>& channel : pending_) {
        if (follows == Follows::kAnew) {
            channel.clear();
        }
    }
    // Half a second: what one input frame may add at most.
    const int room = lib_->swr_get_out_samples(resampler_, decoded_->nb_samples);
    const size_t before = pending_[0].size();
    if (room <= 0 || before + static_cast<size_t>(room) > rate_ / 2) {
        return make_error(ErrorCode::kMalformed, "a frame of {} samples", decoded_->nb_samples);
    }
    std::array<uint8_t*, kMaxChannels> out{};
    for (size_t i = 0; i < pending_.size(); i++) {
        pending_[i].resize(before + static_cast<size_t>(room));
        out[i] = reinterpret_cast<uint8_t*>(pending_[i].data() + before);
    }
    // The library takes pointers to pointers of bytes it does not write.
    const int got =
        lib_->swr_convert(resampler_, out.data(), room,
                          const_cast<const uint8_t**>(decoded_->extended_data),  // NOLINT
                          decoded_->nb_samples);
    for (std::vector<float>& channel : pending_) {
        channel.resize(before + static_cast<size_t>(std::max(got, 0)));
    }
    return got < 0 ? make_error(ErrorCode::kMalformed, "cannot be resampled") : Error();
}

// Takes `count` samples of each channel into the encoder's frame.
void AvPath::fill_frame(size_t count) {
    if (encoder_->sample_fmt == AV_SAMPLE_FMT_FLT) {
        auto* to = reinterpret_cast<float*>(frame_->data[0]);
        for (size_t i = 0; i < count; i++) {
            for (const std::vector<float>& channel : pending_) {
                *to++ = channel[i];
            }
        }
    } else if (encoder_->sample_fmt == AV_SAMPLE_FMT_S16) {
        auto* to = reinterpret_cast<int16_t*>(frame_->data[0]);
        std::transform(pending_[0].begin(),
                       pending_[0].begin() + static_cast<std::ptrdiff_t>(count), to, sample_of);
    } else {
        for (size_t i = 0; i < pending_.size(); i++) {
            std::memcpy(frame_->data[i], pending_[i].data(), count * sizeof(float));
        }
    }
    for (std::vector<float>& channel : pending_) {
        channel.erase(channel.begin(), channel.begin() + static_cast<std::ptrdiff_t>(count));
    }
}

Error AvPath::encode_one(const AudioTranscoder::Output& out) {
    if (lib_->av_frame_make_writable(frame_) < 0) {
        return make_error(ErrorCode::kInternal, "out of memory");
    }
    fill_frame(static_cast<size_t>(frame_samples_));
    frame_->pts = clock_.taken();
    clock_.take(frame_samples_);
    if (lib_->avcodec_send_frame(encoder_, frame_) < 0) {
        return make_error(ErrorCode::kInternal, "the encoder refuses a frame");
    }
    while (lib_->avcodec_receive_packet(encoder_, packet_) == 0) {
        // The time of its first sample, which the encoder has set back by what it looks ahead.
        out({packet_->data, static_cast<size_t>(packet_->size)}, clock_.time_of(packet_->pts));
        lib_->av_packet_unref(packet_);
    }
    return {};
}

Error AvPath::encode_pending(const AudioTranscoder::Output& out) {
    while (pending_[0].size() >= static_cast<size_t>(frame_samples_)) {
        WEIR_TRY(encode_one(out));
    }
    return {};
}

Error AvPath::transcode(ByteSpan bytes, int64_t time_us, const AudioTranscoder::Output& out) {
    if (from_ != Codec::kSpeex) {
        return decode(bytes, time_us, out);
    }
    // Of several frames in a packet the library would keep all but one until the next packet.
    const std::vector<Bytes> frames = media::speex::split(bytes, 1);
    if (frames.empty()) {
        return make_error(ErrorCode::kMalformed, "a packet that is not Speex");
    }
    std::optional<int64_t> first_us = time_us;
    for (const Bytes& frame : frames) {
        WEIR_TRY(decode(frame, std::exchange(first_us, std::nullopt), out));
    }
    return {};
}

Error AvPath::decode(ByteSpan bytes,
                     std::optional<int64_t> time_us,
                     const AudioTranscoder::Output& out) {
    if (lib_->av_new_packet(packet_, static_cast<int>(bytes.size())) < 0) {
        return make_error(ErrorCode::kInternal, "out of memory");
    }
    std::memcpy(packet_->data, bytes.data(), bytes.size());
    const int sent = lib_->avcodec_send_packet(decoder_, packet_);
    lib_->av_packet_unref(packet_);
    if (sent < 0) {
        return make_error(ErrorCode::kMalformed, "a frame that cannot be decoded");
    }
    Error error;
    while (!error && lib_->avcodec_receive_frame(decoder_, decoded_) == 0) {
        error = resample(std::exchange(time_us, std::nullopt));
        lib_->av_frame_unref(decoded_);
        if (!error) {
            error = encode_pending(out);
        }
    }
    return error;
}

}  // namespace

Result<std::unique_ptr<AudioPath>> make_av_path(const AudioOptions& options) {
    WEIR_TRY_ASSIGN(const AvLibrary* const lib, AvLibrary::load());
    auto path = std::make_unique<AvPath>(*lib, options);
    WEIR_TRY(path->open(options));
    return std::unique_ptr<AudioPath>(std::move(path));
}

}  // namespace weir::transcode

#endif  // WEIR_TRANSCODE
