// HlsPump: the segments of one stream and who watches them. It exists from the first request to
// some time after the last one; its coroutine only looks who has gone.
//
// Viewers have no connection of their own: a session is a row of the client table and the time of
// its last request. A request that has to wait for a part parks on one signal with all others.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/net_address.h"
#include "base/object_count.h"
#include "io/signal.h"
#include "net/client_table.h"
#include "net/play_rules.h"
#include "net/segments/segmenter.h"
#include "net/stream_pump.h"
#include "proto/hls/playlist.h"
#include "proto/hls/reload.h"
#include "session/hls/dash_description.h"
#include "session/hls/dash_ladder.h"
#include "session/hls/hls_folder.h"
#include "session/hls/hls_numbers.h"
#include "session/hls/hls_options.h"
#include "session/hls/hls_session.h"
#include "stream/stream.h"

namespace weir::io {
class Deadline;
}

namespace weir::session {

class HlsPump final : public net::StreamPump,
                      private net::SegmentListener,
                      private Counted<HlsPump> {
  public:
    static constexpr ObjectName kObjectName{"hls_pump", "hls"};
    static const net::PumpKind kKind;
    static constexpr Millis kLook{500};
    // A viewer that asks for nothing in so many target durations, and so long, has gone.
    static constexpr int64_t kIdleTargets = 3;
    static constexpr Millis kMinIdle{10'000};
    // Segments are made on for so long after the last request of all.
    static constexpr Millis kLinger{15'000};
    // Content that the first segment has at least, where it is cut for who came first.
    static constexpr int64_t kFirstSegmentMs = 200;
    static constexpr Millis kOpenWait{500};
    static constexpr Millis kVariantWait{2'000};  // for the first segment of another quality
    // A first segment that is longer than viewers wait is cut so long before they give up.
    static constexpr Millis kCutBefore{500};
    static constexpr size_t kMaxCompressed = 4;
    static constexpr size_t kMaxKicked = 256;  // sessions that are remembered as ended by the API
    static constexpr size_t kMaxSessions = 100'000;  // of one stream

    // `numbers` must outlive it. `folder`: its segments are written there as well, where
    // `writes_here` says so of the present publisher (none: always; it must not yield); null: they
    // are not.
    HlsPump(stream::Stream& stream,
            const HlsOptions& options,
            const net::PumpOptions& pump,
            HlsNumbers& numbers,
            HlsFolder* folder = nullptr,
            std::function<bool()> writes_here = {});
    ~HlsPump() override;

    // While it lives, the pump stays: somebody waits for it.
    class Stay {
      public:
        explicit Stay(HlsPump& pump) : pump_(pump) { pump_.staying_++; }

        ~Stay() {
            pump_.staying_--;
            pump_.used_at_ = MonoClock::now();
        }

        Stay(const Stay&) = delete;
        Stay& operator=(const Stay&) = delete;

      private:
        HlsPump& pump_;
    };

    // Somebody may come to it soon: it stays as after a request.
    void touch() { used_at_ = MonoClock::now(); }

    const HlsOptions& options() const { return options_; }

    const net::SegmentStore& store() const { return store_; }

    // What it has on the disk; null: nothing.
    HlsArchive* files() { return files_; }

    // The last segment is written, and the end of the playlist; nothing more is.
    void end_files();

    // Yields. Until there is a segment to play; `open_too`: one that grows will do. kTimeout,
    // kInterrupted.
    Error wait_first(Millis absent, bool open_too);

    // Yields. The same of a stream that is another quality of one that is asked for, which waits
    // for it no longer than that. From `cut_at` on the first segment is cut also where players of
    // DASH were told how long it will be.
    Error wait_variant(io::Deadline deadline, bool open_too, MonoTime cut_at);

    // Yields. Between a segment and the next: until that one can be described, at most until
    // `deadline`, which is in kOpenWait at most. After the end of the stream at once, or when it
    // goes on. kTimeout, kInterrupted.
    enum class AfterEnd : uint8_t { kReturn, kWait };
    Error wait_open(io::Deadline deadline, AfterEnd after_end = AfterEnd::kReturn);

    // Yields. Until done() says so, which is asked after each change; at most three target
    // durations. kTimeout, kInterrupted.
    Error wait_for(const std::function<bool()>& done);

    // Whether the playlist has what the player waits for.
    bool has(uint64_t number, std::optional<uint64_t> part) const;

    // Segments may be read while they are made.
    bool low_latency() const {
        return options_.container == net::SegmentContainer::kMp4 && store_.cipher() == nullptr;
    }

    // Of the present, for the folder of `track`: segments without that are gaps (EXT-X-GAP). Good
    // until the next call.
    const std::string& media_playlist(bool skip, hls::FileTrack track = hls::FileTrack::kAll);
    // Differs between all texts that media_playlist() has given for these, of this pump and others:
    // what is hours long is not looked through for each request.
    std::string media_tag(bool skip, hls::FileTrack track = hls::FileTrack::kAll) const;

    // The same for DASH. `folder`: where all files are, seen from the description. `viewer`: what
    // is not known yet becomes what fits what there is. `variants`: what can be played now. Empty:
    // HLS alone can have what there is.
    std::string description(std::string_view folder,
                            DashViewer& viewer,
                            std::span<const DashVariant> variants);

    // description() has been called.
    bool was_described() const { return !described_.empty(); }

    // A description of another stream tells of its segments.
    void note_told() { told_ = true; }

    // Of all who have no session.
    DashViewer& everybody() { return everybody_; }

    // There is something to describe.
    bool is_playable() const;
    // `text`, which `tag` names, as gzip; of the newest ones it is made once. Good until the next
    // call. `tag`: no two texts have the same, whatever viewers write into their queries.
    const std::string& compressed(std::string_view tag, std::string_view text);

    hls::Variant variant() const;

    // Each track has a media playlist of its own. Not of encrypted segments or transport streams,
    // nor with `dvr`, as files have the default one alone.
    bool has_tracks_apart() const;

    // The same, and several audio tracks can be chosen from.
    bool has_renditions() const;

    // Whether segments of `format` have it, or the default audio track, which stands in for others.
    static bool has_track(const net::SegmentFormat& format, hls::FileTrack track);

    // Folders of the tracks, for which media_playlist() is good as well: video, default audio, and
    // the others, as far as there are such.
    std::vector<hls::TrackName> track_folders() const;

    // As variant(), with the playlists of its tracks behind `folder`, which ends in a slash.
    hls::Variant apart_variant(std::string_view folder) const;

    // The newest segment or part that playlists name; nothing before the first.
    struct Newest {
        uint64_t number = 0;
        std::optional<uint64_t> part;
    };

    std::optional<Newest> newest() const;

    // Null: there is none of that id, or it was ended.
    HlsSession* find_session(std::string_view id);
    bool was_kicked(std::string_view id) const;
    // Null: there are too many, of all or of that address.
    HlsSession* add_session(std::string id, std::unique_ptr<net::Client> client);

    // It has asked again.
    void note_return(HlsSession& session);

    // A player that cannot be told its id is known by its looks: a digest of its address, its name
    // and what it shows to be let in.
    // The id of the session that looks so, which may be kicked; empty: there is none.
    std::string_view find_looks(std::string_view looks) const;
    void set_looks(HlsSession& session, std::string_view id, std::string looks);
    void end_all(net::EndClass why, std::string_view detail);

    // Yields for kOpenWait. For who asks behind the end of a period that has ended, and would ask
    // again at once: ffmpeg takes the first period of a description and asks for what follows it
    // some hundred times a second. An error: this pump ends.
    Error wait_behind_end();

    // Requests that wait.
    size_t waiting() const { return waiting_; }

    uint64_t frames_left_out() const { return segmenter_.frames_left_out(); }

    // net::StreamPump
    void run() override;

    size_t players() const override { return sessions_.size(); }

    std::span<const net::TransportCount> by_transport() const override { return counts_; }

    void reconfigure(const net::PumpOptions& options) override { pump_ = options; }

    stream::Stream& stream() override { return stream_; }

  private:
    void on_segments() override {
        signal_.notify_all();
        fill_files();
    }

    static size_t list_place(bool skip, hls::FileTrack track);
    Error wait_until(io::Deadline deadline, const std::function<bool()>& done);
    void fill_files();
    void add_older(hls::MediaPlaylist& playlist, int64_t behind_ms);
    void look(MonoTime now);
    void end_session(HlsSession& session, net::EndClass why, std::string_view detail);
    size_t& count_of(const HlsSession& session);
    Millis idle_time() const;

    stream::Stream& stream_;
    HlsOptions options_;
    net::PumpOptions pump_;
    HlsNumbers& numbers_;
    net::SegmentStore store_;
    HlsFolder* folder_;
    std::function<bool()> writes_here_;
    bool elsewhere_ = false;       // who published last does so in another process, which writes
    HlsArchive* files_ = nullptr;  // of the folder, from the first segment on
    uint64_t next_file_ = 0;       // number of the segment that goes there next
    net::Segmenter segmenter_;
    std::map<std::string, std::unique_ptr<HlsSession>, std::less<>> sessions_;
    std::map<std::string, std::string, std::less<>> looks_;  // to the ids of their sessions
    std::unordered_map<NetAddress, size_t> begun_;           // sessions that asked once, by address

    struct Kicked {
        std::string id;
        std::string looks;
        MonoTime since;
    };

    std::deque<Kicked> kicked_;  // oldest first
    std::array<net::TransportCount, 2> counts_{{{"hls", 0}, {"dash", 0}}};
    io::Signal signal_;
    size_t staying_ = 0;
    size_t waiting_ = 0;
    MonoTime used_at_;

    struct Compressed {
        std::string tag;
        std::string bytes;
    };

    std::deque<Compressed> compressed_;  // newest first
    const std::string tag_;              // of this pump

    struct ListText {
        std::string text;
        uint64_t version = 0;  // of the store
    };

    std::array<ListText, 6> lists_;  // by list_place()
    DashLadder ladder_;
    std::vector<uint64_t> described_;  // versions of the stores that the description was of
    int64_t described_ms_ = 0;         // when they became these
    bool told_ = false;                // players of DASH know how long the open segment will be
    DashViewer everybody_{.origin_ms = 0};
};

}  // namespace weir::session
