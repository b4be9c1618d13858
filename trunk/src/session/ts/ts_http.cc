#include "session/ts/ts_http.h"

#include "net/ts/ts_muxer.h"

namespace weir::session {
namespace {

const net::TsFormat kFormat;

void append_front(const stream::Muxer& muxer, bool moved, Bytes& out) {
    static_cast<const net::TsMuxer&>(muxer).front(moved, out);  // the pump's muxer is of kFormat
}

}  // namespace

const net::HttpFormat& ts_http_format() {
    // In no chunks: the end of a transport stream is anywhere.
    static const net::HttpFormat format{.suffix = ".ts",
                                        .format = kFormat,
                                        .content_type = "video/mp2t",
                                        .transport = "ts",
                                        .ws_transport = "ws-ts",
                                        .front = append_front};
    return format;
}

}  // namespace weir::session
