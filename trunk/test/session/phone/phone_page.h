// The page's end of a phone's WebSocket.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/tcp.h"
#include "net/api/answer.h"
#include "proto/ws/frame.h"
#include "proto/ws/message_reader.h"

#include "test/support/io/loopback.h"

namespace weir::session {

class PhonePage {
  public:
    static constexpr ws::MaskKey kMask = {1, 2, 3, 4};

    // `more`: fields of its request, each with its end of line.
    explicit PhonePage(const io::SocketAddress& server, std::string_view more = "") {
        auto stream = io::TcpStream::connect(server, io::soon());
        WEIR_CHECK(stream.ok());
        stream_ = std::move(*stream);
        const std::string request = fmt::format(
            "GET /phone HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{}\r\n",
            more);
        say(as_bytes(request));
    }

    void say(ByteSpan bytes) {
        const Error error = stream_->write_all(bytes, io::soon());
        EXPECT_FALSE(error) << error.to_string();
    }

    void say(std::string_view text) {
        say(ws::make_masked_frame(ws::Opcode::kText, as_bytes(text), kMask));
    }

    void open(std::string_view user = "alice", std::string_view password = "secret") {
        say(fmt::format(R"({{"do":"open","user":"{}","password":"{}"}})", user, password));
    }

    // Whether an event of that name comes soon; it is in `event` then, and not met again.
    bool hears(std::string_view name) {
        return io::eventually([&] {
            read();
            const auto found = std::ranges::find_if(
                events, [&](const net::Json& each) { return each.value("event", "") == name; });
            if (found == events.end()) {
                return false;
            }
            event = *found;
            events.erase(events.begin(), found + 1);
            return true;
        });
    }

    bool reads_to_end() {
        return io::eventually([&] {
            read();
            return ended;
        });
    }

    template <typename Condition>
    bool read_until(Condition condition) {
        return io::eventually([&] {
            read();
            return condition();
        });
    }

    std::string reason() const { return event.value("reason", ""); }

    void close() { stream_->close(); }

    std::string head;
    std::string text;  // of an answer that is no 101
    std::vector<net::Json> events;
    net::Json event;
    size_t pings = 0;
    size_t pongs = 0;
    bool answers_pings = true;
    bool ended = false;
    Bytes close_payload;

  private:
    void read() {
        Bytes buffer(4096);
        for (;;) {
            const io::IoResult got = stream_->try_read(buffer);
            if (got.status != io::IoStatus::kDone) {
                ended = ended || got.status != io::IoStatus::kWouldBlock;
                return;
            }
            take({buffer.data(), got.bytes});
        }
    }

    void take(ByteSpan bytes) {
        if (head.find("\r\n\r\n") == std::string::npos) {
            head += as_text(bytes);
            const size_t end = head.find("\r\n\r\n");
            if (end == std::string::npos) {
                return;
            }
            const std::string rest = head.substr(end + 4);
            head.resize(end + 4);
            take(as_bytes(rest));
            return;
        }
        if (!head.starts_with("HTTP/1.1 101")) {
            text += as_text(bytes);
            return;
        }
        messages_.feed(bytes);
        ws::Message message;
        ws::ReadStatus status = ws::ReadStatus::kNeedMore;
        while ((status = messages_.next(message)) == ws::ReadStatus::kMessage) {
            take(message);
        }
        ASSERT_NE(status, ws::ReadStatus::kError) << messages_.error();
    }

    void take(const ws::Message& message) {
        switch (message.opcode) {
            case ws::Opcode::kText:
                events.push_back(net::parsed(as_text(message.payload), 8));
                ASSERT_TRUE(events.back().is_object());
                return;
            case ws::Opcode::kPing:
                pings++;
                if (answers_pings) {
                    say(ws::make_masked_frame(ws::Opcode::kPong, message.payload, kMask));
                }
                return;
            case ws::Opcode::kPong: pongs++; return;
            case ws::Opcode::kClose: close_payload = message.payload; return;
            default: return;
        }
    }

    std::unique_ptr<io::TcpStream> stream_;
    ws::MessageReader messages_{ws::Role::kClient, 1U << 20};
};

}  // namespace weir::session
