// Publishes by a SourceRun what an ingest makes, until that fails once; what comes then is dropped.
// For pulls: the run that ends tells the failure.
#pragma once

#include <utility>

#include "base/error.h"
#include "net/source/source_run.h"
#include "net/ts/ts_ingest.h"
#include "stream/stream.h"

namespace weir::net {

class RunPublisher final : public TsOutput {
  public:
    // `run` must outlive this.
    explicit RunPublisher(SourceRun& run) : run_(run) {}

    // Never yields. The packet as it was published; null: it was not.
    media::PacketRef publish(Ref<media::MediaPacket> packet) {
        if (!packet || failure_) {
            return {};
        }
        failure_ = run_.publish(packet);
        return failure_ ? media::PacketRef() : media::PacketRef(std::move(packet));
    }

    void publish_transport(Ref<media::MediaPacket> packet) {
        if (!failure_) {
            failure_ = run_.publish_transport(std::move(packet));
        }
    }

    // What the owner found wrong itself. The first failure counts.
    void fail(Error failed) {
        if (failed && !failure_) {
            failure_ = std::move(failed);
        }
    }

    // Why nothing is published any more; null: all is well. May be moved from, once.
    Error& failure() { return failure_; }

    const Error& failure() const { return failure_; }

    // TsOutput

    void on_ts_packet(MonoTime, Ref<media::MediaPacket> packet) override {
        publish(std::move(packet));
    }

    void on_ts_description(media::Description description) override {
        if (failure_) {
            return;
        }
        Result<stream::Stream*> stream = run_.begin();
        if (stream.ok()) {
            (*stream)->describe(run_.publisher(), std::move(description));
        }
    }

  private:
    SourceRun& run_;
    Error failure_;
};

}  // namespace weir::net
