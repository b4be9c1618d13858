#include "proto/ws/message_reader.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weir::ws {
namespace {

constexpr MaskKey kMask = {1, 2, 3, 4};

// A masked frame with any first byte, for fragments and for broken input.
Bytes client_frame(uint8_t first_byte, std::string_view payload) {
    Bytes frame = make_masked_frame(Opcode::kBinary, as_bytes(payload), kMask);
    frame[0] = first_byte;
    return frame;
}

Bytes joined(std::initializer_list<Bytes> parts) {
    Bytes all;
    for (const Bytes& part : parts) {
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

struct Outcome {
    std::vector<std::pair<Opcode, std::string>> messages;
    bool error = false;
    CloseCode code{};

    bool operator==(const Outcome&) const = default;
};

Outcome read_all(ByteSpan input,
                 size_t piece,
                 size_t limit = kMaxClientMessage,
                 Role role = Role::kServer) {
    MessageReader reader(role, limit);
    Outcome outcome;
    Message message;
    for (size_t at = 0; at < input.size() && !outcome.error; at += piece) {
        reader.feed(input.subspan(at, std::min(piece, input.size() - at)));
        ReadStatus status;
        while ((status = reader.next(message)) == ReadStatus::kMessage) {
            outcome.messages.emplace_back(message.opcode, std::string(as_text(message.payload)));
        }
        outcome.error = status == ReadStatus::kError;
    }
    if (outcome.error) {
        outcome.code = reader.close_code();
        EXPECT_FALSE(reader.error().empty());
    }
    return outcome;
}

TEST(WsMessageReaderTest, ReadsAMaskedMessage) {
    Outcome outcome = read_all(make_masked_frame(Opcode::kText, as_bytes("Hello"), kMask), 1000);
    ASSERT_EQ(outcome.messages.size(), 1U);
    EXPECT_EQ(outcome.messages[0], std::make_pair(Opcode::kText, std::string("Hello")));
}

TEST(WsMessageReaderTest, ReadsAnUnmaskedMessageAsClient) {
    Bytes input = make_frame(Opcode::kBinary, as_bytes(std::string(70000, 'v')));
    Outcome outcome = read_all(input, 4096, 1 << 20U, Role::kClient);
    ASSERT_EQ(outcome.messages.size(), 1U);
    EXPECT_EQ(outcome.messages[0].second.size(), 70000U);
}

TEST(WsMessageReaderTest, JoinsFragmentsAndPassesControlFramesBetweenThem) {
    // "Hel" + ping + "lo", as in RFC 6455 §5.4 and §5.7.
    Outcome outcome = read_all(
        joined({client_frame(0x01, "Hel"), client_frame(0x89, "now?"), client_frame(0x80, "lo")}),
        1000);
    ASSERT_EQ(outcome.messages.size(), 2U);
    EXPECT_EQ(outcome.messages[0], std::make_pair(Opcode::kPing, std::string("now?")));
    EXPECT_EQ(outcome.messages[1], std::make_pair(Opcode::kText, std::string("Hello")));
}

TEST(WsMessageReaderTest, GivesTheSameMessagesHoweverTheInputIsSplit) {
    Bytes input = joined({client_frame(0x82, std::string(300, 'a')), client_frame(0x01, "one"),
                          client_frame(0x00, ""), client_frame(0x8A, "pong"),
                          client_frame(0x80, "two"), client_frame(0x88, "\x03\xE8")});
    Outcome whole = read_all(input, input.size());
    ASSERT_EQ(whole.messages.size(), 4U);
    EXPECT_FALSE(whole.error);
    for (size_t piece = 1; piece < 40; piece++) {
        EXPECT_EQ(read_all(input, piece), whole) << "pieces of " << piece;
    }
}

TEST(WsMessageReaderTest, NeedsMoreAtEachTruncatedLength) {
    Bytes input = client_frame(0x82, std::string(200, 'a'));
    for (size_t cut = 0; cut < input.size(); cut++) {
        Outcome outcome = read_all(ByteSpan(input).first(cut), input.size());
        EXPECT_TRUE(outcome.messages.empty() && !outcome.error) << "cut at " << cut;
    }
}

TEST(WsMessageReaderTest, RefusesBrokenSequences) {
    struct Case {
        const char* what;
        Bytes input;
        CloseCode code;
    };

    const Case cases[] = {
        {"unmasked client frame", make_frame(Opcode::kText, as_bytes("x")),
         CloseCode::kProtocolError},
        {"continuation first", client_frame(0x80, "x"), CloseCode::kProtocolError},
        {"new message inside one", joined({client_frame(0x01, "x"), client_frame(0x82, "y")}),
         CloseCode::kProtocolError},
        {"half a close code", client_frame(0x88, "x"), CloseCode::kProtocolError},
        {"reserved bit", client_frame(0xC1, "x"), CloseCode::kProtocolError},
        {"unknown opcode", client_frame(0x83, "x"), CloseCode::kProtocolError},
        {"fragmented ping", client_frame(0x09, "x"), CloseCode::kProtocolError},
        {"long ping", client_frame(0x89, std::string(126, 'x')), CloseCode::kProtocolError},
        {"long message", client_frame(0x82, std::string(1001, 'x')), CloseCode::kTooBig},
        {"long sum of fragments",
         joined({client_frame(0x02, std::string(600, 'x')),
                 client_frame(0x80, std::string(600, 'x'))}),
         CloseCode::kTooBig},
    };
    for (const Case& c : cases) {
        for (size_t piece : {size_t{1}, size_t{7}, c.input.size()}) {
            Outcome outcome = read_all(c.input, piece, 1000);
            EXPECT_TRUE(outcome.error) << c.what << " in pieces of " << piece;
            EXPECT_EQ(outcome.code, c.code) << c.what << " in pieces of " << piece;
        }
    }
}

TEST(WsMessageReaderTest, RefusesALongMessageByItsHeaderAlone) {
    Bytes input = client_frame(0x82, std::string(2000, 'x'));
    Outcome outcome = read_all(ByteSpan(input).first(8), 8, 1000);
    EXPECT_TRUE(outcome.error);
    EXPECT_EQ(outcome.code, CloseCode::kTooBig);
}

TEST(WsMessageReaderTest, TakesAMessageOfExactlyTheLimit) {
    Outcome outcome = read_all(client_frame(0x82, std::string(1000, 'x')), 100, 1000);
    ASSERT_EQ(outcome.messages.size(), 1U);
    EXPECT_EQ(outcome.messages[0].second.size(), 1000U);
}

TEST(WsMessageReaderTest, CountsEmptyFragments) {
    MessageReader reader(Role::kServer);
    Message message;
    reader.feed(client_frame(0x01, ""));
    for (size_t i = 1; i < kMaxFragments; i++) {
        reader.feed(client_frame(0x00, ""));
        ASSERT_EQ(reader.next(message), ReadStatus::kNeedMore) << i;
    }
    reader.feed(client_frame(0x00, ""));
    EXPECT_EQ(reader.next(message), ReadStatus::kError);
    EXPECT_EQ(reader.close_code(), CloseCode::kPolicy);
}

TEST(WsMessageReaderTest, CountsFragmentsOnceHoweverSlowlyTheyCome) {
    Bytes input = client_frame(0x01, "");
    for (size_t i = 0; i < kMaxFragments / 2; i++) {
        Bytes fragment = client_frame(0x00, "abcdef");
        input.insert(input.end(), fragment.begin(), fragment.end());
    }
    Bytes last = client_frame(0x80, "end");
    input.insert(input.end(), last.begin(), last.end());
    EXPECT_EQ(read_all(input, 1).messages.size(), 1U);
}

TEST(WsMessageReaderTest, StaysInErrorWhateverFollows) {
    MessageReader reader(Role::kServer);
    Message message;
    reader.feed(client_frame(0x80, "x"));
    EXPECT_EQ(reader.next(message), ReadStatus::kError);
    reader.feed(client_frame(0x82, "good"));
    EXPECT_EQ(reader.next(message), ReadStatus::kError);
}

}  // namespace
}  // namespace weir::ws
