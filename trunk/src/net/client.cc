#include "net/client.h"

#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "base/log.h"
#include "base/plant.h"
#include "base/random.h"
#include "net/client_table.h"
#include "net/cluster/claims.h"

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

void Client::hold(ClaimPlace place) {
    claim_ = std::make_unique<ClaimPlace>(std::move(place));
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

}  // namespace weir::net
