// What became of a packet that was to be opened. Tier 1 of the error policy: counted by the owner,
// never logged one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::srtp {

enum class Status : uint8_t {
    kOk,
    kMalformed,       // too short, or not encrypted
    kReplayed,        // seen before, or older than the window
    kUnauthentic,     // wrong key, or changed on the way
    kTooManySources,  // a new SSRC, but there are as many as there may be
};

// Literals of [a-z_], for metrics.
constexpr std::string_view to_string(Status status) {
    switch (status) {
        case Status::kOk: return "ok";
        case Status::kMalformed: return "malformed";
        case Status::kReplayed: return "replayed";
        case Status::kUnauthentic: return "unauthentic";
        case Status::kTooManySources: return "too_many_sources";
    }
    return "";
}

struct Unprotected {
    Status status = Status::kMalformed;
    size_t size = 0;  // of the plain packet, with kOk

    bool ok() const { return status == Status::kOk; }
};

}  // namespace weir::srtp
