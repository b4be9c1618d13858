// Admission: whether somebody may publish or play, asked in one order for all protocols.
//
//   1. the policy, or for a private stream its key; and what the protocol itself has against it
//      (`check`)
//   2. places: of its address, of the stream's players
//   3. what else can be refused at once: `before_hook`, a name that somebody publishes
//   4. the hook servers, where one has to be asked. Yields
//   5. after that wait again what may have changed: policy, `check`, the name
//   6. a publisher: the name in the cluster, where there is one. Yields; then 5 again
//   7. a player of a stream that nobody publishes, unless it may wait
//   8. its row in the table of clients
//
// Then the protocol begins, and says so with begin_turn(). A refusal is one line of the log, at
// most one a second of each object of this class; the protocol makes its answer of the error's
// code: kDenied, kFull, kBusy, kNotFound, kTimeout (no hook server could be asked), kClosed (the
// client left while one was asked), kInterrupted, or what `before_hook` gave. Whatever was taken
// for somebody who is refused is given back, once; a hook that had allowed is told the end.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/log.h"
#include "net/client.h"
#include "net/cluster/claims.h"
#include "net/hook_action.h"
#include "net/hook_ticket.h"
#include "net/places.h"
#include "net/play_rules.h"
#include "net/policy.h"
#include "net/services.h"

namespace weir::io {
class TcpStream;
}

namespace weir::net {

// Somebody who wants to publish or play, as its protocol knows it. What it refers to has to live
// until the question is answered.
struct NewcomerView {
    AccessRequest access;
    std::string_view tc_url = {};         // the stream's address as the client sent it, for hooks
    io::TcpStream* connection = nullptr;  // watched for its end while a hook is asked; may be null
    Client* client = nullptr;             // its row, where it has one; null: it gets one
    bool takes_address_place = false;     // its connection has none of its own
    bool may_wait = true;                 // a player: for a publisher, as long as the rules say
    bool needs_stream = true;             // false: a player of what was recorded
    bool has_line = false;                // it is a phone line's own: the name is kept for it
    bool begins = true;                   // false: only a question (HEAD), which needs no row
    std::function<Error()> check = nullptr;        // asked with the policy, each time
    std::function<Error()> before_hook = nullptr;  // asked once
};

// What somebody who was let in has. A client that was made here holds its places and its ticket
// itself; of one that came with its row, they are here for the turn that begins.
struct Admitted {
    std::unique_ptr<Client> client;  // null: it came with its row, or does not begin
    PlayerPlace place;
    AddressPlace address;
    HookTicket ticket;
};

struct AdmittedPublisher : Admitted {
    PublishRules rules;
    ClaimPlace claim;  // empty where the client holds it
};

struct AdmittedPlayer : Admitted {
    PlayRules rules;
};

class Admission {
  public:
    // What `services` names must outlive this.
    explicit Admission(const Services& services) : services_(services) {}

    // Both yield where a hook server has to be asked.
    Result<AdmittedPublisher> publish(const NewcomerView& who);
    Result<AdmittedPlayer> play(const NewcomerView& who);

    // The line of a refusal, for what a protocol refuses by itself; throttled with the others.
    // Nothing for kClosed and kInterrupted. `action`: kPublish or kPlay.
    void log_refused(HookAction action, const NewcomerView& who, const Error& why);

  private:
    Error try_publish(const NewcomerView& who, AdmittedPublisher& out);
    Error try_play(const NewcomerView& who, AdmittedPlayer& out);
    Result<PublishRules> may_publish(const NewcomerView& who) const;
    Result<PlayRules> may_play(const NewcomerView& who) const;
    bool is_private(const NewcomerView& who) const;
    Error check_key_of_private(const NewcomerView& who) const;
    Error check_again(const NewcomerView& who, PublishRules& rules) const;
    Error claim(const NewcomerView& who, AdmittedPublisher& out) const;
    Error take_address(const NewcomerView& who, Admitted& out) const;
    Error check_name(const NewcomerView& who, const PublishRules& rules) const;
    Error check_name(const NewcomerView& who, PlayRules& rules) const;
    Error check_key(const NewcomerView& who) const;
    Error ask(HookAction action, const NewcomerView& who, Admitted& out) const;
    void make_row(const NewcomerView& who, Admitted& out) const;
    void settle(const NewcomerView& who, Admitted& out) const;
    Error refuse(HookAction action, const NewcomerView& who, Admitted& out, Error why);

    Services services_;
    log::Throttle refused_{Millis(1000)};
};

// A connection may publish and play in turns without end: so many are logged.
inline constexpr uint32_t kToldTurns = 10;

// Somebody who was let in begins: its row says so, and the log, "play stream=... transport=...
// ip=...". `more`: pairs for the end of the line, with a blank before them.
void begin_turn(Client& client,
                ClientRole role,
                const stream::StreamKey& key,
                std::string_view more = {});

}  // namespace weir::net
