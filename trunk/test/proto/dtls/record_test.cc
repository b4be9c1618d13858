#include "proto/dtls/record.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "proto/srtp/aes.h"

namespace weir::dtls {
namespace {

Bytes record_of(uint8_t type, uint16_t epoch, uint64_t sequence, const Bytes& fragment) {
    Bytes out;
    ByteWriter(out).u8(type).u16(0xFEFD).u16(epoch).u16(static_cast<uint16_t>(sequence >> 32));
    ByteWriter(out)
        .u32(static_cast<uint32_t>(sequence))
        .u16(static_cast<uint16_t>(fragment.size()))
        .bytes(fragment);
    return out;
}

Bytes joined(const std::vector<Bytes>& parts) {
    Bytes out;
    for (const Bytes& part : parts) {
        ByteWriter(out).bytes(part);
    }
    return out;
}

// A handshake message that is one fragment.
Bytes message(uint8_t type, uint16_t sequence, size_t size) {
    Bytes out;
    ByteWriter(out)
        .u8(type)
        .u24(static_cast<uint32_t>(size))
        .u16(sequence)
        .u24(0)
        .u24(static_cast<uint32_t>(size));
    out.resize(out.size() + size, 0xAB);
    return out;
}

TEST(RecordTest, ReadsRecordAfterRecord) {
    const Bytes datagram = joined({record_of(22, 0, 3, message(14, 5, 0)), record_of(20, 0, 4, {1}),
                                   record_of(22, 1, 0, Bytes(40, 9))});
    ByteSpan rest(datagram);
    auto record = next_record(rest);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->type, RecordType::kHandshake);
    EXPECT_EQ(record->epoch, 0);
    ASSERT_TRUE(message_head(*record));
    EXPECT_EQ(message_head(*record)->type, 14);
    EXPECT_EQ(message_head(*record)->sequence, 5);
    record = next_record(rest);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->type, RecordType::kChangeCipherSpec);
    EXPECT_FALSE(message_head(*record));
    record = next_record(rest);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->epoch, 1);
    EXPECT_EQ(record->fragment.size(), 40u);
    EXPECT_FALSE(message_head(*record));
    EXPECT_TRUE(rest.empty());
    EXPECT_FALSE(next_record(rest));
}

TEST(RecordTest, RefusesEveryTruncation) {
    const Bytes datagram = record_of(22, 0, 3, message(2, 0, 10));
    for (size_t size = 0; size < datagram.size(); size++) {
        ByteSpan rest = ByteSpan(datagram).first(size);
        EXPECT_FALSE(next_record(rest)) << size;
        EXPECT_EQ(rest.size(), size);
    }
}

TEST(RecordTest, RefusesOtherTypesAndVersions) {
    for (int type = 0; type < 256; type++) {
        const Bytes datagram = record_of(static_cast<uint8_t>(type), 0, 0, {1});
        ByteSpan rest(datagram);
        EXPECT_EQ(next_record(rest).has_value(), type >= 20 && type <= 23) << type;
    }
    Bytes tls = record_of(22, 0, 0, {1});
    tls[1] = 3;
    ByteSpan rest(tls);
    EXPECT_FALSE(next_record(rest));
}

TEST(RecordTest, ReadsNoHeadOfAShortMessage) {
    for (size_t size = 0; size < 12; size++) {
        const Bytes datagram = record_of(22, 0, 0, Bytes(size, 1));
        ByteSpan rest(datagram);
        EXPECT_FALSE(message_head(*next_record(rest))) << size;
    }
}

TEST(RecordTest, NumbersTheClearRecordsOnly) {
    Bytes datagram =
        joined({record_of(22, 0, 77, {1}), record_of(22, 1, 88, {2}), record_of(20, 0, 99, {3})});
    uint64_t next = 0x1'FFFF'FFFF;
    renumber_clear_records(datagram, next);
    EXPECT_EQ(datagram, joined({record_of(22, 0, 0x1'FFFF'FFFF, {1}), record_of(22, 1, 88, {2}),
                                record_of(20, 0, 0x2'0000'0000, {3})}));
    EXPECT_EQ(next, 0x2'0000'0001u);
}

class ClosingAlertTest : public ::testing::Test {
  protected:
    // As RFC 5246 §6.2.3.3 and RFC 6347 §4.1.2.1 say, written out once more.
    Bytes alert(uint8_t level, uint8_t description, uint16_t epoch = 1, uint64_t sequence = 1) {
        Bytes explicit_nonce, data;
        ByteWriter(explicit_nonce).u64(uint64_t{epoch} << 48 | sequence);
        ByteWriter(data).bytes(explicit_nonce).u8(21).u16(0xFEFD).u16(2);
        srtp::Aes::Nonce nonce;
        std::copy(key_.iv.begin(), key_.iv.end(), nonce.begin());
        std::copy(explicit_nonce.begin(), explicit_nonce.end(), nonce.begin() + 4);
        Bytes sealed = {level, description};
        srtp::Aes::Tag tag;
        srtp::Aes aes(srtp::Aes::Mode::kGcm);
        aes.set_key(key_.key);
        aes.start_seal(nonce);
        aes.add_data(data);
        aes.crypt(sealed, sealed.data());
        aes.finish_seal(tag.data());
        ByteWriter(explicit_nonce).bytes(sealed).bytes(tag);
        return record_of(21, epoch, sequence, explicit_nonce);
    }

    bool closes(const Bytes& datagram) {
        ByteSpan rest(datagram);
        const auto record = next_record(rest);
        return record && is_closing_alert(*record, key_);
    }

    RecordKey key_{{1, 2, 3}, {4, 5, 6, 7}};
};

TEST_F(ClosingAlertTest, IsCloseNotifyOrFatal) {
    EXPECT_TRUE(closes(alert(1, 0)));
    EXPECT_TRUE(closes(alert(2, 0)));
    EXPECT_TRUE(closes(alert(2, 80)));
    EXPECT_FALSE(closes(alert(1, 90)));
    EXPECT_FALSE(closes(alert(1, 0, 2))) << "another epoch has another key";
}

TEST_F(ClosingAlertTest, IsOfTheKeyAndUnchanged) {
    const Bytes good = alert(1, 0);
    for (size_t at = 0; at < good.size(); at++) {
        Bytes changed = good;
        changed[at] ^= 1;
        EXPECT_FALSE(closes(changed)) << at;
    }
    key_.iv[3] ^= 1;
    EXPECT_FALSE(closes(good));
}

}  // namespace
}  // namespace weir::dtls
