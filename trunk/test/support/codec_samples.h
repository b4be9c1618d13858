// Configurations and first bytes of frames of real encoders, 322x178 pixels: x264 (core 164), x265
// 3.5, libvpx 1.12 by ffmpeg 5.1, libaom by ffmpeg 9.0; source `-f lavfi testsrc2`, 25 frames/s.
#pragma once

#include <string_view>

#include "base/bytes.h"

namespace weir::test {

inline uint8_t hex_digit(char c) {
    return static_cast<uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10);
}

// "00ff10" or "00 ff 10".
inline Bytes from_hex(std::string_view text) {
    Bytes bytes;
    int high = -1;
    for (char c : text) {
        if (c == ' ') {
            continue;
        }
        if (high < 0) {
            high = hex_digit(c);
        } else {
            bytes.push_back(static_cast<uint8_t>(high << 4 | hex_digit(c)));
            high = -1;
        }
    }
    return bytes;
}

// avcC of x264, high profile, with reference B-frames (-bf 3).
inline const Bytes kAvcHighConfig = from_hex(
    "01640014ffe1001b67640014acd941519e2223011000000300100000030320f142996001000568ebecb22c"
    "fdf8f800");
inline const Bytes kAvcHighSps = from_hex("67640014acd941519e2223011000000300100000030320f1429960");
inline const Bytes kAvcHighPps = from_hex("68ebecb22c");

// avcC of x264, baseline profile, -tune zerolatency.
inline const Bytes kAvcBaselineConfig =
    from_hex("0142c01effe1001a6742c01ed901519e2223011000000300100000030328f162e48001000468cb8cb2");
inline const Bytes kAvcBaselineSps =
    from_hex("6742c01ed901519e2223011000000300100000030328f162e480");
inline const Bytes kAvcBaselinePps = from_hex("68cb8cb2");

// VPS, SPS and PPS of x265, main profile, with a B pyramid; and the head of the hvcC (the 22 bytes
// before its arrays) that ffmpeg made of them.
inline const Bytes kHevcVps = from_hex("40010c01ffff01600000030090000003000003003c959409");
inline const Bytes kHevcSps = from_hex(
    "42010101600000030090000003000003003ca00a480b9c926595964932bc05a02000000300200000030321");
inline const Bytes kHevcPps = from_hex("4401c172b46240");
inline const Bytes kHevcConfigHead = from_hex("0101600000009000000000003cf000fcfdf8f800000f");

// The sequence header OBU of libaom, its av1C, and the first bytes of the frames behind it.
inline const Bytes kAv1SequenceHeader = from_hex("0a0b000000043d06c4daf90040");
inline const Bytes kAv1Config = from_hex("81000c000a0b000000043d06c4daf90040");

// First bytes of frames of libvpx.
inline const Bytes kVp8Key = from_hex("5069009d012a4201b20000070885858885848802020329d50bf8f7");
inline const Bytes kVp8Inter = from_hex("d1220005104c001ecf947f9af7ad2f53");
inline const Bytes kVp9Key = from_hex("824983420014100b160438241c1842000b207fd9fa3e8fe771fa");
inline const Bytes kVp9Inter = from_hex("86004092f071250000906b5abcd0dbb9");

inline constexpr uint32_t kSampleWidth = 322;
inline constexpr uint32_t kSampleHeight = 178;

}  // namespace weir::test
