// ClientTable: everybody who is connected, for the API, /metrics and the summary line at the end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "base/rate_history.h"
#include "net/client.h"
#include "net/end_class.h"

namespace weir::net {

// The limit on connections of all listeners together.
class ConnectionBudget {
  public:
    explicit ConnectionBudget(size_t limit) : limit_(limit) {}

    // False when the limit is reached; counted in refused().
    bool take();

    void give_back() { used_--; }

    // Who is in stays in, even when they are more now.
    void set_limit(size_t limit) { limit_ = limit; }

    size_t used() const { return used_; }

    size_t limit() const { return limit_; }

    uint64_t refused() const { return refused_; }

  private:
    size_t limit_;
    size_t used_ = 0;
    uint64_t refused_ = 0;
};

// How far players are behind, a look at each of them a second: cumulative, as Prometheus'
// histograms are, so that any span of time can be asked for.
struct LagHistogram {
    static constexpr std::array<int64_t, 10> kBoundsMs{50,    100,   200,    500,    1'000,
                                                       2'000, 5'000, 10'000, 30'000, 60'000};

    void add(int64_t lag_ms);

    std::array<uint64_t, kBoundsMs.size() + 1> counts{};  // the last: beyond all bounds
    uint64_t sum_ms = 0;
};

// Goes over all clients in order of arrival and may yield in between: clients that come are met,
// those that go are not.
class ClientWalk {
  public:
    explicit ClientWalk(ClientTable& table);
    ~ClientWalk();
    ClientWalk(const ClientWalk&) = delete;
    ClientWalk& operator=(const ClientWalk&) = delete;

    // nullptr: that was the last. Good until the next yield.
    Client* next();

  private:
    friend class ClientTable;
    ClientTable& table_;
    Client* at_;
    ClientWalk* other_;  // walks of the table, newest first
};

class ClientTable {
  public:
    ClientTable() = default;
    ~ClientTable();  // checks that it is empty
    ClientTable(const ClientTable&) = delete;
    ClientTable& operator=(const ClientTable&) = delete;

    size_t size() const { return size_; }

    uint64_t total() const { return total_; }

    // Clients that left, since the start.
    uint64_t ended(ClientRole role, EndClass why) const {
        return ended_[static_cast<size_t>(role)][static_cast<size_t>(why)];
    }

    Client* find(std::string_view id) const;

    // In order of arrival. `visit` must not add or remove clients.
    template <typename Visit>
    void for_each(Visit&& visit) const {
        for (Client* client = first_; client; client = client->next_) {
            visit(*client);
        }
    }

    // Once a second: samples the counters of everybody for their rates, and how far players are
    // behind. begin_sample(), then take_sample() for each client; sample() is both.
    void begin_sample(MonoTime now) { clock_.tick(now); }

    void take_sample(Client& client, MonoTime now);
    void sample(MonoTime now);

    const RateClock& clock() const { return clock_; }

    const LagHistogram& lags() const { return lags_; }

  private:
    friend class Client;
    friend class ClientWalk;
    void add(Client& client);
    void remove(Client& client);

    Client* first_ = nullptr;
    Client* last_ = nullptr;
    size_t size_ = 0;
    uint64_t total_ = 0;
    RateClock clock_;
    LagHistogram lags_;
    ClientWalk* walks_ = nullptr;
    std::array<std::array<uint64_t, kEndClasses>, kClientRoles> ended_{};
};

}  // namespace weir::net
