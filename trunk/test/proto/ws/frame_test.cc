#include "proto/ws/frame.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace weir::ws {
namespace {

// The examples of RFC 6455 §5.7.
constexpr MaskKey kRfcMask = {0x37, 0xfa, 0x21, 0x3d};
const Bytes kHello = {0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f};
const Bytes kMaskedHello = {0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58};
const Bytes kPingHello = {0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f};
const Bytes kMaskedPongHello = {0x8a, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58};

Bytes header_of(Opcode opcode, uint64_t payload, bool fin = true) {
    std::array<uint8_t, kMaxServerFrameHeader> out{};
    size_t size = write_frame_header(out.data(), opcode, payload, fin);
    return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(size)};
}

HeaderStatus parse(const Bytes& bytes, Role role) {
    FrameHeader header;
    return parse_frame_header(bytes, role, header);
}

TEST(WsFrameTest, WritesTheUnmaskedExamplesOfTheRfc) {
    EXPECT_EQ(make_frame(Opcode::kText, as_bytes("Hello")), kHello);
    EXPECT_EQ(make_frame(Opcode::kPing, as_bytes("Hello")), kPingHello);
    EXPECT_EQ(header_of(Opcode::kText, 3, false), (Bytes{0x01, 0x03}));
    EXPECT_EQ(header_of(Opcode::kContinuation, 2), (Bytes{0x80, 0x02}));
    EXPECT_EQ(header_of(Opcode::kBinary, 256), (Bytes{0x82, 0x7E, 0x01, 0x00}));
    EXPECT_EQ(header_of(Opcode::kBinary, 65536), (Bytes{0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0}));
}

TEST(WsFrameTest, WritesTheMaskedExamplesOfTheRfc) {
    EXPECT_EQ(make_masked_frame(Opcode::kText, as_bytes("Hello"), kRfcMask), kMaskedHello);
    EXPECT_EQ(make_masked_frame(Opcode::kPong, as_bytes("Hello"), kRfcMask), kMaskedPongHello);
}

TEST(WsFrameTest, UsesTheShortestLengthAtEachBoundary) {
    EXPECT_EQ(header_of(Opcode::kBinary, 0), (Bytes{0x82, 0}));
    EXPECT_EQ(header_of(Opcode::kBinary, 125), (Bytes{0x82, 125}));
    EXPECT_EQ(header_of(Opcode::kBinary, 126), (Bytes{0x82, 126, 0, 126}));
    EXPECT_EQ(header_of(Opcode::kBinary, 0xFFFF), (Bytes{0x82, 126, 0xFF, 0xFF}));
    EXPECT_EQ(header_of(Opcode::kBinary, 0x1'0000), (Bytes{0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0}));
}

TEST(WsFrameTest, KnowsTheSizeBeforeItWrites) {
    for (uint64_t payload : {uint64_t{0}, uint64_t{125}, uint64_t{126}, uint64_t{65535},
                             uint64_t{65536}, uint64_t{1} << 40U}) {
        EXPECT_EQ(header_of(Opcode::kBinary, payload).size(), frame_header_size(payload))
            << payload;
    }
}

TEST(WsFrameTest, ReadsBackWhatItWrites) {
    std::array<uint8_t, kMaxFrameHeader> out{};
    for (uint64_t payload : {uint64_t{0}, uint64_t{125}, uint64_t{126}, uint64_t{65535},
                             uint64_t{65536}, uint64_t{1} << 40U}) {
        for (bool masked : {false, true}) {
            size_t size = masked ? write_masked_frame_header(out.data(), Opcode::kBinary, payload,
                                                             kRfcMask, false)
                                 : write_frame_header(out.data(), Opcode::kBinary, payload, false);
            FrameHeader header;
            ASSERT_EQ(parse_frame_header(ByteSpan(out).first(size),
                                         masked ? Role::kServer : Role::kClient, header),
                      HeaderStatus::kDone);
            EXPECT_EQ(header.payload_bytes, payload);
            EXPECT_EQ(header.header_bytes, size);
            EXPECT_EQ(header.masked, masked);
            EXPECT_FALSE(header.fin);
            EXPECT_EQ(header.opcode, Opcode::kBinary);
            if (masked) {
                EXPECT_EQ(header.mask, kRfcMask);
            }
        }
    }
}

TEST(WsFrameTest, NeedsMoreAtEachTruncatedLength) {
    std::array<uint8_t, kMaxFrameHeader> out{};
    for (uint64_t payload : {uint64_t{5}, uint64_t{300}, uint64_t{70000}}) {
        size_t size = write_masked_frame_header(out.data(), Opcode::kText, payload, kRfcMask);
        for (size_t cut = 0; cut < size; cut++) {
            FrameHeader header;
            EXPECT_EQ(parse_frame_header(ByteSpan(out).first(cut), Role::kServer, header),
                      HeaderStatus::kNeedMore)
                << payload << " cut at " << cut;
        }
    }
}

TEST(WsFrameTest, RefusesAnUnmaskedClientFrameAndAMaskedServerFrame) {
    EXPECT_EQ(parse(kHello, Role::kServer), HeaderStatus::kMalformed);
    EXPECT_EQ(parse(kMaskedHello, Role::kClient), HeaderStatus::kMalformed);
    EXPECT_EQ(parse(kHello, Role::kClient), HeaderStatus::kDone);
    EXPECT_EQ(parse(kMaskedHello, Role::kServer), HeaderStatus::kDone);
}

TEST(WsFrameTest, RefusesReservedBitsAndUnknownOpcodes) {
    for (int bit : {0x40, 0x20, 0x10}) {
        EXPECT_EQ(parse({static_cast<uint8_t>(0x82 | bit), 0}, Role::kClient),
                  HeaderStatus::kMalformed);
    }
    for (int opcode : {0x3, 0x7, 0xB, 0xF}) {
        EXPECT_EQ(parse({static_cast<uint8_t>(0x80 | opcode), 0}, Role::kClient),
                  HeaderStatus::kMalformed);
    }
}

TEST(WsFrameTest, RefusesLongOrFragmentedControlFrames) {
    EXPECT_EQ(parse({0x89, 125}, Role::kClient), HeaderStatus::kDone);
    EXPECT_EQ(parse({0x89, 126, 0, 126}, Role::kClient), HeaderStatus::kMalformed);
    EXPECT_EQ(parse({0x09, 0}, Role::kClient), HeaderStatus::kMalformed);
    EXPECT_EQ(parse({0x08, 0}, Role::kClient), HeaderStatus::kMalformed);
}

TEST(WsFrameTest, RefusesLengthsThatAreNotInTheirShortestForm) {
    EXPECT_EQ(parse({0x82, 126, 0, 125}, Role::kClient), HeaderStatus::kMalformed);
    EXPECT_EQ(parse({0x82, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}, Role::kClient),
              HeaderStatus::kMalformed);
    EXPECT_EQ(parse({0x82, 127, 0x80, 0, 0, 0, 0, 1, 0, 0}, Role::kClient),
              HeaderStatus::kMalformed);
}

TEST(WsFrameTest, MasksInPiecesAsInOne) {
    Bytes whole(100);
    for (size_t i = 0; i < whole.size(); i++) {
        whole[i] = static_cast<uint8_t>(i * 7);
    }
    Bytes original = whole;
    Bytes pieces = whole;
    apply_mask(whole, kRfcMask);
    for (size_t at = 0; at < pieces.size(); at += 13) {
        apply_mask(std::span(pieces).subspan(at, std::min<size_t>(13, pieces.size() - at)),
                   kRfcMask, at);
    }
    EXPECT_EQ(pieces, whole);
    apply_mask(whole, kRfcMask);
    EXPECT_EQ(whole, original);
}

TEST(WsFrameTest, BuildsCloseFramesWithCodeAndReason) {
    EXPECT_EQ(make_close(CloseCode::kGoingAway, "bye"),
              (Bytes{0x88, 5, 0x03, 0xE9, 'b', 'y', 'e'}));
    EXPECT_EQ(make_close(CloseCode::kNormal, ""), (Bytes{0x88, 2, 0x03, 0xE8}));
}

TEST(WsFrameTest, CutsAReasonThatIsTooLongAtACharacter) {
    std::string reason(122, 'x');
    reason += "\xC3\xA4";  // two bytes, of which only the first would fit
    Bytes payload = make_close_payload(CloseCode::kNormal, reason);
    EXPECT_EQ(payload.size(), 2U + 122U);
    EXPECT_EQ(make_close_payload(CloseCode::kNormal, std::string(500, 'y')).size(),
              kMaxControlPayload);
    EXPECT_EQ(make_frame(Opcode::kPing, Bytes(200)).size(), 2 + kMaxControlPayload);
}

}  // namespace
}  // namespace weir::ws
