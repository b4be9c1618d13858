// The test vectors of RFC 5769, and hexadecimal text for tests.
#pragma once

#include <string_view>

#include "base/bytes.h"

namespace weir::stun::test {

inline Bytes from_hex(std::string_view text) {
    Bytes bytes;
    for (size_t i = 0; i + 1 < text.size(); i += 2) {
        auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
        bytes.push_back(static_cast<uint8_t>(digit(text[i]) << 4 | digit(text[i + 1])));
    }
    return bytes;
}

// §2.1 to §2.3 use this password (short-term credentials).
inline constexpr std::string_view kPassword = "VOkJxbRl1RmTxUk/WvJxBt";
inline constexpr std::string_view kUsername = "evtj:h6vY";

// §2.1: a request of ICE; its padding is of spaces.
inline const Bytes kRequest = from_hex(
    "000100582112a442b7e7a701bc34d686fa87dfae802200105354554e207465737420636c69656e74002400046e0001"
    "ff"
    "80290008932ff9b151263b36000600096576746a3a68367659202020000800149aeaa70cbfd8cb56781ef2b5b2d3f2"
    "49"
    "c1b571a280280004e57a3bcf");

// §2.2: its answer, XOR-MAPPED-ADDRESS 192.0.2.1:32853.
inline const Bytes kResponseV4 = from_hex(
    "0101003c2112a442b7e7a701bc34d686fa87dfae8022000b7465737420766563746f7220002000080001a147e112a6"
    "43"
    "000800142b91f599fd9e90c38c7489f92af9ba53f06be7d780280004c07d4c96");

// §2.3: the same for [2001:db8:1234:5678:11:2233:4455:6677]:32853.
inline const Bytes kResponseV6 = from_hex(
    "010100482112a442b7e7a701bc34d686fa87dfae8022000b7465737420766563746f7220002000140002a1470113a9"
    "fa"
    "a5d3f179bc25f4b5bed2b9d900080014a382954e4be67bf11784c97c8292c275bfe3ed4180280004c8fb0b4c");

// §2.4: long-term credentials, realm example.org, password TheMatrIX, no FINGERPRINT.
inline const Bytes kLongTermRequest = from_hex(
    "000100602112a44278ad3433c6ad72c029da412e00060012e3839ee38388e383aae38383e382afe382b90000001500"
    "1c"
    "662f2f3439396b39353464364f4c33346f4c394653547679363473410014000b6578616d706c652e6f726700000800"
    "14"
    "f67024656dd64a3e02b8e0712e85c9a28ca89666");

}  // namespace weir::stun::test
