// Lists of the API: which page of them, which of their members, and how a long one is written
// without holding up the media thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "net/api/answer.h"

namespace weir::http {
class Query;
}

namespace weir::net {
enum class ClientRole : uint8_t;
class Client;
}  // namespace weir::net

namespace weir::stream {
class Stream;
struct StreamKey;
}  // namespace weir::stream

namespace weir::app {

struct Transport;

// ?start=&count=
struct Page {
    static constexpr uint64_t kDefaultCount = 10;
    static constexpr uint64_t kMaxStart = (uint64_t{1} << 53) - 1;  // what JSON's readers hold
    static constexpr uint64_t kMaxCount = 1000;

    uint64_t start = 0;
    uint64_t count = kDefaultCount;

    bool has(uint64_t index) const { return index >= start && index - start < count; }

    // kMalformed says what is wrong with which.
    static Result<Page> read(const http::Query& query);
};

// ?vhost=&app=&stream= and, of clients, &role=&ip=&transport=; of streams, &live=. What is not
// given fits everything. Views of the query.
class ListFilterView {
  public:
    // kMalformed, also below.
    static Result<ListFilterView> of_streams(const http::Query& query);

    // `transports`: all that there are. `strict`: nothing but filters may be asked for, and one at
    // least: what is deleted must not depend on how a name is spelt.
    static Result<ListFilterView> of_clients(const http::Query& query,
                                             const std::vector<Transport>& transports,
                                             bool strict);

    bool fits(const stream::StreamKey& key) const;
    bool fits(const stream::Stream& stream) const;
    bool fits(const net::Client& client) const;

  private:
    using Wanted = std::optional<std::string_view>;

    explicit ListFilterView(const http::Query& query);

    Wanted vhost_;
    Wanted app_;
    Wanted stream_;
    Wanted ip_;
    Wanted transport_;
    std::optional<net::ClientRole> role_;
    std::optional<bool> live_;
};

// A list as text, item by item: memory for one JSON object at a time, and a yield whenever the
// media thread has been held for kSlice.
class ListText {
  public:
    static constexpr Micros kSlice{1'000};

    ListText() : slice_begin_(MonoClock::now()) {}

    void add(const net::Json& item);

    // Yields, when it is time to. What was found in a table before may be gone then.
    void pause_if_long();

    // {members of `head`, which has some, "NAME": [..]} with a newline.
    std::string take(const net::Json& head, std::string_view name);

    // The head is the envelope and "total".
    std::string take(const net::ServerIdentity& identity, uint64_t total, std::string_view name);

  private:
    std::string items_;
    MonoTime slice_begin_;
};

}  // namespace weir::app
