#include "base/address_reach.h"

#include <algorithm>
#include <array>

namespace weir {
namespace {

constexpr std::array<uint8_t, 12> kTranslated{0x00, 0x64, 0xff, 0x9b};

AddressReach reach_of_v4(const NetAddress::V4& ip) {
    if (ip[0] == 0 || ip[0] >= 224) {
        return AddressReach::kNone;
    }
    const bool site = ip[0] == 10 || (ip[0] == 172 && (ip[1] & 0xF0U) == 16) ||
                      (ip[0] == 192 && ip[1] == 168) || (ip[0] == 100 && (ip[1] & 0xC0U) == 64);
    return site ? AddressReach::kSite : AddressReach::kPublic;
}

}  // namespace

AddressReach reach_of(const NetAddress& address) {
    if (address.is_loopback()) {
        return AddressReach::kHost;
    }
    if (address.is_link_local()) {
        return AddressReach::kLink;
    }
    if (address.is_v4()) {
        return reach_of_v4(address.v4());
    }
    const NetAddress::V6& ip = address.v6();
    if (address.is_any() || ip[0] == 0xFF) {
        return AddressReach::kNone;
    }
    if (std::equal(kTranslated.begin(), kTranslated.end(), ip.begin())) {
        return reach_of(NetAddress::from_v4({ip[12], ip[13], ip[14], ip[15]}, 0));
    }
    return (ip[0] & 0xFEU) == 0xFC ? AddressReach::kSite : AddressReach::kPublic;
}

}  // namespace weir
