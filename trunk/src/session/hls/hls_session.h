// A viewer of HLS or DASH that has an id in its addresses, and what it was told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/object_count.h"
#include "net/client.h"

namespace weir::session {

// What a player of DASH was told in its first description, and finds again in the next ones.
struct DashViewer {
    // Its presentation begins with what is listed first, not at the epoch, and stays listed from
    // there on.
    bool near = false;
    std::optional<int64_t> origin_ms = {};  // dash::Presentation; nothing: it has not asked for one
    // Numbers of the variants. ffmpeg gives a description up that has more or less of them than
    // before, and Shaka ignores those that come later. Nothing: any may come.
    std::optional<std::vector<size_t>> variants = {};
    std::optional<std::vector<std::string>> audio = {};  // names of tracks (keep_audio)
};

struct HlsSession : private Counted<HlsSession> {
    static constexpr ObjectName kObjectName{"hls_session", "hls"};

    explicit HlsSession(std::unique_ptr<net::Client> who) : client(std::move(who)) {}

    std::unique_ptr<net::Client> client;
    MonoTime asked_at{};
    DashViewer dash;
    std::string looks;  // of a player that may not keep its id (HlsPump::find_looks)
    uint32_t led = 0;   // to the address that has its id, and has not come there yet
    // Its id came with the request that began it, perhaps from a link of somebody else's: it is
    // for this address alone. Empty: the id is one of ours.
    std::string only_from;
    bool returned = false;  // it has asked for more than what it began with
    bool kicked = false;
};

}  // namespace weir::session
