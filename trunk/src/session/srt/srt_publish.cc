#include "session/srt/srt_publish.h"

#include <fmt/format.h>

namespace weir::session {

SrtPublish::SrtPublish(SrtLink& link,
                       const net::Client& client,
                       stream::Stream& stream,
                       const net::PublishRules& rules,
                       std::function<void()> too_fast)
    : link_(link),
      client_(client),
      stream_(stream),
      rules_(rules),
      rate_(rules.max_bits_per_second),
      too_fast_(std::move(too_fast)),
      ingest_(*this),
      last_media_(MonoClock::now()) {}

void SrtPublish::feed(ByteSpan data) {
    if (link_.ended()) {
        return;
    }
    const MonoTime now = MonoClock::now();
    if (!rate_.take(now, data.size())) {
        too_fast_();
        return;
    }
    if (const Error failed = ingest_.feed(now, data)) {
        link_.end(net::EndClass::kError, std::string(failed.message()));
    }
}

void SrtPublish::on_ts_packet(MonoTime now, Ref<media::MediaPacket> packet) {
    last_media_ = now;
    seen_media_ = true;
    stream_.publish(*this, std::move(packet), now);
}

std::string SrtPublish::describe() const {
    return fmt::format("client {} from {}", client_.id(), client_.ip());
}

void SrtPublish::on_taken_over() {
    link_.end(net::EndClass::kReplaced, "another publisher took the stream over");
}

}  // namespace weir::session
