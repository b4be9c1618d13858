// AddressRates: a token bucket for each address, in a table of bounded size. For requests of the
// API, and for wrong passwords.
//
// When the table is full, the address that was seen longest ago makes room and begins anew when it
// comes back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>

#include "base/clock.h"
#include "base/net_address.h"

namespace weir::net {

struct BucketOptions {
    double per_second = 1;
    double burst = 1;  // at least 1
};

class AddressRates {
  public:
    static constexpr size_t kMaxAddresses = 4096;

    // How long until one can be had; 0: now. Takes nothing.
    Millis wait_for(const NetAddress& address, const BucketOptions& options, MonoTime now) const;

    // How many can be had now. Takes nothing.
    double left(const NetAddress& address, const BucketOptions& options, MonoTime now) const;

    // Takes one when there is one, else gives how long until there will be.
    Millis take(const NetAddress& address, const BucketOptions& options, MonoTime now);

    size_t size() const { return by_address_.size(); }

  private:
    struct Bucket {
        NetAddress address;
        double level;  // what is left
        MonoTime at;
    };

    using Buckets = std::list<Bucket>;  // the latest first

    static double level_of(const Bucket& bucket, const BucketOptions& options, MonoTime now);
    static Millis until_one(double level, const BucketOptions& options);

    Buckets buckets_;
    std::unordered_map<NetAddress, Buckets::iterator> by_address_;
};

}  // namespace weir::net
