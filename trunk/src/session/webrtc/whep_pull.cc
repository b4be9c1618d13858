#include "session/webrtc/whep_pull.h"

#include <algorithm>
#include <utility>

#include "io/deadline.h"
#include "io/tcp.h"
#include "net/http/client.h"
#include "proto/http/response_parser.h"
#include "session/webrtc/whep_pull_run.h"
#include "session/webrtc/whep_request.h"

namespace weir::session {
namespace {

// Yields.
Error end_session(net::HttpClient& dialer,
                  const net::SourceUrl& session,
                  const NetAddress& server,
                  bool verify) {
    const io::Deadline deadline = io::Deadline::after(WhepPull::kFarewellTimeout);
    // The name may lead somewhere else by now.
    const auto is_server = [&server](const NetAddress& at) { return at.same_ip(server); };
    WEIR_TRY_ASSIGN(const std::unique_ptr<io::TcpStream> stream,
                    dialer.connect(session.endpoint(), deadline, verify, is_server));
    WEIR_TRY_ASSIGN(const http::Response answer,
                    net::http_exchange_on(*stream, whep_delete(session), {}, deadline));
    (void)answer;
    return {};
}

}  // namespace

Result<const webrtc::ClientShared*> WhepPull::shared() {
    if (!shared_) {
        WEIR_TRY_ASSIGN(identity_, dtls::Identity::create());
        shared_.emplace(webrtc::ClientShared{*identity_, control_, system_random()});
    }
    return &*shared_;
}

Error WhepPull::run(net::SourceRun& run) {
    WEIR_TRY_ASSIGN(const webrtc::ClientShared* client, shared());
    WhepPullRun pull(run, *this, *client);
    Error ended = pull.run();
    pull.close();
    return ended;
}

void WhepPull::say_farewell(net::HttpClient& dialer,
                            net::SourceUrl session,
                            const NetAddress& server,
                            bool verify) {
    if (farewells_.size() >= kMaxFarewells) {
        return;
    }
    Error failed = farewells_.spawn("whep farewell", io::StackSize::kNormal,
                                    [&dialer, session = std::move(session), server, verify] {
                                        // The server finds out by itself that we have gone.
                                        (void)end_session(dialer, session, server, verify).code();
                                    });
    (void)failed.code();  // without a coroutine, too
}

Error WhepPull::stop(io::Deadline deadline) {
    const MonoTime soon = MonoClock::now() + kLastFarewell;
    if (Error late = farewells_.join_all(io::Deadline::at(std::min(soon, deadline.time())))) {
        farewells_.interrupt_all();
        return farewells_.join_all(io::Deadline::after(kLastFarewell));
    }
    return {};
}

}  // namespace weir::session
