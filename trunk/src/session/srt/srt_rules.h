// What the configuration says of SRT handshakes: the stream of callers that name none, and by vhost
// passphrase, latency, bandwidth. Never changed: libsrt's threads look at it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/srt/srt_types.h"
#include "proto/srt/stream_id.h"

namespace weir::session {

struct SrtVhost {
    std::string name;  // lower case, or empty: for every name without one of its own
    bool enabled = true;
    io::SrtOptions options;
};

class SrtRules final : public io::SrtGate {
  public:
    // `default_stream`: APP/STREAM; empty: none.
    explicit SrtRules(std::vector<SrtVhost> vhosts, std::string default_stream = {})
        : vhosts_(std::move(vhosts)), default_stream_(std::move(default_stream)) {}

    // The id as it came, with the default stream where it names none. Errors of StreamId::parse();
    // kMalformed: it names no APP/STREAM. Any thread.
    Result<srt::StreamId> read(std::string_view stream_id) const;

    // Refuses ids that cannot be read or name no stream, and vhosts that are disabled. Any thread.
    io::SrtVerdict decide(std::string_view stream_id) const override;

  private:
    std::vector<SrtVhost> vhosts_;
    std::string default_stream_;
};

// The vhost that the id names: by its key h, or by ?vhost= behind the resource; may be empty.
std::string srt_vhost_of(const srt::StreamId& id);

}  // namespace weir::session
