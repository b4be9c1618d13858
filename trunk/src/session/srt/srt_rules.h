// What the configuration says of SRT handshakes, by vhost: passphrase, latency, bandwidth. Never
// changed: libsrt's threads look at it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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
    explicit SrtRules(std::vector<SrtVhost> vhosts) : vhosts_(std::move(vhosts)) {}

    // Refuses ids that cannot be read or name no stream, and vhosts that are disabled. Any thread.
    io::SrtVerdict decide(std::string_view stream_id) const override;

  private:
    std::vector<SrtVhost> vhosts_;
};

// The vhost that the id names: by its key h, or by ?vhost= behind the resource; may be empty.
std::string srt_vhost_of(const srt::StreamId& id);

}  // namespace weir::session
