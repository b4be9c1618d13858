#if WEIR_TRANSCODE

#include "transcode/audio_transcoder.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include "transcode/av_library.h"

namespace weir::transcode {
namespace {

using media::Codec;

constexpr int kChannels = 2;
// Half a second: what one input frame may add at most.
constexpr size_t kMaxPendingSamples = kAudioClockHz / 2;

const char* decoder_name(Codec codec) {
    switch (codec) {
        case Codec::kAac: return "aac";
        case Codec::kMp3: return "mp3float";
        case Codec::kOpus: return "opus";
        case Codec::kG711A: return "pcm_alaw";
        case Codec::kG711U: return "pcm_mulaw";
        default: return nullptr;
    }
}

const char* encoder_name(Codec codec) {
    return codec == Codec::kOpus ? "libopus" : codec == Codec::kAac ? "aac" : nullptr;
}

int64_t samples_us(int64_t samples) {
    return samples * 1'000'000 / kAudioClockHz;
}

}  // namespace

struct AudioTranscoder::Impl {
    ~Impl() {
        lib->av_packet_free(&packet);
        lib->av_frame_free(&decoded);
        lib->av_frame_free(&frame);
        lib->swr_free(&resampler);
        lib->avcodec_free_context(&decoder);
        lib->avcodec_free_context(&encoder);
    }

    Error open_decoder(const AudioOptions& options);
    Error open_encoder(const AudioOptions& options);
    Error prepare_resampler();
    Error resample(int64_t time_us);
    Error encode_pending(const Output& out);
    Error encode_one(const Output& out);
    void note_time(int64_t time_us);

    const AvLibrary* lib = nullptr;
    AVCodecContext* decoder = nullptr;
    AVCodecContext* encoder = nullptr;
    SwrContext* resampler = nullptr;
    AVPacket* packet = nullptr;
    AVFrame* decoded = nullptr;
    AVFrame* frame = nullptr;
    int input_rate = 0;  // what the resampler is made for
    int input_format = -1;
    int input_channels = 0;
    int64_t frame_samples = 0;
    // Samples that wait for a whole frame, one vector a channel.
    std::array<std::vector<float>, kChannels> pending;
    int64_t taken = 0;      // samples that went to the encoder, all in all
    int64_t origin_us = 0;  // time of sample 0, as the input's times have it
    bool timed = false;
    Bytes config;
};

AudioTranscoder::AudioTranscoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

AudioTranscoder::~AudioTranscoder() = default;

const Bytes& AudioTranscoder::output_config() const {
    return impl_->config;
}

Error AudioTranscoder::Impl::open_decoder(const AudioOptions& options) {
    const char* name = decoder_name(options.from);
    const AVCodec* codec = name ? lib->avcodec_find_decoder_by_name(name) : nullptr;
    if (codec == nullptr) {
        return make_error(ErrorCode::kUnsupported, "{} cannot be decoded here",
                          media::to_string(options.from));
    }
    decoder = lib->avcodec_alloc_context3(codec);
    decoder->thread_count = 1;
    if (options.from == Codec::kG711A || options.from == Codec::kG711U) {
        decoder->sample_rate = 8'000;
        lib->av_channel_layout_default(&decoder->ch_layout, 1);
    } else if (options.from == Codec::kOpus) {
        decoder->sample_rate = static_cast<int>(kAudioClockHz);
        lib->av_channel_layout_default(&decoder->ch_layout, kChannels);
    }
    if (!options.from_config.empty()) {
        // The library frees it with the context.
        decoder->extradata = static_cast<uint8_t*>(
            lib->av_mallocz(options.from_config.size() + AV_INPUT_BUFFER_PADDING_SIZE));
        std::memcpy(decoder->extradata, options.from_config.data(), options.from_config.size());
        decoder->extradata_size = static_cast<int>(options.from_config.size());
    }
    if (lib->avcodec_open2(decoder, codec, nullptr) < 0) {
        return make_error(ErrorCode::kMalformed, "the configuration of {} is not understood",
                          media::to_string(options.from));
    }
    return {};
}

Error AudioTranscoder::Impl::open_encoder(const AudioOptions& options) {
    const char* name = encoder_name(options.to);
    const AVCodec* codec = name ? lib->avcodec_find_encoder_by_name(name) : nullptr;
    if (codec == nullptr) {
        return make_error(ErrorCode::kUnsupported, "{} cannot be encoded here",
                          media::to_string(options.to));
    }
    encoder = lib->avcodec_alloc_context3(codec);
    encoder->thread_count = 1;
    encoder->sample_rate = static_cast<int>(kAudioClockHz);
    encoder->bit_rate = options.bits_per_second;
    encoder->sample_fmt = options.to == Codec::kOpus ? AV_SAMPLE_FMT_FLT : AV_SAMPLE_FMT_FLTP;
    encoder->time_base = {1, static_cast<int>(kAudioClockHz)};
    encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    lib->av_channel_layout_default(&encoder->ch_layout, kChannels);
    if (options.to == Codec::kOpus) {
        // Concealment on the player's side, and less delay than the 26 ms of "audio".
        lib->av_opt_set(encoder->priv_data, "application", "lowdelay", 0);
        lib->av_opt_set(encoder->priv_data, "frame_duration", "20", 0);
    }
    if (lib->avcodec_open2(encoder, codec, nullptr) < 0) {
        return make_error(ErrorCode::kInternal, "the encoder of {} does not start",
                          media::to_string(options.to));
    }
    frame_samples = encoder->frame_size;
    if (options.to == Codec::kAac && encoder->extradata_size > 0) {
        config.assign(encoder->extradata, encoder->extradata + encoder->extradata_size);
    }
    return {};
}

Result<std::unique_ptr<AudioTranscoder>> AudioTranscoder::create(const AudioOptions& options) {
    WEIR_TRY_ASSIGN(const AvLibrary* const lib, AvLibrary::load());
    auto impl = std::make_unique<Impl>();
    impl->lib = lib;
    WEIR_TRY(impl->open_decoder(options));
    WEIR_TRY(impl->open_encoder(options));
    impl->packet = lib->av_packet_alloc();
    impl->decoded = lib->av_frame_alloc();
    impl->frame = lib->av_frame_alloc();
    if (impl->packet == nullptr || impl->decoded == nullptr || impl->frame == nullptr) {
        return make_error(ErrorCode::kInternal, "out of memory");
    }
    AVFrame& frame = *impl->frame;
    frame.nb_samples = static_cast<int>(impl->frame_samples);
    frame.format = impl->encoder->sample_fmt;
    frame.sample_rate = impl->encoder->sample_rate;
    if (lib->av_channel_layout_copy(&frame.ch_layout, &impl->encoder->ch_layout) < 0 ||
        lib->av_frame_get_buffer(&frame, 0) < 0) {
        return make_error(ErrorCode::kInternal, "out of memory");
    }
    return std::unique_ptr<AudioTranscoder>(new AudioTranscoder(std::move(impl)));
}

// The decoder knows the true rate and channels only with a frame (HE-AAC doubles what its
// configuration says), and they may change under way.
Error AudioTranscoder::Impl::prepare_resampler() {
    const bool same = resampler != nullptr && decoded->sample_rate == input_rate &&
                      decoded->format == input_format &&
                      decoded->ch_layout.nb_channels == input_channels;
    if (same) {
        return {};
    }
    lib->swr_free(&resampler);
    AVChannelLayout stereo;
    lib->av_channel_layout_default(&stereo, kChannels);
    if (lib->swr_alloc_set_opts2(&resampler, &stereo, AV_SAMPLE_FMT_FLTP,
                                 static_cast<int>(kAudioClockHz), &decoded->ch_layout,
                                 static_cast<AVSampleFormat>(decoded->format), decoded->sample_rate,
                                 0, nullptr) < 0 ||
        lib->swr_init(resampler) < 0) {
        return make_error(ErrorCode::kMalformed, "sound of {} Hz and {} channels",
                          decoded->sample_rate, decoded->ch_layout.nb_channels);
    }
    input_rate = decoded->sample_rate;
    input_format = decoded->format;
    input_channels = decoded->ch_layout.nb_channels;
    return {};
}

// The output counts its samples; the input's times only say where it begins, and anew when they are
// too far from what was counted.
void AudioTranscoder::Impl::note_time(int64_t time_us) {
    const int64_t next_us = samples_us(taken + static_cast<int64_t>(pending[0].size()));
    if (!timed || std::abs(time_us - origin_us - next_us) > kMaxDriftUs) {
        for (std::vector<float>& channel : pending) {
            channel.clear();
        }
        origin_us = time_us - samples_us(taken);
        timed = true;
    }
}

Error AudioTranscoder::Impl::resample(int64_t time_us) {
    WEIR_TRY(prepare_resampler());
    note_time(time_us);
    const int room = lib->swr_get_out_samples(resampler, decoded->nb_samples);
    const size_t before = pending[0].size();
    if (room <= 0 || before + static_cast<size_t>(room) > kMaxPendingSamples) {
        return make_error(ErrorCode::kMalformed, "a frame of {} samples", decoded->nb_samples);
    }
    std::array<uint8_t*, kChannels> out;
    for (size_t i = 0; i < pending.size(); i++) {
        pending[i].resize(before + static_cast<size_t>(room));
        out[i] = reinterpret_cast<uint8_t*>(pending[i].data() + before);
    }
    // The library takes pointers to pointers of bytes it does not write.
    const int got = lib->swr_convert(resampler, out.data(), room,
                                     const_cast<const uint8_t**>(decoded->extended_data),  // NOLINT
                                     decoded->nb_samples);
    for (std::vector<float>& channel : pending) {
        channel.resize(before + static_cast<size_t>(std::max(got, 0)));
    }
    return got < 0 ? make_error(ErrorCode::kMalformed, "cannot be resampled") : Error();
}

Error AudioTranscoder::Impl::encode_one(const Output& out) {
    if (lib->av_frame_make_writable(frame) < 0) {
        return make_error(ErrorCode::kInternal, "out of memory");
    }
    const auto count = static_cast<size_t>(frame_samples);
    if (encoder->sample_fmt == AV_SAMPLE_FMT_FLT) {
        auto* to = reinterpret_cast<float*>(frame->data[0]);
        for (size_t i = 0; i < count; i++) {
            to[2 * i] = pending[0][i];
            to[2 * i + 1] = pending[1][i];
        }
    } else {
        for (size_t i = 0; i < pending.size(); i++) {
            std::memcpy(frame->data[i], pending[i].data(), count * sizeof(float));
        }
    }
    frame->pts = taken;
    for (std::vector<float>& channel : pending) {
        channel.erase(channel.begin(), channel.begin() + static_cast<std::ptrdiff_t>(count));
    }
    taken += frame_samples;
    if (lib->avcodec_send_frame(encoder, frame) < 0) {
        return make_error(ErrorCode::kInternal, "the encoder refuses a frame");
    }
    while (lib->avcodec_receive_packet(encoder, packet) == 0) {
        // The time of its first sample, which the encoder has set back by what it looks ahead.
        out({packet->data, static_cast<size_t>(packet->size)}, origin_us + samples_us(packet->pts));
        lib->av_packet_unref(packet);
    }
    return {};
}

Error AudioTranscoder::Impl::encode_pending(const Output& out) {
    while (pending[0].size() >= static_cast<size_t>(frame_samples)) {
        WEIR_TRY(encode_one(out));
    }
    return {};
}

Error AudioTranscoder::transcode(ByteSpan bytes, int64_t time_us, const Output& out) {
    Impl& impl = *impl_;
    if (bytes.empty() || bytes.size() > kMaxInputFrame) {
        return make_error(ErrorCode::kMalformed, "a frame of {} bytes", bytes.size());
    }
    if (impl.lib->av_new_packet(impl.packet, static_cast<int>(bytes.size())) < 0) {
        return make_error(ErrorCode::kInternal, "out of memory");
    }
    std::memcpy(impl.packet->data, bytes.data(), bytes.size());
    const int sent = impl.lib->avcodec_send_packet(impl.decoder, impl.packet);
    impl.lib->av_packet_unref(impl.packet);
    if (sent < 0) {
        return make_error(ErrorCode::kMalformed, "a frame that cannot be decoded");
    }
    Error error;
    while (!error && impl.lib->avcodec_receive_frame(impl.decoder, impl.decoded) == 0) {
        error = impl.resample(time_us);
        impl.lib->av_frame_unref(impl.decoded);
        if (!error) {
            error = impl.encode_pending(out);
        }
    }
    return error;
}

}  // namespace weir::transcode

#endif  // WEIR_TRANSCODE
