#if WEIR_TRANSCODE

#include "transcode/av_library.h"

#include <mutex>
#include <string>

#include <dlfcn.h>

namespace weir::transcode {
namespace {

struct Loaded {
    AvLibrary functions{};
    std::string why;  // it could not be loaded; empty when it was
};

void* open_library(const char* stem, int major, std::string& why) {
    const std::string name = fmt::format("{}.so.{}", stem, major);
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        const char* reason = dlerror();
        why = fmt::format("{}: {}", name, reason == nullptr ? "unknown" : reason);
    }
    return handle;
}

template <typename Function>
void bind(void* handle, const char* name, Function& out, std::string& why) {
    out = reinterpret_cast<Function>(dlsym(handle, name));
    if (out == nullptr) {
        why = fmt::format("the library has no {}", name);
    }
}

void load_all(Loaded& loaded) {
    std::string& why = loaded.why;
    AvLibrary& f = loaded.functions;
    void* util = open_library("libavutil", LIBAVUTIL_VERSION_MAJOR, why);
    void* resample = util ? open_library("libswresample", LIBSWRESAMPLE_VERSION_MAJOR, why) : util;
    void* codec = resample ? open_library("libavcodec", LIBAVCODEC_VERSION_MAJOR, why) : resample;
    if (codec == nullptr) {
        return;
    }
#define WEIR_BIND(handle, name) bind(handle, #name, f.name, why)
    WEIR_BIND(codec, avcodec_find_decoder_by_name);
    WEIR_BIND(codec, avcodec_find_encoder_by_name);
    WEIR_BIND(codec, avcodec_alloc_context3);
    WEIR_BIND(codec, avcodec_free_context);
    WEIR_BIND(codec, avcodec_open2);
    WEIR_BIND(codec, avcodec_send_packet);
    WEIR_BIND(codec, avcodec_receive_packet);
    WEIR_BIND(codec, avcodec_send_frame);
    WEIR_BIND(codec, avcodec_receive_frame);
    WEIR_BIND(codec, av_packet_alloc);
    WEIR_BIND(codec, av_packet_free);
    WEIR_BIND(codec, av_packet_unref);
    WEIR_BIND(codec, av_new_packet);
    WEIR_BIND(util, av_frame_alloc);
    WEIR_BIND(util, av_frame_free);
    WEIR_BIND(util, av_frame_unref);
    WEIR_BIND(util, av_frame_get_buffer);
    WEIR_BIND(util, av_frame_make_writable);
    WEIR_BIND(util, av_channel_layout_default);
    WEIR_BIND(util, av_channel_layout_copy);
    WEIR_BIND(util, av_channel_layout_compare);
    WEIR_BIND(util, av_mallocz);
    WEIR_BIND(util, av_opt_set);
    WEIR_BIND(util, av_log_set_level);
    WEIR_BIND(resample, swr_alloc_set_opts2);
    WEIR_BIND(resample, swr_init);
    WEIR_BIND(resample, swr_free);
    WEIR_BIND(resample, swr_convert);
    WEIR_BIND(resample, swr_get_out_samples);
#undef WEIR_BIND
    if (why.empty()) {
        f.av_log_set_level(AV_LOG_QUIET);  // it would write to standard error by itself
    }
}

}  // namespace

Result<const AvLibrary*> AvLibrary::load() {
    static std::once_flag once;
    static Loaded loaded;
    std::call_once(once, [] { load_all(loaded); });
    if (!loaded.why.empty()) {
        return make_error(
            ErrorCode::kUnsupported,
            "no transcoding of sound: {}; apt-get install libavcodec59 libswresample4 "
            "(Debian 12), which bring libavutil57 and libopus0",
            loaded.why);
    }
    return &loaded.functions;
}

}  // namespace weir::transcode

#endif  // WEIR_TRANSCODE
