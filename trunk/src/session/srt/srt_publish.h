// What an SRT connection publishes: transport stream in, packets of its stream out. Never yields.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/object_count.h"
#include "net/client_table.h"
#include "net/policy.h"
#include "net/rate_guard.h"
#include "net/ts/ts_ingest.h"
#include "session/srt/srt_link.h"
#include "stream/stream.h"

namespace weir::session {

class SrtPublish final : public stream::Publisher,
                         private net::TsOutput,
                         private Counted<SrtPublish> {
  public:
    static constexpr ObjectName kObjectName{"srt_publish", "srt"};

    // All must outlive this; `too_fast`: it sent more than max_publish_bitrate, called once.
    SrtPublish(SrtLink& link,
               const net::Client& client,
               stream::Stream& stream,
               const net::PublishRules& rules,
               std::function<void()> too_fast);

    void feed(ByteSpan data);

    // When the connection gives up waiting for media.
    MonoTime deadline() const {
        return last_media_ + (seen_media_ ? rules_.silent : rules_.first_packet);
    }

    const net::TsIngest& ingest() const { return ingest_; }

    // stream::Publisher
    std::string describe() const override;

    std::string_view client_id() const override { return client_.id(); }

    std::string_view client_ip() const override { return client_.ip(); }

    std::string_view client_transport() const override { return client_.transport(); }

    void on_taken_over() override;

  private:
    void on_ts_packet(MonoTime now, Ref<media::MediaPacket> packet) override;

    void on_ts_description(media::Description description) override {
        stream_.describe(*this, std::move(description));
    }

    SrtLink& link_;
    const net::Client& client_;
    stream::Stream& stream_;
    net::PublishRules rules_;
    net::RateGuard rate_;
    std::function<void()> too_fast_;
    net::TsIngest ingest_;
    MonoTime last_media_;
    bool seen_media_ = false;
};

}  // namespace weir::session
