// Client: somebody who is connected, owned by their session; ClientTable lists them. Counters are
// plain members that the owner advances.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/object_count.h"
#include "base/rate_history.h"
#include "net/end_class.h"
#include "net/hook_ticket.h"
#include "net/places.h"
#include "stream/stream_key.h"

namespace weir::net {

class ClaimPlace;
class ClientProbe;
class ClientTable;
class ConnectionBudget;

enum class ClientRole : uint8_t { kConnecting, kPublisher, kPlayer };

inline constexpr size_t kClientRoles = 3;

std::string_view to_string(ClientRole role);

// The rates of a client or a stream over kRateWindows, in bits per second.
using BitRates = std::array<uint64_t, kRateWindows.size()>;

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
    void hold(AddressPlace place) { address_place_ = std::move(place); }

    void hold(PlayerPlace place) { player_place_ = std::move(place); }

    void hold(ClaimPlace place);

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

    // The source of further facts about this client, or null. Valid while it is set.
    const ClientProbe* probe = nullptr;

    // Ends the session soon. The present owner of the connection sets it.
    std::function<void()> kick;

    BitRates send_rates(MonoTime now) const;
    BitRates receive_rates(MonoTime now) const;

    // When a byte went or came last, to about a second.
    MonoTime active_at() const { return active_at_; }

    // The permissions of hook servers: for the connection, and for the stream that it publishes or
    // plays (an RTMP publisher keeps one with each stream instead).
    HookTicket connected_ticket;
    HookTicket turn_ticket;

    // Ends both tickets; the first call counts.
    void tell_end(EndClass why, std::string_view detail);

    // The one place that every client which published or played passes when it leaves, once: the
    // summary line (role, stream, duration, bytes, rate, reason), the counter, the hook servers.
    void log_summary(EndClass why, std::string_view detail);

    // The same without the line, for peers that can connect and fail at will. The caller throttles
    // its own line.
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
    AddressPlace address_place_;
    PlayerPlace player_place_;
    std::unique_ptr<ClaimPlace> claim_;  // few have one
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

}  // namespace weir::net
