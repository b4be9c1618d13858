#include "proto/sdp/phone.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "proto/sdp/media_offer.h"

namespace weir::sdp {
namespace {

constexpr std::string_view kEvents = "telephone-event";
constexpr std::string_view kComfortNoise = "CN";
constexpr uint8_t kEventType = 101;        // in offers
constexpr uint8_t kComfortNoiseType = 13;  // RFC 3389 §5
constexpr uint32_t kNarrowClock = 8000;
constexpr uint32_t kVideoClock = 90'000;

media::TrackKind kind_of(std::string_view name) {
    return equals_ignore_case(name, "audio")   ? media::TrackKind::kAudio
           : equals_ignore_case(name, "video") ? media::TrackKind::kVideo
                                               : media::TrackKind::kData;
}

// "IN IP4 192.0.2.1", of groups with "/ttl". Nothing: a name, or another network.
NetAddress address_of(std::string_view connection, uint16_t port) {
    const size_t type = connection.find(" IP");
    const size_t space = type == std::string_view::npos ? type : connection.find(' ', type + 1);
    if (space == std::string_view::npos) {
        return {};
    }
    std::string_view ip = connection.substr(space + 1);
    ip = ip.substr(0, ip.find_first_of("/ "));
    const auto address = NetAddress::parse_ip(ip, port);
    const bool any = address && (ip == "0.0.0.0" || ip == "::");
    return address && !any ? *address : NetAddress();
}

// RFC 3605 §2.1: "53020" or "53020 IN IP4 126.16.64.4".
NetAddress rtcp_address(const NetAddress& rtp, std::optional<std::string_view> attribute) {
    if (rtp.empty()) {
        return {};
    }
    if (attribute) {
        const std::string_view number = attribute->substr(0, attribute->find(' '));
        if (const auto port = parse_uint(number, 1, UINT16_MAX)) {
            const NetAddress named = address_of(*attribute, static_cast<uint16_t>(*port));
            return named.empty() ? rtp.with_port(static_cast<uint16_t>(*port)) : named;
        }
    }
    return rtp.with_port(static_cast<uint16_t>(rtp.port() + 1));
}

Result<PhoneMedia> read_section(const Session& session, const Media& media) {
    PhoneMedia out;
    out.kind = kind_of(media.kind);
    out.kind_name = media.kind;
    out.protocol = media.protocol;
    out.format_names = media.formats;
    out.rejected =
        media.port == 0 || !is_phone_profile(media.protocol) || out.kind == media::TrackKind::kData;
    if (out.rejected) {
        return out;
    }
    WEIR_TRY_ASSIGN(MediaOffer offer, read_media(session, media));
    out.mid = std::move(offer.mid);
    out.direction = offer.direction;
    out.rtcp_mux = offer.rtcp_mux;
    out.feedback = media.protocol.ends_with('F');
    out.formats = std::move(offer.formats);
    const std::string& connection =
        media.connection.empty() ? session.connection : media.connection;
    out.to = address_of(connection, media.port);
    out.rtcp_to = rtcp_address(out.to, find_attribute(media.attributes, "rtcp"));
    if (out.to.empty()) {
        out.direction = sends(out.direction) ? Direction::kSendOnly : Direction::kInactive;
    }
    out.transport = read_phone_transport(session, media, out.to);
    for (const Attribute& each : media.attributes) {
        if (each.name == "ptime") {
            out.ptime =
                static_cast<uint32_t>(parse_uint(each.value, 10, kMaxPtime).value_or(kUsualPtime));
        }
    }
    return out;
}

// ---- what both can ----

const PayloadFormat* find_named(const PhoneMedia& media, std::string_view name, uint32_t clock_hz) {
    for (const PayloadFormat& each : media.formats) {
        if (equals_ignore_case(each.name, name) && each.clock_hz == clock_hz) {
            return &each;
        }
    }
    return nullptr;
}

bool is_same(const PhoneCodec& mine, const PayloadFormat& theirs) {
    return theirs.codec == mine.codec && theirs.clock_hz == mine.clock_hz;
}

// The format to use; of H.264 the one that allows most.
const PayloadFormat* choose(const PhoneMedia& media,
                            const std::vector<PhoneCodec>& codecs,
                            bool own_order) {
    const auto fits = [&](const PhoneCodec& mine) -> const PayloadFormat* {
        if (media.kind == media::TrackKind::kVideo) {
            return choose_for_receiving(mine.codec, media.formats);
        }
        const auto found = std::ranges::find_if(
            media.formats, [&](const PayloadFormat& theirs) { return is_same(mine, theirs); });
        return found == media.formats.end() ? nullptr : &*found;
    };
    const PayloadFormat* best = nullptr;
    for (const PhoneCodec& mine : codecs) {
        const PayloadFormat* const theirs = fits(mine);
        if (theirs != nullptr && own_order) {
            return theirs;
        }
        if (theirs != nullptr && (best == nullptr || theirs < best)) {
            best = theirs;
        }
    }
    return best;
}

Direction meet(Direction own, Direction theirs) {
    const Direction other = reversed(theirs);
    const bool out = sends(own) && sends(other);
    const bool in = receives(own) && receives(other);
    return out && in ? Direction::kSendRecv
           : out     ? Direction::kSendOnly
           : in      ? Direction::kRecvOnly
                     : Direction::kInactive;
}

PhoneTrack agree(const PhoneMedia& media, const PhoneTrackOptions& own, bool own_order) {
    PhoneTrack track;
    const PayloadFormat* const format =
        media.rejected ? nullptr : choose(media, own.codecs, own_order);
    std::optional<PhoneSecured> secured =
        format == nullptr ? std::nullopt : agree_security(media.transport, own.security);
    if (!secured) {
        return track;
    }
    track.in_use = true;
    track.codec = format->codec;
    track.clock_hz = format->clock_hz;
    track.channels = format->channels;
    track.payload_type = format->payload_type;
    track.own_payload_type = format->payload_type;
    track.fmtp = format->fmtp;
    track.direction = meet(own.direction, media.direction);
    track.to = media.to;
    track.rtcp_mux = media.rtcp_mux;
    track.rtcp_to = media.rtcp_mux ? media.to : media.rtcp_to;
    track.feedback = format->feedback;
    track.ptime = media.ptime;
    if (media.kind == media::TrackKind::kAudio) {
        const PayloadFormat* events = find_named(media, kEvents, format->clock_hz);
        if (events == nullptr) {
            events = find_named(media, kEvents, kNarrowClock);
        }
        if (events != nullptr && own.telephone_events) {
            track.event_type = events->payload_type;
        }
        if (const PayloadFormat* const noise = find_named(media, kComfortNoise, kNarrowClock);
            noise != nullptr && format->clock_hz == kNarrowClock) {
            track.comfort_noise = noise->payload_type;
        }
    }
    track.secured = std::move(*secured);
    return track;
}

// ---- writing ----

Session begin_session(const PhoneOptions& options) {
    const std::string where =
        fmt::format("IN IP{} {}", options.address.is_v4() ? 4 : 6, options.address.ip_text());
    Session session;
    session.origin = fmt::format("- {} {} {}", options.session_id, options.version, where);
    session.name = options.name;
    session.connection = where;
    return session;
}

void add(Media& media, std::string name, std::string value = {}) {
    media.attributes.push_back({std::move(name), std::move(value)});
}

void add_format(Media& media,
                uint8_t type,
                std::string_view name,
                uint32_t clock_hz,
                uint8_t channels,
                std::string_view fmtp) {
    media.formats.push_back(std::to_string(type));
    add(media, "rtpmap",
        channels > 1 ? fmt::format("{} {}/{}/{}", type, name, clock_hz, channels)
                     : fmt::format("{} {}/{}", type, name, clock_hz));
    if (!fmtp.empty()) {
        add(media, "fmtp", fmt::format("{} {}", type, fmtp));
    }
}

void add_feedback(Media& media, uint8_t type, const Feedback& feedback) {
    for (const std::string_view text : feedback.texts()) {
        add(media, "rtcp-fb", fmt::format("{} {}", type, text));
    }
}

std::string_view offered_fmtp(media::Codec codec) {
    return codec == media::Codec::kH264   ? "profile-level-id=42e01f;packetization-mode=1"
           : codec == media::Codec::kOpus ? "useinbandfec=1"
                                          : "";
}

// RFC 7587 §7: Opus says two channels, whatever it sends.
uint8_t named_channels(media::Codec codec) {
    return codec == media::Codec::kOpus ? 2 : 1;
}

constexpr Feedback kOurFeedback{.pli = true, .fir = true};

Media offered_section(const PhoneTrackOptions& own, const NetAddress& address, bool audio) {
    Media media;
    media.kind = audio ? "audio" : "video";
    media.port = own.port;
    media.protocol = offered_profile(own.security);
    for (const PhoneCodec& each : own.codecs) {
        add_format(media, each.payload_type, encoding_name_of(each.codec), each.clock_hz,
                   audio ? named_channels(each.codec) : 1, offered_fmtp(each.codec));
        if (!audio) {
            add_feedback(media, each.payload_type, kOurFeedback);
        }
    }
    if (audio && own.telephone_events) {
        add_format(media, kEventType, kEvents, kNarrowClock, 1, "0-16");
    }
    if (audio) {
        add_format(media, kComfortNoiseType, kComfortNoise, kNarrowClock, 1, "");
        add(media, "ptime", std::to_string(kUsualPtime));
    }
    add_offered_security(media, own.security);
    if (!own.security.ice_ufrag.empty()) {
        add_ice(media, own.security, address.with_port(own.port), false);
    }
    add(media, std::string(to_string(own.direction)));
    return media;
}

Media rejected_section(const PhoneMedia& theirs) {
    Media media;
    media.kind = theirs.kind_name;
    media.protocol = theirs.protocol;
    media.formats = theirs.format_names;
    if (!theirs.mid.empty()) {
        add(media, "mid", theirs.mid);
    }
    return media;
}

Media answered_section(const PhoneMedia& theirs,
                       const PhoneTrack& track,
                       const PhoneTrackOptions& own,
                       const NetAddress& address) {
    Media media;
    media.kind = theirs.kind_name;
    media.port = own.port;
    media.protocol = theirs.protocol;
    const auto format = std::ranges::find_if(theirs.formats, [&](const PayloadFormat& each) {
        return each.payload_type == track.payload_type;
    });
    add_format(media, track.payload_type, format->name, track.clock_hz, track.channels,
               fmtp_for_receiving(*format));
    if (theirs.kind == media::TrackKind::kVideo) {
        Feedback both;
        both.pli = format->feedback.pli;
        both.fir = format->feedback.fir;
        add_feedback(media, track.payload_type, both);
    } else {
        if (track.event_type) {
            const auto events = std::ranges::find_if(theirs.formats, [&](const auto& each) {
                return each.payload_type == *track.event_type;
            });
            add_format(media, *track.event_type, kEvents, events->clock_hz, 1, "0-16");
        }
        if (track.comfort_noise) {
            add_format(media, *track.comfort_noise, kComfortNoise, kNarrowClock, 1, "");
        }
        add(media, "ptime", std::to_string(track.ptime));
    }
    if (track.rtcp_mux) {
        add(media, "rtcp-mux");
    }
    add_answered_security(media, theirs.transport, track.secured, own.security);
    if (track.secured.has_ice()) {
        add_ice(media, own.security, address.with_port(own.port), track.rtcp_mux);
    }
    if (!theirs.mid.empty()) {
        add(media, "mid", theirs.mid);
    }
    add(media, std::string(to_string(track.direction)));
    return media;
}

// What they named, for the person who reads why it does not do.
Error nothing_fits(const PhoneDescription& theirs) {
    std::string names;
    for (const PhoneMedia& media : theirs.media) {
        for (const PayloadFormat& format : media.formats) {
            names +=
                fmt::format("{}{}/{}", names.empty() ? "" : ", ", format.name, format.clock_hz);
        }
    }
    return make_error(ErrorCode::kUnsupported, "no codec, key or address that both sides can: {}",
                      names.empty() ? "nothing was offered" : names);
}

}  // namespace

const PhoneMedia* PhoneDescription::find(media::TrackKind kind) const {
    const auto found = std::ranges::find_if(
        media, [kind](const PhoneMedia& each) { return each.kind == kind && !each.rejected; });
    return found == media.end() ? nullptr : &*found;
}

Result<PhoneDescription> read_phone_description(std::string_view text) {
    WEIR_TRY_ASSIGN(const Session session, Session::parse(text));
    PhoneDescription out;
    for (const Media& media : session.media) {
        WEIR_TRY_ASSIGN(PhoneMedia section, read_section(session, media));
        out.media.push_back(std::move(section));
    }
    return out;
}

std::string write_phone_offer(const PhoneOptions& options) {
    Session session = begin_session(options);
    if (!options.audio.codecs.empty()) {
        session.media.push_back(offered_section(options.audio, options.address, true));
    }
    if (!options.video.codecs.empty()) {
        session.media.push_back(offered_section(options.video, options.address, false));
    }
    if (!options.audio.security.ice_ufrag.empty()) {
        session.attributes.push_back({"ice-lite", {}});
    }
    return session.write();
}

Result<PhoneAgreement> answer_phone(const PhoneDescription& offer, const PhoneOptions& options) {
    PhoneAgreement out;
    Session session = begin_session(options);
    for (const PhoneMedia& theirs : offer.media) {
        const bool audio = theirs.kind == media::TrackKind::kAudio;
        PhoneTrack& track = audio ? out.audio : out.video;
        const PhoneTrackOptions& own = audio ? options.audio : options.video;
        if (theirs.kind != media::TrackKind::kData && !track.in_use) {
            track = agree(theirs, own, options.own_order);
            if (track.in_use) {
                session.media.push_back(answered_section(theirs, track, own, options.address));
                continue;
            }
        }
        session.media.push_back(rejected_section(theirs));
    }
    if (!out.has_media()) {
        return nothing_fits(offer);
    }
    if (out.audio.secured.has_ice() || out.video.secured.has_ice()) {
        session.attributes.push_back({"ice-lite", {}});
    }
    out.answer = session.write();
    return out;
}

Result<PhoneAgreement> accept_phone(const PhoneDescription& answer, const PhoneOptions& options) {
    PhoneAgreement out;
    for (const PhoneMedia& theirs : answer.media) {
        if (theirs.kind == media::TrackKind::kData) {
            continue;
        }
        const bool audio = theirs.kind == media::TrackKind::kAudio;
        PhoneTrack& track = audio ? out.audio : out.video;
        const PhoneTrackOptions& own = audio ? options.audio : options.video;
        if (track.in_use) {
            continue;
        }
        track = agree(theirs, own, false);
        // It comes with the type of our offer, and goes with that of their answer (RFC 3264 §5.1).
        for (const PhoneCodec& mine : own.codecs) {
            if (mine.codec == track.codec && mine.clock_hz == track.clock_hz) {
                track.own_payload_type = mine.payload_type;
            }
        }
    }
    if (!out.has_media()) {
        return nothing_fits(answer);
    }
    return out;
}

}  // namespace weir::sdp
