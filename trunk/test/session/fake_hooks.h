// Hook servers that a test speaks for.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/signal.h"
#include "io/tcp.h"
#include "net/client.h"
#include "net/hooks.h"

namespace weir::session {

using Told = std::vector<std::string>;

// Writes down what happens; an answer is given when a test lets it.
class FakeHooks final : public net::Hooks {
  public:
    bool wants(net::HookAction, const stream::StreamKey&) const override { return true; }

    Result<net::HookTicket> ask(const net::Client&,
                                const net::HookRequestView& what,
                                io::TcpStream* peer) override {
        asked.push_back(fmt::format("{} {}/{} {}", net::to_string(what.action), what.app,
                                    what.stream, what.param));
        tc_urls.emplace_back(what.tc_url);
        const std::string name(net::to_string(what.action));
        while (held.contains(what.action)) {
            if (Error ended = changed_.wait_until(io::Deadline::after(Millis(5)));
                ended.code() == ErrorCode::kInterrupted) {
                return ended;
            }
            if (peer != nullptr && peer->hangup()) {
                return make_error(ErrorCode::kClosed, "the client hung up");
            }
        }
        if (refused.contains(what.action)) {
            return make_error(refused[what.action], "no {} today", name);
        }
        told.push_back("+" + name);
        return net::HookTicket(std::make_unique<Record>(*this, name));
    }

    std::string connect_scope(const stream::StreamKey& key) const override {
        return key.app.starts_with("live") ? "" : key.app;
    }

    Told asked;
    Told tc_urls;  // of each
    Told told;     // "+on_play" allowed, "-on_play why" ended
    std::map<net::HookAction, ErrorCode> refused;
    std::map<net::HookAction, bool> held;

  private:
    class Record final : public net::HookTicket::Record {
      public:
        Record(FakeHooks& hooks, std::string name) : hooks_(hooks), name_(std::move(name)) {}

        ~Record() override {
            if (!ended_) {
                hooks_.told.push_back("-" + name_ + " without a word");
            }
        }

        void end(const net::Client&, net::EndClass why, std::string_view) override {
            ended_ = true;
            hooks_.told.push_back(fmt::format("-{} {}", name_, net::to_string(why)));
        }

      private:
        FakeHooks& hooks_;
        std::string name_;
        bool ended_ = false;
    };

    io::Signal changed_;
};

}  // namespace weir::session
