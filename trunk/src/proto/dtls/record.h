// DTLS records (RFC 6347 §4.1), as far as they can be read without a key, and the alerts that end a
// connection.
//
//     0        1        3        5                       11       13
//    +--------+--------+--------+-----------------------+--------+----------
//    | type   | version| epoch  | sequence number (48)  | length | fragment
//    +--------+--------+--------+-----------------------+--------+----------
//
// A datagram holds one or more. Epoch 0 is in the clear, epoch 1 is that of the handshake's keys.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"

namespace weir::dtls {

enum class RecordType : uint8_t {
    kChangeCipherSpec = 20,
    kAlert = 21,
    kHandshake = 22,
    kApplicationData = 23
};

inline constexpr size_t kRecordHeader = 13;

// Borrows the datagram.
struct RecordView {
    RecordType type = RecordType::kHandshake;
    uint16_t epoch = 0;
    ByteSpan header;
    ByteSpan fragment;
};

// Takes the next record off the front; none when the rest is no whole record.
std::optional<RecordView> next_record(ByteSpan& datagram);

// The header of a handshake message that is not encrypted (RFC 6347 §4.2.2).
struct MessageHead {
    uint8_t type = 0;
    uint16_t sequence = 0;
};

inline constexpr uint8_t kClientHello = 1;

// None when the record is not a handshake message of epoch 0.
std::optional<MessageHead> message_head(const RecordView& record);

// Gives each record of epoch 0 in the datagram the next sequence number. Such a number is protected
// by nothing, and part of nothing that is.
void renumber_clear_records(std::span<uint8_t> datagram, uint64_t& next_sequence);

// What reading records of epoch 1 takes with AES-128-GCM (RFC 5288 §3): 20 bytes.
struct RecordKey {
    std::array<uint8_t, 16> key{};
    std::array<uint8_t, 4> iv{};
};

// True when the record is an authentic alert that ends the connection: close_notify, or any fatal
// one (RFC 5246 §7.2). Costs one pass of GCM over 2 bytes, for records of the right size only.
bool is_closing_alert(const RecordView& record, const RecordKey& key);

}  // namespace weir::dtls
