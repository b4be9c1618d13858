#include "net/client_table.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "net/client_probe.h"

namespace weir::net {

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
