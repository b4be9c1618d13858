#include "session/relay/relay_pull.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "net/cluster/origins.h"
#include "session/relay/relay_run.h"

namespace weir::session {

// Servers are tried one after the other; a run that brought something ends with it, and the next
// one begins to look anew.
Error RelayPull::run(net::SourceRun& run) {
    net::Origins* const origins = node_.origins();
    if (origins == nullptr) {
        return make_error(ErrorCode::kNotFound, "this server knows no other node");
    }
    const stream::StreamKey key = run.spec().key;
    std::vector<std::string> path = node_.take_asked(key);
    path.push_back(node_.node());
    std::vector<net::Origin> tried;
    Error failed;
    while (tried.size() < kMaxTries) {
        Result<net::Origin> origin = origins->find(key, run.connect_deadline());
        if (!origin.ok()) {
            node_.stats().ended[static_cast<size_t>(net::relay_end(origin.error()))]++;
            return failed ? std::move(failed) : origin.take_error();
        }
        if (std::ranges::find(tried, *origin) != tried.end()) {
            break;
        }
        tried.push_back(*origin);
        net::SourceProtocol* const protocol = find_(origin->url.scheme);
        if (protocol == nullptr) {
            return make_error(ErrorCode::kUnsupported, "no protocol for {}://", origin->url.scheme);
        }
        RelayRun one(run, node_, *origin, path, options_);
        failed = protocol->run(one);
        if (failed.code() == ErrorCode::kInterrupted) {
            return failed;
        }
        origins->note_failure(key, *origin);
        node_.stats()
            .ended[static_cast<size_t>(one.answered_end().value_or(net::relay_end(failed)))]++;
        if (one.was_connected()) {
            break;
        }
    }
    return failed;
}

}  // namespace weir::session
