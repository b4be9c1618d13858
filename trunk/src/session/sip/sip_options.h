// What a SIP server is told by its configuration.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "io/worker_pool.h"
#include "net/rtp/rtp_ports.h"
#include "net/trusted_proxies.h"

namespace weir::session {

struct SipUser {
    std::string name;
    std::string password;
};

// A number or name that may be called, and the streams that this means: APP/STREAM.
struct SipDial {
    std::string number;
    std::string play;     // what the caller hears; empty: nothing
    std::string publish;  // what the caller says; empty: sip/CALL-ID
};

// What phones prove their password with.
enum class SipDigest : uint8_t { kMd5, kSha256, kBoth };

struct SipServerOptions {
    std::string realm = "weir";
    SipDigest digest = SipDigest::kMd5;
    std::vector<SipUser> users;
    std::vector<net::AddressRange> trunks;  // whose calls need no password
    std::vector<SipDial> dial;
    net::PortRange rtp_ports{20'000, 29'999};
    NetAddress address;  // without port: this host's, as phones reach it; none: as they came
    Millis handshake{10'000};
    Millis rtp_timeout{60'000};         // a phone that sends no media for this long has vanished
    io::WorkerPool* workers = nullptr;  // for audio in other codecs; null: such calls are silent
};

}  // namespace weir::session
