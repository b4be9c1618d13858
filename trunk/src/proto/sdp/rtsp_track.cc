#include "proto/sdp/rtsp_track.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "media/language.h"
#include "proto/sdp/mikey.h"
#include "proto/sdp/rtsp_fmtp.h"

namespace weir::sdp {
namespace {

using media::TrackKind;

TrackKind kind_of(std::string_view text) {
    return equals_ignore_case(text, "video")   ? TrackKind::kVideo
           : equals_ignore_case(text, "audio") ? TrackKind::kAudio
                                               : TrackKind::kData;
}

std::string control_of(const Attributes& attributes) {
    for (const Attribute& attribute : attributes) {
        if (equals_ignore_case(attribute.name, "control") && !attribute.value.empty() &&
            attribute.value.size() <= kMaxControlBytes) {
            return attribute.value;
        }
    }
    return {};
}

Direction direction_of(const Attributes& attributes, Direction fallback) {
    for (const Attribute& attribute : attributes) {
        if (const std::optional<Direction> direction = parse_direction(attribute.name)) {
            return *direction;
        }
    }
    return fallback;
}

// RFC 8866 §6.12.
std::string language_of(const Media& media, const Session& session) {
    const auto said = find_attribute(media.attributes, "lang");
    return media::language_tag(
        said.value_or(find_attribute(session.attributes, "lang").value_or("")));
}

std::string name_of(const Media& media) {
    std::string name = media::track_name(media.information);
    for (const std::string_view attribute : {"title", "label"}) {
        name = name.empty()
                   ? media::track_name(find_attribute(media.attributes, attribute).value_or(""))
                   : name;
    }
    return name;
}

std::optional<RtpMap> find_rtpmap(const Media& media, uint8_t payload_type) {
    for (const Attribute& attribute : media.attributes) {
        if (equals_ignore_case(attribute.name, "rtpmap")) {
            std::optional<RtpMap> map = parse_rtpmap(attribute.value);
            if (map && map->payload_type == payload_type) {
                return map;
            }
        }
    }
    return rtsp_static_type(payload_type);
}

std::string_view find_fmtp(const Media& media, uint8_t payload_type) {
    for (const Attribute& attribute : media.attributes) {
        if (equals_ignore_case(attribute.name, "fmtp")) {
            const std::optional<ForPayload> fmtp = parse_for_payload(attribute.value);
            if (fmtp && fmtp->payload_type == payload_type) {
                return fmtp->text;
            }
        }
    }
    return {};
}

void read_crypto(const Attributes& attributes, std::vector<CryptoLine>& out) {
    for (const Attribute& attribute : attributes) {
        if (out.size() == kMaxCryptoLines) {
            return;
        }
        std::optional<CryptoLine> line;
        if (attribute.name == "crypto") {
            line = parse_crypto(attribute.value);
        } else if (attribute.name == "key-mgmt") {
            line = parse_key_mgmt(attribute.value);
        }
        if (line) {
            out.push_back(std::move(*line));
        }
    }
}

// Fills the track as its format `text` says; false: that one cannot be received.
bool read_format(const Media& media, std::string_view text, RtspTrack& track) {
    const std::optional<uint64_t> type = parse_uint(text, 0, 127);
    if (!type) {
        track.unsupported = "a format of the m= line is no payload type";
        return false;
    }
    track.payload_type = static_cast<uint8_t>(*type);
    const std::optional<RtpMap> map = find_rtpmap(media, track.payload_type);
    if (!map) {
        track.unsupported = fmt::format("payload type {} has no a=rtpmap", track.payload_type);
        return false;
    }
    read_rtsp_format(*map, find_fmtp(media, track.payload_type), track);
    return track.is_supported();
}

}  // namespace

RtspTrack read_rtsp_track(const Session& session, const Media& media) {
    RtspTrack common;
    common.kind = kind_of(media.kind);
    common.language = language_of(media, session);
    common.name = name_of(media);
    common.control = control_of(media.attributes);
    common.direction =
        direction_of(media.attributes, direction_of(session.attributes, Direction::kSendRecv));
    common.port = media.port;
    common.protocol = media.protocol;
    common.connection = media.connection.empty() ? session.connection : media.connection;
    read_crypto(media.attributes, common.crypto);
    if (common.crypto.empty()) {
        read_crypto(session.attributes, common.crypto);
    }
    if (media.formats.empty()) {
        common.unsupported = "its m= line cannot be read";
        return common;
    }
    if (!media.protocol.starts_with("RTP/")) {
        common.unsupported = "the protocol of the m= line is not RTP";
        return common;
    }
    if (common.kind == TrackKind::kData) {
        common.unsupported = "it is neither video nor audio";
    }
    // The first format that can be received; else the first of all says why.
    std::optional<RtspTrack> refused;
    for (const std::string& format : media.formats) {
        RtspTrack track = common;
        if (read_format(media, format, track) && common.is_supported()) {
            return track;
        }
        if (!refused) {
            refused = std::move(track);
            refused->unsupported =
                common.is_supported() ? refused->unsupported : common.unsupported;
        }
    }
    return refused ? std::move(*refused) : common;
}

Result<RtspDescription> RtspDescription::parse(std::string_view text) {
    // Some cameras count the end of a C string into Content-Length.
    while (text.ends_with('\0')) {
        text.remove_suffix(1);
    }
    WEIR_TRY_ASSIGN(const Session session, Session::parse(text, BrokenLines::kSkip));
    RtspDescription out;
    out.name = session.name;
    out.control = control_of(session.attributes);
    out.range = find_attribute(session.attributes, "range").value_or("");
    for (const Media& media : session.media) {
        out.tracks.push_back(read_rtsp_track(session, media));
    }
    return out;
}

}  // namespace weir::sdp
