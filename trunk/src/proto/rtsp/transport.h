// The Transport field (RFC 2326 §12.39): what a client offers in SETUP, in the order it prefers,
// and what a server chose. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::rtsp {

inline constexpr size_t kMaxTransports = 16;       // alternatives; those after them are not read
inline constexpr size_t kMaxTransportHost = 253;   // of destination and source
inline constexpr size_t kMaxTransportText = 4096;  // a longer field has no alternative that counts

// Two neighbours: of RTP and of RTCP. A number that stands alone means itself and the next.
struct PortPair {
    uint16_t rtp = 0;
    uint16_t rtcp = 0;

    bool operator==(const PortPair&) const = default;
};

struct ChannelPair {
    uint8_t rtp = 0;
    uint8_t rtcp = 0;

    bool operator==(const ChannelPair&) const = default;
};

struct Transport {
    bool secure = false;  // RTP/SAVP
    bool tcp = false;     // .../TCP: interleaved
    bool multicast = false;
    bool record = false;  // mode=RECORD: media comes from the client
    std::optional<PortPair> client_port = {};
    std::optional<PortPair> server_port = {};
    std::optional<PortPair> port = {};  // of a multicast group
    std::optional<ChannelPair> interleaved = {};
    std::optional<uint8_t> ttl = {};
    std::optional<uint32_t> ssrc = {};
    std::string destination = {};  // a name or a numeric address, as it was sent; empty: not given
    std::string source = {};

    bool operator==(const Transport&) const = default;
};

// The alternatives that can be understood, in their order. Left out are those of other profiles
// ("RAW/RAW/UDP"), and those whose ports or channels are no numbers; an empty list means 461.
// Parameters that are not listed above are ignored (layers, append, RTCP-mux ...).
//
// Deviation: without "unicast" and "multicast" it is unicast. RFC 2326 says multicast, but those
// who leave it out are cameras that answer a unicast SETUP, and clients over TCP.
std::vector<Transport> parse_transports(std::string_view value);

// "RTP/AVP/TCP;unicast;interleaved=0-1;ssrc=0000ABCD;mode=record". A host that holds characters of
// no host is left out. Deviation: RFC 2326 has "RECORD" in quotes, but ffmpeg as a server only
// understands what ffmpeg and GStreamer write as clients.
std::string write(const Transport& transport);

// Several, separated by commas.
std::string write(const std::vector<Transport>& transports);

}  // namespace weir::rtsp
