// A connection that came in by SRT: what it wants, whether it may, and its end. Its coroutine is
// run(); media come and go without it.
#pragma once

#include <memory>
#include <string>

#include "base/object_count.h"
#include "io/socket_address.h"
#include "net/admission.h"
#include "proto/srt/stream_id.h"
#include "session/srt/srt_link.h"

namespace weir::session {

class SrtServer;

class SrtConnection final : private Counted<SrtConnection> {
  public:
    static constexpr ObjectName kObjectName{"srt_connection", "srt"};
    // A plain stream id does not say whether its caller publishes. Where nobody publishes the
    // stream, a caller that sends something within this time does; else it plays.
    static constexpr Millis kDecide{3'000};

    // A place of the budget of connections was taken for it.
    SrtConnection(SrtServer& server, io::SrtNewcomer newcomer);
    ~SrtConnection();
    SrtConnection(const SrtConnection&) = delete;
    SrtConnection& operator=(const SrtConnection&) = delete;

    // Yields. Until it has ended.
    void run();

  private:
    Error converse();
    Result<bool> decide();
    net::NewcomerView newcomer(bool publishes);
    void check_password(bool publishes);
    Error publish();
    Error flow(class SrtPublish& publish);
    Error play();
    void end_misjudged();
    void begin(std::unique_ptr<net::Client> client, net::ClientRole role);
    void count_traffic();
    void finish(const Error& interrupted);

    SrtServer& server_;
    std::string peer_ip_;
    io::SocketAddress peer_;
    std::string stream_id_;
    SrtLink link_;
    io::SrtStats counted_;  // in the server's totals
    srt::StreamId id_;
    stream::StreamKey key_;
    std::string query_;
    std::string token_;
    std::string user_;
    std::string user_scope_;
    std::string tc_url_;
    std::unique_ptr<net::Client> client_;
    bool holds_budget_ = true;  // not the client
};

}  // namespace weir::session
