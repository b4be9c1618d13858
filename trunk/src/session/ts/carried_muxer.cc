#include "session/ts/carried_muxer.h"

#include <memory>

namespace weir::session {
namespace {

class CarriedFormat final : public stream::Format {
  public:
    const char* name() const override { return "carried_ts"; }

    std::unique_ptr<stream::Muxer> create_muxer() const override {
        return std::make_unique<CarriedMuxer>();
    }
};

const CarriedFormat kFormat;

void append_front(const stream::Muxer& muxer, bool /*moved*/, Bytes& out) {
    const Bytes& front = static_cast<const CarriedMuxer&>(muxer).front();  // kFormat made it
    out.insert(out.end(), front.begin(), front.end());
}

}  // namespace

void CarriedMuxer::on_packet(const media::PacketRef& packet, const stream::Configs* start) {
    if (start != nullptr) {
        const ByteSpan body = packet->body();
        const ByteSpan tables = body.first(body.size() - packet->payload().size());
        front_.assign(tables.begin(), tables.end());
    }
    log().begin_entry(packet->time_ms(), start != nullptr);
    log().write(packet->payload());
    if (packet->info().payload_offset == 0) {
        share_body(*packet);
    }
    log().end_entry();
}

const net::HttpFormat& carried_http_format() {
    static const net::HttpFormat format{.suffix = "",
                                        .format = kFormat,
                                        .content_type = "video/mp2t",
                                        .transport = "ts",
                                        .ws_transport = "ws-ts",
                                        .front = append_front};
    return format;
}

}  // namespace weir::session
