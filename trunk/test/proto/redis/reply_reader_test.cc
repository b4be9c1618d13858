#include "proto/redis/reply_reader.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir::redis {
namespace {

using Status = ReplyReader::Status;

std::vector<Reply> read_all(std::string_view bytes, size_t step) {
    ReplyReader reader;
    std::vector<Reply> replies;
    for (size_t at = 0; at < bytes.size(); at += step) {
        reader.feed(as_bytes(bytes.substr(at, step)));
        while (reader.next() == Status::kReply) {
            replies.push_back(reader.take());
        }
    }
    return replies;
}

Reply only(std::string_view bytes) {
    const std::vector<Reply> replies = read_all(bytes, bytes.size());
    EXPECT_EQ(replies.size(), 1U) << bytes;
    return replies.empty() ? Reply() : replies.front();
}

Status status_of(std::string_view bytes) {
    ReplyReader reader;
    reader.feed(as_bytes(bytes));
    return reader.next();
}

TEST(ReplyReaderTest, ReadsEachKindOfReply) {
    EXPECT_EQ(only("+OK\r\n"), (Reply{ReplyType::kStatus, 0, "OK", {}}));
    EXPECT_EQ(only("-ERR no\r\n"), (Reply{ReplyType::kError, 0, "ERR no", {}}));
    EXPECT_EQ(only(":-42\r\n"), (Reply{ReplyType::kInteger, -42, "", {}}));
    EXPECT_EQ(only("$5\r\na\r\nb\n\r\n").text, "a\r\nb\n");
    EXPECT_EQ(only("$-1\r\n").type, ReplyType::kNil);
    EXPECT_EQ(only("*-1\r\n").type, ReplyType::kNil);
    EXPECT_EQ(only("*0\r\n").type, ReplyType::kArray);
}

TEST(ReplyReaderTest, PutsElementsOfNestedArraysWhereTheyBelong) {
    const Reply reply = only("*3\r\n*2\r\n:1\r\n$1\r\na\r\n$-1\r\n*1\r\n*1\r\n+x\r\n");
    ASSERT_TRUE(reply.is_array(3));
    EXPECT_EQ(reply.elements[0].elements[0].integer, 1);
    EXPECT_EQ(reply.elements[0].elements[1].text, "a");
    EXPECT_TRUE(reply.elements[1].is_nil());
    EXPECT_EQ(reply.elements[2].elements[0].elements[0].text, "x");
}

TEST(ReplyReaderTest, GivesTheSameWhereverTheInputIsCut) {
    const std::string bytes =
        "+OK\r\n*2\r\n$3\r\nabc\r\n:7\r\n-MOVED 1 h:1\r\n$0\r\n\r\n*1\r\n*0\r\n";
    const std::vector<Reply> whole = read_all(bytes, bytes.size());
    ASSERT_EQ(whole.size(), 5U);
    for (size_t step = 1; step < bytes.size(); step++) {
        EXPECT_EQ(read_all(bytes, step), whole) << step;
    }
}

TEST(ReplyReaderTest, NeedsMoreForEveryTruncation) {
    const std::string bytes = "*2\r\n$3\r\nabc\r\n:7\r\n";
    for (size_t size = 0; size < bytes.size(); size++) {
        EXPECT_EQ(status_of(bytes.substr(0, size)), Status::kNeedMore) << size;
    }
}

TEST(ReplyReaderTest, BreaksOffAtWhatIsNoReply) {
    for (const std::string_view bytes :
         {"HTTP/1.1 400\r\n", "x\r\n", "$abc\r\n", "*x\r\n", "$-7\r\n", ":\r\n"}) {
        ReplyReader reader;
        reader.feed(as_bytes(bytes));
        EXPECT_EQ(reader.next(), Status::kBroken) << bytes;
        EXPECT_FALSE(reader.error().empty());
        reader.feed(as_bytes("+OK\r\n"));
        EXPECT_EQ(reader.next(), Status::kBroken) << "it stays broken";
    }
}

TEST(ReplyReaderTest, BreaksOffAtTooManyElements) {
    EXPECT_EQ(status_of("*65536\r\n"), Status::kNeedMore);
    EXPECT_EQ(status_of("*65537\r\n"), Status::kBroken);
    EXPECT_EQ(status_of("*2147483647\r\n"), Status::kBroken);
    EXPECT_EQ(status_of("*60000\r\n*6000\r\n"), Status::kBroken) << "all arrays together";
}

TEST(ReplyReaderTest, BreaksOffAtTooManyBytes) {
    ReplyReader reader;
    reader.feed(as_bytes(fmt::format("${}\r\n", 2 * kMaxReplyBytes)));
    const std::string chunk(64 * 1024, 'x');
    size_t fed = 0;
    Status status = Status::kNeedMore;
    while (status == Status::kNeedMore && fed <= 2 * kMaxReplyBytes) {
        reader.feed(as_bytes(chunk));
        fed += chunk.size();
        status = reader.next();
    }
    EXPECT_EQ(status, Status::kBroken);
    EXPECT_LE(fed, kMaxReplyBytes + chunk.size());
}

TEST(ReplyReaderTest, AnswersOfAPipelineDoNotCountTogether) {
    ReplyReader reader;
    const std::string text = fmt::format("${}\r\n{}\r\n", 1 << 20, std::string(1 << 20, 'x'));
    for (int i = 0; i < 12; i++) {
        reader.feed(as_bytes(text));
        ASSERT_EQ(reader.next(), Status::kReply) << i;
        EXPECT_EQ(reader.take().text.size(), 1U << 20);
    }
}

TEST(ReplyReaderTest, BreaksOffBeyondTheDepth) {
    std::string bytes;
    for (size_t depth = 0; depth < kMaxReplyDepth; depth++) {
        bytes += "*1\r\n";
    }
    EXPECT_EQ(status_of(bytes + ":1\r\n"), Status::kReply);
    EXPECT_EQ(status_of(bytes + "*1\r\n*1\r\n:1\r\n"), Status::kBroken);
}

}  // namespace
}  // namespace weir::redis
