#include "proto/sdp/mikey.h"

#include <array>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "base/hmac.h"
#include "base/strings.h"

namespace weir::sdp {
namespace {

constexpr std::string_view kSuite80 = "AES_CM_128_HMAC_SHA1_80";
constexpr std::string_view kSuite32 = "AES_CM_128_HMAC_SHA1_32";
constexpr size_t kKeyBytes = 16;
constexpr size_t kSaltBytes = 14;

constexpr uint8_t kVersion = 1;
constexpr uint8_t kPreSharedKey = 0;  // the data type of a message of one who begins
constexpr uint8_t kSrtpId = 0;        // the form of the map of crypto sessions
constexpr size_t kSrtpIdBytes = 9;    // of one of them: policy, SSRC, roll-over counter
constexpr size_t kRandomBytes = 16;

// RFC 3830 §6.1.
enum PayloadType : uint8_t {
    kLast = 0,
    kKemac = 1,
    kTimestamp = 5,
    kPolicy = 10,
    kRand = 11,
};

// RFC 3830 §6.10.1: parameters of the policy of SRTP.
enum Parameter : uint8_t {
    kEncryption = 0,
    kEncryptionKeyLength = 1,
    kAuthentication = 2,
    kAuthenticationKeyLength = 3,
    kSaltLength = 4,
    kEncryptRtp = 7,
    kEncryptRtcp = 8,
    kAuthenticateRtp = 10,
    kTagLength = 11,
};

constexpr uint8_t kAesCm = 1;
constexpr uint8_t kHmacSha1 = 1;
constexpr uint8_t kTag80 = 10;
constexpr uint8_t kTag32 = 4;
constexpr uint8_t kHmacSha1KeyBytes = 20;

// RFC 3830 §6.13: without and with a salt in a field of its own.
enum KeyType : uint8_t { kTek = 2, kTekWithSalt = 3 };

struct Policy {
    bool known = true;  // it can be had here
    uint8_t tag = kTag80;
};

void read_parameter(uint8_t type, ByteSpan value, Policy& policy) {
    const uint8_t is = value.size() == 1 ? value[0] : uint8_t{0};
    switch (type) {
        case kEncryption: policy.known = policy.known && is == kAesCm; break;
        case kEncryptionKeyLength: policy.known = policy.known && is == kKeyBytes; break;
        case kAuthentication: policy.known = policy.known && is == kHmacSha1; break;
        // Deviation: GStreamer and gortsplib say the length of the tag here.
        case kAuthenticationKeyLength:
            policy.known =
                policy.known && (is == kTag80 || is == kTag32 || is == kHmacSha1KeyBytes);
            policy.tag = is == kTag32 ? kTag32 : policy.tag;
            break;
        case kSaltLength: policy.known = policy.known && is == kSaltBytes; break;
        case kTagLength:
            policy.known = policy.known && (is == kTag80 || is == kTag32);
            policy.tag = is;
            break;
        case kEncryptRtp:
        case kEncryptRtcp:
        case kAuthenticateRtp: policy.known = policy.known && is == 1; break;
        default: break;
    }
}

// RFC 3830 §6.10. The protocol is that of its number 0, SRTP.
void read_policy(ByteReader& reader, Policy& policy) {
    reader.skip(1);
    policy.known = policy.known && reader.u8() == 0;
    ByteReader parameters(reader.take(reader.u16()));
    while (!parameters.empty() && parameters.ok()) {
        const uint8_t type = parameters.u8();
        read_parameter(type, parameters.take(parameters.u8()), policy);
    }
    policy.known = policy.known && parameters.ok();
}

// RFC 3830 §6.13, the first one. Key and salt; empty: it is none of this form.
Bytes read_key_data(ByteSpan data) {
    ByteReader reader(data);
    reader.skip(1);  // whether there are more keys
    const uint8_t kind = reader.u8();
    const ByteSpan key = reader.take(reader.u16());
    Bytes both(key.begin(), key.end());
    if (kind >> 4 == kTekWithSalt) {
        const ByteSpan salt = reader.take(reader.u16());
        both.insert(both.end(), salt.begin(), salt.end());
    } else if (kind >> 4 != kTek) {
        return {};
    }
    // Without a salt of its own the key has it at its end, as SRTP libraries take both.
    return reader.ok() && both.size() == kKeyBytes + kSaltBytes ? both : Bytes();
}

// RFC 3830 §6.2.
Bytes read_kemac(ByteReader& reader) {
    const uint8_t encryption = reader.u8();
    const ByteSpan data = reader.take(reader.u16());
    const uint8_t mac = reader.u8();
    return encryption == 0 && mac == 0 && reader.ok() ? read_key_data(data) : Bytes();
}

struct Contents {
    Policy policy;
    Bytes key;
};

// One payload behind its type. False: what it is, or where it ends, is not known.
bool read_payload(uint8_t type, ByteReader& reader, Contents& out) {
    switch (type) {
        case kKemac:
            if (Bytes key = read_kemac(reader); out.key.empty()) {
                out.key = std::move(key);
            }
            return !out.key.empty();
        case kTimestamp: reader.skip(reader.u8() == 2 ? 4 : 8); return reader.ok();
        case kPolicy: read_policy(reader, out.policy); return reader.ok() && out.policy.known;
        case kRand: reader.skip(reader.u8()); return reader.ok();
        default: return false;
    }
}

void write_parameter(ByteWriter& writer, Parameter type, uint8_t value) {
    writer.u8(type).u8(1).u8(value);
}

void write_policy(ByteWriter& writer, bool short_tag) {
    Bytes parameters;
    ByteWriter out(parameters);
    write_parameter(out, kEncryption, kAesCm);
    write_parameter(out, kEncryptionKeyLength, kKeyBytes);
    write_parameter(out, kAuthentication, kHmacSha1);
    write_parameter(out, kAuthenticationKeyLength, short_tag ? kTag32 : kTag80);
    write_parameter(out, kEncryptRtp, 1);
    write_parameter(out, kEncryptRtcp, 1);
    write_parameter(out, kAuthenticateRtp, 1);
    writer.u8(0).u8(0).u16(static_cast<uint16_t>(parameters.size())).bytes(parameters);
}

std::string_view unquoted(std::string_view text) {
    text = trim(text);
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
        text = text.substr(1, text.size() - 2);
    }
    return text;
}

std::optional<CryptoLine> parse_base64_message(std::string_view text) {
    if (text.size() > kMaxMikeyBytes * 4 / 3 + 4) {
        return std::nullopt;
    }
    const std::optional<Bytes> message = parse_base64(text);
    return message ? parse_mikey(*message) : std::nullopt;
}

}  // namespace

std::optional<CryptoLine> parse_mikey(ByteSpan message) {
    if (message.size() > kMaxMikeyBytes) {
        return std::nullopt;
    }
    ByteReader reader(message);
    const uint8_t version = reader.u8();
    const uint8_t kind = reader.u8();
    uint8_t next = reader.u8();
    reader.skip(1 + 4);  // whether an answer is wanted, function of keys; id of the bundle
    const uint8_t sessions = reader.u8();
    const uint8_t map = reader.u8();
    reader.skip(sessions * kSrtpIdBytes);
    if (!reader.ok() || version != kVersion || kind != kPreSharedKey || map != kSrtpId) {
        return std::nullopt;
    }
    Contents contents;
    for (size_t count = 0; next != kLast; count++) {
        const uint8_t type = next;
        next = reader.u8();
        if (count == kMaxMikeyPayloads || !read_payload(type, reader, contents)) {
            return std::nullopt;
        }
    }
    if (contents.key.empty()) {
        return std::nullopt;
    }
    return CryptoLine{1, std::string(contents.policy.tag == kTag32 ? kSuite32 : kSuite80),
                      std::move(contents.key), false};
}

std::optional<CryptoLine> parse_key_mgmt(std::string_view value) {
    const Halves both = split_once(trim(value), ' ');
    return both.before == "mikey" ? parse_base64_message(trim(both.after)) : std::nullopt;
}

std::optional<CryptoLine> parse_key_mgmt_field(std::string_view value) {
    bool mikey = false;
    std::string_view data;
    for (const std::string_view part : split(value, ';', 8)) {
        // Of "a=b==" the value is all behind the first '='.
        const Halves field = split_once(trim(part), '=');
        if (equals_ignore_case(field.before, "prot")) {
            mikey = equals_ignore_case(unquoted(field.after), "mikey");
        } else if (equals_ignore_case(field.before, "data") && data.empty()) {
            data = unquoted(split_once(field.after, ',').before);
        }
    }
    return mikey ? parse_base64_message(data) : std::nullopt;
}

Bytes write_mikey(const CryptoLine& line, const MikeyMark& mark) {
    Bytes message;
    ByteWriter writer(message);
    std::array<uint8_t, 4 + kRandomBytes> random;
    mark.random.fill(random);
    // RFC 3830 §6.1: one crypto session, whose roll-over counter is 0.
    writer.u8(kVersion).u8(kPreSharedKey).u8(kTimestamp).u8(0);
    writer.bytes(ByteSpan(random).first(4)).u8(1).u8(kSrtpId);
    writer.u8(0).u32(mark.ssrc).u32(0);
    writer.u8(kRand).u8(0).u64(mark.ntp_time);
    writer.u8(kPolicy).u8(kRandomBytes).bytes(ByteSpan(random).subspan(4));
    writer.u8(kKemac);
    write_policy(writer, line.suite == kSuite32);
    const auto key_bytes = static_cast<uint16_t>(line.key_and_salt.size());
    writer.u8(kLast).u8(0).u16(static_cast<uint16_t>(4 + key_bytes));
    writer.u8(kLast).u8(kTek << 4).u16(key_bytes).bytes(line.key_and_salt);
    writer.u8(0);
    return message;
}

std::string write_key_mgmt(const CryptoLine& line, const MikeyMark& mark) {
    return "mikey " + base64(write_mikey(line, mark));
}

}  // namespace weir::sdp
