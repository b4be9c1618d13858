// Commands (RTMP 1.0 §7.2): parsing, and the bodies of those that a server or client sends.
//
// Peers: amf
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "proto/amf/amf0.h"

namespace weir::rtmp {

inline constexpr size_t kMaxCommandNameSize = 128;

struct Command {
    std::string name;
    double transaction = 0;
    amf::Value object;             // command object, mostly null
    std::vector<amf::Value> args;  // what follows

    // The argument, or a null value when there are fewer.
    const amf::Value& arg(size_t index) const;
};

// `type` is kCommandAmf0 or kCommandAmf3 (a zero byte, then AMF0). kMalformed, kLimit.
Result<Command> parse_command(uint8_t type, ByteSpan body);

// AMF0 bytes of a data or command message: without the leading zero byte of the AMF3 types.
ByteSpan amf0_part(uint8_t type, ByteSpan body);

// Status codes that clients know.
namespace status {
inline constexpr std::string_view kConnectSuccess = "NetConnection.Connect.Success";
inline constexpr std::string_view kConnectRejected = "NetConnection.Connect.Rejected";
inline constexpr std::string_view kConnectInvalidApp = "NetConnection.Connect.InvalidApp";
inline constexpr std::string_view kConnectFailed = "NetConnection.Connect.Failed";
inline constexpr std::string_view kConnectClosed = "NetConnection.Connect.Closed";
inline constexpr std::string_view kCallFailed = "NetConnection.Call.Failed";
inline constexpr std::string_view kPublishStart = "NetStream.Publish.Start";
inline constexpr std::string_view kPublishBadName = "NetStream.Publish.BadName";
inline constexpr std::string_view kPublishDenied = "NetStream.Publish.Denied";
inline constexpr std::string_view kPublishFailed = "NetStream.Publish.Failed";
inline constexpr std::string_view kUnpublishSuccess = "NetStream.Unpublish.Success";
inline constexpr std::string_view kPlayStart = "NetStream.Play.Start";
inline constexpr std::string_view kPlayReset = "NetStream.Play.Reset";
inline constexpr std::string_view kPlayStop = "NetStream.Play.Stop";
inline constexpr std::string_view kPlayComplete = "NetStream.Play.Complete";
// Ours: clients pass over codes that they do not know.
inline constexpr std::string_view kPlayWaiting = "NetStream.Play.Waiting";
inline constexpr std::string_view kPlayFailed = "NetStream.Play.Failed";
inline constexpr std::string_view kPlayStreamNotFound = "NetStream.Play.StreamNotFound";
inline constexpr std::string_view kPlayPublishNotify = "NetStream.Play.PublishNotify";
inline constexpr std::string_view kPlayUnpublishNotify = "NetStream.Play.UnpublishNotify";
inline constexpr std::string_view kPauseNotify = "NetStream.Pause.Notify";
inline constexpr std::string_view kUnpauseNotify = "NetStream.Unpause.Notify";
inline constexpr std::string_view kSeekNotify = "NetStream.Seek.Notify";
inline constexpr std::string_view kSeekFailed = "NetStream.Seek.Failed";
}  // namespace status

struct Status {
    std::string_view level;  // "status", "warning" or "error": clients give up on "error"
    std::string_view code;
    std::string_view description;   // for people
    std::string_view details = {};  // stream name; left out when empty
};

struct ConnectAnswer {
    double transaction = 1;
    double object_encoding = 0;  // what the client asked for
    bool enhanced = false;       // the client speaks Enhanced RTMP: say what we forward
};

// Bodies of AMF0 commands, appended to `out`.
void write_connect_result(const ConnectAnswer& answer, Bytes& out);
void write_connect_error(double transaction, const Status& status, Bytes& out);
void write_on_status(const Status& status, Bytes& out);  // onStatus, transaction 0
void write_named_status(std::string_view command,
                        const Status& status,
                        Bytes& out);  // onFCPublish and friends
void write_create_stream_result(double transaction, uint32_t stream_id, Bytes& out);
void write_number_result(double transaction, double value, Bytes& out);
void write_empty_result(double transaction, Bytes& out);  // _result, null, null
void write_call_failed(double transaction, std::string_view description, Bytes& out);
// A command that nobody answers.
void write_call(std::string_view name, std::span<const amf::Value> arguments, Bytes& out);
void write_play_status(std::string_view code, Bytes& out);  // data message onPlayStatus
void write_sample_access(Bytes& out);  // data message |RtmpSampleAccess, both allowed

}  // namespace weir::rtmp
