// Claims: which of the nodes of a cluster has the name of a stream.
//
// A claim is made before somebody publishes, and ends with the publisher; it has an epoch, which is
// higher than that of any claim of the same stream before it (doc/adr/0014-cluster.md).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/error.h"
#include "stream/stream_key.h"
#include "stream/stream_options.h"

namespace weir::net {

class Claims {
  public:
    // Yields, for a bounded time. For somebody who will publish here. kBusy: another node's
    // publisher has the name, and `conflict` says kRefuse; kTimeout: it cannot be known, and such
    // publishers are refused. Asked again while the claim is held: success at once. Each success is
    // given up once.
    virtual Error claim(const stream::StreamKey& key, stream::PublishConflict conflict) = 0;

    // Never yields. Whoever claimed does not publish after all. Nothing while the stream is
    // published: then the claim ends with its publisher.
    virtual void give_up(const stream::StreamKey& key) = 0;

    // Never yields. The epoch under which this node has the name; none: it has not.
    virtual std::optional<uint64_t> epoch(const stream::StreamKey& key) const = 0;

  protected:
    ~Claims() = default;
};

// A claim that somebody made: given up when this goes. Kept until that somebody publishes, or
// as long as it may.
class ClaimPlace {
  public:
    ClaimPlace() = default;

    ClaimPlace(Claims& claims, stream::StreamKey key) : claims_(&claims), key_(std::move(key)) {}

    ClaimPlace(ClaimPlace&& other) noexcept
        : claims_(std::exchange(other.claims_, nullptr)), key_(std::move(other.key_)) {}

    ClaimPlace& operator=(ClaimPlace&& other) noexcept {
        std::swap(claims_, other.claims_);
        std::swap(key_, other.key_);
        return *this;
    }

    ClaimPlace(const ClaimPlace&) = delete;
    ClaimPlace& operator=(const ClaimPlace&) = delete;

    ~ClaimPlace() {
        if (claims_ != nullptr) {
            claims_->give_up(key_);
        }
    }

  private:
    Claims* claims_ = nullptr;
    stream::StreamKey key_;
};

}  // namespace weir::net
