// ICE candidates as session descriptions carry them (RFC 8839 §5.1, RFC 6544 §4.5), and those of
// this server: host candidates of its UDP port and of its passive TCP port.
//
//     candidate:1 1 udp 2130706431 192.0.2.1 8000 typ host
//     candidate:2 1 tcp 1671430143 192.0.2.1 8000 typ host tcptype passive
//
// A lite agent never sends to the candidates of the peer; they are read for the log only, so what
// cannot be connected to (a name of mDNS) is kept as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/net_address.h"

namespace weir::ice {

inline constexpr size_t kMaxLocalCandidates = 32;
inline constexpr size_t kMaxCandidateText = 512;  // a longer line is refused
inline constexpr size_t kMaxFoundation = 32;      // RFC 8839 §5.1
inline constexpr size_t kMaxHostName = 253;       // of DNS
inline constexpr size_t kMaxExtensions = 16;      // name and value pairs behind the type
inline constexpr uint16_t kActivePort = 9;        // of an active TCP candidate (RFC 6544 §4.5)

enum class Transport : uint8_t { kUdp, kTcp };

enum class CandidateType : uint8_t { kHost, kServerReflexive, kPeerReflexive, kRelayed };

enum class TcpType : uint8_t { kNone, kActive, kPassive, kSimultaneousOpen };

// "host", "srflx", "prflx", "relay"; "active", "passive", "so", and "" for none.
std::string_view to_string(CandidateType type);
std::string_view to_string(TcpType type);

struct Candidate {
    std::string foundation;
    uint16_t component = 1;
    Transport transport = Transport::kUdp;
    uint32_t priority = 0;
    NetAddress address;     // only the port when `host_name` is set
    std::string host_name;  // "name.local" of mDNS or another name; empty: `address` counts
    CandidateType type = CandidateType::kHost;
    TcpType tcp_type = TcpType::kNone;
    std::optional<NetAddress> related;  // raddr and rport
    std::string ufrag;                  // extension of trickle ICE; empty when there is none

    bool operator==(const Candidate&) const = default;

    // With or without "a=" in front and line end behind. None for what is malformed or over a
    // limit. Unknown extensions are skipped; a candidate of another transport than UDP and TCP is
    // none of ours.
    static std::optional<Candidate> parse(std::string_view text);

    // "candidate:...", without "a=" and line end.
    std::string to_text() const;
};

// RFC 8445 §5.1.2.1. `local_preference` orders the addresses of one kind, 65535 first.
uint32_t candidate_priority(CandidateType type,
                            Transport transport,
                            TcpType tcp_type,
                            uint16_t local_preference,
                            uint16_t component = 1);

// The candidates of a server that can be reached at these addresses, in order of preference.
// Repeated addresses are left out, and what is over kMaxLocalCandidates.
std::vector<Candidate> make_host_candidates(std::span<const NetAddress> udp,
                                            std::span<const NetAddress> passive_tcp);

}  // namespace weir::ice
