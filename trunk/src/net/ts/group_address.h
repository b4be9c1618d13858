// "239.1.1.1:5000", "10.0.0.9@239.1.1.1:5000@eth1", "[ff15::1]:5000", "0.0.0.0:5000": where the
// datagrams of a transport stream come to, as URLs of udp:// and rtp:// name it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/net_address.h"

namespace weir::net {

// The application of streams that are groups; their names are GroupAddress::to_string().
inline constexpr std::string_view kGroupApp = "udp";
// The same: datagrams show by themselves whether they have RTP.
inline constexpr std::string_view kRtpGroupApp = "rtp";

struct GroupAddress {
    static constexpr size_t kMaxInterfaceName = 15;  // IFNAMSIZ, without its zero byte

    NetAddress to;          // a group, or an address of this host (any: all of them); with port
    NetAddress source;      // without port: who may send; none: everybody
    std::string interface;  // of a group, its name or address; empty: the system's routes say it
    uint16_t fec_port = 0;  // where its forward error correction comes; 0: there is none
    uint8_t ttl = 0;        // of what is sent to it: routers that it may pass; 0: as usual, 1

    // What stands behind "udp://" or "rtp://": "[SRC@]GROUP:PORT[@IF][?fec=PORT][&ttl=N]", numeric.
    // An empty SRC
    // ("@239.1.1.1:5000", as players write it) and a slash at the end say nothing. kMalformed says
    // what was expected.
    static Result<GroupAddress> parse(std::string_view text);

    // The text that parse() takes.
    std::string to_string() const;

    bool is_group() const;

    bool operator==(const GroupAddress&) const = default;
};

// Whether "APP/NAME" is the address of a group under kRtpGroupApp: "rtp/239.1.1.1:5000".
bool is_rtp_group(std::string_view app, std::string_view name);

// 224.0.0.0/4, ff00::/8.
bool is_multicast(const NetAddress& address);

}  // namespace weir::net
