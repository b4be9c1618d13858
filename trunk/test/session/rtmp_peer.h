// The other end of an RTMP connection, which says what a test tells it.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "proto/amf/amf0.h"
#include "proto/rtmp/chunk_reader.h"
#include "proto/rtmp/chunk_writer.h"
#include "proto/rtmp/command.h"
#include "proto/rtmp/handshake.h"

#include "test/support/io/loopback.h"
#include "test/support/media_packets.h"

namespace weir::session {

using io::eventually;

// One RTMP connection of a client. All calls that wait have the deadline of io::soon().
class RtmpPeer {
  public:
    explicit RtmpPeer(const io::SocketAddress& server) {
        auto stream = io::TcpStream::connect(server, io::soon());
        WEIR_CHECK(stream.ok());
        stream_ = std::move(*stream);
    }

    // ---- saying ----

    void send(ByteSpan bytes) {
        Error error = stream_->write_all(bytes, io::soon());
        EXPECT_FALSE(error) << error.to_string();
    }

    // Up to C2, which is left in `held` for a peer that sends it together with what follows.
    void begin_handshake(Bytes& held) {
        rtmp::ClientHandshake handshake(system_random());
        send(handshake.take_output());
        Bytes answer(1 + 2 * rtmp::kHandshakeSize);
        Error error = stream_->read_full(answer, io::soon());
        ASSERT_FALSE(error) << error.to_string();
        Result<size_t> used = handshake.feed(answer);
        ASSERT_TRUE(used.ok() && handshake.done());
        held = handshake.take_output();
    }

    void handshake() {
        Bytes c2;
        begin_handshake(c2);
        send(c2);
    }

    static void append(
        uint8_t type, uint32_t stream_id, uint32_t time_ms, ByteSpan body, Bytes& out) {
        rtmp::ChunkHeader header;
        header.type = type;
        header.chunk_stream_id = type == rtmp::kCommandAmf0 ? 3 : type;
        header.stream_id = stream_id;
        header.timestamp = time_ms;
        rtmp::write_message(header, body, rtmp::kDefaultChunkSize, out);
    }

    static Bytes connect_command(std::string_view app) {
        Bytes body;
        amf::Writer(body)
            .string("connect")
            .number(1)
            .begin_object()
            .key("app")
            .string(app)
            .key("tcUrl")
            .string("rtmp://127.0.0.1/" + std::string(app))
            .end_object();
        Bytes out;
        append(rtmp::kCommandAmf0, 0, 0, body, out);
        return out;
    }

    // The same with arguments, as the clients of siprtmp say it.
    static Bytes connect_command(std::string_view app, const std::vector<std::string>& arguments) {
        Bytes body;
        amf::Writer writer(body);
        writer.string("connect").number(1).begin_object().key("app").string(app).end_object();
        for (const std::string& each : arguments) {
            writer.string(each);
        }
        Bytes out;
        append(rtmp::kCommandAmf0, 0, 0, body, out);
        return out;
    }

    // A command of an application, which waits for an answer.
    void call(std::string_view name, const std::vector<amf::Value>& arguments = {}) {
        Bytes body;
        amf::Writer writer(body);
        writer.string(name).number(7).null();
        for (const amf::Value& each : arguments) {
            writer.value(each);
        }
        Bytes out;
        append(rtmp::kCommandAmf0, 0, 0, body, out);
        send(out);
    }

    // Waits for a command of the server with these arguments, and takes what came up to it away.
    bool is_called(std::string_view name, const std::vector<amf::Value>& arguments = {}) {
        return read_until([&] {
            const auto found = std::ranges::find_if(calls, [&](const rtmp::Command& each) {
                return each.name == name && each.args == arguments;
            });
            if (found == calls.end()) {
                return false;
            }
            calls.erase(calls.begin(), found + 1);
            return true;
        });
    }

    static Bytes create_stream_command() {
        Bytes body;
        amf::Writer(body).string("createStream").number(2).null();
        Bytes out;
        append(rtmp::kCommandAmf0, 0, 0, body, out);
        return out;
    }

    // "publish", "play", "closeStream", "pause" ...
    static Bytes stream_command(std::string_view name,
                                uint32_t stream_id,
                                std::string_view argument = {}) {
        Bytes body;
        amf::Writer writer(body);
        writer.string(name).number(0).null();
        if (!argument.empty()) {
            writer.string(argument);
        }
        Bytes out;
        append(rtmp::kCommandAmf0, stream_id, 0, body, out);
        return out;
    }

    static Bytes pause_command(uint32_t stream_id, bool on) {
        Bytes body;
        amf::Writer(body).string("pause").number(0).null().boolean(on).number(0);
        Bytes out;
        append(rtmp::kCommandAmf0, stream_id, 0, body, out);
        return out;
    }

    void media(uint32_t stream_id, uint8_t type, uint32_t time_ms, const Bytes& body) {
        Bytes out;
        append(type, stream_id, time_ms, body, out);
        send(out);
    }

    // Handshake, connect and as many message streams, with ids from 1 on.
    void open(std::string_view app = "live", int streams = 1) {
        handshake();
        send(connect_command(app));
        for (int i = 0; i < streams; i++) {
            send(create_stream_command());
        }
        EXPECT_TRUE(read_until([&] { return results >= streams + 1; }))
            << "connect and createStream are answered";
    }

    bool publish(std::string_view name,
                 uint32_t stream_id = 1,
                 std::string_view answer = rtmp::status::kPublishStart) {
        send(stream_command("publish", stream_id, name));
        return sees(answer);
    }

    bool play(std::string_view name,
              uint32_t stream_id = 1,
              std::string_view answer = rtmp::status::kPlayStart) {
        send(stream_command("play", stream_id, name));
        return sees(answer);
    }

    // Sequence headers and a key frame; times from `time_ms` on.
    void start_media(uint32_t stream_id = 1, uint32_t time_ms = 0, uint32_t marker = 1) {
        media(stream_id, rtmp::kDataAmf0, time_ms, test::metadata(static_cast<uint8_t>(marker)));
        media(stream_id, rtmp::kVideo, time_ms, test::avc_header(marker));
        media(stream_id, rtmp::kAudio, time_ms, test::aac_header(marker));
        media(stream_id, rtmp::kVideo, time_ms, test::avc_frame(true, marker));
    }

    // ---- hearing ----

    // False when the connection has ended.
    bool read() {
        Bytes buffer(64 * 1024);
        for (;;) {
            const io::IoResult got = stream_->try_read(buffer);
            if (got.status == io::IoStatus::kWouldBlock) {
                return true;
            }
            if (got.status != io::IoStatus::kDone) {
                ended = true;
                return false;
            }
            take({buffer.data(), got.bytes});
        }
    }

    template <typename Condition>
    bool read_until(Condition condition) {
        return eventually([&] {
            read();
            return condition();
        });
    }

    // Waits for a status, and takes what came up to it away.
    bool sees(std::string_view code) {
        return read_until([&] {
            auto found = std::ranges::find(statuses, code);
            if (found == statuses.end()) {
                return false;
            }
            statuses.erase(statuses.begin(), found + 1);
            return true;
        });
    }

    bool reads_to_end() {
        return read_until([&] { return ended; });
    }

    // Waits for a media message with that body.
    bool gets(const Bytes& body) {
        return read_until([&] {
            return std::ranges::any_of(
                received, [&](const rtmp::Message& message) { return message.body == body; });
        });
    }

    size_t index_of(const Bytes& body) const {
        auto found = std::ranges::find(received, body, &rtmp::Message::body);
        EXPECT_NE(found, received.end());
        return static_cast<size_t>(found - received.begin());
    }

    io::TcpStream& stream() { return *stream_; }

    void close() { stream_->close(); }

    std::vector<rtmp::Message> received;  // media and data with a body
    std::vector<std::string> statuses;    // codes of onStatus
    std::vector<std::string> descriptions;
    std::vector<rtmp::Command> calls;  // of neither kind
    int results = 0;
    bool ended = false;

  private:
    void take(ByteSpan bytes) {
        while (!bytes.empty()) {
            bytes = bytes.subspan(reader_.feed(bytes));
            rtmp::Message message;
            rtmp::ChunkReader::Status status = rtmp::ChunkReader::Status::kNeedMore;
            while ((status = reader_.next(message)) == rtmp::ChunkReader::Status::kMessage) {
                sort(std::move(message));
            }
            ASSERT_NE(status, rtmp::ChunkReader::Status::kError) << reader_.take_error().message();
        }
    }

    void sort(rtmp::Message message) {
        if (message.type == rtmp::kCommandAmf0) {
            Result<rtmp::Command> command = rtmp::parse_command(message.type, message.body);
            ASSERT_TRUE(command.ok());
            results += command->name == "_result" ? 1 : 0;
            if (command->name == "onStatus" || command->name == "_error") {
                statuses.emplace_back(command->arg(0).text_of("code"));
                descriptions.emplace_back(command->arg(0).text_of("description"));
            } else if (command->name != "_result") {
                calls.push_back(std::move(*command));
            }
        } else if (message.type == rtmp::kAudio || message.type == rtmp::kVideo ||
                   message.type == rtmp::kDataAmf0) {
            if (!message.body.empty()) {
                received.push_back(std::move(message));
            }
        }
    }

    std::unique_ptr<io::TcpStream> stream_;
    rtmp::ChunkReader reader_;
};

}  // namespace weir::session
