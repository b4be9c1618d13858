// What a SIP server is told by its configuration.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "io/worker_pool.h"
#include "net/rtp/rtp_ports.h"
#include "net/trusted_proxies.h"
#include "proto/sdp/phone_secure.h"

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

    bool operator==(const SipDial&) const = default;
};

// A number of a user of the registrar.
struct SipExtension {
    std::string number;
    std::string user;
};

// `register`: a provider or PBX where this server is a user.
struct SipTrunkOptions {
    std::string user;
    std::string domain;
    std::string login = {};  // user of the digest; empty: `user`
    std::string password = {};
    std::vector<std::string> servers = {};  // "host", "host:port", sip: and sips: URIs, in their
                                            // order; empty: the domain
    std::string display = {};               // name to show; empty: none
    std::string contact_user = {};          // whoever calls this calls the user; empty: `user`
    Seconds expires{300};
    std::vector<SipDial> dial = {};  // of calls that come from there; then those of the server hold

    bool operator==(const SipTrunkOptions&) const = default;
};

// A number whose callers hear each other, and the stream that all of them are.
struct SipMeeting {
    std::string number;
    std::string stream;  // APP/STREAM
};

// `outside`: numbers that phones of users may call by a provider.
struct SipOutside {
    std::string prefix;              // that the number begins with
    std::string via;                 // "user@domain" of a registration
    size_t max_calls = 2;            // at once
    size_t strip = 0;                // characters at the beginning that the provider does not get
    std::vector<std::string> users;  // empty: all
};

// What phones prove their password with.
enum class SipDigest : uint8_t { kMd5, kSha256, kBoth };

struct SipServerOptions {
    std::string realm = "weir";
    SipDigest digest = SipDigest::kMd5;
    std::vector<SipUser> users;
    std::vector<net::AddressRange> trunks;  // whose calls need no password
    std::vector<SipDial> dial;
    std::vector<SipExtension> extensions;
    std::vector<SipTrunkOptions> registrations;
    // Where calls by this server may go, besides users and registrations.
    std::vector<std::string> call_hosts;  // "example.com", "*.example.com"
    std::vector<net::AddressRange> call_networks;
    std::vector<SipMeeting> conferences;
    // Of lines (net/phone_lines.h), and whom these may call: "example.com", "192.0.2.1:5070".
    std::vector<std::string> line_domains;
    // Of lines of this server's own users that name no domain: "127.0.0.1:5060". Empty: there are
    // none.
    std::string own_domain;
    std::vector<SipOutside> outside;
    Millis timer_t1{500};  // RFC 3261 §17.1.1.1
    sdp::PhoneSrtp srtp = sdp::PhoneSrtp::kOptional;
    net::PortRange rtp_ports{20'000, 29'999};
    NetAddress address;  // without port: this host's, as phones reach it; none: as they came
    Millis handshake{10'000};
    Millis rtp_timeout{60'000};  // a phone of which nothing is heard for this long is gone
    size_t max_unproven_per_address = 256;  // calls over UDP without ACK; 0: any number
    bool jitter_buffer = false;             // for what phones say; else only where it is needed
    io::WorkerPool* workers = nullptr;  // for audio in other codecs; null: such calls are silent
};

}  // namespace weir::session
