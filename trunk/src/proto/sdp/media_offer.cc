#include "proto/sdp/media_offer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/strings.h"

namespace weir::sdp {
namespace {

bool is_ice_text(std::string_view text, size_t min_bytes) {
    return text.size() >= min_bytes && text.size() <= kMaxIceBytes &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return c > ' ' && c < 0x7F && c != ':'; });
}

// Calls visit(value) for each attribute of that name.
template <typename Visit>
void for_each(const Attributes& attributes, std::string_view name, Visit&& visit) {
    for (const Attribute& attribute : attributes) {
        if (attribute.name == name) {
            visit(std::string_view(attribute.value));
        }
    }
}

// Of the section, else of the session.
std::optional<std::string_view> inherited(const Session& session,
                                          const Media& media,
                                          std::string_view name) {
    const std::optional<std::string_view> own = find_attribute(media.attributes, name);
    return own ? own : find_attribute(session.attributes, name);
}

// An empty list when no payload type is one of RTP.
std::vector<PayloadFormat> formats_of(const Media& media) {
    std::vector<PayloadFormat> all(128);  // by payload type
    std::array<bool, 128> known{};
    std::array<bool, 128> listed{};
    for_each(media.attributes, "rtpmap", [&](std::string_view value) {
        if (std::optional<RtpMap> map = parse_rtpmap(value); map && !known[map->payload_type]) {
            known[map->payload_type] = true;
            PayloadFormat& format = all[map->payload_type];
            format.codec = codec_of(map->name);
            format.clock_hz = map->clock_hz;
            format.channels = map->channels;
            format.name = std::move(map->name);
        }
    });
    for_each(media.attributes, "fmtp", [&](std::string_view value) {
        if (const auto text = parse_for_payload(value); text && text->payload_type) {
            all[*text->payload_type].fmtp = text->text;
        }
    });
    Feedback for_all;
    for_each(media.attributes, "rtcp-fb", [&](std::string_view value) {
        if (const auto text = parse_for_payload(value)) {
            (text->payload_type ? all[*text->payload_type].feedback : for_all).add(text->text);
        }
    });
    std::vector<PayloadFormat> out;
    std::vector<std::pair<uint8_t, uint8_t>> resends;  // (of, by)
    for (const std::string& text : media.formats) {
        const std::optional<uint64_t> number = parse_uint(text, 0, 127);
        if (!number || std::exchange(listed[*number], true)) {
            continue;
        }
        const auto payload_type = static_cast<uint8_t>(*number);
        PayloadFormat& format = all[payload_type];
        if (!known[payload_type]) {
            const std::optional<RtpMap> map = static_payload_type(payload_type);
            if (!map) {
                continue;
            }
            format.name = map->name;
            format.codec = codec_of(map->name);
            format.clock_hz = map->clock_hz;
        }
        format.payload_type = payload_type;
        if (equals_ignore_case(format.name, "rtx")) {
            if (const auto of = fmtp_number(format.fmtp, "apt", 255, 127); of && *of <= 127) {
                resends.emplace_back(static_cast<uint8_t>(*of), payload_type);
            }
            continue;
        }
        format.feedback.add(for_all);
        out.push_back(std::move(format));
    }
    for (PayloadFormat& format : out) {
        const auto by = std::find_if(resends.begin(), resends.end(), [&](const auto& pair) {
            return pair.first == format.payload_type;
        });
        if (by != resends.end()) {
            format.rtx_payload_type = by->second;
        }
    }
    return out;
}

std::vector<OfferedExtension> extensions_of(const Session& session, const Media& media) {
    // RFC 8285 §4.2: only where both sides mix header forms do two-byte identifiers work beside
    // one-byte ones. 15 means the end of one-byte extensions.
    const uint32_t max_id = inherited(session, media, "extmap-allow-mixed") ? 255 : 14;
    std::vector<OfferedExtension> out;
    for_each(media.attributes, "extmap", [&](std::string_view value) {
        const std::optional<ExtMap> map = parse_extmap(value);
        const std::optional<Extension> extension = map ? extension_of(map->uri) : std::nullopt;
        if (!extension || map->id > max_id || map->id == 15) {
            return;
        }
        const auto id = static_cast<uint8_t>(map->id);
        const bool taken = std::any_of(out.begin(), out.end(), [&](const OfferedExtension& other) {
            return other.id == id || other.extension == *extension;
        });
        if (!taken) {
            out.push_back({*extension, id, map->direction});
        }
    });
    return out;
}

std::vector<RemoteSsrc> ssrcs_of(const Media& media) {
    std::vector<uint32_t> ssrcs;
    for_each(media.attributes, "ssrc", [&](std::string_view value) {
        const std::optional<uint32_t> ssrc = parse_ssrc(value);
        if (ssrc && ssrcs.size() < kMaxSsrcs &&
            std::find(ssrcs.begin(), ssrcs.end(), *ssrc) == ssrcs.end()) {
            ssrcs.push_back(*ssrc);
        }
    });
    std::vector<RemoteSsrc> out;
    for (const uint32_t ssrc : ssrcs) {
        out.push_back({ssrc, 0});
    }
    // FID (RFC 5576 §4.2): the second one resends. FEC-FR (RFC 5956 §4.3): the second one repairs.
    for_each(media.attributes, "ssrc-group", [&](std::string_view value) {
        const std::optional<SsrcGroup> group = parse_ssrc_group(value);
        if (!group || group->ssrcs.size() != 2 ||
            (group->semantics != "FID" && group->semantics != "FEC-FR")) {
            return;
        }
        for (RemoteSsrc& remote : out) {
            if (remote.ssrc == group->ssrcs[0] && group->semantics == "FID") {
                remote.rtx_ssrc = group->ssrcs[1];
            }
        }
        std::erase_if(out, [&](const RemoteSsrc& r) { return r.ssrc == group->ssrcs[1]; });
    });
    return out;
}

std::vector<Rid> rids_of(const Media& media) {
    std::vector<Rid> rids;
    for_each(media.attributes, "rid", [&](std::string_view value) {
        std::optional<Rid> rid = parse_rid(value);
        if (rid && rid->send && rids.size() < 2 * kMaxSimulcastStreams) {
            rids.push_back(std::move(*rid));
        }
    });
    std::vector<Rid> out;
    const auto simulcast = find_attribute(media.attributes, "simulcast");
    for (const std::string& id : parse_simulcast(simulcast.value_or(""), "send")) {
        const auto is_it = [&](const Rid& rid) { return rid.id == id; };
        const auto found = std::find_if(rids.begin(), rids.end(), is_it);
        if (found != rids.end() && std::none_of(out.begin(), out.end(), is_it)) {
            out.push_back(*found);
        }
    }
    return out;
}

Direction direction_of(const Session& session, const Media& media) {
    for (const Attributes* attributes : {&media.attributes, &session.attributes}) {
        for (const Attribute& attribute : *attributes) {
            if (const auto direction = parse_direction(attribute.name)) {
                return *direction;
            }
        }
    }
    return Direction::kSendRecv;
}

Error read_ice(const Session& session, const Media& media, TransportOffer& out) {
    out.ice_ufrag = inherited(session, media, "ice-ufrag").value_or("");
    out.ice_pwd = inherited(session, media, "ice-pwd").value_or("");
    if (!out.ice_ufrag.empty() && !is_ice_ufrag(out.ice_ufrag)) {
        return make_error(ErrorCode::kMalformed, "a=ice-ufrag is not 4 to 256 ice characters");
    }
    if (!out.ice_pwd.empty() && !is_ice_password(out.ice_pwd)) {
        return make_error(ErrorCode::kMalformed, "a=ice-pwd is not 22 to 256 ice characters");
    }
    out.ice_lite = has_attribute(session.attributes, "ice-lite");
    for (const std::string_view option :
         split(inherited(session, media, "ice-options").value_or(""), ' ', 16)) {
        for (const std::string_view name : split(option, ',', 16)) {  // libdatachannel's separator
            out.trickle |= name == "trickle";
            out.renomination |= name == "renomination";
        }
    }
    for_each(media.attributes, "candidate", [&](std::string_view value) {
        if (out.candidates.size() < kMaxCandidates && value.size() <= kMaxCandidateBytes) {
            out.candidates.emplace_back(value);
        }
    });
    out.end_of_candidates = inherited(session, media, "end-of-candidates").has_value();
    return {};
}

}  // namespace

bool is_ice_ufrag(std::string_view text) {
    return is_ice_text(text, kMinUfragBytes);
}

bool is_ice_password(std::string_view text) {
    return is_ice_text(text, kMinPasswordBytes);
}

Result<MediaOffer> read_media(const Session& session, const Media& media) {
    MediaOffer out;
    out.section = &media;
    out.mid = find_attribute(media.attributes, "mid").value_or("");
    if (!out.mid.empty() && !is_token(out.mid)) {
        return make_error(ErrorCode::kMalformed, "a=mid is no token of at most {} characters",
                          kMaxTokenBytes);
    }
    out.direction = direction_of(session, media);
    // RFC 9143 §6: port 0 with bundle-only waits for the bundle.
    out.rejected = media.port == 0 && !has_attribute(media.attributes, "bundle-only");
    out.is_secure_rtp =
        media.protocol.ends_with("RTP/SAVPF") || media.protocol.ends_with("RTP/SAVP");
    out.rtcp_mux = has_attribute(media.attributes, "rtcp-mux") ||
                   has_attribute(media.attributes, "rtcp-mux-only");
    out.reduced_size_rtcp = has_attribute(media.attributes, "rtcp-rsize");
    out.formats = formats_of(media);
    out.extensions = extensions_of(session, media);
    out.ssrcs = ssrcs_of(media);
    out.rids = rids_of(media);
    return out;
}

Result<TransportOffer> read_transport(const Session& session, const Media& media) {
    TransportOffer out;
    WEIR_TRY(read_ice(session, media, out));
    const bool own = has_attribute(media.attributes, "fingerprint");
    bool malformed = false;
    for_each(own ? media.attributes : session.attributes, "fingerprint",
             [&](std::string_view value) {
                 std::optional<Fingerprint> fingerprint = parse_fingerprint(value);
                 malformed |= !fingerprint;
                 if (fingerprint && out.fingerprints.size() < 8) {
                     out.fingerprints.push_back(std::move(*fingerprint));
                 }
             });
    if (malformed) {
        return make_error(ErrorCode::kMalformed, "a=fingerprint is not a hash name and its bytes");
    }
    if (const auto value = inherited(session, media, "setup")) {
        out.setup = parse_setup(*value);
        if (!out.setup) {
            return make_error(ErrorCode::kMalformed, "a=setup is none of actpass, active, passive");
        }
    }
    return out;
}

}  // namespace weir::sdp
