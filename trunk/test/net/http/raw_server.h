// A server of bytes on loopback, for tests of HTTP's client: what it answers is up to the test.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/tcp.h"
#include "proto/http/url.h"

#include "test/support/io/loopback.h"

namespace weir::net {

// Accepts connections one after another and gives each to the test's function.
class RawServer {
  public:
    using Serve = std::function<void(io::TcpStream& stream, int number)>;

    explicit RawServer(Serve serve) : serve_(std::move(serve)) {
        auto listener = io::TcpListener::listen(io::loopback());
        WEIR_CHECK(listener.ok());
        listener_ = std::move(*listener);
        Error error = tasks_.spawn("accepts", io::StackSize::kNormal, [this] { accept(); });
        WEIR_CHECK(!error);
    }

    ~RawServer() {
        tasks_.interrupt_all();
        EXPECT_FALSE(tasks_.join_all(io::soon()));
    }

    http::Url url(std::string_view target = "/hook") const {
        return http::Url::parse(
                   fmt::format("http://127.0.0.1:{}{}", listener_->local().port(), target))
            .value();
    }

    int accepted() const { return accepted_; }

  private:
    void accept() {
        for (;;) {
            auto stream = listener_->accept(io::Deadline::forever());
            if (!stream.ok()) {
                return;
            }
            auto shared = std::make_shared<std::unique_ptr<io::TcpStream>>(std::move(*stream));
            Error error =
                tasks_.spawn("serves", io::StackSize::kNormal,
                             [this, shared, number = accepted_++] { serve_(**shared, number); });
            WEIR_CHECK(!error);
        }
    }

    Serve serve_;
    std::unique_ptr<io::TcpListener> listener_;
    io::TaskGroup tasks_;
    int accepted_ = 0;
};

// A request, as far as it is needed: until `end` has come.
inline std::string read_until(io::TcpStream& stream, std::string_view end) {
    std::string all;
    Bytes buffer(4096);
    while (all.find(end) == std::string::npos) {
        auto got = stream.read_some(buffer, io::soon());
        if (!got.ok()) {
            return all;
        }
        all += as_text(ByteSpan(buffer).first(*got));
    }
    return all;
}

inline void say(io::TcpStream& stream, std::string_view text) {
    Error ignored = stream.write_all(as_bytes(text), io::soon());
}

inline constexpr std::string_view kYes = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n0";

}  // namespace weir::net
