#include "proto/proxy/header.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.h"
#include "base/strings.h"

namespace weir::proxy {
namespace {

// §2.2; the first byte that no other protocol begins with.
constexpr uint8_t kSignature[] = {0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d,
                                  0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a};
constexpr size_t kBinaryHead = 16;
constexpr std::string_view kTextStart = "PROXY ";
constexpr size_t kShortestText = 15;  // "PROXY UNKNOWN\r\n"
constexpr size_t kTextParts = 6;
constexpr uint16_t kMaxPort = 65535;

constexpr uint8_t kVersion2 = 0x20;
constexpr uint8_t kLocalCommand = 0;
constexpr uint8_t kProxyCommand = 1;
constexpr uint8_t kUnspecified = 0;
constexpr uint8_t kIpv4 = 1;
constexpr uint8_t kIpv6 = 2;
constexpr uint8_t kUnix = 3;
constexpr size_t kUnixBytes = 216;

template <typename Prefix>
bool agrees(const Bytes& bytes, const Prefix& prefix, size_t size) {
    const size_t common = std::min(bytes.size(), size);
    return std::equal(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(common),
                      std::begin(prefix),
                      [](uint8_t a, auto b) { return a == static_cast<uint8_t>(b); });
}

// §2.1: decimal, without leading zeros.
std::optional<uint16_t> port_of(std::string_view text) {
    if (text.size() > 1 && text.front() == '0') {
        return std::nullopt;
    }
    const std::optional<uint64_t> port = parse_uint(text, 0, kMaxPort);
    return port ? std::optional(static_cast<uint16_t>(*port)) : std::nullopt;
}

template <size_t kSize>
std::array<uint8_t, kSize> array_of(ByteReader& reader) {
    std::array<uint8_t, kSize> value{};
    const ByteSpan bytes = reader.take(kSize);
    std::copy(bytes.begin(), bytes.end(), value.begin());
    return value;
}

}  // namespace

size_t HeaderReader::wanted() const {
    const size_t size = bytes_.size();
    if (size < kShortestText) {
        return kShortestText - size;  // both versions are at least so long
    }
    if (bytes_[0] == kSignature[0]) {
        return size < kBinaryHead
                   ? kBinaryHead - size
                   : kBinaryHead + (static_cast<size_t>(bytes_[14]) << 8 | bytes_[15]) - size;
    }
    // The line's end has two bytes; never past the longest line.
    return bytes_.back() == '\r' ? 1 : std::min<size_t>(2, kMaxText - size);
}

HeaderReader::Status HeaderReader::malformed(std::string_view why) {
    error_ = why;
    return Status::kMalformed;
}

HeaderReader::Status HeaderReader::feed(ByteSpan bytes) {
    WEIR_DCHECK(bytes.size() <= wanted());
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    if (bytes_.empty()) {
        return Status::kNeedMore;
    }
    if (bytes_[0] == kSignature[0]) {
        return agrees(bytes_, kSignature, sizeof kSignature) ? parse_binary()
                                                             : malformed("the signature is wrong");
    }
    return agrees(bytes_, kTextStart, kTextStart.size())
               ? parse_text()
               : malformed("there is no PROXY header in front of the connection");
}

HeaderReader::Status HeaderReader::parse_text() {
    // The first LF ends the line, wherever the input was cut: what is behind it is not looked at.
    std::string_view line = as_text(bytes_);
    const size_t end = line.find('\n');
    if (end == std::string_view::npos) {
        return line.size() < kMaxText ? Status::kNeedMore
                                      : malformed("the line is longer than 107 bytes");
    }
    if (line[end - 1] != '\r') {  // kTextStart is in front
        return malformed("the line does not end with CR LF");
    }
    line = line.substr(0, end - 1);
    if (end + 1 < kShortestText) {
        return malformed("expected PROXY TCP4|TCP6 SOURCE DESTINATION PORT PORT");
    }
    header_.version = 1;
    const std::vector<std::string_view> parts = split(line, ' ', kTextParts + 1);
    if (parts[1] == "UNKNOWN") {
        return Status::kDone;  // whatever follows
    }
    if (parts.size() != kTextParts || (parts[1] != "TCP4" && parts[1] != "TCP6")) {
        return malformed("expected PROXY TCP4|TCP6 SOURCE DESTINATION PORT PORT");
    }
    const std::optional<uint16_t> source_port = port_of(parts[4]);
    const std::optional<uint16_t> destination_port = port_of(parts[5]);
    const auto source = NetAddress::parse_ip(parts[2], source_port.value_or(0));
    const auto destination = NetAddress::parse_ip(parts[3], destination_port.value_or(0));
    const bool text_v6 = parts[2].find(':') != std::string_view::npos;
    const bool both_v6 = parts[3].find(':') != std::string_view::npos;
    if (!source_port || !destination_port || !source || !destination ||
        text_v6 != (parts[1] == "TCP6") || text_v6 != both_v6) {
        return malformed("an address or a port is wrong");
    }
    header_.source = *source;
    header_.destination = *destination;
    return Status::kDone;
}

HeaderReader::Status HeaderReader::parse_binary() {
    if (bytes_.size() < kBinaryHead) {
        return Status::kNeedMore;
    }
    ByteReader reader(bytes_);
    reader.take(sizeof kSignature);
    const uint8_t version_command = reader.u8();
    const uint8_t family_protocol = reader.u8();
    const size_t length = reader.u16();
    if ((version_command & 0xf0) != kVersion2) {
        return malformed("the version is neither 1 nor 2");
    }
    const uint8_t command = version_command & 0x0f;
    if (command != kLocalCommand && command != kProxyCommand) {
        return malformed("the command is neither LOCAL nor PROXY");
    }
    if (kBinaryHead + length > kMaxBinary) {
        return malformed("the header is longer than 4096 bytes");
    }
    if (bytes_.size() < kBinaryHead + length) {
        return Status::kNeedMore;
    }
    header_.version = 2;
    if (command == kLocalCommand) {
        header_.local = true;  // §2.2: addresses are to be ignored
        return Status::kDone;
    }
    return take_addresses(family_protocol >> 4, reader.take(length));
}

HeaderReader::Status HeaderReader::take_addresses(uint8_t family, ByteSpan body) {
    ByteReader reader(body);
    switch (family) {
        case kUnspecified: return Status::kDone;
        case kUnix:
            return body.size() >= kUnixBytes ? Status::kDone
                                             : malformed("the addresses are cut off");
        case kIpv4: {
            const auto source = array_of<4>(reader);
            const auto destination = array_of<4>(reader);
            header_.source = NetAddress::from_v4(source, reader.u16());
            header_.destination = NetAddress::from_v4(destination, reader.u16());
            break;
        }
        case kIpv6: {
            const auto source = array_of<16>(reader);
            const auto destination = array_of<16>(reader);
            header_.source = NetAddress::from_v6(source, reader.u16());
            header_.destination = NetAddress::from_v6(destination, reader.u16());
            break;
        }
        default: return malformed("the address family is unknown");
    }
    return reader.ok() ? Status::kDone : malformed("the addresses are cut off");
}

}  // namespace weir::proxy
