// A plain HTTP client on a loopback socket, for tests: sends bytes as they are, reads answers one
// by one.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include <sys/socket.h>

#include <gtest/gtest.h>

#include "net/http/server.h"
#include "proto/http/fields.h"

#include "test/support/io/loopback.h"

namespace weir::net {

struct TestAnswer {
    int status = 0;  // 0: the connection ended before an answer
    http::Fields headers;
    std::string body;
};

// Lets the server listen on a free port of loopback and gives its address.
inline io::SocketAddress serve_on_loopback(HttpServer& server) {
    auto listener = io::TcpListener::listen(io::loopback());
    WEIR_CHECK(listener.ok());
    const io::SocketAddress address = (*listener)->local();
    Error error = server.serve(std::move(*listener));
    WEIR_CHECK(!error);
    return address;
}

class TestClient {
  public:
    // Yields.
    explicit TestClient(const io::SocketAddress& server) {
        auto stream = io::TcpStream::connect(server, io::soon());
        WEIR_CHECK(stream.ok());
        stream_ = std::move(*stream);
    }

    explicit TestClient(std::unique_ptr<io::TcpStream> stream) : stream_(std::move(stream)) {}

    // Yields.
    void send(std::string_view bytes) {
        ASSERT_FALSE(stream_->write_all(as_bytes(bytes), io::soon()));
    }

    void end_sending() { ::shutdown(stream_->fd(), SHUT_WR); }

    void close() { stream_->close(); }

    // Ends the connection with a reset.
    void reset() {
        const linger now{1, 0};
        setsockopt(stream_->fd(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        close();
    }

    // Yields. The next answer; `head` when it answers a HEAD request.
    TestAnswer read_answer(bool head = false) {
        TestAnswer answer;
        size_t end = std::string::npos;
        while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
            if (!read_more()) {
                return answer;
            }
        }
        std::string text = received_.substr(0, end + 2);
        received_.erase(0, end + 4);
        size_t line_end = text.find("\r\n");
        answer.status = std::stoi(text.substr(text.find(' ') + 1, 3));
        for (size_t at = line_end + 2; at < text.size();) {
            size_t next = text.find("\r\n", at);
            size_t colon = text.find(": ", at);
            answer.headers.add(text.substr(at, colon - at),
                               text.substr(colon + 2, next - colon - 2));
            at = next + 2;
        }
        if (!head && answer.headers.get("Transfer-Encoding").value_or("") == "chunked") {
            answer.body = read_chunks();
            return answer;
        }
        size_t length =
            head ? 0 : std::stoul(std::string(answer.headers.get("Content-Length").value_or("0")));
        while (received_.size() < length && read_more()) {
        }
        answer.body = received_.substr(0, length);
        received_.erase(0, length);
        return answer;
    }

    // Yields. send() and read_answer().
    TestAnswer ask(std::string_view bytes) {
        send(bytes);
        return read_answer(bytes.starts_with("HEAD "));
    }

    // Yields. Everything until the server ends the connection.
    std::string read_to_end() {
        while (read_more()) {
        }
        return std::exchange(received_, {});
    }

    // Yields. At least `size` bytes, unless the connection ends.
    std::string read_bytes(size_t size) {
        while (received_.size() < size && read_more()) {
        }
        std::string bytes = received_.substr(0, size);
        received_.erase(0, size);
        return bytes;
    }

    // Yields. True when the server has ended the connection and nothing is left to read.
    bool ended() { return received_.empty() && !read_more(); }

  private:
    std::string read_chunks() {
        std::string body;
        for (;;) {
            size_t end = std::string::npos;
            while ((end = received_.find("\r\n")) == std::string::npos) {
                if (!read_more()) {
                    ADD_FAILURE() << "an answer in chunks without an end";
                    return body;
                }
            }
            const size_t size = std::stoul(received_.substr(0, end), nullptr, 16);
            received_.erase(0, end + 2);
            const std::string chunk = read_bytes(size + 2);
            if (chunk.size() < size + 2 || !chunk.ends_with("\r\n")) {
                ADD_FAILURE() << "a chunk that is cut off";
                return body;
            }
            body += chunk.substr(0, size);
            if (size == 0) {
                return body;
            }
        }
    }

    bool read_more() {
        Bytes buffer(4096);
        auto got = stream_->read_some(buffer, io::soon());
        if (!got.ok()) {
            EXPECT_NE(got.error().code(), ErrorCode::kTimeout)
                << "the server neither answers nor closes";
            return false;
        }
        received_ += as_text(ByteSpan(buffer).first(*got));
        return true;
    }

    std::unique_ptr<io::TcpStream> stream_;
    std::string received_;
};

inline std::string get_request(std::string_view target, std::string_view fields = "") {
    return "GET " + std::string(target) + " HTTP/1.1\r\nHost: h\r\n" + std::string(fields) + "\r\n";
}

}  // namespace weir::net
