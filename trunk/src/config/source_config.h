// What the configuration says of streams that come from elsewhere and go there.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "net/source/source_spec.h"
#include "net/source/source_url.h"

namespace weir::config {

// `source URL { ... }`: streams that this server brings from another one.
struct SourceConfig {
    net::SourceUrl url;
    // Of the stream here; empty: any stream of the section, under the same name there.
    std::string app;
    std::string stream;
    std::optional<bool> on_demand;  // none: off for a named stream, on for any
    Millis linger{10'000};
    std::optional<net::SourceTransport> transport;  // of RTSP; none: auto
    std::optional<bool> tls_verify;                 // none: on

    bool operator==(const SourceConfig&) const = default;
};

// `multicast_out STREAM URL`: a stream that is sent to a multicast group.
struct GroupOutConfig {
    std::string app;
    std::string stream;
    net::SourceUrl url;

    bool operator==(const GroupOutConfig&) const = default;
};

// `playlist`: a provider's channels. Each place is a file or a URL; empty: there is none.
struct PlaylistConfig {
    std::string place;
    std::string guide;
    Millis refresh{0};

    bool operator==(const PlaylistConfig&) const = default;
};

}  // namespace weir::config
