// The providers and PBXs where this server is registered as a user (`register`), and the domains
// where its lines are: their names are resolved in coroutines of this, the requests go by the
// server, in its clock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/object_count.h"
#include "io/coroutine.h"
#include "io/resolver.h"
#include "proto/sip/registration.h"
#include "session/sip/sip_dialing.h"

namespace weir::io {
class Deadline;
}

namespace weir::session {

// For the API.
struct SipTrunkFacts {
    std::string id;      // "user@domain"
    std::string state;   // "resolving", "trying", "registered", "failed", "ending"
    std::string server;  // that is used, or tried
    int status = 0;      // of the last answer; 408, 503: there was none
    std::string error;   // why there is no address
    std::optional<Millis> expires_in;
    uint64_t attempts = 0;  // requests
    uint64_t failures = 0;  // of them
};

class SipTrunk final : private Counted<SipTrunk> {
  public:
    // A provider where this server is a user, or a domain.
    static constexpr ObjectName kObjectName{"sip_trunk", "sip"};
    static constexpr size_t kMaxServers = 8;
    static constexpr Seconds kResolveTime{10};
    static constexpr Seconds kResolvePause{30};  // after no name had an address

    SipTrunk(uint64_t number, SipTrunkOptions options);
    SipTrunk(const SipTrunk&) = delete;
    SipTrunk& operator=(const SipTrunk&) = delete;

    const SipTrunkOptions& options() const { return options_; }

    std::string name() const { return options_.user + "@" + options_.domain; }

    std::string aor() const { return "sip:" + name(); }

    std::string uri_of(std::string_view number) const;

    http::UserInfo login() const {
        return {options_.login.empty() ? options_.user : options_.login, options_.password};
    }

    bool is_registered() const;

    // It is not registered, and the last attempt has come to nothing. It is tried again.
    bool has_failed() const;

    // Of the last answer, as in the facts; 0: none yet.
    int status() const { return registration_ ? registration_->last_status() : 0; }

    // Why there is no address; empty: there is one.
    const std::string& error() const { return error_; }

    // The way to the server that it is registered at; none: it is not.
    std::optional<sip::Flow> flow(SipWires& wires) const;

    // Whether a request that came on this flow is of one of its servers.
    bool comes_by(const sip::Flow& flow) const;

    SipTrunkFacts facts(MonoTime now) const;

  private:
    friend class SipTrunks;

    struct Server {
        SipHop hop;
        NetAddress address;

        bool operator==(const Server& other) const { return address == other.address; }
    };

    uint64_t number_;
    SipTrunkOptions options_;
    std::vector<Server> servers_;  // in the order of the registration's flows
    std::unique_ptr<sip::Registration> registration_;
    std::string error_;
    bool resolving_ = false;
    bool ending_ = false;
    bool was_registered_ = false;
    bool had_failed_ = false;
    MonoTime resolve_at_{};
    uint64_t attempts_ = 0;
    uint64_t failures_ = 0;
};

class SipTrunksOwner {
  public:
    // False: it cannot be sent now. Never yields.
    virtual bool send_request(sip::Request request, const sip::Flow& flow, uint64_t user) = 0;

    // Something is to be done soon.
    virtual void on_trunk_change() = 0;

  protected:
    ~SipTrunksOwner() = default;
};

class SipTrunks {
  public:
    // All must outlive this. `first`: the number before the first one by which the owner's requests
    // are known.
    SipTrunks(SipTrunksOwner& owner, SipWires& wires, io::Resolver& resolver, uint64_t first = 0)
        : owner_(owner), wires_(wires), resolver_(resolver), last_number_(first) {}

    // Those that are new begin, those that are not there any more are ended at their servers.
    void configure(const std::vector<SipTrunkOptions>& wanted);

    // One more; its number, for those that are not configured.
    uint64_t add(SipTrunkOptions options);
    // It is ended at its server; find() knows it until that has answered, or has not in its time.
    void end(uint64_t number);
    // At once.
    void forget(uint64_t number);

    // Never yields. Whatever is due.
    void work(MonoTime now);
    std::optional<MonoTime> next_timeout() const;

    void on_response(MonoTime now, uint64_t user, const sip::Response& response);
    void on_failed(MonoTime now, uint64_t user, int status);

    // Yields. Logs out everywhere, for a moment; nothing of it is left.
    void stop(io::Deadline deadline);

    const SipTrunk* find(uint64_t number) const { return find_one(number); }

    const SipTrunk* find(std::string_view name) const;
    const SipTrunk* find_domain(std::string_view host) const;
    const SipTrunk* find_source(const sip::Flow& flow) const;

    size_t size() const { return all_.size(); }

    size_t registered() const;

    // visit(const SipTrunk&) for each; must not yield.
    template <typename Visit>
    void for_each(Visit&& visit) const {
        for (const auto& trunk : all_) {
            visit(*trunk);
        }
    }

  private:
    SipTrunk* find_one(uint64_t number) const;
    static void end(SipTrunk& trunk, MonoTime now);
    void begin_to_resolve(SipTrunk& trunk);
    void resolve(uint64_t number);
    void begin(SipTrunk& trunk, std::vector<SipTrunk::Server> servers);
    void pump(MonoTime now, SipTrunk& trunk);
    void note(SipTrunk& trunk);

    SipTrunksOwner& owner_;
    SipWires& wires_;
    io::Resolver& resolver_;
    uint64_t last_number_;
    std::vector<std::unique_ptr<SipTrunk>> all_;  // by number
    io::TaskGroup tasks_;
    bool stopping_ = false;
};

}  // namespace weir::session
