// RecordVodSource: one playback of recordings. It has a place in a list of files, fragments that
// were read ahead, and at most one job of the reader threads. See net/vod_source.h.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/object_count.h"
#include "net/places.h"
#include "net/vod_source.h"
#include "session/record/record_vod.h"

namespace weir::session {

class RecordVodSource final : public net::VodSource, private Counted<RecordVodSource> {
  public:
    static constexpr ObjectName kObjectName{"vod_source", "record"};

    // `pieces`: not empty. `vod` must outlive this. Reads at once.
    // `place`: among the playbacks of its address.
    RecordVodSource(RecordVod& vod, std::vector<VodPiece> pieces, net::AddressPlace place);
    ~RecordVodSource() override;

    void set_listener(Listener* listener) override { listener_ = listener; }

    const std::vector<media::PacketRef>& configs() const override { return configs_; }

    Codecs codecs() const override { return codecs_; }

    int64_t duration_ms() const override;
    bool grows() const override;
    void seek(int64_t time_ms) override;
    media::MediaPacket* front() override;
    Ref<media::MediaPacket> pop() override;
    bool ended() const override;
    void poll() override;

    // Why nothing could be read at all; or success. kLimit: the readers have too much to do.
    const Error& failed() const { return failed_; }

  private:
    struct Job;

    // A fragment that was read.
    struct Ready {
        VodFragment fragment;
        std::shared_ptr<const std::vector<mp4::StoredTrack>> tracks;
        int64_t shift_ms = 0;  // from times of the file to ours
        size_t next = 0;       // sample
        bool entered = false;
        bool restarts = false;  // the first after a seek: its reader asks for configs()
        int64_t wanted_ms = 0;  // of that seek, of the file's time
    };

    void go_on();
    void take_back(Job& job);
    void take_error(Job& job);
    void next_piece();
    void enter(Ready& ready);
    static void skip(Ready& ready);
    void make_packet(const Ready& ready, const mp4::StoredSample& sample);
    void forget_ready();
    int64_t length_of(size_t piece) const;
    int64_t base_of(size_t piece) const;
    static bool is_wanted(const std::vector<mp4::StoredTrack>& tracks, size_t track);

    RecordVod& vod_;
    net::AddressPlace place_;
    Listener* listener_ = nullptr;
    // Shared with jobs, whose end may come after this: null then.
    std::shared_ptr<RecordVodSource*> self_;
    std::vector<VodPiece> pieces_;
    size_t piece_ = 0;  // that is read
    // Of a reader thread while a job is under way.
    std::shared_ptr<VodFile> file_;
    std::shared_ptr<const std::vector<mp4::StoredTrack>> tracks_;  // of file_
    uint64_t offset_ = 0;
    std::optional<int64_t> seek_ms_;  // of the file's time, to be done by the next job
    int64_t wanted_ms_ = 0;           // the newest seek
    uint64_t generation_ = 0;         // grows with each seek
    int64_t last_duration_ms_ = 0;    // of the last piece, as far as it is known
    std::deque<Ready> ready_;
    std::shared_ptr<const std::vector<mp4::StoredTrack>> entered_;  // whose configs_ these are
    std::vector<media::PacketRef> configs_;
    Codecs codecs_;
    std::deque<Ref<media::MediaPacket>> packets_;  // made, and not taken
    Error failed_;
    bool busy_ = false;
    bool restarts_ = true;
    bool waits_ = false;  // for poll(): a file that grows has no more yet, or a job was refused
    bool read_all_ = false;
};

}  // namespace weir::session
