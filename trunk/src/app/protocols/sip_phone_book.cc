#include "app/protocols/sip_phone_book.h"

#include <algorithm>

#include "base/hmac.h"

namespace weir::app {

// All users are compared, each in constant time.
bool SipPhoneBook::proves(std::string_view user, std::string_view password) const {
    bool right = false;
    for (const session::SipUser& each : server_.options().users) {
        const bool same = equal_in_constant_time(as_bytes(each.password), as_bytes(password));
        right = (same && each.name == user) || right;
    }
    return right;
}

std::vector<session::PhoneBookEntry> SipPhoneBook::entries(std::string_view user) const {
    const session::SipServerOptions& options = server_.options();
    std::vector<session::PhoneBookEntry> out;
    for (const session::SipDial& each : options.dial) {
        add_stream(each.number, "stream", each.play, out);
    }
    for (const session::SipMeeting& each : options.conferences) {
        add_stream(each.number, "conference", each.stream, out);
    }
    for (const session::SipUser& each : options.users) {
        if (each.name == user) {
            continue;
        }
        const auto extension =
            std::ranges::find(options.extensions, each.name, &session::SipExtension::user);
        const auto bindings =
            server_.registrar().lookup(MonoClock::now(), session::local_aor(each.name));
        out.push_back({extension != options.extensions.end() ? extension->number : each.name,
                       "user", each.name, !bindings.empty()});
    }
    return out;
}

void SipPhoneBook::add_stream(const std::string& number,
                              const char* kind,
                              const std::string& path,
                              std::vector<session::PhoneBookEntry>& out) const {
    bool live = false;
    if (const Result<stream::StreamKey> key = server_.key_of(path); key.ok()) {
        const stream::Stream* const stream = server_.services().registry.find(*key);
        live = stream != nullptr && stream->live();
    }
    out.push_back({number, kind, path, live});
}

}  // namespace weir::app
