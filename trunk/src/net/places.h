// Places: how many hold each key, of addresses and streams. A place is given back by its
// destructor, so the table must outlive it. Limits has the tables.
#pragma once

#include <cstddef>
#include <functional>
#include <unordered_map>
#include <utility>

#include "base/net_address.h"
#include "stream/stream_key.h"

namespace weir::net {

struct StreamKeyHash {
    size_t operator()(const stream::StreamKey& key) const noexcept;
};

template <typename Key, typename Hash = std::hash<Key>>
class Places {
  public:
    class Place {
      public:
        Place() = default;

        Place(Place&& other) noexcept
            : table_(std::exchange(other.table_, nullptr)),
              entry_(std::exchange(other.entry_, nullptr)) {}

        Place& operator=(Place&& other) noexcept {
            std::swap(table_, other.table_);
            std::swap(entry_, other.entry_);
            return *this;
        }

        Place(const Place&) = delete;
        Place& operator=(const Place&) = delete;

        ~Place() { release(); }

        void release() {
            if (entry_ != nullptr) {
                table_->all--;
                if (--entry_->second == 0) {
                    table_->of_key.erase(table_->of_key.find(entry_->first));
                }
            }
            table_ = nullptr;
            entry_ = nullptr;
        }

      private:
        friend class Places;

        struct Table {
            std::unordered_map<Key, size_t, Hash> of_key;
            size_t all = 0;
        };

        Table* table_ = nullptr;
        // Stays where it is while others come and go.
        typename std::unordered_map<Key, size_t, Hash>::value_type* entry_ = nullptr;
    };

    Place take(const Key& key) {
        Place place;
        place.table_ = &table_;
        place.entry_ = &*table_.of_key.try_emplace(key, 0).first;
        place.entry_->second++;
        table_.all++;
        return place;
    }

    size_t count(const Key& key) const {
        const auto found = table_.of_key.find(key);
        return found == table_.of_key.end() ? 0 : found->second;
    }

    size_t keys() const { return table_.of_key.size(); }

    size_t all() const { return table_.all; }  // places that are taken

  private:
    typename Place::Table table_;
};

using AddressPlace = Places<NetAddress>::Place;
using PlayerPlace = Places<stream::StreamKey, StreamKeyHash>::Place;

}  // namespace weir::net
