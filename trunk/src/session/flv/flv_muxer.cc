#include "session/flv/flv_muxer.h"

#include <algorithm>
#include <array>

#include "proto/flv/tag.h"
#include "stream/stream.h"

namespace weir::session {

uint32_t FlvMuxer::tag_time(int64_t time_ms) const {
    return static_cast<uint32_t>(std::max<int64_t>(0, time_ms - origin_ms_));
}

void FlvMuxer::on_attach(const stream::Stream& stream) {
    stream_ = &stream;
}

void FlvMuxer::on_packet(const media::PacketRef& packet, const stream::Configs* start) {
    if (takes_all_tracks()) {
        write(packet, start);
        return;
    }
    if (const auto audio = stream_ ? stream_->default_audio() : std::nullopt) {
        plain_.set_default_audio(audio);
    }
    plain_.take(packet, start, [this](const media::PacketRef& plain, const stream::Configs* begin) {
        write(plain, begin);
    });
}

void FlvMuxer::on_start_lost(stream::StartLost why) {
    if (why == stream::StartLost::kPublisherCame) {
        plain_.forget();
    }
    Muxer::on_start_lost(why);
}

void FlvMuxer::write(const media::PacketRef& packet, const stream::Configs* start) {
    const int64_t time_ms = packet->time_ms();
    const ByteSpan body = packet->body();
    if (!begun_) {
        begun_ = true;
        origin_ms_ = time_ms;
    }
    const bool frame = !packet->info().config && packet->info().kind != media::TrackKind::kData;
    if (time_ms < origin_ms_ && frame && !start) {
        return;  // audio that came behind its picture: tags have no times below 0
    }
    if (start) {
        start_ms_ = time_ms;
        start_configs_ = *start;
    }
    std::array<uint8_t, flv::kTagHeaderSize> header;
    std::array<uint8_t, flv::kTagTrailerSize> trailer;
    const auto size = static_cast<uint32_t>(body.size());
    log().begin_entry(time_ms, start != nullptr, rides(*packet, start));
    log().write(
        {header.data(), flv::write_tag_header(flv::tag_type(packet->info().kind), tag_time(time_ms),
                                              size, header.data(), stream_id(packet->info()))});
    log().write(body);
    share_body(*packet);
    log().write({trailer.data(), flv::write_tag_trailer(size, trailer.data())});
    log().end_entry();
}

void FlvMuxer::front(Bytes& out) const {
    std::array<uint8_t, flv::kTagHeaderSize> header;
    std::array<uint8_t, flv::kTagTrailerSize> trailer;
    ByteWriter writer(out);
    for (const media::PacketRef& config : start_configs_) {
        const auto size = static_cast<uint32_t>(config->body().size());
        const media::PacketInfo& info = config->info();
        const bool frame = !info.config && !info.metadata;
        const uint32_t time = tag_time(frame ? config->time_ms() : start_ms_);
        writer.bytes({header.data(), flv::write_tag_header(flv::tag_type(info.kind), time, size,
                                                           header.data(), stream_id(info))});
        writer.bytes(config->body());
        writer.bytes({trailer.data(), flv::write_tag_trailer(size, trailer.data())});
    }
}

}  // namespace weir::session
