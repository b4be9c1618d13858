#include "session/rtsp/rtsp_pull.h"

#include "net/source/source_url.h"
#include "session/rtsp/rtsp_pull_run.h"

namespace weir::session {

Error RtspPull::run(net::SourceRun& run) {
    RtspPullRun pull(run, *this);
    Error ended = pull.run();
    pull.close();
    return ended;
}

void RtspPull::note_udp_fails(const net::SourceUrl& url, MonoTime now) {
    if (mistrusted_.size() >= kMaxMistrusted) {
        std::erase_if(mistrusted_, [now](const auto& entry) { return entry.second <= now; });
    }
    if (mistrusted_.size() < kMaxMistrusted) {
        mistrusted_[url.authority()] = now + kUdpMistrust;
    }
}

bool RtspPull::mistrusts_udp(const net::SourceUrl& url, MonoTime now) const {
    const auto found = mistrusted_.find(url.authority());
    return found != mistrusted_.end() && now < found->second;
}

}  // namespace weir::session
