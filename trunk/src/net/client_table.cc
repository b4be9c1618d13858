#include "net/client_table.h"

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
    : table_(table), transport_(transport), ip_(std::move(ip)), since_(MonoClock::now()) {
    const std::string random = random_id(system_random(), 7);
    id_[0] = transport[0];
    std::memcpy(id_ + 1, random.c_str(), 8);
    table_.add(*this);
    WEIR_PLANT("leak-block", lose_a_block_per_connection());
}

Client::~Client() {
    table_.remove(*this);
    if (budget_) {
        budget_->give_back();
    }
}

void Client::log_summary(std::string_view reason) const {
    const double seconds = static_cast<double>((MonoClock::now() - since_).count()) / 1e6;
    const uint64_t bytes = role == ClientRole::kPublisher ? received_bytes : sent_bytes;
    const double kbps = seconds > 0 ? static_cast<double>(bytes) * 8 / 1000 / seconds : 0;
    log::info_as(id(),
                 "closed role={} transport={} ip={} stream={} duration={:.1f}s bytes={} "
                 "kbps={:.0f} resyncs={} reason=\"{}\"",
                 to_string(role), transport_, ip_,
                 key.name.empty() ? "-" : log::escaped(key.to_string()), seconds, bytes, kbps,
                 resyncs, log::escaped(reason));
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

void ClientTable::sample(MonoTime now) {
    const auto elapsed_us = (now - sampled_at_).count();
    sampled_at_ = now;
    if (elapsed_us <= 0) {
        return;
    }
    const auto rate = [&](uint64_t bytes) {
        return bytes * 8 * 1'000'000 / static_cast<uint64_t>(elapsed_us);
    };
    for (Client* client = first_; client; client = client->next_) {
        client->send_bps_ = rate(client->sent_bytes - client->sampled_sent_);
        client->receive_bps_ = rate(client->received_bytes - client->sampled_received_);
        client->sampled_sent_ = client->sent_bytes;
        client->sampled_received_ = client->received_bytes;
    }
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
