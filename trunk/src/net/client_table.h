// ClientTable: everybody who is connected, for the API, /metrics and the summary line at the end.
//
// A session owns its Client; the table only lists it. Counters are plain members that the owner
// advances.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/object_count.h"
#include "stream/stream.h"

namespace weir::net {

enum class ClientRole : uint8_t { kConnecting, kPublisher, kPlayer };

std::string_view to_string(ClientRole role);

// The limit on connections of all listeners together.
class ConnectionBudget {
  public:
    explicit ConnectionBudget(size_t limit) : limit_(limit) {}

    // False when the limit is reached; counted in refused().
    bool take();

    void give_back() { used_--; }

    size_t used() const { return used_; }

    size_t limit() const { return limit_; }

    uint64_t refused() const { return refused_; }

  private:
    size_t limit_;
    size_t used_ = 0;
    uint64_t refused_ = 0;
};

// What a protocol knows of the way to its peer, at the moment of the question; for the API.
struct LinkFacts {
    std::string state;      // "connecting", "connected"
    std::string transport;  // "udp", "tcp"
    std::string remote;     // the peer's address; empty while there is none
    std::string local;      // ours, where that is known
    std::optional<Micros> rtt;
    double loss = 0;       // share, 0 to 1: of a player's last report, of a publisher since it came
    uint64_t packets = 0;  // to a player, from a publisher
    uint64_t retransmitted = 0;  // packets
    uint64_t lost = 0;           // that never came, or were asked for when they were gone
    uint64_t skipped = 0;        // bursts left out for a slow player, frames dropped of a publisher
    uint64_t key_requests = 0;   // by a player, to a publisher
    std::optional<int64_t> estimate_bps;
    std::string layer;  // of simulcast, that a player gets; empty: there is no choice
};

class LinkProbe {
  public:
    virtual LinkFacts link_facts() const = 0;

  protected:
    ~LinkProbe() = default;
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

    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    std::string_view id() const { return id_; }

    const std::string& ip() const { return ip_; }

    const char* transport() const { return transport_; }

    MonoTime since() const { return since_; }

    ClientRole role = ClientRole::kConnecting;
    stream::StreamKey key;  // empty until it publishes or plays
    std::string tc_url;     // RTMP only
    std::string page_url;
    uint64_t sent_bytes = 0;
    uint64_t received_bytes = 0;
    uint32_t turns = 0;          // how often it began to publish or play
    uint64_t resyncs = 0;        // moves of a slow player to a newer key frame
    uint64_t dropped_bytes = 0;  // what it missed by that

    // Of whoever has more to say; null: nobody. Lives as long as the client.
    const LinkProbe* probe = nullptr;

    // Ends the session soon; set by whoever owns the connection at the moment.
    std::function<void()> kick;

    // Bits per second over the last whole sampling period of the table.
    uint64_t send_bps() const { return send_bps_; }

    uint64_t receive_bps() const { return receive_bps_; }

    // The one line when a client leaves: role, stream, duration, bytes, rate, reason.
    void log_summary(std::string_view reason) const;

  private:
    friend class ClientTable;

    ClientTable& table_;
    ConnectionBudget* budget_ = nullptr;
    const char* transport_;
    char id_[9];
    std::string ip_;
    MonoTime since_;
    uint64_t sampled_sent_ = 0;
    uint64_t sampled_received_ = 0;
    uint64_t send_bps_ = 0;
    uint64_t receive_bps_ = 0;
    Client* previous_ = nullptr;
    Client* next_ = nullptr;
};

class ClientTable {
  public:
    ClientTable() = default;
    ~ClientTable();  // checks that it is empty
    ClientTable(const ClientTable&) = delete;
    ClientTable& operator=(const ClientTable&) = delete;

    size_t size() const { return size_; }

    uint64_t total() const { return total_; }

    Client* find(std::string_view id) const;

    // In order of arrival. `visit` must not add or remove clients.
    template <typename Visit>
    void for_each(Visit&& visit) const {
        for (Client* client = first_; client; client = client->next_) {
            visit(*client);
        }
    }

    // Computes the rates of everybody over the time since the last call.
    void sample(MonoTime now);

  private:
    friend class Client;
    void add(Client& client);
    void remove(Client& client);

    Client* first_ = nullptr;
    Client* last_ = nullptr;
    size_t size_ = 0;
    uint64_t total_ = 0;
    MonoTime sampled_at_{};
};

}  // namespace weir::net
