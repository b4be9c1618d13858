// The RTMP handshake (RTMP 1.0 §5.2), simple and with digests, for both sides.
//
// Driven as a stream: feed bytes, send what take_output() gives, until done(). Bytes behind the
// handshake are not consumed; they belong to the chunk reader. Randomness is injected. Buffers are
// released when the handshake is over; the owner may destroy the object then.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/error.h"
#include "base/random.h"

namespace weir::rtmp {

inline constexpr uint8_t kRtmpVersion = 3;
inline constexpr size_t kHandshakeSize = 1536;  // C1, S1, C2, S2
inline constexpr size_t kDigestSize = 32;

// Where the digest of a C1 or S1 lies: in the second or in the first half of the 1528 bytes behind
// time and version.
enum class DigestScheme : uint8_t { kNone, kDigestFirst, kKeyFirst };

class ServerHandshake {
  public:
    // `random` must outlive the handshake.
    explicit ServerHandshake(RandomSource& random) : random_(random) {}

    // Consumes at most what the handshake needs. kUnsupported: RTMPE (version 6, 8 or 9);
    // kMalformed: not RTMP at all.
    Result<size_t> feed(ByteSpan bytes);

    // Bytes to send now: S0, S1 and S2 once C1 is complete; otherwise empty.
    Bytes take_output();

    // C2 arrived. Its content is not judged: clients in the field send anything there.
    bool done() const { return state_ == State::kDone; }

    // Which digest the client used; kNone for the simple handshake. Valid once C1 is complete.
    DigestScheme scheme() const { return scheme_; }

  private:
    enum class State : uint8_t { kVersion, kC1, kC2, kDone };

    void answer();

    RandomSource& random_;
    State state_ = State::kVersion;
    DigestScheme scheme_ = DigestScheme::kNone;
    uint16_t missing_ = 0;  // bytes of C1 or C2 that have not come yet
    Bytes input_;           // C1
    Bytes output_;
};

class ClientHandshake {
  public:
    // kNone: the simple handshake. `random` must outlive the handshake. C0 and C1 are ready in
    // take_output().
    explicit ClientHandshake(RandomSource& random, DigestScheme scheme = DigestScheme::kNone);

    // kMalformed: the server answered another version, or (digest asked and answered) a digest that
    // does not verify.
    Result<size_t> feed(ByteSpan bytes);

    // Bytes to send now: C0 and C1 first, C2 once S1 is complete.
    Bytes take_output();

    bool done() const { return state_ == State::kDone; }

    // The server proved by digest that it read ours.
    bool verified() const { return verified_; }

  private:
    enum class State : uint8_t { kVersion, kS1, kS2, kDone };

    Error read_s1();
    Error read_s2();

    RandomSource& random_;
    State state_ = State::kVersion;
    DigestScheme scheme_;
    bool verified_ = false;
    Bytes input_;  // S1, then S2
    Bytes output_;
    uint8_t own_digest_[kDigestSize] = {};
};

}  // namespace weir::rtmp
