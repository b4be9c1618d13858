#include "proto/sip/registrar.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "proto/sip/header_values.h"

namespace weir::sip {
namespace {

bool same_contact(const std::string& known, const SipUri& uri) {
    const std::optional<SipUri> other = SipUri::parse(known);
    return other && other->equivalent(uri);
}

// "0.7" in thousandths; 1 where there is none or nonsense.
uint16_t read_q(const NameAddr& contact) {
    const std::string_view text = contact.parameters.get("q").value_or("1");
    const Halves halves = split_once(text, '.');
    std::string digits(halves.after.substr(0, 3));
    digits.resize(3, '0');
    const std::optional<uint64_t> whole = parse_uint(halves.before, 0, 1);
    const std::optional<uint64_t> part = parse_uint(digits, 0, 999);
    return !whole || !part ? uint16_t{1000}
                           : static_cast<uint16_t>(std::min<uint64_t>(*whole * 1000 + *part, 1000));
}

std::string q_text(uint16_t q) {
    return fmt::format("{}.{:03}", q / 1000, q % 1000);
}

}  // namespace

std::string Registrar::address_of(const Request& request) {
    const std::optional<NameAddr> to = NameAddr::parse(request.header("To"));
    const std::optional<SipUri> uri = to ? to->address() : std::nullopt;
    return uri ? uri->address_of_record() : std::string();
}

Registrar::Answer Registrar::on_register(MonoTime now, const Request& request, const Flow& flow) {
    handle_timeout(now);
    Binding from;
    from.aor = address_of(request);
    from.call_id = request.header("Call-ID");
    from.cseq = CSeq::parse(request.header("CSeq")).value_or(CSeq()).number;
    from.user_agent = request.header("User-Agent").substr(0, kMaxUserAgent);
    from.flow = flow;
    if (from.aor.empty()) {
        return {404, {}};
    }
    if (http::trimmed(request.header("Contact")) == "*") {
        const int refused = take_away(request, from);
        return refused != 0 ? Answer{refused, {}} : list(now, from.aor);
    }
    std::vector<Wish> wishes;
    int status = read_wishes(request, wishes);
    status = status != 0 ? status : take(now, from, wishes);
    if (status == 423) {
        return {423, {{"Min-Expires", fmt::format("{}", options_.min_expires.count())}}};
    }
    return status != 0 ? Answer{status, {}} : list(now, from.aor);
}

// §10.3 step 6: "*" stands alone, and with Expires: 0.
int Registrar::take_away(const Request& request, const Binding& from) {
    if (request.headers.count("Contact") != 1 ||
        parse_seconds(request.header("Expires")) != uint32_t{0}) {
        return 400;
    }
    const auto at = by_aor_.find(from.aor);
    if (at == by_aor_.end()) {
        return 0;
    }
    const bool old = std::ranges::any_of(at->second, [&](const auto& each) {
        return each->call_id == from.call_id && each->cseq >= from.cseq;
    });
    if (old) {
        return 500;
    }
    remove_all(from.aor);
    return 0;
}

int Registrar::read_wishes(const Request& request, std::vector<Wish>& out) const {
    const std::optional<std::vector<NameAddr>> contacts =
        NameAddr::parse_all(request.headers, "Contact");
    if (!contacts || contacts->size() > options_.max_contacts) {
        return 400;
    }
    const auto usual = static_cast<uint32_t>(options_.default_expires.count());
    const uint32_t expires = parse_seconds(request.header("Expires")).value_or(usual);
    for (const NameAddr& contact : *contacts) {
        std::optional<SipUri> uri = contact.address();
        if (!uri) {
            return 400;
        }
        const std::optional<std::string_view> own = contact.parameters.get("expires");
        Seconds length(own ? parse_seconds(*own).value_or(usual) : expires);
        if (length.count() > 0 && length < options_.min_expires) {
            return 423;
        }
        length = std::min(length, options_.max_expires);
        out.push_back({contact, std::move(*uri), length});
    }
    return 0;
}

// §10.3 step 7: within a Call-ID the numbers rise.
bool Registrar::is_newer(const Bindings& bindings, const Wish& wish, const Binding& from) const {
    return std::ranges::none_of(bindings, [&](const std::unique_ptr<Binding>& each) {
        return each->call_id == from.call_id && each->cseq >= from.cseq &&
               same_contact(each->contact, wish.uri);
    });
}

int Registrar::take(MonoTime now, const Binding& from, const std::vector<Wish>& wishes) {
    size_t added = 0;
    if (const auto at = by_aor_.find(from.aor); at != by_aor_.end()) {
        for (const Wish& wish : wishes) {
            if (!is_newer(at->second, wish, from)) {
                return 500;
            }
        }
    }
    for (const Wish& wish : wishes) {
        added += wish.expires.count() > 0 ? 1U : 0U;
    }
    if (by_id_.size() + added > options_.max_bindings) {
        return 503;
    }
    for (const Wish& wish : wishes) {
        put(now, from, wish);
    }
    return 0;
}

void Registrar::put(MonoTime now, const Binding& from, const Wish& wish) {
    if (const auto at = by_aor_.find(from.aor); at != by_aor_.end()) {
        const auto known = std::ranges::find_if(
            at->second, [&](const auto& each) { return same_contact(each->contact, wish.uri); });
        const auto oldest = std::ranges::min_element(
            at->second, {}, [](const auto& each) { return each->expires; });
        if (known != at->second.end()) {
            remove((*known)->id);
        } else if (wish.expires.count() > 0 && at->second.size() >= options_.max_contacts) {
            remove((*oldest)->id);
        }
    }
    if (wish.expires.count() == 0) {
        return;
    }
    auto made = std::make_unique<Binding>();
    Binding& binding = *made;
    binding.id = ++last_id_;
    binding.aor = from.aor;
    binding.contact = wish.contact.uri;
    binding.q = read_q(wish.contact);
    binding.call_id = from.call_id;
    binding.cseq = from.cseq;
    binding.user_agent = from.user_agent;
    binding.flow = from.flow;
    binding.expires = now + wish.expires;
    if (binding.flow.reliable()) {
        by_connection_.insert({binding.flow.connection, binding.id});
    }
    due_.plan(binding.id, binding.planned, binding.expires);
    by_id_[binding.id] = &binding;
    by_aor_[binding.aor].push_back(std::move(made));
}

void Registrar::remove(uint64_t id) {
    Binding& binding = *by_id_.at(id);
    due_.plan(id, binding.planned, std::nullopt);
    by_connection_.erase({binding.flow.connection, id});
    by_id_.erase(id);
    const auto at = by_aor_.find(binding.aor);
    std::erase_if(at->second, [&](const auto& each) { return each->id == id; });
    if (at->second.empty()) {
        by_aor_.erase(at);
    }
}

void Registrar::remove_all(std::string_view aor) {
    for (auto at = by_aor_.find(aor); at != by_aor_.end(); at = by_aor_.find(aor)) {
        remove(at->second.front()->id);
    }
}

Registrar::Answer Registrar::list(MonoTime now, std::string_view aor) const {
    Answer out;
    for (const Binding* const binding : lookup(now, aor)) {
        const auto left = std::chrono::ceil<Seconds>(binding->expires - now);
        NameAddr contact{{}, binding->contact, {}};
        contact.parameters.set("q", q_text(binding->q));
        contact.parameters.set("expires", fmt::format("{}", left.count()));
        out.headers.add("Contact", contact.write());
    }
    return out;
}

std::vector<const Binding*> Registrar::lookup(MonoTime now, std::string_view aor) const {
    std::vector<const Binding*> out;
    if (const auto at = by_aor_.find(aor); at != by_aor_.end()) {
        for (const auto& each : at->second) {
            if (each->expires > now) {
                out.push_back(each.get());
            }
        }
    }
    std::ranges::sort(out, [](const Binding* a, const Binding* b) {
        return a->q != b->q ? a->q > b->q : a->id > b->id;
    });
    return out;
}

void Registrar::on_connection_closed(uint64_t connection) {
    for (;;) {
        const auto at = by_connection_.lower_bound({connection, 0});
        if (at == by_connection_.end() || at->first != connection) {
            return;
        }
        remove(at->second);
    }
}

void Registrar::handle_timeout(MonoTime now) {
    while (const std::optional<uint64_t> id = due_.due(now)) {
        remove(*id);
    }
}

}  // namespace weir::sip
