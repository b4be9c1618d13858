#include "bench/load/srt_publisher.h"

#include <algorithm>
#include <array>
#include <utility>

#include "io/deadline.h"
#include "proto/flv/tag.h"

#include "bench/load/run_control.h"

namespace weir::load {
namespace {

constexpr uint64_t kEarlyUs = 1'000;
constexpr int kFramesPerFlush = 64;
constexpr size_t kMaxConfigs = 8;

}  // namespace

Error SrtPublisher::connect(io::Deadline deadline) {
    WEIR_TRY(engine_.start());
    id_ = engine_.connect(address_, call_, *this);
    while (!open_ && why_.empty()) {
        WEIR_TRY(changed_.wait_until(deadline));
    }
    return open_ ? Error() : make_error(ErrorCode::kDenied, "{}", why_);
}

void SrtPublisher::on_srt_end(Error why) {
    id_ = 0;
    open_ = false;
    why_ = why.message();
    changed_.notify_all();
}

void SrtPublisher::disconnect() {
    if (id_ != 0) {
        engine_.close(std::exchange(id_, 0));
    }
}

Error SrtPublisher::take(const SourceMessage& message) {
    const auto info = flv::parse_tag_body(message.kind, message.body);
    if (!info || info->metadata) {
        return {};
    }
    const media::PacketRef packet =
        make_ref<media::MediaPacket>(*info, message.time_ms, Bytes(message.body));
    const bool key = info->kind == media::TrackKind::kVideo && info->key && !info->config;
    if (info->config && configs_.size() < kMaxConfigs) {
        configs_.push_back(packet);
    }
    muxer_.on_packet(packet, key ? &configs_ : nullptr);
    return {};
}

// What the muxer has made since the last time.
void SrtPublisher::flush() {
    const stream::WireLog& log = muxer_.log();
    if (!cursor_.block) {
        if (!log.has_start()) {
            return;
        }
        cursor_ = log.start();
    }
    const size_t size = log.bytes_behind(cursor_);
    if (size > 0) {
        auto bytes = std::make_shared<Bytes>();
        log.copy_until(cursor_, log.head(), *bytes);
        stream::WireLog::advance(cursor_, size);
        engine_.send(std::array{id_}, std::move(bytes));
    }
}

Error SrtPublisher::publish() {
    for (const SourceMessage& each : source().opening()) {
        WEIR_TRY(take(each));
    }
    const uint64_t origin_us = now_ns() / 1000;
    while (!asked_to_stop()) {
        if (!open_) {
            return make_error(ErrorCode::kClosed, "{}", why_);
        }
        const uint64_t passed = now_ns() / 1000 - origin_us;
        for (int i = 0; i < kFramesPerFlush && source().next_due_us() <= passed + kEarlyUs; i++) {
            totals().lag.add(passed - std::min(passed, source().next_due_us()));
            WEIR_TRY(source().next(now_ns(), frame_));
            WEIR_TRY(take(frame_));
            totals().frames++;
            totals().bytes += frame_.body.size();
        }
        flush();
        const uint64_t due = origin_us + source().next_due_us();
        if (source().next_due_us() <= passed + kEarlyUs) {
            io::yield();
        } else {
            WEIR_TRY(
                io::sleep_until(io::Deadline::at(MonoTime(Micros(static_cast<int64_t>(due))))));
        }
    }
    return {};
}

}  // namespace weir::load
