// libavcodec, libswresample and libavutil, loaded when they are first needed: they and what they
// bring weigh 15 MB, and a server that transcodes nothing does without.
//
// Private to transcode/. The functions that are used, by their own names; the types come from the
// headers of the packages at build time, and loading insists on the same major versions.
#pragma once

#include "base/error.h"

// NOLINTBEGIN(readability-identifier-naming): names of the libraries
extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/channel_layout.h>
#include <libavutil/frame.h>
#include <libavutil/log.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>
}

namespace weir::transcode {

struct AvLibrary {
    // libavcodec
    decltype(&::avcodec_find_decoder_by_name) avcodec_find_decoder_by_name;
    decltype(&::avcodec_find_encoder_by_name) avcodec_find_encoder_by_name;
    decltype(&::avcodec_alloc_context3) avcodec_alloc_context3;
    decltype(&::avcodec_free_context) avcodec_free_context;
    decltype(&::avcodec_open2) avcodec_open2;
    decltype(&::avcodec_send_packet) avcodec_send_packet;
    decltype(&::avcodec_receive_packet) avcodec_receive_packet;
    decltype(&::avcodec_send_frame) avcodec_send_frame;
    decltype(&::avcodec_receive_frame) avcodec_receive_frame;
    decltype(&::av_packet_alloc) av_packet_alloc;
    decltype(&::av_packet_free) av_packet_free;
    decltype(&::av_packet_unref) av_packet_unref;
    decltype(&::av_new_packet) av_new_packet;
    // libavutil
    decltype(&::av_frame_alloc) av_frame_alloc;
    decltype(&::av_frame_free) av_frame_free;
    decltype(&::av_frame_unref) av_frame_unref;
    decltype(&::av_frame_get_buffer) av_frame_get_buffer;
    decltype(&::av_frame_make_writable) av_frame_make_writable;
    decltype(&::av_channel_layout_default) av_channel_layout_default;
    decltype(&::av_channel_layout_copy) av_channel_layout_copy;
    decltype(&::av_channel_layout_compare) av_channel_layout_compare;
    decltype(&::av_mallocz) av_mallocz;
    decltype(&::av_opt_set) av_opt_set;
    decltype(&::av_log_set_level) av_log_set_level;
    // libswresample
    decltype(&::swr_alloc_set_opts2) swr_alloc_set_opts2;
    decltype(&::swr_init) swr_init;
    decltype(&::swr_free) swr_free;
    decltype(&::swr_convert) swr_convert;
    decltype(&::swr_get_out_samples) swr_get_out_samples;

    // Any thread; blocks on disk the first time. kUnsupported: a library is missing or has another
    // version; the message names the package. The object lives until the process ends.
    static Result<const AvLibrary*> load();
};

}  // namespace weir::transcode

// NOLINTEND(readability-identifier-naming)
