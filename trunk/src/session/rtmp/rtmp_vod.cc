#include "session/rtmp/rtmp_vod.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "proto/amf/amf0.h"
#include "proto/rtmp/chunk_writer.h"
#include "proto/rtmp/message.h"

namespace weir::session {
namespace {

constexpr double kMaxTimeMs = 4'294'967'295.0;  // of an RTMP timestamp

int64_t bounded_ms(double time_ms) {
    return std::isfinite(time_ms) ? static_cast<int64_t>(std::clamp(time_ms, 0.0, kMaxTimeMs)) : 0;
}

// What players seek by: how long the recording is.
Bytes metadata_of(const net::VodSource& source) {
    Bytes out;
    amf::Writer writer(out);
    writer.string("onMetaData").begin_ecma_array(1);
    writer.key("duration").number(static_cast<double>(source.duration_ms()) / 1000.0);
    writer.end_object();
    return out;
}

}  // namespace

RtmpVod::RtmpVod(rtmp::ServerSession& session,
                 uint32_t stream_id,
                 io::TcpStream& stream,
                 net::Client& client,
                 std::unique_ptr<net::VodSource> source,
                 Millis write_stall)
    : session_(session),
      stream_id_(stream_id),
      player_(stream, client, std::move(source), *this, {.write_stall = write_stall}) {
    session_.accept_play(stream_id_, rtmp::ServerSession::PlayKind::kRecorded);
}

void RtmpVod::begin(double start_ms, int64_t duration_ms) {
    const int64_t from_ms = bounded_ms(start_ms);
    if (from_ms > 0) {
        player_.seek(from_ms);
    }
    if (duration_ms >= 0) {
        player_.stop_at(from_ms + duration_ms);
    }
}

Error RtmpVod::say() {
    return player_.say(session_.take_output())
               ? Error()
               : make_error(ErrorCode::kLimit, "the peer asks again and again and does not read");
}

// Yields.
Error RtmpVod::run() {
    WEIR_TRY(say());
    player_.set_lead(std::clamp(Millis(session_.buffer_ms()), kLeastLead, kMostLead));
    return player_.run();
}

void RtmpVod::pause(uint32_t stream_id, bool on) {
    if (stream_id != stream_id_) {
        return;
    }
    session_.answer_pause(stream_id, on);
    on ? player_.pause() : player_.resume();
}

void RtmpVod::seek(uint32_t stream_id, double time_ms) {
    if (stream_id != stream_id_) {
        return;
    }
    const int64_t wanted_ms = bounded_ms(time_ms);
    session_.answer_seek(stream_id, wanted_ms);
    player_.stop_at(INT64_MAX);
    player_.seek(wanted_ms);
}

// ---- media ----

void RtmpVod::write(const media::MediaPacket& packet, int64_t time_ms, Bytes& out) const {
    const bool video = packet.info().kind == media::TrackKind::kVideo;
    rtmp::ChunkHeader header;
    header.type = video ? rtmp::kVideo : rtmp::kAudio;
    header.chunk_stream_id = video ? rtmp::kVideoChunkStream : rtmp::kAudioChunkStream;
    header.timestamp = static_cast<uint32_t>(time_ms);
    header.stream_id = stream_id_;
    rtmp::write_message(header, packet.body(), session_.chunk_size(), out);
}

void RtmpVod::on_vod_start(const net::VodSource& source,
                           const media::MediaPacket& first,
                           Bytes& out) {
    // Metadata of another time than 0 is taken for a subtitle by ffmpeg.
    rtmp::ChunkHeader header;
    header.type = rtmp::kDataAmf0;
    header.chunk_stream_id = rtmp::kDataChunkStream;
    header.stream_id = stream_id_;
    rtmp::write_message(header, metadata_of(source), session_.chunk_size(), out);
    for (const media::PacketRef& config : source.configs()) {
        write(*config, first.time_ms(), out);
    }
}

void RtmpVod::on_vod_packet(Ref<media::MediaPacket> packet, Bytes& out) {
    write(*packet, packet->time_ms(), out);
}

void RtmpVod::on_vod_end(Bytes& out) {
    session_.end_recording(stream_id_);
    session_.append_output(out);
}

}  // namespace weir::session
