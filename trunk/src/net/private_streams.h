// Streams that are for one client alone, such as the two of a call by a browser: whoever shows
// their key publishes and plays them, whatever the rules of the vhost say, and nobody else does.
// Lists for everybody leave them out; the API, which is the operator's, shows them without the key.
//
// Never yields. Bounded by who may add: one entry for each name.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hmac.h"
#include "net/places.h"
#include "stream/stream_key.h"

namespace weir::net {

class PrivateStreams {
  public:
    // A name is private as long as this is there.
    class Place {
      public:
        Place() = default;

        Place(Place&& other) noexcept
            : all_(std::exchange(other.all_, nullptr)), key_(std::move(other.key_)) {}

        Place& operator=(Place&& other) noexcept {
            std::swap(all_, other.all_);
            std::swap(key_, other.key_);
            return *this;
        }

        Place(const Place&) = delete;
        Place& operator=(const Place&) = delete;

        ~Place() {
            if (all_ != nullptr) {
                all_->secrets_.erase(key_);
            }
        }

      private:
        friend class PrivateStreams;
        PrivateStreams* all_ = nullptr;
        stream::StreamKey key_;
    };

    PrivateStreams() = default;
    PrivateStreams(const PrivateStreams&) = delete;
    PrivateStreams& operator=(const PrivateStreams&) = delete;

    ~PrivateStreams() { WEIR_CHECK(secrets_.empty()); }

    // `secret`: not empty; what the owner shows as ?key= or as Bearer. The name must not be private
    // yet.
    Place add(const stream::StreamKey& key, std::string secret) {
        WEIR_CHECK(!secret.empty() && secrets_.try_emplace(key, std::move(secret)).second);
        Place place;
        place.all_ = this;
        place.key_ = key;
        return place;
    }

    bool has(const stream::StreamKey& key) const { return secrets_.contains(key); }

    // False, too, where the name is not private.
    bool opens(const stream::StreamKey& key, std::string_view shown) const {
        const auto found = secrets_.find(key);
        return found != secrets_.end() &&
               equal_in_constant_time(as_bytes(found->second), as_bytes(shown));
    }

  private:
    std::unordered_map<stream::StreamKey, std::string, StreamKeyHash> secrets_;
};

}  // namespace weir::net
