#include "proto/sdp/rtsp_writer.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/hmac.h"
#include "base/strings.h"
#include "media/aac.h"
#include "media/av1.h"
#include "media/avc.h"
#include "media/hevc.h"
#include "media/opus.h"
#include "media/vpx_config.h"
#include "proto/sdp/codec.h"
#include "proto/sdp/description.h"

namespace weir::sdp {
namespace {

using media::Codec;

constexpr uint32_t kVideoClockHz = 90'000;
constexpr uint32_t kG711ClockHz = 8'000;
constexpr size_t kMaxNameBytes = 256;

std::string_view name_of(Codec codec) {
    switch (codec) {
        case Codec::kAac: return "mpeg4-generic";
        case Codec::kMp3: return "MPA";
        default: return is_telephony_only(codec) ? std::string_view() : encoding_name_of(codec);
    }
}

bool is_audio(Codec codec) {
    return codec >= Codec::kAac;
}

// Parameter sets as a list in base64.
void append_set(std::string& list, ByteSpan nal) {
    if (!list.empty()) {
        list += ',';
    }
    list += base64(nal);
}

std::string write_h264(ByteSpan config) {
    std::string out = "packetization-mode=1";
    const auto record = media::avc::ConfigView::parse(config);
    if (!record) {
        return out;
    }
    out += fmt::format(";profile-level-id={:02x}{:02x}{:02x}", record->profile(),
                       record->compatibility(), record->level());
    std::string sets;
    record->for_each_parameter_set([&sets](ByteSpan nal) { append_set(sets, nal); });
    return sets.empty() ? out : out + ";sprop-parameter-sets=" + sets;
}

std::string write_hevc(ByteSpan config) {
    const auto record = media::hevc::ConfigView::parse(config);
    if (!record) {
        return {};
    }
    using media::hevc::NalType;
    std::string out;
    for (const auto& [name, type] :
         {std::pair("sprop-vps", NalType::kVps), std::pair("sprop-sps", NalType::kSps),
          std::pair("sprop-pps", NalType::kPps)}) {
        std::string sets;
        record->for_each_parameter_set([&sets, type](ByteSpan nal) {
            if (media::hevc::nal_type(nal[0]) == type) {
                append_set(sets, nal);
            }
        });
        if (!sets.empty()) {
            out += fmt::format("{}{}={}", out.empty() ? "" : ";", name, sets);
        }
    }
    return out;
}

std::string write_av1(ByteSpan config) {
    const auto obus = media::av1::parse_config(config);
    media::av1::ObuView obu;
    if (!obus || !media::av1::ObuReader(*obus).next(obu)) {
        return {};
    }
    const auto header = media::av1::parse_sequence_header(obu.payload);
    return header ? fmt::format("profile={};level-idx={};tier={}", header->profile,
                                header->level_idx, header->high_tier ? 1 : 0)
                  : std::string();
}

std::string write_aac(ByteSpan config) {
    // RFC 3640 §4.1: 15 is an AAC profile without a level; decoders go by config.
    std::string out =
        "streamtype=5;profile-level-id=15;mode=AAC-hbr;sizelength=13;indexlength=3;"
        "indexdeltalength=3";
    if (!config.empty()) {
        out += ";config=" + hex(config);
    }
    return out;
}

std::string printable(std::string_view text) {
    std::string out;
    for (const char c : text.substr(0, kMaxNameBytes)) {
        if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) {
            out += c;
        }
    }
    return out.empty() ? "-" : out;
}

std::string_view family_of(std::string_view address) {
    return address.find(':') == std::string_view::npos ? "IP4" : "IP6";
}

Media write_track(const RtspOffer& offer, const RtspTrackOffer& track) {
    const uint32_t clock_hz =
        track.clock_hz != 0 ? track.clock_hz : rtsp_clock(track.codec, track.config);
    Media media;
    media.kind = is_audio(track.codec) ? "audio" : "video";
    media.port = track.port;
    media.protocol = offer.secure ? "RTP/SAVP" : "RTP/AVP";
    media.formats = {fmt::format("{}", track.payload_type)};
    media.attributes.push_back(
        {"rtpmap", fmt::format("{} {}", track.payload_type,
                               write_rtsp_rtpmap(track.codec, clock_hz, track.channels))});
    const std::string fmtp = write_rtsp_fmtp(track.codec, track.config, track.channels);
    if (!fmtp.empty()) {
        media.attributes.push_back({"fmtp", fmt::format("{} {}", track.payload_type, fmtp)});
    }
    if (offer.secure) {
        for (const CryptoLine& line : track.crypto) {
            media.attributes.push_back({"crypto", write_crypto(line)});
        }
        if (!track.key_mgmt.empty()) {
            media.attributes.push_back({"key-mgmt", track.key_mgmt});
        }
    }
    if (!track.control.empty()) {
        media.attributes.push_back({"control", track.control});
    }
    return media;
}

}  // namespace

// RFC 2326 appendix C.1.5
static std::string range_of(const RtspOffer& offer) {
    if (!offer.recorded) {
        return "npt=now-";
    }
    return offer.duration_ms > 0
               ? fmt::format("npt=0-{}.{:03}", offer.duration_ms / 1000, offer.duration_ms % 1000)
               : "npt=0-";
}

std::string write_rtsp_description(const RtspOffer& offer) {
    const std::string_view address =
        offer.address.empty() ? std::string_view("0.0.0.0") : std::string_view(offer.address);
    Session session;
    session.origin = fmt::format("- {} {} IN {} {}", offer.session_id, offer.version,
                                 family_of(address), address);
    session.name = printable(offer.name);
    if (!offer.multicast_group.empty()) {
        // RFC 8866 §5.7: IPv6 has no TTL here.
        const std::string_view family = family_of(offer.multicast_group);
        session.connection = family == "IP4" ? fmt::format("IN IP4 {}/{}", offer.multicast_group,
                                                           offer.multicast_ttl)
                                             : fmt::format("IN IP6 {}", offer.multicast_group);
    } else {
        session.connection = family_of(address) == "IP4" ? "IN IP4 0.0.0.0" : "IN IP6 ::";
    }
    if (!offer.tool.empty()) {
        session.attributes.push_back({"tool", printable(offer.tool)});
    }
    session.attributes.push_back({"control", "*"});
    session.attributes.push_back({"range", range_of(offer)});
    for (const RtspTrackOffer& track : offer.tracks) {
        if (!name_of(track.codec).empty()) {
            session.media.push_back(write_track(offer, track));
        }
    }
    return session.write();
}

std::optional<uint8_t> rtsp_payload_type(Codec codec) {
    switch (codec) {
        case Codec::kG711U: return uint8_t{0};
        case Codec::kG711A: return uint8_t{8};
        case Codec::kMp3: return uint8_t{14};
        default: return std::nullopt;
    }
}

uint32_t rtsp_clock(Codec codec, ByteSpan config) {
    switch (codec) {
        case Codec::kAac: {
            const auto aac = media::aac::parse_config(config);
            return aac ? aac->sample_rate : 0;
        }
        case Codec::kOpus: return media::opus::kClockHz;
        case Codec::kG711A:
        case Codec::kG711U: return kG711ClockHz;
        default: return kVideoClockHz;
    }
}

std::string write_rtsp_rtpmap(Codec codec, uint32_t clock_hz, uint8_t channels) {
    const std::string_view name = name_of(codec);
    if (name.empty()) {
        return {};
    }
    switch (codec) {
        // RFC 7587 §7: always 48000 and 2.
        case Codec::kOpus: return fmt::format("{}/{}/2", name, clock_hz);
        case Codec::kAac: return fmt::format("{}/{}/{}", name, clock_hz, channels);
        default: return fmt::format("{}/{}", name, clock_hz);
    }
}

std::string write_rtsp_fmtp(Codec codec, ByteSpan config, uint8_t channels) {
    switch (codec) {
        case Codec::kH264: return write_h264(config);
        case Codec::kHevc: return write_hevc(config);
        case Codec::kAv1: return write_av1(config);
        case Codec::kVp9: {
            const auto vp9 = media::parse_vpx_config(config);
            return vp9 ? fmt::format("profile-id={}", vp9->profile) : std::string();
        }
        case Codec::kAac: return write_aac(config);
        case Codec::kOpus: return channels > 1 ? "sprop-stereo=1" : "";
        default: return {};
    }
}

}  // namespace weir::sdp
