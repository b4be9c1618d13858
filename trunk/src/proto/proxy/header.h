// The header of the PROXY protocol, versions 1 (text) and 2 (binary): who the client of a proxy is,
// said once in front of everything else (haproxy.org/download/2.9/doc/proxy-protocol.txt).
//
// What follows the header belongs to another protocol, so the reader says how many bytes it may be
// given without taking any of that: wanted(). Type-length values behind the addresses are skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/net_address.h"

namespace weir::proxy {

struct Header {
    uint8_t version = 0;
    bool local = false;  // the proxy speaks for itself (a health check): no addresses
    NetAddress source;   // the client; empty: the proxy knows none (UNKNOWN, AF_UNSPEC, AF_UNIX)
    NetAddress destination;
};

class HeaderReader {
  public:
    static constexpr size_t kMaxText = 107;     // version 1, with its line end
    static constexpr size_t kMaxBinary = 4096;  // version 2; the format could say 65,551

    enum class Status : uint8_t { kNeedMore, kDone, kMalformed };

    // After each kNeedMore: so many bytes at most may be fed next. Never 0.
    size_t wanted() const;

    Status feed(ByteSpan bytes);

    // After kDone.
    const Header& header() const { return header_; }

    // After kMalformed: what is wrong, for people.
    std::string_view error() const { return error_; }

  private:
    Status malformed(std::string_view why);
    Status parse_text();
    Status parse_binary();
    Status take_addresses(uint8_t family, ByteSpan body);

    Bytes bytes_;
    Header header_;
    std::string_view error_;
};

}  // namespace weir::proxy
