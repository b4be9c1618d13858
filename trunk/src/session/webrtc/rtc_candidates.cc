#include "session/webrtc/rtc_candidates.h"

#include <string>

#include "base/log.h"
#include "base/strings.h"

namespace weir::session {
namespace {

constexpr size_t kMaxCandidates = 32;
constexpr size_t kMaxShownWord = 64;

Result<RtcCandidates> parse(std::string_view text, std::string_view variable) {
    RtcCandidates found;
    found.source = variable;
    std::string words(text);
    for (char& c : words) {
        c = c == ',' ? ' ' : c;
    }
    for (std::string_view word : split(words, ' ')) {
        word = trim(word);
        if (word.empty() || word == "*") {
            continue;
        }
        std::optional<NetAddress> address = NetAddress::parse_ip(word, 0);
        if (!address) {
            address = NetAddress::parse(word);
        }
        if (!address || address->is_any() || found.addresses.size() == kMaxCandidates) {
            return make_error(ErrorCode::kMalformed,
                              "environment variable {}: found '{}', expected numeric addresses, "
                              "as in 203.0.113.7 or 203.0.113.7:8000, or * for those of the "
                              "interfaces",
                              variable, log::escaped(word.substr(0, kMaxShownWord)));
        }
        found.addresses.push_back(*address);
    }
    return found;
}

bool is_set(const char* value) {
    return value != nullptr && !trim(value).empty();
}

}  // namespace

Result<RtcCandidates> choose_candidates(const std::vector<NetAddress>& configured,
                                        const char* weir_candidate,
                                        const char* candidate) {
    if (is_set(weir_candidate)) {
        return parse(weir_candidate, "WEIR_CANDIDATE");
    }
    if (!configured.empty()) {
        return RtcCandidates{configured, "configuration"};
    }
    if (is_set(candidate)) {
        return parse(candidate, "CANDIDATE");
    }
    return RtcCandidates{{}, "interfaces"};
}

}  // namespace weir::session
