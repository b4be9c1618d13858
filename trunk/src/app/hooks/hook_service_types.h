// Private to HookService: what it keeps of a client, of what it was allowed, and of an event.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "app/hooks/hook_service.h"
#include "base/object_count.h"
#include "net/client_table.h"

namespace weir::app {

inline constexpr size_t kEventIdLength = 20;

// Knows its client, so that all that it asks goes the same way.
class HookService::Line final : public HookLine {
  public:
    Line(HookService& service, std::string client_id)
        : service_(service), client_id_(std::move(client_id)) {
        service_.lines_[client_id_] = this;
    }

    ~Line() override { service_.lines_.erase(client_id_); }

  private:
    HookService& service_;
    std::string client_id_;
};

// What held when an event happened.
struct HookService::Targets : public RefCounted<Targets> {
    Targets(const config::HttpHooksConfig& c, std::string s) : config(c), secret(std::move(s)) {
        for (size_t i = 0; i < net::kHookActions; i++) {
            for (const http::Url& url : config.urls[i]) {
                lanes[i] += url.origin() + " ";
            }
        }
    }

    const std::string& lane_of(net::HookAction action) const {
        return lanes[static_cast<size_t>(action)];
    }

    config::HttpHooksConfig config;
    std::string secret;                                // as it was read
    std::array<std::string, net::kHookActions> lanes;  // servers that are waited for together
};

// What will be told at the end of something that was allowed.
class HookService::Record final : public net::HookTicket::Record, private Counted<Record> {
  public:
    static constexpr ObjectName kObjectName{"hook_record", "hooks"};

    Record(HookService& service, Ref<HookLine> line, HookFacts facts)
        : service_(service),
          line_(std::move(line)),
          facts_(std::make_unique<HookFacts>(std::move(facts))) {}

    ~Record() override { finish(nullptr, net::EndClass::kError, "the connection ended"); }

    // It was allowed: from now on its end is told.
    void arm(const net::Client* client) {
        since_ = MonoClock::now();
        armed_ = true;
        if (client != nullptr) {
            sent_before_ = client->sent_bytes;
            received_before_ = client->received_bytes;
        }
    }

    void end(const net::Client& client, net::EndClass why, std::string_view detail) override {
        finish(&client, why, detail);
    }

    // Of somebody who had left before.
    void end_unseen(std::string_view detail) {
        arm(nullptr);
        finish(nullptr, net::EndClass::kPeerClosed, detail);
    }

    const HookFacts& facts() const { return *facts_; }

  private:
    void finish(const net::Client* client, net::EndClass why, std::string_view detail) {
        if (!std::exchange(armed_, false)) {
            return;
        }
        HookEnd end;
        end.duration = std::chrono::duration_cast<Millis>(MonoClock::now() - since_);
        end.why = why;
        end.detail = detail.substr(0, kMaxHookText);
        if (client != nullptr) {
            end.send_bytes = client->sent_bytes - sent_before_;
            end.recv_bytes = client->received_bytes - received_before_;
        }
        service_.tell(std::move(line_), std::move(facts_), std::move(end));
    }

    HookService& service_;
    Ref<HookLine> line_;
    std::unique_ptr<HookFacts> facts_;
    MonoTime since_{};
    uint64_t sent_before_ = 0;
    uint64_t received_before_ = 0;
    bool armed_ = false;
};

// What a waiting client and the request for it share: either may be gone first.
struct HookService::Question : public RefCounted<Question> {
    std::unique_ptr<Record> record;  // until the waiter has taken it
    Task* task = nullptr;            // null once it is answered or cancelled
    io::Signal* waiter = nullptr;    // null: nobody waits any more
    HookAnswer answer;
};

struct HookService::Task final : public HookTask, private Counted<Task> {
    // An event that is being told to hook servers.
    static constexpr ObjectName kObjectName{"hook_task", "hooks"};

    net::HookAction action{};
    Ref<Targets> targets;
    std::string event_id;
    int64_t time_ms = 0;
    size_t url = 0;                    // the next one of a notification
    Ref<Question> question;            // or
    std::unique_ptr<HookFacts> facts;  // of a notification
    HookEnd end;
    MonoTime deadline{};  // of a question
    size_t bytes = 0;     // that count against kMaxToldBytes
};

}  // namespace weir::app
