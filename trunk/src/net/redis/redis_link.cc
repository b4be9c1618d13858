#include "net/redis/redis_link.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "io/deadline.h"
#include "io/discard_unsent.h"
#include "proto/http/url.h"

namespace weir::net {
namespace {

constexpr size_t kReadBytes = 16 * 1024;
constexpr size_t kMaxShown = 120;  // of an error of Redis

Error no(std::string_view what, const redis::Reply& reply) {
    return make_error(
        ErrorCode::kDenied, "{}: {}{}", what, log::escaped(reply.text, kMaxShown),
        reply.is_error("NOAUTH") ? " (its password is registry_password of cluster)" : "");
}

// A server without AUTH repeats the password in its answer: only the kind of error is shown.
Error no_login(const redis::Host& host, const redis::Reply& reply) {
    redis::Reply kind = reply;
    kind.text = reply.text.substr(0, reply.text.find(' '));
    return no(fmt::format("{} refuses AUTH", host.to_string()), kind);
}

}  // namespace

// ---- a link ----

RedisLink::~RedisLink() {
    io::discard_unsent(*stream_);
}

Error RedisLink::write(std::span<const redis::Command> commands, io::Deadline deadline) {
    std::string text;
    for (const redis::Command& command : commands) {
        redis::write_command(command, text);
    }
    if (Error unsent = stream_->write_all(as_bytes(text), deadline)) {
        return std::move(unsent).with_context("sending commands");
    }
    return {};
}

Result<redis::Reply> RedisLink::read(io::Deadline deadline) {
    Bytes buffer(kReadBytes);
    for (;;) {
        switch (reader_.next()) {
            case redis::ReplyReader::Status::kReply: return reader_.take();
            case redis::ReplyReader::Status::kBroken:
                return make_error(ErrorCode::kMalformed, "{}", reader_.error());
            case redis::ReplyReader::Status::kNeedMore: break;
        }
        WEIR_TRY_ASSIGN(const size_t got, stream_->read_some(buffer, deadline));
        reader_.feed(ByteSpan(buffer).first(got));
    }
}

Result<std::vector<redis::Reply>> RedisLink::exchange(std::span<const redis::Command> commands,
                                                      io::Deadline deadline) {
    const Millis given = std::chrono::round<Millis>(deadline.time() - MonoClock::now());
    WEIR_TRY(write(commands, deadline));
    std::vector<redis::Reply> replies;
    replies.reserve(commands.size());
    while (replies.size() < commands.size()) {
        Result<redis::Reply> reply = read(deadline);
        if (!reply.ok()) {
            return reply.error().code() == ErrorCode::kTimeout
                       ? make_error(ErrorCode::kTimeout, "no answer within {} ms", given.count())
                       : reply.take_error();
        }
        replies.push_back(std::move(*reply));
    }
    return replies;
}

Result<redis::Reply> RedisLink::ask(const redis::Command& command, io::Deadline deadline) {
    WEIR_TRY_ASSIGN(std::vector<redis::Reply> replies, exchange({&command, 1}, deadline));
    return std::move(replies.front());
}

// ---- the dialer ----

Result<std::unique_ptr<RedisLink>> RedisDialer::connect(const redis::Host& host,
                                                        bool named,
                                                        io::Deadline deadline) {
    http::Url to;
    to.tls = url_.tls;
    to.host = host.name;
    to.port = host.port;
    Result<std::unique_ptr<io::TcpStream>> stream =
        http_.connect(to, deadline, true, named ? AddressFilter() : hops_.filter());
    if (!stream.ok()) {
        // One without TLS does not say so: it waits for more, or hangs up.
        return stream.take_error().with_context(
            url_.tls ? fmt::format("{} by TLS, as rediss:// says", host.to_string())
                     : host.to_string());
    }
    if (named) {
        hops_.begin((*stream)->connection_peer().net_address(), url_.tls);
    }
    return std::make_unique<RedisLink>(std::move(*stream));
}

redis::Command RedisDialer::login() const {
    return url_.user.empty() ? redis::Command{"AUTH", url_.password}
                             : redis::Command{"AUTH", url_.user, url_.password};
}

// Also finds out whether it answers at all, and whether it takes writes.
Error RedisDialer::greet(RedisLink& link, const redis::Host& host, io::Deadline deadline) const {
    std::vector<redis::Command> commands;
    if (!url_.password.empty()) {
        commands.push_back(login());
    }
    if (url_.database > 0) {
        commands.push_back({"SELECT", std::to_string(url_.database)});
    }
    commands.push_back({"PING"});  // a Redis that still loads its data refuses that
    commands.push_back({"ROLE"});
    Result<std::vector<redis::Reply>> replies = link.exchange(commands, deadline);
    if (!replies.ok()) {
        return replies.take_error().with_context(host.to_string());
    }
    for (size_t i = 0; i < commands.size(); i++) {
        const redis::Reply& reply = (*replies)[i];
        // A user of Redis may lack the right to ask for the role: then a write will tell.
        if (reply.is_error() && !(commands[i][0] == "ROLE" && reply.is_error("NOPERM"))) {
            return commands[i][0] == "AUTH"
                       ? no_login(host, reply)
                       : no(fmt::format("{} refuses {}", host.to_string(), commands[i][0]), reply);
        }
    }
    const redis::Reply& role = replies->back();
    if (url_.kind != redis::Kind::kCluster && role.is_array(1) &&
        role.elements[0].text != "master") {
        return make_error(ErrorCode::kDenied, "{} is a {}: only a master takes writes",
                          host.to_string(), log::escaped(role.elements[0].text, kMaxShown));
    }
    return {};
}

Result<std::unique_ptr<RedisLink>> RedisDialer::log_in(Result<std::unique_ptr<RedisLink>> link,
                                                       const redis::Host& host,
                                                       io::Deadline deadline) {
    if (link.ok()) {
        WEIR_TRY(greet(**link, host, deadline));
    }
    return link;
}

Result<std::unique_ptr<RedisLink>> RedisDialer::dial_to(const redis::Host& host,
                                                        io::Deadline deadline) {
    return log_in(connect(host, false, deadline), host, deadline);
}

// One sentinel a try: the next one where it fails.
Result<redis::Host> RedisDialer::ask_sentinels(io::Deadline deadline) {
    const redis::Host& host = url_.hosts[next_++ % url_.hosts.size()];
    WEIR_TRY_ASSIGN(const std::unique_ptr<RedisLink> link, connect(host, true, deadline));
    const redis::Command question{"SENTINEL", "get-master-addr-by-name", url_.master};
    WEIR_TRY_ASSIGN(redis::Reply reply, link->ask(question, deadline));
    if (reply.is_error("NOAUTH") && !url_.password.empty()) {
        WEIR_TRY_ASSIGN(const redis::Reply let_in, link->ask(login(), deadline));
        if (let_in.is_error()) {
            return no_login(host, let_in);
        }
        WEIR_TRY_ASSIGN(reply, link->ask(question, deadline));
    }
    if (reply.is_error()) {
        return no(fmt::format("sentinel {}", host.to_string()), reply);
    }
    if (!reply.is_array(2)) {
        return make_error(ErrorCode::kNotFound, "sentinel {} knows no master '{}'",
                          host.to_string(), log::escaped(url_.master));
    }
    const std::optional<uint64_t> port = parse_uint(reply.elements[1].text, 1, UINT16_MAX);
    const std::string& name = reply.elements[0].text;
    if (!port || name.empty() || name.size() > 253) {
        return make_error(ErrorCode::kMalformed, "sentinel {} names no address of the master",
                          host.to_string());
    }
    return redis::Host{name, static_cast<uint16_t>(*port)};
}

Result<std::unique_ptr<RedisLink>> RedisDialer::dial() {
    const io::Deadline deadline = io::Deadline::after(kRedisConnect);
    if (url_.kind == redis::Kind::kSentinel) {
        WEIR_TRY_ASSIGN(const redis::Host master, ask_sentinels(deadline));
        return dial_to(master, deadline);
    }
    if (!home_.name.empty()) {
        const redis::Host home = std::exchange(home_, redis::Host{});
        Result<std::unique_ptr<RedisLink>> link = dial_to(home, deadline);
        if (link.ok()) {
            home_ = home;
        }
        return link;  // else, from the next try on, the hosts of the configuration
    }
    const redis::Host& host = url_.hosts[next_++ % url_.hosts.size()];
    return log_in(connect(host, true, deadline), host, deadline);
}

}  // namespace weir::net
