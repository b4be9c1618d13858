// Playback of recordings over HTTP, by the rules for playing their stream; also of those that still
// grow.
// doc/recording.md.
//
//     GET /vod/FILE                             the file, by ranges
//     GET /vod/FILE/header.mp4                  its header with one audio track, for playlists
//     GET /vod/FILE-WITHOUT-END.m3u8            a playlist over the file (RFC 8216, byte ranges)
//     GET /vod/APP/STREAM.m3u8?from=...&to=...  over all files of the stream, or of a span of time
//
// FILE is what the list of recordings says. Nothing but what is in that list is opened. Disks are
// read by threads of its own: one that hangs holds up playback and nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/worker_pool.h"
#include "net/admission.h"
#include "net/http/router.h"
#include "net/services.h"
#include "session/record/growing_indexes.h"
#include "session/record/record_service.h"
#include "session/record/vod_pieces.h"

namespace weir::session {

class RecordPlayback {
  public:
    static constexpr const char* kTransport = "vod";
    // Of one playlist; more is a 400 that asks for a span of time.
    static constexpr size_t kMaxSegments = 20'000;
    static constexpr size_t kReaders = 2;      // threads
    static constexpr size_t kMaxReads = 4096;  // that wait for them; more requests are a 503

    // What `services` names, and the others, must outlive this.
    RecordPlayback(const net::Services& services,
                   RecordService& service,
                   const RecordRules& rules,
                   io::MakeWorkers make_workers = io::WorkerPool::create)
        : services_(services),
          service_(service),
          rules_(rules),
          make_workers_(std::move(make_workers)) {}

    // Every few seconds.
    void tick() { growing_.tick(service_, MonoClock::now()); }

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

    // The address of a recording, "/vod/live/cam/...mp4"; empty: it is not played.
    std::string address_of(const RecordedFile& file) const;

  private:
    void handle(net::HttpExchange& exchange);
    std::optional<VodPiece> find(std::string_view file);
    void serve_file(net::HttpExchange& exchange, const VodPiece& piece);
    void serve_header(net::HttpExchange& exchange, const VodPiece& piece);
    void serve_list(net::HttpExchange& exchange, std::vector<VodPiece> pieces);
    void serve_stream(net::HttpExchange& exchange, std::string_view path);
    std::unique_ptr<net::AdmittedPlayer> admit(net::HttpExchange& exchange,
                                               const stream::StreamKey& key);
    io::WorkerPool* readers(net::HttpExchange& exchange);

    net::Services services_;
    net::Admission admission_{services_};
    RecordService& service_;
    const RecordRules& rules_;
    io::MakeWorkers make_workers_;
    GrowingIndexes growing_;
    std::unique_ptr<io::WorkerPool> readers_;  // since the first request
};

}  // namespace weir::session
