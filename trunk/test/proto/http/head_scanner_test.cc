#include "proto/http/head_scanner.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace weir::http {
namespace {

using Status = HeadScanner::Status;

TEST(HeadScannerTest, FindsTheEndOfTheHeadAndOfItsLine) {
    RequestLimits limits;
    HeadScanner scanner(limits);
    EXPECT_EQ(scanner.scan("GET / HTTP/1.1\r\nA: b\r\n\r\nbody"), Status::kComplete);
    EXPECT_EQ(scanner.head_bytes(), 24U);
    EXPECT_EQ(scanner.request_line_bytes(), 16U);
}

TEST(HeadScannerTest, GoesOnWhereItStopped) {
    RequestLimits limits;
    HeadScanner scanner(limits);
    std::string_view head = "GET / HTTP/1.0\r\n\r\n";
    for (size_t size = 1; size < head.size(); size++) {
        ASSERT_EQ(scanner.scan(head.substr(0, size)), Status::kNeedMore) << size;
        ASSERT_EQ(scanner.head_bytes(), size);
    }
    EXPECT_EQ(scanner.scan(head), Status::kComplete);
    scanner.reset();
    EXPECT_EQ(scanner.head_bytes(), 0U);
    EXPECT_EQ(scanner.scan(head), Status::kComplete);
}

TEST(HeadScannerTest, RefusesAtTheByteThatBreaksALimit) {
    RequestLimits limits{20, 30, 2, 0};

    struct Case {
        const char* what;
        std::string head;  // the last byte is the one too many
        int status;
    };

    const Case cases[] = {
        {"line", "GET /aaaaaaaaaaaaaaaa", 414},
        {"fields", "GET / HTTP/1.1\r\nA: " + std::string(28, 'b'), 431},
        {"count", "GET / HTTP/1.1\r\nA: 1\r\nB: 2\r\nC: 3\r\n", 431},
        {"bare LF", "GET / HTTP/1.1\n", 400},
        {"no token", "GE\x80", 400},
        {"empty method", " ", 400},
    };
    for (const Case& c : cases) {
        HeadScanner scanner(limits);
        EXPECT_EQ(scanner.scan(c.head.substr(0, c.head.size() - 1)), Status::kNeedMore) << c.what;
        EXPECT_EQ(scanner.scan(c.head), Status::kError) << c.what;
        EXPECT_EQ(scanner.error().status, c.status) << c.what;
    }
}

}  // namespace
}  // namespace weir::http
