// Whether the peer receives at the address that its datagrams claim to come from, and how much
// may be sent there before that is known.
//
// A peer that knows a session's credentials can send its checks from any forged source address. So
// media goes to an address only once it is proven: our own check went there, and its answer, which
// needs the check's transaction number, came back (the same thought as in RFC 7675). Until then the
// address has what base/path_budget.h allows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/path_budget.h"
#include "base/random.h"
#include "proto/stun/message.h"

namespace weir::ice {

// The first bytes of a transaction number, by which the owner of many agents finds the one that an
// answer is for. The other eight cannot be guessed.
inline uint32_t check_tag(const stun::TransactionId& transaction) {
    return ByteReader(transaction).u32();
}

inline constexpr Millis kCheckInterval{50};      // between two of our checks of one path, at least
inline constexpr Millis kFirstCheckRepeat{100};  // doubled with each repetition
// Until the peer is heard on the path again, which it is soon. What is not spent on repetitions is
// there for a flight of DTLS.
inline constexpr uint8_t kMaxCheckRepeats = 1;

class PathProof {
  public:
    PathProof() = default;

    // `tag` and eight bytes of `random` make the transaction number of our checks.
    PathProof(uint32_t tag, RandomSource& random);

    bool proven() const { return budget_.proven(); }

    void note_received(size_t bytes) { budget_.note_received(bytes); }

    // Whether so many bytes may be sent; if so, they are counted.
    bool take(size_t bytes) { return budget_.take(bytes); }

    // A valid check of the peer came: ours is due, now or kCheckInterval after the last one.
    void want_check(MonoTime now);

    // When our next check is due; MonoTime::max() when none is.
    MonoTime check_due() const { return check_due_; }

    // Ours, of `bytes`, is to be sent now. False: it must not be sent, and none is due until the
    // next want_check().
    bool take_check(MonoTime now, size_t bytes);

    const stun::TransactionId& transaction() const { return transaction_; }

    // Whether a message with that transaction number answers a check that was sent.
    bool is_answer(const stun::TransactionId& transaction) const {
        return checked_ != MonoTime::min() && transaction == transaction_;
    }

    void prove() {
        budget_.prove();
        check_due_ = MonoTime::max();
    }

    // It has to be proven again: another session was proven to be there.
    void distrust(uint32_t tag, RandomSource& random) { *this = PathProof(tag, random); }

  private:
    stun::TransactionId transaction_{};
    PathBudget budget_;
    MonoTime checked_ = MonoTime::min();  // when ours went out last; min: never
    MonoTime check_due_ = MonoTime::max();
    uint8_t repeats_ = 0;
};

}  // namespace weir::ice
