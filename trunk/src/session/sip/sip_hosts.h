// Which hosts may get the media of one phone, and how much. No sockets, no time.
//
// A description names any address, so whoever sends one, with a forged source address or with a
// login, could have this server send a stream to somebody else. Media goes to a host
//   - once the phone is known to be where its messages come from: the ACK came, or a login or
//     a connection has proven it; and
//   - when that is the host, or RTP, RTCP or STUN came from there.
// Until then a host gets three times what came from it (base/path_budget.h). The description that
// names the host counts as that, once the phone is known: DTLS begins with it, and RTCP, which the
// other side may be waiting for.
#pragma once

#include <array>
#include <cstddef>

#include "base/net_address.h"
#include "base/path_budget.h"

namespace weir::session {

class SipHosts {
  public:
    // RTP and RTCP of two sections. One more takes the place of the one that was named first.
    static constexpr size_t kMaxHosts = 4;

    // A description of `bytes` wants media at that address; an empty one says nothing. Of several
    // sections with one host the first call counts the bytes.
    void name(const NetAddress& host, size_t bytes);

    // The phone is where its messages come from. Again: it has moved.
    void trust(const NetAddress& signalling);

    // A datagram came from there. `opens`: it is media, and its key, if it must have one, is right.
    void note_received(const NetAddress& from, size_t bytes, bool opens);

    // What came so far no longer opens a host. The host of the messages stays open.
    void doubt();

    // Whether anything may be sent there, without a count.
    bool is_open(const NetAddress& to) const;

    // Whether so many bytes may be sent there; if so, they are counted where they have to be.
    bool take(const NetAddress& to, size_t bytes);

  private:
    struct Host {
        NetAddress address;  // without port; empty: none
        PathBudget budget;
        size_t described = 0;  // bytes, until the phone is trusted
        bool heard = false;
    };

    Host* find(const NetAddress& address);
    const Host* find(const NetAddress& address) const;
    Host& find_or_add(const NetAddress& address);

    std::array<Host, kMaxHosts> hosts_;
    size_t next_ = 0;        // the place that is taken next
    NetAddress signalling_;  // empty: the phone is not trusted
};

}  // namespace weir::session
