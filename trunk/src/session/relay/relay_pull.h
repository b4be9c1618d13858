// Brings a stream from the node where it is published, or from a server of `origin`: sources of the
// scheme "relay". Where that is, net::Origins says at the start of each run; the stream itself is
// brought by the protocol of the address there (HTTP-FLV, RTMP), as any source's.
//
// Between nodes of a cluster the request is signed, and the stream comes as it was published
// (net/cluster/relay_server.h).
#pragma once

#include <functional>

#include "io/worker_pool.h"
#include "net/cluster/relay_node.h"
#include "net/source/source_run.h"

namespace weir::session {

struct RelayPullOptions {
    io::WorkerPool* workers = nullptr;      // make AAC of Opus and G.711; null: nobody does
    int64_t aac_bits_per_second = 128'000;  // of Opus in stereo
};

class RelayPull final : public net::SourceProtocol {
  public:
    // Servers that one run tries, at most.
    static constexpr size_t kMaxTries = 8;

    // `find`: the protocol for a scheme; null: there is none. All must outlive this.
    using Find = std::function<net::SourceProtocol*(const std::string& scheme)>;

    RelayPull(net::RelayNode& node, Find find) : node_(node), find_(std::move(find)) {}

    // For runs that begin from now on.
    void set_options(const RelayPullOptions& options) { options_ = options; }

    // kNotFound: nobody publishes the stream. Else the error of the last server that was tried.
    Error run(net::SourceRun& run) override;

  private:
    net::RelayNode& node_;
    Find find_;
    RelayPullOptions options_;
};

}  // namespace weir::session
