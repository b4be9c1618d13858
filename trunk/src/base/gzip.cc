#include "base/gzip.h"

#include <zlib.h>

#include "base/bytes.h"
#include "base/check.h"

namespace weir {

std::string gzip(std::string_view text) {
    constexpr int kGzipWindow = 15 + 16;  // with the header of gzip
    constexpr int kMemoryLevel = 8;
    z_stream stream{};
    WEIR_CHECK(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                            Z_DEFAULT_STRATEGY) == Z_OK);
    std::string out(deflateBound(&stream, text.size()), '\0');
    // zlib does not write to its input.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int done = deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    WEIR_CHECK(done == Z_STREAM_END);
    return out;
}

}  // namespace weir
