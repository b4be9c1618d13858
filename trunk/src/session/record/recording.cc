#include "session/record/recording.h"

#include <utility>

#include "net/record_name.h"

namespace weir::session {

Recording::Recording(stream::Stream& stream,
                     const RecordOptions& options,
                     RecordStore& store,
                     RecordBudget& budget,
                     RecordStats& stats,
                     std::string id)
    : stream_(stream),
      options_(options),
      store_(store),
      budget_(budget),
      stats_(stats),
      id_(std::move(id)),
      started_ms_(wall_time_ms()),
      segments_({.fragment_ms = options.fragment_ms, .part_ms = options.fragment_ms, .window = 3},
                1) {
    const SplitRules split{options.split_ms, options.split_bytes, options.split_midnight};
    RecordOutput& output = *this;
    auto muxer = std::make_unique<RecordMuxer>(options.format, split, output);
    muxer_ = muxer.get();
    log::info("record stream={} folder={} format={}", log::token(key().to_string()),
              log::token(store_.path()), to_string(options_.format));
    segmenter_ = std::make_unique<net::Segmenter>(stream_, std::move(muxer), segments_);
}

Recording::~Recording() {
    end("end");
}

void Recording::end(const char* why) {
    if (!segmenter_) {
        return;
    }
    // The part that is open, which the segmenter has written already if the publisher has gone.
    segmenter_->on_start_lost(stream::StartLost::kPublisherGone);
    muxer_->end(why);
    muxer_ = nullptr;
    segmenter_.reset();
}

int64_t Recording::wall_now_ms() const {
    return wall_time_ms();
}

ByteSpan Recording::metadata() const {
    const media::MediaPacket* const said = stream_.config(media::TrackKind::kData);
    return said ? said->body() : ByteSpan();
}

bool Recording::begin_file(int64_t start_ms, Bytes beginning) {
    if (MonoClock::now() < retry_at_) {
        return false;
    }
    store_.prepare();
    if (store_.is_short_of_space()) {
        begin_gap("the disk has less room than min_free");
        return false;
    }
    FileOrder order;
    order.key = key();
    order.format = options_.format;
    order.section = options_.section;
    // The frames at hand came a while ago.
    order.started_ms =
        wall_time_ms() - std::max<int64_t>(stream_.timeline().latest() - start_ms, 0);
    order.name = net::record_name(options_.name, key(), order.started_ms);
    queue_ = store_.begin(std::move(order), budget_, *this);
    if (!beginning.empty() && !queue_->add({.bytes = std::move(beginning)})) {
        begin_gap("too much waits for disks");
        std::exchange(queue_, nullptr)->finish("gap");
        return false;
    }
    files_++;
    return true;
}

bool Recording::add(RecordUnit unit) {
    if (queue_ != nullptr && !store_.is_short_of_space() && queue_->add(std::move(unit))) {
        if (queue_ != nullptr && queue_->frames() > 0) {
            end_gap();
        }
        return true;
    }
    begin_gap(store_.is_short_of_space() ? "the disk has less room than min_free"
                                         : "the disk is too slow: too much waits for it");
    if (queue_ != nullptr) {
        std::exchange(queue_, nullptr)->finish("gap");
    }
    retry_at_ = MonoClock::now() + kRetry;
    return false;
}

void Recording::end_file(const char* why) {
    if (queue_ != nullptr) {
        std::exchange(queue_, nullptr)->finish(why);
    }
}

void Recording::begin_gap(std::string_view why) {
    trouble_ = why;
    if (in_gap_) {
        return;
    }
    in_gap_ = true;
    gap_ = {};
    gaps_++;
    stats_.gaps++;
    log::warn("record stream={} has a gap: {}", log::token(key().to_string()), why);
}

// Frames of the new file are on the disk.
void Recording::end_gap() {
    trouble_.clear();
    if (!std::exchange(in_gap_, false)) {
        return;
    }
    log::info("record stream={} goes on after a gap: frames={} bytes={} ms={}",
              log::token(key().to_string()), gap_.frames, gap_.bytes, gap_.duration_ms);
}

void Recording::lose(uint64_t frames, uint64_t bytes, int64_t duration_ms) {
    if (!in_gap_) {
        return;  // before the first start, or of a track that waits: nothing of a file is missing
    }
    for (RecordLoss* loss : {&gap_, &loss_}) {
        loss->frames += frames;
        loss->bytes += bytes;
        loss->duration_ms += duration_ms;
    }
    stats_.frames_lost += frames;
    stats_.bytes_lost += bytes;
}

void Recording::on_file_failed(FileQueue& queue, const Error& why, const RecordLoss& loss) {
    if (&queue != queue_) {
        return;
    }
    queue_ = nullptr;
    begin_gap(why.message());
    lose(loss.frames, loss.bytes, loss.duration_ms);
    retry_at_ = MonoClock::now() + kRetry;
    if (muxer_ != nullptr) {
        muxer_->abandon();
    }
}

}  // namespace weir::session
