#if WEIR_TRANSCODE

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "transcode/av_library.h"
#include "transcode/picture.h"

namespace weir::transcode {
namespace {

using media::Codec;

constexpr int kQuality = 4;  // of MJPEG's quantisers, 2 (best) to 31

// What the library frees with its context, and packets and frames.
struct Context {
    explicit Context(const AvLibrary& library, const AVCodec* codec)
        : lib(library), of(library.avcodec_alloc_context3(codec)) {}

    ~Context() { lib.avcodec_free_context(&of); }

    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    const AvLibrary& lib;
    AVCodecContext* of;
};

struct Packet {
    explicit Packet(const AvLibrary& library) : lib(library), of(library.av_packet_alloc()) {}

    ~Packet() { lib.av_packet_free(&of); }

    Packet(const Packet&) = delete;
    Packet& operator=(const Packet&) = delete;

    const AvLibrary& lib;
    AVPacket* of;
};

struct Frame {
    explicit Frame(const AvLibrary& library) : lib(library), of(library.av_frame_alloc()) {}

    ~Frame() { lib.av_frame_free(&of); }

    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

    const AvLibrary& lib;
    AVFrame* of;
};

const AVCodec* decoder_of(const AvLibrary& lib, Codec codec) {
    static constexpr std::array<std::pair<Codec, const char*>, 6> kNames = {
        {{Codec::kH264, "h264"},
         {Codec::kHevc, "hevc"},
         {Codec::kAv1, "libdav1d"},
         {Codec::kAv1, "libaom-av1"},
         {Codec::kVp8, "vp8"},
         {Codec::kVp9, "vp9"}}};
    for (const auto& [each, name] : kNames) {
        const AVCodec* const found =
            each == codec ? lib.avcodec_find_decoder_by_name(name) : nullptr;
        if (found != nullptr) {
            return found;
        }
    }
    return nullptr;
}

Error decode(const AvLibrary& lib, const KeyFrameView& view, Frame& out) {
    const AVCodec* const codec = decoder_of(lib, view.codec);
    if (codec == nullptr) {
        return make_error(ErrorCode::kUnsupported, "{} cannot be decoded here",
                          media::to_string(view.codec));
    }
    Context decoder(lib, codec);
    decoder.of->thread_count = 1;
    decoder.of->max_pixels = kMaxPicturePixels;
    if (!view.config.empty()) {
        decoder.of->extradata = static_cast<uint8_t*>(
            lib.av_mallocz(view.config.size() + AV_INPUT_BUFFER_PADDING_SIZE));
        std::memcpy(decoder.of->extradata, view.config.data(), view.config.size());
        decoder.of->extradata_size = static_cast<int>(view.config.size());
    }
    const Packet packet(lib);
    if (lib.avcodec_open2(decoder.of, codec, nullptr) < 0 ||
        lib.av_new_packet(packet.of, static_cast<int>(view.payload.size())) < 0) {
        return make_error(ErrorCode::kMalformed, "the configuration of {} is not understood",
                          media::to_string(view.codec));
    }
    std::memcpy(packet.of->data, view.payload.data(), view.payload.size());
    packet.of->flags |= AV_PKT_FLAG_KEY;
    // The second one says that nothing follows, so that the frame comes out.
    const bool taken = lib.avcodec_send_packet(decoder.of, packet.of) >= 0 &&
                       lib.avcodec_send_packet(decoder.of, nullptr) >= 0;
    if (!taken || lib.avcodec_receive_frame(decoder.of, out.of) < 0) {
        return make_error(ErrorCode::kMalformed, "the key frame cannot be decoded");
    }
    return {};
}

struct Layout {
    AVPixelFormat to;  // with 8 bits, in the whole range
    int width_shift;   // of chroma
    int height_shift;
    int bits;
    bool whole_range;
};

Result<Layout> layout_of(const AVFrame& frame) {
    const bool whole = frame.color_range == AVCOL_RANGE_JPEG;
    switch (frame.format) {
        case AV_PIX_FMT_YUV420P: return Layout{AV_PIX_FMT_YUVJ420P, 1, 1, 8, whole};
        case AV_PIX_FMT_YUV422P: return Layout{AV_PIX_FMT_YUVJ422P, 1, 0, 8, whole};
        case AV_PIX_FMT_YUV444P: return Layout{AV_PIX_FMT_YUVJ444P, 0, 0, 8, whole};
        case AV_PIX_FMT_YUVJ420P: return Layout{AV_PIX_FMT_YUVJ420P, 1, 1, 8, true};
        case AV_PIX_FMT_YUVJ422P: return Layout{AV_PIX_FMT_YUVJ422P, 1, 0, 8, true};
        case AV_PIX_FMT_YUVJ444P: return Layout{AV_PIX_FMT_YUVJ444P, 0, 0, 8, true};
        case AV_PIX_FMT_YUV420P10LE: return Layout{AV_PIX_FMT_YUVJ420P, 1, 1, 10, whole};
        case AV_PIX_FMT_YUV422P10LE: return Layout{AV_PIX_FMT_YUVJ422P, 1, 0, 10, whole};
        case AV_PIX_FMT_YUV444P10LE: return Layout{AV_PIX_FMT_YUVJ444P, 0, 0, 10, whole};
        default:
            return make_error(ErrorCode::kUnsupported, "pictures of this format ({}) are not made",
                              frame.format);
    }
}

// For each value of a sample the one of 8 bits in the whole range (ITU-R BT.601 §2.5.3).
std::vector<uint8_t> table_of(const Layout& layout, bool chroma) {
    const int scale = 1 << (layout.bits - 8);
    std::vector<uint8_t> out(size_t{1} << static_cast<unsigned>(layout.bits));
    for (size_t i = 0; i < out.size(); i++) {
        const double value = static_cast<double>(i) / scale;
        const double whole = layout.whole_range ? value
                             : chroma           ? (value - 128.0) * 255.0 / 224.0 + 128.0
                                                : (value - 16.0) * 255.0 / 219.0;
        out[i] = static_cast<uint8_t>(std::clamp(std::lround(whole), 0L, 255L));
    }
    return out;
}

void convert(const AVFrame& from, const Layout& layout, AVFrame& to) {
    for (size_t plane = 0; plane < 3; plane++) {
        const bool chroma = plane > 0;
        const int right = chroma ? layout.width_shift : 0;
        const int down = chroma ? layout.height_shift : 0;
        const auto width = static_cast<size_t>((from.width + (1 << right) - 1) >> right);
        const int height = (from.height + (1 << down) - 1) >> down;
        const std::vector<uint8_t> table = table_of(layout, chroma);
        for (int row = 0; row < height; row++) {
            const uint8_t* const in = from.data[plane] + ptrdiff_t{row} * from.linesize[plane];
            uint8_t* const out = to.data[plane] + ptrdiff_t{row} * to.linesize[plane];
            for (size_t i = 0; i < width; i++) {
                const size_t value =
                    layout.bits == 8 ? in[i] : size_t{in[2 * i]} | size_t{in[2 * i + 1]} << 8U;
                out[i] = table[std::min(value, table.size() - 1)];
            }
        }
    }
}

Result<Bytes> encode(const AvLibrary& lib, const AVFrame& picture) {
    const AVCodec* const codec = lib.avcodec_find_encoder_by_name("mjpeg");
    if (codec == nullptr) {
        return make_error(ErrorCode::kUnsupported, "JPEG cannot be encoded here");
    }
    Context encoder(lib, codec);
    encoder.of->thread_count = 1;
    encoder.of->width = picture.width;
    encoder.of->height = picture.height;
    encoder.of->pix_fmt = static_cast<AVPixelFormat>(picture.format);
    encoder.of->color_range = AVCOL_RANGE_JPEG;
    encoder.of->time_base = {1, 25};
    encoder.of->flags |= AV_CODEC_FLAG_QSCALE;
    encoder.of->global_quality = FF_QP2LAMBDA * kQuality;
    const Packet packet(lib);
    if (lib.avcodec_open2(encoder.of, codec, nullptr) < 0 ||
        lib.avcodec_send_frame(encoder.of, &picture) < 0 ||
        lib.avcodec_receive_packet(encoder.of, packet.of) < 0) {
        return make_error(ErrorCode::kUnsupported, "a picture of {} x {} cannot be encoded",
                          picture.width, picture.height);
    }
    return Bytes(packet.of->data, packet.of->data + packet.of->size);
}

}  // namespace

Result<Bytes> make_jpeg(const KeyFrameView& frame) {
    WEIR_TRY_ASSIGN(const AvLibrary* const lib, AvLibrary::load());
    Frame decoded(*lib);
    Frame picture(*lib);
    if (decoded.of == nullptr || picture.of == nullptr) {
        return make_error(ErrorCode::kInternal, "out of memory");
    }
    WEIR_TRY(decode(*lib, frame, decoded));
    WEIR_TRY_ASSIGN(const Layout layout, layout_of(*decoded.of));
    picture.of->format = layout.to;
    picture.of->width = decoded.of->width;
    picture.of->height = decoded.of->height;
    picture.of->color_range = AVCOL_RANGE_JPEG;
    picture.of->quality = FF_QP2LAMBDA * kQuality;
    if (lib->av_frame_get_buffer(picture.of, 0) < 0) {
        return make_error(ErrorCode::kInternal, "out of memory");
    }
    convert(*decoded.of, layout, *picture.of);
    return encode(*lib, *picture.of);
}

}  // namespace weir::transcode

#endif  // WEIR_TRANSCODE
