#include "app/api/listing.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "app/protocols/protocol.h"
#include "base/log.h"
#include "base/strings.h"
#include "io/coroutine.h"
#include "net/client.h"
#include "proto/http/request.h"
#include "stream/stream.h"
#include "stream/stream_key.h"

namespace weir::app {
namespace {

constexpr std::array<std::string_view, 6> kClientFilters = {"vhost", "app", "stream",
                                                            "role",  "ip",  "transport"};

std::optional<net::ClientRole> role_of(std::string_view text) {
    for (const net::ClientRole role :
         {net::ClientRole::kConnecting, net::ClientRole::kPublisher, net::ClientRole::kPlayer}) {
        if (text == net::to_string(role)) {
            return role;
        }
    }
    return std::nullopt;
}

std::string list_of(std::span<const std::string_view> names) {
    std::string text;
    for (const std::string_view name : names) {
        text += (text.empty() ? "" : ", ") + std::string(name);
    }
    return text;
}

// Nothing but these names, and one at least.
Error only(const http::Query& query, std::span<const std::string_view> names) {
    for (const auto& [name, value] : query) {
        if (std::ranges::find(names, name) == names.end()) {
            return make_error(ErrorCode::kMalformed, "\"{}\" is no filter; there are {}",
                              log::escaped(name), list_of(names));
        }
    }
    if (query.size() == 0) {
        return make_error(ErrorCode::kMalformed,
                          "say which: one by its id, as in .../ID, or those that fit a filter: {}",
                          list_of(names));
    }
    return {};
}

}  // namespace

Result<Page> Page::read(const http::Query& query) {
    const auto start = parse_uint(query.get_or("start", "0"), 0, kMaxStart);
    const auto count =
        parse_uint(query.get_or("count", std::to_string(kDefaultCount)), 1, kMaxCount);
    if (!start || !count) {
        return make_error(ErrorCode::kMalformed,
                          "start must be a number of 0 or more, count one of 1 to {}", kMaxCount);
    }
    return Page{*start, *count};
}

ListFilterView::ListFilterView(const http::Query& query)
    : vhost_(query.get("vhost")), app_(query.get("app")), stream_(query.get("stream")) {}

Result<ListFilterView> ListFilterView::of_streams(const http::Query& query) {
    ListFilterView filter(query);
    if (const Wanted live = query.get("live")) {
        if (*live != "0" && *live != "1") {
            return make_error(ErrorCode::kMalformed, "live must be 1 or 0");
        }
        filter.live_ = *live == "1";
    }
    return filter;
}

Result<ListFilterView> ListFilterView::of_clients(const http::Query& query,
                                                  const std::vector<Transport>& transports,
                                                  bool strict) {
    if (strict) {
        WEIR_TRY(only(query, kClientFilters));
    }
    ListFilterView filter(query);
    filter.ip_ = query.get("ip");
    filter.transport_ = query.get("transport");
    if (filter.transport_ &&
        std::ranges::find(transports, *filter.transport_, &Transport::name) == transports.end()) {
        std::vector<std::string_view> names;
        std::ranges::transform(transports, std::back_inserter(names), &Transport::name);
        return make_error(ErrorCode::kMalformed, "transport must be one of {}", list_of(names));
    }
    if (const Wanted role = query.get("role")) {
        filter.role_ = role_of(*role);
        if (!filter.role_) {
            return make_error(ErrorCode::kMalformed,
                              "role must be one of connecting, publisher, player");
        }
    }
    return filter;
}

bool ListFilterView::fits(const stream::StreamKey& key) const {
    return (!vhost_ || key.vhost == *vhost_) && (!app_ || key.app == *app_) &&
           (!stream_ || key.name == *stream_);
}

bool ListFilterView::fits(const stream::Stream& stream) const {
    return (!live_ || stream.live() == *live_) && fits(stream.key());
}

bool ListFilterView::fits(const net::Client& client) const {
    return (!role_ || client.role == *role_) && (!ip_ || client.ip() == *ip_) &&
           (!transport_ || client.transport() == *transport_) && fits(client.key);
}

void ListText::add(const net::Json& item) {
    items_ += items_.empty() ? "" : ",";
    items_ += net::dumped(item);
}

void ListText::pause_if_long() {
    if (MonoClock::now() - slice_begin_ >= kSlice) {
        io::yield();
        slice_begin_ = MonoClock::now();
    }
}

std::string ListText::take(const net::ServerIdentity& identity,
                           uint64_t total,
                           std::string_view name) {
    net::Json head = net::envelope(identity);
    head["total"] = total;
    return take(head, name);
}

std::string ListText::take(const net::Json& head, std::string_view name) {
    std::string text = net::dumped(head);
    text.pop_back();  // its brace
    text += fmt::format(",\"{}\":[", name);
    text += items_;
    text += "]}\n";
    return text;
}

}  // namespace weir::app
