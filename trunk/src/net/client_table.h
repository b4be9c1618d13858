// ClientTable: everybody who is connected, for the API, /metrics and the summary line at the end.
//
// A session owns its Client; the table only lists it. Counters are plain members that the owner
// advances.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/object_count.h"
#include "base/rate_history.h"
#include "net/cluster/claims.h"
#include "net/end_class.h"
#include "net/hooks.h"
#include "net/limits.h"
#include "net/link_facts.h"
#include "stream/stream.h"

namespace weir::io {
class TcpStream;
}

namespace weir::net {

enum class ClientRole : uint8_t { kConnecting, kPublisher, kPlayer };

inline constexpr size_t kClientRoles = 3;

std::string_view to_string(ClientRole role);

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

// Whoever has a client's connection, and knows more of it than its counters say. Never yields.
class ClientProbe {
  public:
    virtual std::optional<LinkFacts> link_facts() const { return std::nullopt; }

    virtual std::optional<SrtFacts> srt_facts() const { return std::nullopt; }

    // Of players. Cheap: asked once a second for each.
    virtual std::optional<LagFacts> lag_facts() const { return std::nullopt; }

    // Its TCP connection, null where there is none (any more).
    virtual const io::TcpStream* tcp() const { return nullptr; }

  protected:
    ~ClientProbe() = default;
};

// The rates of a client or a stream over kRateWindows, in bits per second.
using BitRates = std::array<uint64_t, kRateWindows.size()>;

// How far players are behind, a look at each of them a second: cumulative, as Prometheus'
// histograms are, so that any span of time can be asked for.
struct LagHistogram {
    static constexpr std::array<int64_t, 10> kBoundsMs{50,    100,   200,    500,    1'000,
                                                       2'000, 5'000, 10'000, 30'000, 60'000};

    void add(int64_t lag_ms);

    std::array<uint64_t, kBoundsMs.size() + 1> counts{};  // the last: beyond all bounds
    uint64_t sum_ms = 0;
};

class ClientTable;

class Client : private Counted<Client> {
  public:
    static constexpr ObjectName kObjectName{"client", "fan_out"};

    // `transport`: a literal, "rtmp", "flv", "ws-flv". The id is made here: its letter, then 7
    // random characters.
    Client(ClientTable& table, const char* transport, std::string ip);
    ~Client();

    // Gives a place that was taken from the budget back when this client is gone.
    void hold(ConnectionBudget& budget) { budget_ = &budget; }

    // Places that it has as long as it lives, or plays.
    void hold(Limits::AddressPlace place) { address_place_ = std::move(place); }

    void hold(Limits::PlayerPlace place) { player_place_ = std::move(place); }

    void hold(Claims::Place place) { claim_ = std::make_unique<Claims::Place>(std::move(place)); }

    void stop_playing() { player_place_.release(); }

    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    std::string_view id() const { return id_; }

    const std::string& ip() const { return ip_; }

    // Once the header of a proxy has said who it is.
    void set_ip(std::string ip) { ip_ = std::move(ip); }

    const char* transport() const { return transport_; }

    MonoTime since() const { return since_; }

    ClientRole role = ClientRole::kConnecting;
    stream::StreamKey key;  // empty until it publishes or plays
    std::string tc_url;     // RTMP only
    std::string page_url;
    std::string node;  // of another node of the cluster: its name
    uint64_t sent_bytes = 0;
    uint64_t received_bytes = 0;
    bool encrypted = false;       // with this server: TLS, WebRTC
    uint32_t turns = 0;           // how often it began to publish or play
    uint64_t resyncs = 0;         // moves of a slow player to a newer key frame
    uint64_t dropped_bytes = 0;   // what it missed by that
    uint64_t dropped_frames = 0;  // the same in frames
    uint32_t write_stalls = 0;    // how often its socket was full, and it had to wait
    int32_t first_frame_ms = -1;  // of a player, from its request to its first frame; -1: none yet

    // Of whoever has more to say; null: nobody. Good as long as it is set.
    const ClientProbe* probe = nullptr;

    // Ends the session soon; set by whoever owns the connection at the moment.
    std::function<void()> kick;

    BitRates send_rates(MonoTime now) const;
    BitRates receive_rates(MonoTime now) const;

    // When a byte went or came last, to about a second.
    MonoTime active_at() const { return active_at_; }

    // Of what hook servers allowed: the connection, and what it publishes or plays (an RTMP
    // publisher keeps one with each stream instead).
    HookTicket connected_ticket;
    HookTicket turn_ticket;

    // Ends both tickets; the first call counts.
    void tell_end(EndClass why, std::string_view detail);

    // The one place that every client which published or played passes when it leaves, once: the
    // summary line (role, stream, duration, bytes, rate, reason), the counter, the hook servers.
    void log_summary(EndClass why, std::string_view detail);

    // The same without the line, for who can come and fail at will: whoever says why throttles it.
    void end_quietly(EndClass why, std::string_view detail) {
        tell_end(why, detail);
        count_end(why);
    }

    // The counter alone, for who left before it did either.
    void count_end(EndClass why) const;

  private:
    friend class ClientTable;
    friend class ClientWalk;

    ClientTable& table_;
    ConnectionBudget* budget_ = nullptr;
    Limits::AddressPlace address_place_;
    Limits::PlayerPlace player_place_;
    std::unique_ptr<Claims::Place> claim_;  // few have one
    const char* transport_;
    char id_[9];
    std::string ip_;
    MonoTime since_;
    MonoTime active_at_;
    uint64_t sampled_bytes_ = 0;  // both directions
    RateHistory sent_;
    RateHistory received_;
    Client* previous_ = nullptr;
    Client* next_ = nullptr;
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
