// A client for the tests of ServerSession: says what a test tells it to, and understands the
// answers.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "proto/amf/amf0.h"
#include "proto/rtmp/server_session.h"

#include "test/proto/rtmp/support.h"

namespace weir::rtmp::test {

class Peer {
  public:
    explicit Peer(const SessionOptions& options = {}) : session(options) {}

    // Feeds raw bytes in pieces of `step` and gives the events. Stops at a failure.
    std::vector<Event> feed(ByteSpan bytes, size_t step = SIZE_MAX) {
        std::vector<Event> events;
        while (!bytes.empty() && !session.failed()) {
            ByteSpan piece = bytes.first(std::min(step, bytes.size()));
            bytes = bytes.subspan(piece.size());
            while (!piece.empty() && !session.failed()) {
                piece = piece.subspan(session.feed(piece));
                Event event;
                while (session.next_event(event)) {
                    events.push_back(std::move(event));
                }
            }
        }
        return events;
    }

    // One message on chunk stream 3.
    std::vector<Event> send(uint8_t type,
                            uint32_t stream_id,
                            ByteSpan body,
                            uint32_t timestamp = 0) {
        return feed(message_bytes(header(ChunkFormat::kFull, 3, timestamp, type, stream_id), body));
    }

    // A command: name, transaction, object (null by default), arguments.
    std::vector<Event> command(uint32_t stream_id,
                               std::string_view name,
                               double transaction,
                               const std::vector<amf::Value>& args = {},
                               const amf::Value& object = amf::Value()) {
        Bytes body;
        amf::Writer writer(body);
        writer.string(name).number(transaction).value(object);
        for (const amf::Value& arg : args) {
            writer.value(arg);
        }
        return send(kCommandAmf0, stream_id, body);
    }

    static amf::Value text(std::string_view value) { return amf::Value::string(value); }

    static amf::Value number(double value) { return amf::Value::number(value); }

    static amf::Value connect_object(std::string_view app,
                                     std::string_view tc_url = "rtmp://host/live",
                                     std::string_view flash_version = "test") {
        amf::Value object = amf::Value::object();
        object.set("app", text(app));
        object.set("tcUrl", text(tc_url));
        object.set("flashVer", text(flash_version));
        return object;
    }

    // connect, accepted; gives what the session made of it.
    ConnectRequest connect(std::string_view app = "live",
                           std::string_view tc_url = "rtmp://host/live",
                           std::string_view flash_version = "test") {
        std::vector<Event> events =
            command(0, "connect", 1, {}, connect_object(app, tc_url, flash_version));
        EXPECT_EQ(events.size(), 1u);
        session.accept_connect();
        answers();
        return events.empty() ? ConnectRequest() : std::move(events[0].connect());
    }

    // createStream; gives the stream id.
    uint32_t create_stream() {
        EXPECT_TRUE(command(0, "createStream", 4).empty());
        const std::vector<Command> all = commands();
        EXPECT_EQ(all.size(), 1u);
        return all.empty() ? 0 : static_cast<uint32_t>(all[0].arg(0).as_number());
    }

    // Connected and publishing "live/NAME" on the returned stream.
    uint32_t publish(std::string_view name) {
        const uint32_t id = create_stream();
        EXPECT_EQ(command(id, "publish", 5, {text(name), text("live")}).size(), 1u);
        session.accept_publish(id);
        answers();
        return id;
    }

    uint32_t play(std::string_view name) {
        const uint32_t id = create_stream();
        EXPECT_EQ(command(id, "play", 0, {text(name)}).size(), 1u);
        session.accept_play(id);
        answers();
        return id;
    }

    // Everything that the session has sent since the last call.
    std::vector<Message> answers() { return read_all(reader_, session.take_output(), SIZE_MAX); }

    // The commands among it.
    std::vector<Command> commands() {
        std::vector<Command> out;
        for (const Message& message : answers()) {
            if (message.type == kCommandAmf0) {
                out.push_back(*parse_command(message.type, message.body));
            }
        }
        return out;
    }

    // "onStatus NetStream.Play.Start" and so on, for all commands sent; others by their names.
    std::vector<std::string> codes() {
        std::vector<std::string> out;
        for (const Command& c : commands()) {
            out.push_back(c.arg(0).has_members()
                              ? c.name + " " + std::string(c.arg(0).text_of("code"))
                              : c.name);
        }
        return out;
    }

    uint32_t peer_chunk_size() const { return reader_.chunk_size(); }

    ServerSession session;

  private:
    ChunkReader reader_;
};

}  // namespace weir::rtmp::test
