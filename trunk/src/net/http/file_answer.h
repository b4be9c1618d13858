// A file as the answer of a GET or HEAD: conditional requests, one byte range. All disk work runs
// on a worker pool, in slices: a slow disk stalls one answer, never the server.
#pragma once

#include <string_view>

#include <sys/stat.h>

#include "base/error.h"
#include "io/worker_pool.h"
#include "net/http/exchange.h"

namespace weir::net {

inline constexpr size_t kFileSliceBytes = 64 * 1024;

// By the file name's extension; "application/octet-stream" for others.
std::string_view content_type_of(std::string_view file_name);

// Yields. `fd`: the file, open for reading, which the caller closes; `info`: what fstat() says of
// it; `cache`: the value of Cache-Control. kSystem: the file could not be read to its end, and the
// connection is to be closed; others: as of HttpExchange::write(). `sent`, where it is given: grows
// by what was written of the file.
Error answer_file(HttpExchange& exchange,
                  io::WorkerPool& workers,
                  int fd,
                  const struct stat& info,
                  std::string_view content_type,
                  std::string_view cache = "no-cache",
                  uint64_t* sent = nullptr);

}  // namespace weir::net
