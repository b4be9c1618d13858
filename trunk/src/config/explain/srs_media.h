// What SRS does with a stream besides passing it on: recording, HLS, relays, programs. Private to
// `weir --explain`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/explain/explainer.h"

namespace weir::config {

// A vhost of SRS while it is explained.
struct SrsVhost {
    std::vector<std::string> place;
    std::string name;     // "__defaultVhost__", "a.example"
    std::string port;     // where programs of this machine reach RTMP
    bool copies = false;  // set where a program publishes copies of streams
};

// The vhost whose streams are the copies that programs make: a program that published into its own
// vhost would be started for its copies too.
std::string srs_copies_vhost(const std::string& vhost);

// dvr, forward, hls, transcode, ingest, exec, cluster; `full`: with the blocks around it. False: it
// is none of them. Included files and what restricted access are the caller's.
bool explain_srs_media(Explainer& out,
                       const Statement& statement,
                       std::string_view full,
                       SrsVhost& vhost);

// mode and origin of an edge. `where`: the statement that is told.
void explain_srs_edge(Explainer& out,
                      const Statement& where,
                      const std::vector<Statement>& block,
                      const SrsVhost& vhost);

// stream_caster { }; `place`: of the vhost that gets its streams, empty: it is refused.
void explain_srs_caster(Explainer& out,
                        const Statement& statement,
                        const std::vector<std::string>& place);

}  // namespace weir::config
