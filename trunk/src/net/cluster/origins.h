// Origins: where streams that are published elsewhere can be pulled.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "net/source/source_url.h"

namespace weir::io {
class Deadline;
}

namespace weir::stream {
struct StreamKey;
}

namespace weir::net {

struct Origin {
    SourceUrl url;       // of the server: "http://10.0.0.7:8080", without the stream's path
    std::string socket;  // path of a unix socket, in place of host and port; empty: none
    std::string node;    // its name; empty: a server of the configuration, perhaps no Weir
    uint64_t epoch = 0;  // of the claim by which it has the stream; 0: unknown

    bool operator==(const Origin&) const = default;
};

class Origins {
  public:
    // Yields, until the deadline at most. kNotFound: nobody publishes the stream, or this node
    // itself does; kTimeout: it is not known, as those who would know do not answer.
    virtual Result<Origin> find(const stream::StreamKey& key, io::Deadline deadline) = 0;

    // Never yields. The stream could not be had there: what is remembered of it is to be asked
    // anew.
    virtual void note_failure(const stream::StreamKey& key, const Origin& origin) = 0;

  protected:
    ~Origins() = default;
};

}  // namespace weir::net
