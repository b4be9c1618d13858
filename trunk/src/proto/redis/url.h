// The address of Redis as an operator writes it:
//
//   redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]
//   rediss://...                        the same with TLS
//   redis+sentinel://HOST[:PORT],HOST[:PORT].../MASTER[/DATABASE]
//   redis+cluster://HOST[:PORT],HOST[:PORT]...
//
// rediss+sentinel and rediss+cluster have TLS. User and password may be written as %XX.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace weir::redis {

inline constexpr size_t kMaxUrlBytes = 2048;
inline constexpr size_t kMaxHosts = 16;
inline constexpr uint32_t kMaxDatabase = 1023;
inline constexpr uint16_t kDefaultPort = 6379;
inline constexpr uint16_t kSentinelPort = 26379;

enum class Kind : uint8_t { kSingle, kSentinel, kCluster };

struct Host {
    std::string name;  // or a numeric address without brackets
    uint16_t port = kDefaultPort;

    // "host:port", with brackets where they are needed.
    std::string to_string() const;

    bool operator==(const Host&) const = default;
};

struct Url {
    Kind kind = Kind::kSingle;
    bool tls = false;
    std::string user;
    std::string password;
    std::vector<Host> hosts;  // one, or those of the sentinels or the cluster
    std::string master;       // of kSentinel: the name by which sentinels know it
    uint32_t database = 0;

    // kMalformed says what was expected, and holds no part of `text`.
    static Result<Url> parse(std::string_view text);

    // For logs and the API: without user and password.
    std::string shown() const;

    bool operator==(const Url&) const = default;
};

}  // namespace weir::redis
