#include "session/rtmp/rtmp_muxer.h"

#include <algorithm>

#include "proto/rtmp/chunk_writer.h"
#include "proto/rtmp/command.h"
#include "proto/rtmp/message.h"

namespace weir::session {
namespace {

using media::TrackKind;

// A chunk stream whose clock lags by more than this at a start would pull the players' common origin away.
constexpr int64_t kSilentMs = 500;
// Room below the first message, for a track that begins earlier than it.
constexpr int64_t kHeadroomMs = 300;

constexpr std::array<uint32_t, 3> kChunkStreams = {rtmp::kAudioChunkStream, rtmp::kVideoChunkStream,
                                                   rtmp::kDataChunkStream};
constexpr std::array<uint8_t, 3> kMessageTypes = {rtmp::kAudio, rtmp::kVideo, rtmp::kDataAmf0};

size_t index_of(TrackKind track) { return static_cast<size_t>(track); }

// A harmless data message that carries nothing but its chunk stream's clock.
const Bytes& clock_message() {
  static const Bytes body = [] {
    Bytes out;
    rtmp::write_sample_access(out);
    return out;
  }();
  return body;
}

}  // namespace

void RtmpMuxer::write_message(TrackKind track, uint8_t type, int64_t time_ms, ByteSpan body) {
  int64_t& clock = clocks_[index_of(track)];
  const int64_t time = std::max(time_ms, clock);
  rtmp::ChunkHeader header;
  header.format = rtmp::ChunkFormat::kDelta;
  header.type = type;
  header.chunk_stream_id = kChunkStreams[index_of(track)];
  header.timestamp = static_cast<uint32_t>(time - clock);
  header.length = static_cast<uint32_t>(body.size());
  clock = time;
  std::array<uint8_t, rtmp::kMaxChunkHeaderSize> bytes;
  log().write(ByteSpan(bytes.data(), rtmp::write_chunk_header(header, bytes.data())));
  ByteSpan part = body.first(std::min<size_t>(body.size(), chunk_size_));
  log().write(part);
  while ((body = body.subspan(part.size())).size() > 0) {
    log().write(ByteSpan(bytes.data(), rtmp::write_continuation(header, bytes.data())));
    part = body.first(std::min<size_t>(body.size(), chunk_size_));
    log().write(part);
  }
}

// Before a start: chunk streams that stood still get a message that moves their clock, so that the fronts of all later
// players can give one common origin near the start. A track that plays keeps half a second for a late frame.
void RtmpMuxer::catch_up_silent_tracks(int64_t time_ms) {
  int64_t origin = time_ms;
  for (size_t i = 0; i < kTracks; i++) {
    if (track_begun_[i] && time_ms - clocks_[i] <= kSilentMs) {
      origin = std::min(origin, clocks_[i]);
    }
  }
  for (size_t i = 0; i < kTracks; i++) {
    if (time_ms - clocks_[i] > kSilentMs) {
      const bool plays = track_begun_[i] && i != index_of(TrackKind::kData);
      log().begin_entry(time_ms, false);
      write_message(static_cast<TrackKind>(i), rtmp::kDataAmf0, plays ? time_ms - kSilentMs : origin, clock_message());
      log().end_entry();
    }
  }
}

void RtmpMuxer::on_packet(const media::PacketRef& packet, const stream::Configs* start) {
  const TrackKind track = packet->info().kind;
  const int64_t time_ms = packet->time_ms();
  if (!begun_) {
    begun_ = true;
    clocks_.fill(time_ms - kHeadroomMs);
    clocks_[index_of(track)] = time_ms;
  }
  track_begun_[index_of(track)] = true;
  if (start) {
    catch_up_silent_tracks(time_ms);
    start_clocks_ = clocks_;
    start_configs_ = *start;
  }
  log().begin_entry(time_ms, start != nullptr);
  write_message(track, kMessageTypes[index_of(track)], time_ms, packet->body());
  log().end_entry();
}

void RtmpMuxer::front(uint32_t stream_id, Bytes& out) const {
  const int64_t origin = *std::ranges::min_element(start_clocks_);
  for (TrackKind track : {TrackKind::kData, TrackKind::kVideo, TrackKind::kAudio}) {
    rtmp::ChunkHeader header;
    header.format = rtmp::ChunkFormat::kFull;
    header.chunk_stream_id = kChunkStreams[index_of(track)];
    header.timestamp = static_cast<uint32_t>(start_clocks_[index_of(track)] - origin);
    header.stream_id = stream_id;
    bool first = true;
    const auto add = [&](uint8_t type, ByteSpan body) {
      header.type = type;
      rtmp::write_message(header, body, chunk_size_, out);
      header.format = rtmp::ChunkFormat::kDelta;
      header.timestamp = 0;
      first = false;
    };
    for (const media::PacketRef& config : start_configs_) {
      if (config->info().kind == track) {
        add(kMessageTypes[index_of(track)], config->body());
      }
    }
    if (first) {
      add(rtmp::kDataAmf0, clock_message());
    }
  }
}

}  // namespace weir::session
