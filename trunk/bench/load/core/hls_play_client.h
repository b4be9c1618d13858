// A player of HLS, sans-IO, on one connection that is kept: the multivariant playlist, the media
// playlist again and again, and each segment once, or with low latency each part (RFC 8216 §6.3,
// draft-pantos-hls-rfc8216bis §6.3).
//
// Driven like every PlayClient, and by wake() when due_ns() has come. Media goes into a PlayerCheck
// as it comes; what a viewer would see is counted from the lengths in the playlist.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "bench/load/core/fmp4_scanner.h"
#include "bench/load/core/hls_list.h"
#include "bench/load/core/http_body.h"
#include "bench/load/core/play_client.h"
#include "bench/load/core/player_check.h"
#include "bench/load/core/ts_scanner.h"

namespace weir::load {

// Shared by all players of a stream and must outlive them.
struct HlsTarget {
    std::string authority;    // "host:port"
    std::string path;         // of the first playlist, with the query
    bool low_latency = true;  // where the playlist offers it
};

class HlsPlayClient final : public PlayClient {
  public:
    static constexpr size_t kMaxPlaylist = 4U << 20;

    // The first request is in the output at once, and counts as the play request.
    HlsPlayClient(const HlsTarget& target, PlayerCheck& check, uint64_t now_ns);

    bool feed(ByteSpan bytes, uint64_t now_ns) override;

    bool started() const override { return !list_path_.empty(); }

    // A playlist is read again then; 0: an answer is waited for.
    uint64_t due_ns() const override { return due_ns_; }

    void wake(uint64_t now_ns) override;

    // Each answer may be followed by the next request.
    bool may_rest() const override { return false; }

  private:
    enum class Want : uint8_t { kFirst, kPlaylist, kHeader, kSegment, kPart };

    void request(Want want, const std::string& path, uint64_t now_ns);
    bool take_media(ByteSpan bytes);
    bool end_answer(uint64_t now_ns);
    bool take_first();
    bool take_playlist();
    bool end_media();
    bool go_on();
    bool fetch(const std::string& reference, const std::string& header, Want want, int64_t us);
    void ask_again();
    void play(int64_t duration_us);

    const HlsTarget& target_;
    PlayerCheck& check_;
    HlsTotals& totals_;
    uint64_t now_ns_ = 0;
    Want want_ = Want::kFirst;
    uint64_t asked_ns_ = 0;
    bool blocks_ = false;  // the playlist that is waited for is not there yet
    HttpBody body_;
    std::string text_;  // of a playlist, as far as it came
    std::string list_path_;
    HlsList list_;
    bool has_list_ = false;
    bool changed_ = false;  // by the last reading
    uint64_t read_ns_ = 0;
    uint64_t due_ns_ = 0;

    // What comes next.
    bool has_place_ = false;
    HlsList::Place place_;
    std::string header_;  // that was read last
    int64_t coming_us_ = 0;
    Fmp4Scanner mp4_;
    std::unique_ptr<TsScanner> ts_;  // in its place; null: it is MP4

    // What a viewer has. Microseconds, of CLOCK_MONOTONIC.
    bool playing_ = false;
    int64_t dry_us_ = 0;      // while it plays: all will have been played then
    int64_t stalled_us_ = 0;  // its buffer was empty then, the last time
    int64_t waiting_us_ = 0;  // while it does not play: so much of media is there
};

}  // namespace weir::load
