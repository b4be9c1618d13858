// PlaylistService: keeps a provider's playlist of groups and its programme guide fresh, from files
// or by HTTP, and serves both: GET /playlist.m3u with the addresses of this server, and /epg.xml as
// it came (XMLTV). What was read last stays in use while it cannot be read again.
//
// A coroutine of its own reads; disk work runs on the worker pool. Media thread only.
#pragma once

#include <memory>
#include <string>

#include "io/coroutine.h"
#include "io/resolver.h"
#include "io/signal.h"
#include "io/worker_pool.h"
#include "net/http/fetch.h"
#include "net/http/router.h"
#include "net/policy.h"
#include "session/ts/group_playlist.h"

namespace weir::session {

struct PlaylistOptions {
    std::string playlist;  // a file, or a URL (http, https); empty: there is none
    std::string guide;     // the same; empty: where the playlist says it is, if that is a URL
    Millis refresh{3'600'000};

    bool operator==(const PlaylistOptions&) const = default;
};

class PlaylistService {
  public:
    static constexpr size_t kMaxGuideBytes = 32 * 1024 * 1024;
    static constexpr Millis kFetch{30'000};  // for one answer
    static constexpr Millis kRetry{30'000};  // after a failure, where refresh is longer

    // `policy` must outlive this: whoever may play groups may have the lists.
    explicit PlaylistService(const net::Policy& policy) : policy_(policy) {}

    ~PlaylistService();  // stop() must have been called
    PlaylistService(const PlaylistService&) = delete;
    PlaylistService& operator=(const PlaylistService&) = delete;

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

    // Never yields. From now on with these; reads at once if they have changed. `workers` must
    // outlive stop(). kSystem: there is no coroutine.
    Error use(const PlaylistOptions& options, io::WorkerPool& workers);

    // Yields.
    void stop();

    // The group of a channel of that name; null: there is none. Valid until the next yield.
    const net::GroupAddress* find(std::string_view name) const;

    // What could not be read last, and why; empty: all was.
    const std::string& trouble() const { return trouble_; }

  private:
    void run();
    Error refresh();
    Error refresh_guide(const PlaylistOptions& options);
    // A file, or a URL, which becomes that of the document.
    Result<std::string> read(const std::string& where, net::HttpDocument document, net::Hops& hops);
    bool admits(net::HttpExchange& exchange) const;
    void serve_playlist(net::HttpExchange& exchange);
    void serve_guide(net::HttpExchange& exchange);

    const net::Policy& policy_;
    PlaylistOptions options_;
    io::WorkerPool* workers_ = nullptr;
    io::Resolver resolver_;
    std::shared_ptr<const GroupPlaylist> playlist_;  // an answer that yields keeps its own
    std::shared_ptr<const std::string> guide_;
    net::Hops hops_;  // where the playlist may lead
    std::string trouble_;
    bool changed_ = false;
    io::Signal wake_;
    io::Coroutine coroutine_;
    bool running_ = false;
};

}  // namespace weir::session
