// How many bytes may be sent to an address before it is known that its peer is there: at most
// kUnprovenFactor times the bytes that came from it (the thought of RFC 9000 §8). Otherwise a peer
// that forges its source address makes this server send much to somebody else for little.
//
// Who proves an address, and by what, is the owner's business: ICE by a check of ours that is
// answered, SIP by the ACK, or a nonce that came back.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir {

inline constexpr uint64_t kUnprovenFactor = 3;

class PathBudget {
  public:
    bool proven() const { return proven_; }

    void prove() { proven_ = true; }

    void note_received(size_t bytes) { received_ += bytes; }

    // What may be sent still, in bytes; UINT64_MAX: any number.
    uint64_t left() const { return proven_ ? UINT64_MAX : kUnprovenFactor * received_ - sent_; }

    // Whether so many bytes may be sent; if so, they are counted.
    bool take(size_t bytes) {
        const bool allowed = bytes <= left();
        sent_ += allowed && !proven_ ? bytes : 0;
        return allowed;
    }

  private:
    uint64_t received_ = 0;
    uint64_t sent_ = 0;  // never more than kUnprovenFactor * received_ while it is not proven
    bool proven_ = false;
};

}  // namespace weir
