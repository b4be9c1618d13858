#include "session/flv/flv_http.h"

#include <array>

#include "proto/flv/tag.h"
#include "session/flv/flv_muxer.h"
#include "session/flv/relay_muxer.h"
#include "stream/stream.h"

namespace weir::session {
namespace {

const FlvFormat kFormat;
const RelayFormat kRelayFormat;

void append_header(const stream::Stream& stream, Bytes& out) {
    std::array<uint8_t, flv::kFileHeaderSize> header;
    flv::write_file_header(stream.has_audio(), stream.has_video(), header.data());
    out.insert(out.end(), header.begin(), header.end());
}

void append_front(const stream::Muxer& muxer, bool /*moved*/, Bytes& out) {
    static_cast<const FlvMuxer&>(muxer).front(out);  // both formats have it
}

}  // namespace

const net::HttpFormat& relay_http_format() {
    static const net::HttpFormat format{.suffix = ".flv",
                                        .format = kRelayFormat,
                                        .content_type = "video/x-flv",
                                        .transport = "relay",
                                        .header = append_header,
                                        .front = append_front,
                                        .one_publisher = true};
    return format;
}

const net::HttpFormat& flv_http_format() {
    // In no chunks: there are players that take the whole body for FLV.
    static const net::HttpFormat format{.suffix = ".flv",
                                        .format = kFormat,
                                        .content_type = "video/x-flv",
                                        .transport = "flv",
                                        .ws_transport = "ws-flv",
                                        .header = append_header,
                                        .front = append_front};
    return format;
}

}  // namespace weir::session
