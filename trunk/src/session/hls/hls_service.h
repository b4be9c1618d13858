// HLS and DASH over HTTP: playlists, segments and parts of every stream (doc/protocols/hls.md).
//
//     /app/stream.m3u8             begins: may this viewer play, and which media playlist is its
//     /app/stream.mpd              the description of DASH, again and again
//     /app/stream.hls/index.m3u8   the media playlist, again and again
//     /app/stream.hls/...          what it names
//     /app/stream.hls/2/...        the same of its second variant
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "io/deadline.h"
#include "io/worker_pool.h"
#include "net/admission.h"
#include "net/fanout.h"
#include "net/http/router.h"
#include "net/services.h"
#include "session/hls/hls_folders.h"
#include "session/hls/hls_pump.h"

namespace weir::session {

// Counters since the start.
struct HlsStats {
    uint64_t playlists = 0;  // that were answered
    uint64_t blocked = 0;    // of these had to wait
    uint64_t segments = 0;
    uint64_t parts = 0;
    uint64_t headers = 0;
    uint64_t refused = 0;  // 4xx and 5xx
};

class HlsService final : private stream::LifeObserver {
  public:
    // For disks, at the end.
    static constexpr Millis kStopWait{500};
    // Between two looks whether another quality still comes.
    static constexpr Millis kVariantLook{50};

    // Both must outlive this.
    HlsService(const net::Services& services,
               const HlsRules& rules,
               HlsFolders::MakeDisk make_disk = {},
               io::MakeWorkers make_workers = io::WorkerPool::create);
    ~HlsService();
    HlsService(const HlsService&) = delete;
    HlsService& operator=(const HlsService&) = delete;

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

    // A folder is configured for segments: what an earlier server has left there goes now.
    void use_folder(const std::string& path) { (void)folders_.use(path); }

    const HlsFolders& folders() const { return folders_; }

    // Every 10 s.
    void tick() { folders_.tick(); }

    const HlsStats& stats() const { return stats_; }

    // visit(const HlsPump&)
    template <typename Visit>
    void for_each(Visit&& visit) const {
        services_.fanout.for_each(HlsPump::kKind, [&](net::StreamPump& pump) {
            visit(static_cast<const HlsPump&>(pump));
        });
    }

    // Yields. Ends all sessions, and writes what waits for disks; HTTP has ended.
    void stop(io::Deadline deadline = io::Deadline::after(kStopWait));

  private:
    struct Ask;

    void on_publish(stream::Stream& stream) override;
    std::unique_ptr<HlsPump> make_pump(stream::Stream& stream,
                                       const HlsOptions& options,
                                       const net::PumpOptions& pump);
    bool writes_here(const stream::Stream& stream) const;
    void on_stored(const HlsStoredView& stored);
    HlsPump* own_pump(const stream::StreamKey& key, const HlsOptions& options);
    void handle_stream(net::HttpExchange& exchange);
    void handle_description(net::HttpExchange& exchange);
    void lead_to_session(net::HttpExchange& exchange, const Ask& ask);
    bool find_options(net::HttpExchange& exchange,
                      std::string_view app,
                      std::string_view name,
                      Ask& ask);
    bool parse_stream(net::HttpExchange& exchange, std::string_view suffix, Ask& ask);
    HlsPump* admit_again(net::HttpExchange& exchange, Ask& ask, const std::string& looks);
    void handle_file(net::HttpExchange& exchange);
    HlsPump* find_pump(const stream::StreamKey& key) const;
    HlsPump* admit(net::HttpExchange& exchange, Ask& ask);
    HlsPump* pump_for(net::HttpExchange& exchange, Ask& ask, const net::PlayRules& rules);
    HlsPump* variant_pump(const Ask& ask, size_t variant);
    bool may_come(const stream::StreamKey& key);
    bool wait_variant(HlsPump& pump, io::Deadline deadline, bool open_too);
    std::vector<HlsPump*> wait_variants(const Ask& ask, bool dash);
    std::vector<hls::Variant> variants_of(const Ask& ask);
    void keep_variants(const Ask& ask);
    std::vector<HlsPump*> variant_pumps(const Ask& ask) const;
    std::string rendition_reports(const Ask& ask) const;
    std::string track_reports(const Ask& ask) const;
    bool may_read(net::HttpExchange& exchange, Ask& ask, HlsPump*& pump);
    bool has_sessions(const stream::StreamKey& key, const HlsOptions& options) const;
    void serve_file(net::HttpExchange& exchange, Ask& ask, HlsPump& home);
    void serve_playlist(net::HttpExchange& exchange, Ask& ask, HlsPump& pump);
    Error wait_described(const Ask& ask, HlsPump& pump, std::vector<DashVariant>& variants);
    void serve_description(net::HttpExchange& exchange, Ask& ask, HlsPump& pump);
    void serve_clock(net::HttpExchange& exchange);
    void serve_media(net::HttpExchange& exchange, Ask& ask, HlsPump& pump);
    void serve_key(net::HttpExchange& exchange, Ask& ask, HlsPump& pump);
    void serve_header(net::HttpExchange& exchange, Ask& ask, HlsPump& pump);
    void serve_segment(net::HttpExchange& exchange, Ask& ask, HlsPump& pump);
    void serve_part(net::HttpExchange& exchange, Ask& ask, HlsPump& pump);
    bool is_behind_period(const Ask& ask, HlsPump& pump);
    const net::Segment* next_segment(const Ask& ask, HlsPump& pump);
    void serve_growing(net::HttpExchange& exchange, Ask& ask, HlsPump& pump, uint64_t number);

    // Bytes of a part, held.
    struct Piece {
        Ref<const net::SegmentBytes> held;
        ByteSpan bytes;
    };

    static Piece piece_of(const net::Segment& segment, size_t part, const hls::TrackName& track);
    void serve_stored(net::HttpExchange& exchange, Ask& ask, HlsPump& pump);
    void serve_bytes(net::HttpExchange& exchange,
                     Ask& ask,
                     HlsPump& pump,
                     std::span<const Piece> pieces);
    void serve_text(net::HttpExchange& exchange,
                    Ask& ask,
                    HlsPump& pump,
                    std::string_view type,
                    const std::string& text,
                    std::string_view tag,
                    std::string_view cache);
    void count_sent(Ask& ask, HlsPump& pump, uint64_t bytes);
    void refuse(net::HttpExchange& exchange,
                int status,
                std::string_view reason,
                bool for_all = false);
    void refuse(net::HttpExchange& exchange, const Error& why);

    net::Services services_;
    const HlsRules& rules_;
    HlsNumbers numbers_;
    HlsFolders folders_;
    net::Admission admission_{services_};
    HlsStats stats_;
};

}  // namespace weir::session
