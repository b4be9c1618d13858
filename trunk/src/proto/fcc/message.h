// Fast channel change (FCC) of IPTV networks: messages between a receiver of a multicast group and
// the server that sends it the newest GOP by unicast until the group has caught up. They have the
// form of RTCP feedback packets (RFC 4585 §6.1, payload type 205); there is no standard of what is
// in them. Two kinds are in use, and only IPv4. Pure.
//
//     0               1               2               3
//    +-+-+-----------+---------------+-------------------------------+
//    |2|0|  message  |      205      |      length in words - 1      |
//    +-+-+-----------+---------------+-------------------------------+
//    |                     SSRC of the sender: 0                     |
//    +---------------------------------------------------------------+
//    |                     address of the group                      |
//    +---------------------------------------------------------------+
//    |                              ...                              |
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/net_address.h"

namespace weir::fcc {

enum class Kind : uint8_t {
    kTelecom,  // one port for messages and media
    kHuawei,   // media come to the port below that of the messages
};

// What a receiver asks for.
struct Request {
    NetAddress group;
    NetAddress local;  // address and port where messages come to; the address only of kHuawei
};

Bytes write_request(Kind kind, const Request& request);

// The receiver has the group from the packet with that number on; without: it stops for another
// reason.
Bytes write_end(Kind kind, const NetAddress& group, std::optional<uint16_t> first);

// Opens the way of the media through what translates addresses: sent to the server's media port.
Bytes write_opening(Kind kind, uint32_t session);

enum class Answer : uint8_t {
    kRefused,
    kJoin,      // the group should be joined at once: nothing comes by unicast
    kBurst,     // it comes
    kRedirect,  // another server should be asked
    kSync,      // the group should be joined now: unicast has caught up
};

struct Message {
    Answer answer = Answer::kRefused;
    NetAddress server;  // without port: from where it comes, or whom to ask; none: the same one
    uint16_t signal_port = 0;  // for further messages; 0: the same
    uint16_t media_port = 0;   // 0: the same
    uint32_t session = 0;      // kHuawei: write_opening() is asked for with it; 0: it is not
};

// What a server says. Nothing when it is no such message.
std::optional<Message> parse_message(Kind kind, ByteSpan bytes);

// Whether it is a message and no RTP packet.
bool is_message(ByteSpan bytes);

}  // namespace weir::fcc
