// A Redis of a few words on loopback: what it answers is up to the test.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "io/deadline.h"
#include "net/redis/redis_link.h"
#include "proto/redis/reply_reader.h"

#include "test/net/http/raw_server.h"

namespace weir::net {

inline std::string bulk(std::string_view text) {
    return fmt::format("${}\r\n{}\r\n", text.size(), text);
}

class FakeRedis {
  public:
    // An answer that closes the connection instead.
    static constexpr std::string_view kHangUp = "hang up";

    // The bytes of an answer; empty: what a Redis says to PING, ROLE, AUTH, SELECT and SUBSCRIBE,
    // and "+OK" to the others. `connection` counts from 0.
    using Answer = std::function<std::string(const redis::Command& command, int connection)>;

    explicit FakeRedis(Answer answer = {})
        : answer_(std::move(answer)),
          server_([this](io::TcpStream& stream, int number) { serve(stream, number); }) {}

    redis::Host host() const { return {"127.0.0.1", server_.url().port}; }

    redis::Url url(redis::Kind kind = redis::Kind::kSingle) const {
        redis::Url url;
        url.kind = kind;
        url.hosts = {host()};
        return url;
    }

    int connections() const { return server_.accepted(); }

    // First words of all commands but PING and ROLE.
    const std::vector<std::string>& said() const { return said_; }

    // A message on the channel that these connections have subscribed to.
    void publish(std::string_view channel, std::string_view text) {
        for (const auto& [number, stream] : subscribers_) {
            say(*stream, "*3\r\n" + bulk("message") + bulk(channel) + bulk(text));
        }
    }

    // Says nothing any more, and hears nothing, until it is woken.
    bool asleep = false;

  private:
    void serve(io::TcpStream& stream, int number) {
        converse(stream, number);
        subscribers_.erase(number);
    }

    void converse(io::TcpStream& stream, int number) {
        redis::ReplyReader reader;  // a command has the form of a reply
        Bytes buffer(16 * 1024);
        for (;;) {
            auto got = stream.read_some(buffer, io::Deadline::after(Seconds(60)));
            if (!got.ok()) {
                return;
            }
            reader.feed(ByteSpan(buffer).first(*got));
            std::string out;
            while (reader.next() == redis::ReplyReader::Status::kReply) {
                redis::Command command;
                for (redis::Reply& word : reader.take().elements) {
                    command.push_back(std::move(word.text));
                }
                if (command[0] == "SUBSCRIBE") {
                    subscribers_[number] = &stream;
                }
                out += answer(command, number);
            }
            while (asleep) {
                if (io::sleep_for(Millis(5))) {
                    return;
                }
            }
            if (out == kHangUp) {
                return stream.shutdown();
            }
            say(stream, out);
        }
    }

    std::string answer(const redis::Command& command, int connection) {
        if (command[0] != "PING" && command[0] != "ROLE") {
            said_.push_back(command[0]);
        }
        const std::string own = answer_ ? answer_(command, connection) : std::string();
        if (!own.empty()) {
            return own;
        }
        if (command[0] == "PING") {
            return "+PONG\r\n";
        }
        if (command[0] == "ROLE") {
            return "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n";
        }
        if (command[0] == "SUBSCRIBE") {
            return "*3\r\n" + bulk("subscribe") + bulk(command[1]) + ":1\r\n";
        }
        return "+OK\r\n";
    }

    Answer answer_;
    std::vector<std::string> said_;
    std::map<int, io::TcpStream*> subscribers_;
    RawServer server_;
};

}  // namespace weir::net
