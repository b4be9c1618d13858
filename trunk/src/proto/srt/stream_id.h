// The stream id of an SRT caller: which stream it wants, and whether it publishes or plays. Pure.
//
// Two forms. That of SRT's access control guidelines: "#!::r=live/cam,m=publish,key=SECRET", also
// in braces, "#!:{...}". And plain forms, as encoders and players send them: "live/cam",
// "publish:live/cam", "read:live/cam:USER:PASSWORD". Both may have a query behind the resource, and
// the keys of the first form that are not its own belong to that query: "#!::r=live/cam,secret=abc"
// means "live/cam?secret=abc", so hooks get them.
//
// Blackmagic encoders have a form without resource and mode, "#!::bmd_uuid=...,bmd_name=...,u=KEY",
// where KEY, the "stream key" that the user typed, can have no slash: it means live/KEY, published.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace weir::srt {

inline constexpr size_t kMaxStreamId = 512;  // bytes; libsrt's own limit
inline constexpr size_t kMaxStreamIdKeys = 32;

enum class StreamMode : uint8_t {
    kNone,  // the plain form does not say it; the other form means kRequest then
    kPublish,
    kRequest,
};

struct StreamId {
    std::string resource;  // "live/cam", without slashes at its ends; may be empty
    std::string query;     // behind the resource's '?', without it, and all other keys
    std::string vhost;     // key h
    std::string user;      // key u
    std::string token;     // key "key", "token" or "password": a secret
    std::string session;   // key s
    StreamMode mode = StreamMode::kNone;

    // `text`: as the caller sent it. kMalformed: not of these forms, or a value that is not known;
    // kUnsupported: m=bidirectional, or a type (key t) other than a stream; kLimit: longer than
    // kMaxStreamId, or more than kMaxStreamIdKeys keys. Messages hold no part of the text, which
    // may have secrets.
    static Result<StreamId> parse(std::string_view text);

    // The form "#!::...", which parse() reads as the same; for callers.
    std::string write() const;

    bool operator==(const StreamId&) const = default;
};

}  // namespace weir::srt
