#include "proto/ice/candidate.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/strings.h"
#include "proto/ice/credentials.h"

namespace weir::ice {

namespace {

constexpr std::array<std::string_view, 4> kTypeNames = {"host", "srflx", "prflx", "relay"};
constexpr std::array<std::string_view, 4> kTcpTypeNames = {"", "active", "passive", "so"};

constexpr size_t kFixedParts = 8;  // up to and with the word behind "typ"

// Index of the name, ignoring case.
template <size_t N>
std::optional<size_t> index_of(const std::array<std::string_view, N>& names,
                               std::string_view name) {
    for (size_t i = 0; i < N; i++) {
        if (!name.empty() && equals_ignore_case(names[i], name)) {
            return i;
        }
    }
    return std::nullopt;
}

bool is_foundation(std::string_view text) {
    return !text.empty() && text.size() <= kMaxFoundation &&
           std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7F'; });
}

bool is_host_name(std::string_view text) {
    return !text.empty() && text.size() <= kMaxHostName &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '.' || c == '_';
           });
}

// Words between single or several spaces.
std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    for (std::string_view word : split(text, ' ')) {
        if (!word.empty()) {
            words.push_back(word);
        }
    }
    return words;
}

bool parse_address(Candidate& out, std::string_view host, std::string_view port_text) {
    std::optional<uint64_t> port = parse_uint(port_text, 0, 65535);
    if (!port) {
        return false;
    }
    auto port16 = static_cast<uint16_t>(*port);
    // A scope ("fe80::1%eth0") means something on the peer's machine only.
    std::optional<NetAddress> address = NetAddress::parse_ip(split_once(host, '%').before, port16);
    if (address) {
        out.address = *address;
        return true;
    }
    out.address = NetAddress::from_v6({}, port16);
    out.host_name = host;
    return is_host_name(host);
}

bool parse_fixed(Candidate& out, std::span<const std::string_view> words) {
    std::optional<uint64_t> component = parse_uint(words[1], 1, 256);
    std::optional<uint64_t> priority = parse_uint(words[3], 0, UINT32_MAX);
    std::optional<size_t> type = index_of(kTypeNames, words[7]);
    bool is_udp = equals_ignore_case(words[2], "udp");
    if (!is_foundation(words[0]) || !component || !priority || !type ||
        !(is_udp || equals_ignore_case(words[2], "tcp")) || words[6] != "typ") {
        return false;
    }
    out.foundation = words[0];
    out.component = static_cast<uint16_t>(*component);
    out.transport = is_udp ? Transport::kUdp : Transport::kTcp;
    out.priority = static_cast<uint32_t>(*priority);
    out.type = static_cast<CandidateType>(*type);
    return parse_address(out, words[4], words[5]);
}

// Pairs of name and value in any order; raddr and rport belong together.
bool parse_extensions(Candidate& out, std::span<const std::string_view> words) {
    std::optional<NetAddress> related_ip;
    std::optional<uint64_t> related_port;
    for (size_t i = 0; i + 1 < words.size(); i += 2) {
        std::string_view value = words[i + 1];
        if (words[i] == "raddr") {
            related_ip = NetAddress::parse_ip(value, 0);
        } else if (words[i] == "rport") {
            related_port = parse_uint(value, 0, 65535);
        } else if (words[i] == "tcptype") {
            std::optional<size_t> type = index_of(kTcpTypeNames, value);
            if (!type) {
                return false;
            }
            out.tcp_type = static_cast<TcpType>(*type);
        } else if (words[i] == "ufrag" && is_valid_ufrag(value)) {
            out.ufrag = value;
        }
    }
    if (related_ip) {
        out.related = related_ip->with_port(static_cast<uint16_t>(related_port.value_or(0)));
    }
    return true;
}

unsigned type_preference(CandidateType type, Transport transport) {
    switch (type) {
        case CandidateType::kHost: break;
        case CandidateType::kServerReflexive: return 100;
        case CandidateType::kPeerReflexive: return 110;
        case CandidateType::kRelayed: return 0;
    }
    // RFC 8445 §5.1.2.2 says 126; with a lower one for TCP, UDP is tried first (RFC 6544 §4.2).
    return transport == Transport::kUdp ? 126 : 90;
}

// RFC 6544 §4.2: three bits say how a connection is made.
uint16_t tcp_preference(TcpType type, uint16_t local_preference) {
    unsigned direction = type == TcpType::kActive ? 6U : type == TcpType::kPassive ? 4U : 2U;
    return static_cast<uint16_t>(direction << 13U | (local_preference & 0x1FFFU));
}

// The same for candidates of one kind, one address and one transport, and different for others
// (RFC 8445 §5.1.1.3).
std::string foundation_of(const Candidate& candidate) {
    uint64_t key = candidate.address.with_port(0).hash() * 8 +
                   static_cast<uint64_t>(candidate.type) * 2 +
                   (candidate.transport == Transport::kTcp ? 1 : 0);
    return fmt::format("{}", static_cast<uint32_t>(key ^ key >> 32U));
}

void add_host_candidates(std::vector<Candidate>& out,
                         std::span<const NetAddress> addresses,
                         Transport transport) {
    uint16_t preference = UINT16_MAX;
    for (const NetAddress& address : addresses) {
        Candidate candidate;
        candidate.transport = transport;
        candidate.tcp_type = transport == Transport::kTcp ? TcpType::kPassive : TcpType::kNone;
        candidate.address = address;
        candidate.priority =
            candidate_priority(candidate.type, transport, candidate.tcp_type, preference);
        candidate.foundation = foundation_of(candidate);
        bool is_there = std::any_of(out.begin(), out.end(), [&](const Candidate& other) {
            return other.transport == transport && other.address == address;
        });
        if (!is_there && out.size() < kMaxLocalCandidates) {
            out.push_back(std::move(candidate));
            preference--;
        }
    }
}

}  // namespace

std::string_view to_string(CandidateType type) {
    return kTypeNames[static_cast<size_t>(type)];
}

std::string_view to_string(TcpType type) {
    return kTcpTypeNames[static_cast<size_t>(type)];
}

std::optional<Candidate> Candidate::parse(std::string_view text) {
    constexpr std::string_view kAttribute = "a=";
    constexpr std::string_view kName = "candidate:";
    if (text.size() > kMaxCandidateText) {
        return std::nullopt;
    }
    text = trim(text);
    if (text.starts_with(kAttribute)) {
        text.remove_prefix(kAttribute.size());
    }
    if (!text.starts_with(kName)) {
        return std::nullopt;
    }
    text.remove_prefix(kName.size());
    std::vector<std::string_view> words = words_of(text);
    Candidate candidate;
    if (words.size() < kFixedParts || words.size() > kFixedParts + 2 * kMaxExtensions ||
        !parse_fixed(candidate, std::span(words).first(kFixedParts)) ||
        !parse_extensions(candidate, std::span(words).subspan(kFixedParts))) {
        return std::nullopt;
    }
    return candidate;
}

std::string Candidate::to_text() const {
    std::string text = fmt::format("candidate:{} {} {} {} {} {} typ {}", foundation, component,
                                   transport == Transport::kUdp ? "udp" : "tcp", priority,
                                   host_name.empty() ? address.ip_text() : host_name,
                                   address.port(), to_string(type));
    if (related) {
        text += fmt::format(" raddr {} rport {}", related->ip_text(), related->port());
    }
    if (tcp_type != TcpType::kNone) {
        text += fmt::format(" tcptype {}", to_string(tcp_type));
    }
    if (!ufrag.empty()) {
        text += fmt::format(" ufrag {}", ufrag);
    }
    return text;
}

uint32_t candidate_priority(CandidateType type,
                            Transport transport,
                            TcpType tcp_type,
                            uint16_t local_preference,
                            uint16_t component) {
    uint32_t local = transport == Transport::kUdp ? local_preference
                                                  : tcp_preference(tcp_type, local_preference);
    return type_preference(type, transport) << 24U | local << 8U | (256U - component);
}

std::vector<Candidate> make_host_candidates(std::span<const NetAddress> udp,
                                            std::span<const NetAddress> passive_tcp) {
    std::vector<Candidate> candidates;
    add_host_candidates(candidates, udp, Transport::kUdp);
    add_host_candidates(candidates, passive_tcp, Transport::kTcp);
    return candidates;
}

}  // namespace weir::ice
