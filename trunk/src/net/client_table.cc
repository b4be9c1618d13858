#include "net/client_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "base/log.h"
#include "base/plant.h"
#include "base/random.h"

namespace weir::net {

#if WEIR_PLANTS
// A block per connection that nobody remembers: what a forgotten `delete` comes to.
[[gnu::noinline]] static void lose_a_block_per_connection() {
    constexpr size_t kLost = 1000;
    auto block = std::make_unique<std::array<char, kLost>>();
    block->fill('x');
    asm volatile("" : : "r"(block.release()) : "memory");
}
#endif

std::string_view to_string(ClientRole role) {
    switch (role) {
        case ClientRole::kConnecting: return "connecting";
        case ClientRole::kPublisher: return "publisher";
        case ClientRole::kPlayer: return "player";
    }
    return "connecting";
}

Client::Client(ClientTable& table, const char* transport, std::string ip)
    : table_(table),
      transport_(transport),
      ip_(std::move(ip)),
      since_(MonoClock::now()),
      active_at_(since_) {
    const std::string random = random_id(system_random(), 7);
    id_[0] = transport[0];
    std::memcpy(id_ + 1, random.c_str(), 8);
    table_.add(*this);
    WEIR_PLANT("leak-block", lose_a_block_per_connection());
}

Client::~Client() {
    tell_end(EndClass::kRefused, "ended before it began");
    table_.remove(*this);
    if (budget_) {
        budget_->give_back();
    }
}

void Client::tell_end(EndClass why, std::string_view detail) {
    turn_ticket.end(*this, why, detail);
    connected_ticket.end(*this, why, detail);
}

void Client::log_summary(EndClass why, std::string_view detail) {
    tell_end(why, detail);
    const double seconds = static_cast<double>((MonoClock::now() - since_).count()) / 1e6;
    const uint64_t bytes = role == ClientRole::kPublisher ? received_bytes : sent_bytes;
    const double kbps = seconds > 0 ? static_cast<double>(bytes) * 8 / 1000 / seconds : 0;
    log::info_as(id(),
                 "closed role={} transport={} ip={} stream={} duration={:.1f}s bytes={} "
                 "kbps={:.0f} resyncs={} reason={} detail=\"{}\"",
                 to_string(role), transport_, ip_,
                 key.name.empty() ? "-" : log::token(key.to_string()), seconds, bytes, kbps,
                 resyncs, to_string(why), log::escaped(detail));
    count_end(why);
}

void Client::count_end(EndClass why) const {
    table_.ended_[static_cast<size_t>(role)][static_cast<size_t>(why)]++;
}

ClientTable::~ClientTable() {
    WEIR_CHECK(size_ == 0);
}

void ClientTable::add(Client& client) {
    client.previous_ = last_;
    (last_ ? last_->next_ : first_) = &client;
    last_ = &client;
    size_++;
    total_++;
}

void ClientTable::remove(Client& client) {
    for (ClientWalk* walk = walks_; walk; walk = walk->other_) {
        if (walk->at_ == &client) {
            walk->at_ = client.next_;
        }
    }
    (client.previous_ ? client.previous_->next_ : first_) = client.next_;
    (client.next_ ? client.next_->previous_ : last_) = client.previous_;
    size_--;
}

Client* ClientTable::find(std::string_view id) const {
    for (Client* client = first_; client; client = client->next_) {
        if (client->id() == id) {
            return client;
        }
    }
    return nullptr;
}

void LagHistogram::add(int64_t lag_ms) {
    const auto bound = std::ranges::lower_bound(kBoundsMs, lag_ms);
    counts[static_cast<size_t>(bound - kBoundsMs.begin())]++;
    sum_ms += static_cast<uint64_t>(std::max<int64_t>(lag_ms, 0));
}

static BitRates rates_of(const RateHistory& history,
                         const RateClock& clock,
                         MonoTime now,
                         MonoTime since,
                         uint64_t bytes) {
    BitRates rates{};
    for (size_t i = 0; i < rates.size(); i++) {
        rates[i] = static_cast<uint64_t>(
            8 * history.per_second(clock, now, since, bytes, kRateWindows[i]));
    }
    return rates;
}

BitRates Client::send_rates(MonoTime now) const {
    return rates_of(sent_, table_.clock_, now, since_, sent_bytes);
}

BitRates Client::receive_rates(MonoTime now) const {
    return rates_of(received_, table_.clock_, now, since_, received_bytes);
}

void ClientTable::take_sample(Client& client, MonoTime now) {
    client.sent_.sample(clock_, client.sent_bytes);
    client.received_.sample(clock_, client.received_bytes);
    const uint64_t bytes = client.sent_bytes + client.received_bytes;
    if (bytes != client.sampled_bytes_) {
        client.sampled_bytes_ = bytes;
        client.active_at_ = now;
    }
    if (client.role == ClientRole::kPlayer && client.probe != nullptr) {
        if (const std::optional<LagFacts> lag = client.probe->lag_facts()) {
            lags_.add(lag->lag_ms);
        }
    }
}

void ClientTable::sample(MonoTime now) {
    begin_sample(now);
    for (Client* client = first_; client; client = client->next_) {
        take_sample(*client, now);
    }
}

ClientWalk::ClientWalk(ClientTable& table)
    : table_(table), at_(table.first_), other_(table.walks_) {
    table.walks_ = this;
}

ClientWalk::~ClientWalk() {
    ClientWalk** place = &table_.walks_;
    while (*place != this) {
        place = &(*place)->other_;
    }
    *place = other_;
}

Client* ClientWalk::next() {
    Client* client = at_;
    at_ = client ? client->next_ : nullptr;
    return client;
}

bool ConnectionBudget::take() {
    if (used_ >= limit_) {
        refused_++;
        return false;
    }
    used_++;
    return true;
}

}  // namespace weir::net
