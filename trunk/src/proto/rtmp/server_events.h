// What a peer of ServerSession asks for, as values.
//
// Peers: amf
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "media/codec.h"
#include "proto/amf/amf0.h"
#include "proto/rtmp/stream_name.h"

namespace weir::rtmp {

// Enhanced RTMP v1 and v2 properties of connect.
struct EnhancedCaps {
    bool present = false;
    uint32_t caps_ex = 0;  // 1 reconnect, 2 multitrack, 4 ModEx, 8 nanosecond offset
    std::string codecs;    // four-character codes with commas between, "*" for any
};

struct ConnectRequest {
    std::string app;  // no query, no slashes at the ends; may hold slashes inside
    std::string tc_url;
    std::string vhost;       // ?vhost= of app or tcUrl, else the host of tcUrl; may be empty
    std::string query;       // of app or tcUrl, without '?'; a later '?' in it has become '&'
    bool publishes = false;  // it says what encoders say: type "nonprivate", or flashVer FMLE
    std::string flash_version;
    std::string page_url;
    std::string swf_url;
    double object_encoding = 0;
    EnhancedCaps enhanced;
    std::vector<std::string> arguments;  // the strings behind the command object
};

enum class PublishType : uint8_t { kLive, kRecord, kAppend };

struct PublishRequest {
    StreamName name;
    PublishType type = PublishType::kLive;
};

struct PlayRequest {
    StreamName name;
    // As sent: negative: live or recorded, whichever there is; else a position. Deviation: clients
    // send milliseconds, where RTMP 1.0 §7.2.2.1 says seconds.
    double start_ms = -2;
    int64_t duration_ms = -1;  // of stream time, then the play ends; -1: it has no end
    bool reset = true;
};

struct MediaMessage {
    media::TrackKind kind = media::TrackKind::kData;
    uint32_t timestamp = 0;  // milliseconds, wraps
    Bytes body;              // FLV tag body; data: AMF0, without @setDataFrame
};

struct PauseRequest {
    bool on = false;
    double time_ms = 0;
};

struct SeekRequest {
    double time_ms = 0;
};

// A command of the application's own (take_calls).
struct CallRequest {
    std::string name;
    double transaction = 0;  // 0: nobody waits for an answer
    std::vector<amf::Value> arguments;
};

enum class EventKind : uint8_t {
    kConnect,    // ConnectRequest; answer with accept_connect or reject_connect
    kPublish,    // PublishRequest; accept_publish or reject
    kPlay,       // PlayRequest; accept_play or reject
    kMedia,      // MediaMessage of an accepted publish; `stream_id` is that of the publish
    kUnpublish,  // FCUnpublish, closeStream or deleteStream of a stream that publishes (or had
                 // asked to)
    kStop,       // the same of one that plays
    kPause,      // PauseRequest; answer_pause
    kSeek,       // SeekRequest; answer_seek or refuse_seek
    kCall,       // CallRequest; answer_call
    kClosed,     // the peer says that it leaves
};

struct Event {
    EventKind kind = EventKind::kClosed;
    uint32_t stream_id = 0;
    std::variant<std::monostate,
                 ConnectRequest,
                 PublishRequest,
                 PlayRequest,
                 MediaMessage,
                 PauseRequest,
                 SeekRequest,
                 CallRequest>
        data;

    // Only of the kind that carries it.
    ConnectRequest& connect() { return std::get<ConnectRequest>(data); }

    PublishRequest& publish() { return std::get<PublishRequest>(data); }

    PlayRequest& play() { return std::get<PlayRequest>(data); }

    MediaMessage& media() { return std::get<MediaMessage>(data); }

    PauseRequest& pause() { return std::get<PauseRequest>(data); }

    SeekRequest& seek() { return std::get<SeekRequest>(data); }

    CallRequest& call() { return std::get<CallRequest>(data); }
};

}  // namespace weir::rtmp
