#include "proto/dtls/record.h"

#include <algorithm>

#include "proto/srtp/aes.h"

namespace weir::dtls {

namespace {

constexpr uint8_t kVersionMajor = 254;  // 1's complement of the version, RFC 6347 §4.1
constexpr size_t kMessageHeader = 12;
constexpr size_t kSequenceAt = 5;
constexpr size_t kExplicitNonce = 8;
constexpr size_t kTag = 16;
constexpr size_t kAlert = 2;
constexpr uint8_t kFatal = 2;
constexpr uint8_t kCloseNotify = 0;

}  // namespace

std::optional<RecordView> next_record(ByteSpan& datagram) {
    ByteReader reader(datagram);
    RecordView record;
    const uint8_t type = reader.u8();
    const uint8_t version_major = reader.u8();
    reader.skip(1);
    record.epoch = reader.u16();
    reader.skip(6);
    record.fragment = reader.take(reader.u16());
    if (!reader.ok() || version_major != kVersionMajor ||
        type < static_cast<uint8_t>(RecordType::kChangeCipherSpec) ||
        type > static_cast<uint8_t>(RecordType::kApplicationData)) {
        return std::nullopt;
    }
    record.type = static_cast<RecordType>(type);
    record.header = datagram.first(kRecordHeader);
    datagram = datagram.subspan(reader.position());
    return record;
}

std::optional<MessageHead> message_head(const RecordView& record) {
    if (record.type != RecordType::kHandshake || record.epoch != 0 ||
        record.fragment.size() < kMessageHeader) {
        return std::nullopt;
    }
    ByteReader reader(record.fragment);
    MessageHead head;
    head.type = reader.u8();
    reader.skip(3);
    head.sequence = reader.u16();
    return head;
}

void renumber_clear_records(std::span<uint8_t> datagram, uint64_t& next_sequence) {
    ByteSpan rest = datagram;
    while (std::optional<RecordView> record = next_record(rest)) {
        if (record->epoch == 0) {
            const auto at =
                static_cast<size_t>(record->header.data() - datagram.data()) + kSequenceAt;
            store_u16(datagram.data() + at, static_cast<uint16_t>(next_sequence >> 32));
            store_u32(datagram.data() + at + 2, static_cast<uint32_t>(next_sequence));
            next_sequence++;
        }
    }
}

bool is_closing_alert(const RecordView& record, const RecordKey& key) {
    if (record.type != RecordType::kAlert || record.epoch != 1 ||
        record.fragment.size() != kExplicitNonce + kAlert + kTag) {
        return false;
    }
    srtp::Aes::Nonce nonce;
    std::copy(key.iv.begin(), key.iv.end(), nonce.begin());
    std::copy_n(record.fragment.begin(), kExplicitNonce, nonce.begin() + 4);
    // RFC 5246 §6.2.3.3, RFC 6347 §4.1.2.1: epoch and sequence number, type, version, length of the
    // plain text.
    std::array<uint8_t, kRecordHeader> data;
    std::copy_n(record.header.begin() + 3, 8, data.begin());
    std::copy_n(record.header.begin(), 3, data.begin() + 8);
    store_u16(data.data() + 11, kAlert);
    srtp::Aes::Tag tag;
    std::copy_n(record.fragment.begin() + kExplicitNonce + kAlert, kTag, tag.begin());
    std::array<uint8_t, kAlert> alert;
    srtp::Aes aes(srtp::Aes::Mode::kGcm);
    aes.set_key(key.key);
    aes.start_open(nonce);
    aes.add_data(data);
    aes.crypt(record.fragment.subspan(kExplicitNonce, kAlert), alert.data());
    return aes.finish_open(tag) && (alert[0] == kFatal || alert[1] == kCloseNotify);
}

}  // namespace weir::dtls
