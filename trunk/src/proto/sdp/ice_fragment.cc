#include "proto/sdp/ice_fragment.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "proto/sdp/attributes.h"
#include "proto/sdp/description.h"
#include "proto/sdp/media_offer.h"

namespace weir::sdp {
namespace {

Error take_credential(const Attribute& attribute, IceFragment& out) {
    const bool ufrag = attribute.name == "ice-ufrag";
    if (ufrag ? !is_ice_ufrag(attribute.value) : !is_ice_password(attribute.value)) {
        return make_error(ErrorCode::kMalformed, "a={} is not {} to {} ice characters",
                          attribute.name, ufrag ? kMinUfragBytes : kMinPasswordBytes, kMaxIceBytes);
    }
    std::string& target = ufrag ? out.ice_ufrag : out.ice_pwd;
    if (target.empty()) {
        target = attribute.value;
    }
    return {};
}

Error take_attribute(Attribute attribute, IceFragment& out) {
    const std::string& name = attribute.name;
    if (name == "ice-ufrag" || name == "ice-pwd") {
        return take_credential(attribute, out);
    }
    if (name == "candidate") {
        const bool fits = attribute.value.size() <= kMaxCandidateBytes && !attribute.value.empty();
        if (!fits || out.candidates.size() == kMaxCandidates) {
            return make_error(ErrorCode::kLimit, "more or longer candidates than are taken");
        }
        if (std::find(out.candidates.begin(), out.candidates.end(), attribute.value) ==
            out.candidates.end()) {
            out.candidates.push_back(std::move(attribute.value));
        }
    } else if (name == "mid") {
        if (!is_token(attribute.value)) {
            return make_error(ErrorCode::kMalformed, "a=mid is no token");
        }
        if (out.mid.empty()) {
            out.mid = std::move(attribute.value);
        }
    } else if (name == "group") {
        if (auto mids = find_bundle({std::move(attribute)})) {
            out.bundle = std::move(*mids);
        }
    } else if (name == "ice-options") {
        const std::vector<std::string_view> options = split(attribute.value, ' ', 16);
        out.trickle |= std::find(options.begin(), options.end(), "trickle") != options.end();
    } else if (name == "ice-lite") {
        out.ice_lite = true;
    } else if (name == "end-of-candidates") {
        out.end_of_candidates = true;
    }
    return {};
}

Error take_line(char type, std::string_view value, IceFragment& out) {
    if (type == 'a') {
        WEIR_TRY_ASSIGN(Attribute attribute, parse_attribute(value));
        return take_attribute(std::move(attribute), out);
    }
    if (type == 'm') {
        WEIR_TRY_ASSIGN(const Media media, parse_media_line(value));
        if (out.media_line.empty()) {
            out.media_line = write_media_line(media);
        }
    }
    return {};
}

}  // namespace

Result<IceFragment> IceFragment::parse(std::string_view text) {
    if (text.size() > kMaxTextBytes) {
        return make_error(ErrorCode::kLimit, "{} bytes; at most {} are read", text.size(),
                          kMaxTextBytes);
    }
    IceFragment out;
    LineReaderView lines(text);
    while (lines.next()) {
        if (Error error = take_line(lines.type(), lines.value(), out)) {
            return lines.at_line(std::move(error));
        }
    }
    if (Error error = lines.take_error()) {
        return error;
    }
    if (out.ice_ufrag.empty() != out.ice_pwd.empty()) {
        return make_error(ErrorCode::kMalformed, "a=ice-ufrag and a=ice-pwd come together");
    }
    if (out.ice_ufrag.empty() && out.candidates.empty() && !out.end_of_candidates) {
        return make_error(ErrorCode::kMalformed, "neither credentials nor candidates");
    }
    return out;
}

std::string IceFragment::write() const {
    std::string out;
    const auto add = [&](std::string_view line) {
        out += line;
        out += "\r\n";
    };
    if (ice_lite) {
        add("a=ice-lite");
    }
    if (trickle) {
        add("a=ice-options:trickle");
    }
    if (!bundle.empty()) {
        add(fmt::format("a=group:BUNDLE {}", join(bundle, " ")));
    }
    if (!media_line.empty()) {
        add("m=" + media_line);
    }
    if (!mid.empty()) {
        add("a=mid:" + mid);
    }
    if (!ice_ufrag.empty()) {
        add("a=ice-ufrag:" + ice_ufrag);
        add("a=ice-pwd:" + ice_pwd);
    }
    for (const std::string& candidate : candidates) {
        add("a=candidate:" + candidate);
    }
    if (end_of_candidates) {
        add("a=end-of-candidates");
    }
    return out;
}

IceFragment answer_restart(const IceFragment& request, const LocalTransport& local) {
    IceFragment out;
    out.ice_lite = true;
    out.trickle = request.trickle;
    out.bundle = request.bundle;
    out.media_line = request.media_line;
    out.mid = request.mid;
    out.ice_ufrag = local.ice_ufrag;
    out.ice_pwd = local.ice_pwd;
    out.candidates = local.candidates;
    out.end_of_candidates = true;
    return out;
}

}  // namespace weir::sdp
