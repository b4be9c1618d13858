#include "bench/load/core/rtc_signalling.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/strings.h"
#include "proto/ice/candidate.h"
#include "proto/sdp/codec.h"
#include "proto/sdp/media_offer.h"

namespace weir::load {
namespace {

constexpr size_t kReasonBytes = 160;

struct OfferedCodec {
    media::Codec codec;
    uint8_t payload_type;
    std::string_view rtpmap;
    std::string_view fmtp;
};

// What a browser offers, one payload type of each; RTX is the number behind it.
constexpr std::array<OfferedCodec, 6> kVideo = {{
    {media::Codec::kH264, 96, "H264/90000",
     "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=640034"},
    {media::Codec::kHevc, 98, "H265/90000", ""},
    {media::Codec::kVp8, 100, "VP8/90000", ""},
    {media::Codec::kVp9, 102, "VP9/90000", "profile-id=0"},
    {media::Codec::kAv1, 104, "AV1/90000", ""},
    {media::Codec::kH264, 106, "H264/90000",
     "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e034"},
}};
constexpr std::array<OfferedCodec, 3> kAudio = {{
    {media::Codec::kOpus, 111, "opus/48000/2", "minptime=10;useinbandfec=1;stereo=1"},
    {media::Codec::kG711U, 0, "PCMU/8000", ""},
    {media::Codec::kG711A, 8, "PCMA/8000", ""},
}};

void add_codec(std::string& out, const OfferedCodec& codec, const RtcOffer& offer, bool is_video) {
    const unsigned type = codec.payload_type;
    out += fmt::format("a=rtpmap:{} {}\r\n", type, codec.rtpmap);
    if (!codec.fmtp.empty()) {
        out += fmt::format("a=fmtp:{} {}\r\n", type, codec.fmtp);
    }
    if (offer.transport_cc) {
        out += fmt::format("a=rtcp-fb:{} transport-cc\r\n", type);
    }
    if (!is_video) {
        return;
    }
    out += fmt::format("a=rtcp-fb:{} nack pli\r\na=rtcp-fb:{} ccm fir\r\n", type, type);
    if (offer.nack) {
        out += fmt::format("a=rtcp-fb:{} nack\r\na=rtpmap:{} rtx/90000\r\na=fmtp:{} apt={}\r\n",
                           type, type + 1, type + 1, type);
    }
}

void add_section(std::string& out,
                 const RtcOffer& offer,
                 bool is_video,
                 std::span<const OfferedCodec> codecs,
                 const RtcSendTrack* track) {
    out += is_video ? "m=video 9 UDP/TLS/RTP/SAVPF" : "m=audio 9 UDP/TLS/RTP/SAVPF";
    for (const OfferedCodec& each : codecs) {
        out += fmt::format(" {}", each.payload_type);
        if (is_video && offer.nack) {
            out += fmt::format(" {}", each.payload_type + 1);
        }
    }
    out += fmt::format(
        "\r\nc=IN IP4 0.0.0.0\r\na=mid:{}\r\na={}\r\na=ice-ufrag:{}\r\na=ice-pwd:{}\r\n"
        "a=fingerprint:sha-256 {}\r\na=setup:actpass\r\na=rtcp-mux\r\na=rtcp-rsize\r\n",
        is_video ? 1 : 0, offer.sends ? "sendonly" : "recvonly", offer.ice_ufrag, offer.ice_pwd,
        offer.fingerprint.to_string());
    if (offer.transport_cc) {
        out += fmt::format("a=extmap:{} {}\r\n", kRtcTransportCcId,
                           sdp::uri_of(sdp::Extension::kTransportCc));
    }
    for (const OfferedCodec& each : codecs) {
        add_codec(out, each, offer, is_video);
    }
    if (track != nullptr) {
        out += "a=msid:weir-bench weir-bench\r\n";
        if (track->rtx_ssrc != 0) {
            out += fmt::format("a=ssrc-group:FID {} {}\r\na=ssrc:{} cname:weir-bench\r\n",
                               track->ssrc, track->rtx_ssrc, track->rtx_ssrc);
        }
        out += fmt::format("a=ssrc:{} cname:weir-bench\r\n", track->ssrc);
    }
}

// The one codec of a track that is sent.
std::optional<OfferedCodec> codec_of(const RtcSendTrack& track,
                                     std::span<const OfferedCodec> table) {
    for (const OfferedCodec& each : table) {
        if (each.codec == track.codec) {
            OfferedCodec out = each;
            out.fmtp = track.fmtp.empty() ? each.fmtp : std::string_view(track.fmtp);
            return out;
        }
    }
    return std::nullopt;
}

Result<RtcTrack> read_track(const sdp::MediaOffer& section, bool receives) {
    RtcTrack track;
    track.kind =
        section.section->kind == "video" ? media::TrackKind::kVideo : media::TrackKind::kAudio;
    if (section.formats.empty()) {
        return make_error(ErrorCode::kMalformed, "the answer's {} section has no codec",
                          section.section->kind);
    }
    const sdp::PayloadFormat& format = section.formats.front();
    track.codec = format.codec;
    track.payload_type = format.payload_type;
    track.clock_hz = format.clock_hz;
    track.rtx_payload_type = format.rtx_payload_type;
    track.nack = format.feedback.nack;
    track.transport_cc = format.feedback.transport_cc;
    for (const sdp::OfferedExtension& each : section.extensions) {
        if (each.extension == sdp::Extension::kTransportCc) {
            track.transport_cc_id = each.id;
        }
    }
    if (!section.ssrcs.empty()) {
        track.ssrc = section.ssrcs.front().ssrc;
        track.rtx_ssrc = section.ssrcs.front().rtx_ssrc;
    } else if (receives) {
        return make_error(ErrorCode::kUnsupported, "the answer's {} section names no SSRC",
                          section.section->kind);
    }
    return track;
}

std::optional<NetAddress> first_udp(const std::vector<std::string>& candidates) {
    for (const std::string& text : candidates) {
        const auto candidate = ice::Candidate::parse("candidate:" + text);
        if (candidate && candidate->transport == ice::Transport::kUdp &&
            candidate->host_name.empty()) {
            return candidate->address;
        }
    }
    return std::nullopt;
}

Error read_transport(const sdp::Session& session, const sdp::Media& media, RtcAnswer& out) {
    WEIR_TRY_ASSIGN(sdp::TransportOffer transport, sdp::read_transport(session, media));
    if (!transport.ice_lite) {
        return make_error(ErrorCode::kUnsupported,
                          "the server is not ICE lite: this client answers no checks");
    }
    const auto address = first_udp(transport.candidates);
    if (!address) {
        return make_error(ErrorCode::kUnsupported, "the answer has no UDP candidate");
    }
    const auto fingerprint =
        std::ranges::find_if(transport.fingerprints,
                             [](const sdp::Fingerprint& each) { return each.bytes.size() == 32; });
    if (fingerprint == transport.fingerprints.end()) {
        return make_error(ErrorCode::kMalformed, "the answer has no SHA-256 fingerprint");
    }
    out.address = *address;
    out.ice_ufrag = std::move(transport.ice_ufrag);
    out.ice_pwd = std::move(transport.ice_pwd);
    out.dtls_server = transport.setup != sdp::Setup::kActive;
    std::ranges::copy(fingerprint->bytes, out.fingerprint.sha256.begin());
    return {};
}

std::string_view header_of(std::string_view head, std::string_view name) {
    while (!head.empty()) {
        const size_t end = std::min(head.find("\r\n"), head.size());
        std::string_view line = head.substr(0, end);
        head.remove_prefix(std::min(head.size(), end + 2));
        if (line.size() > name.size() && line[name.size()] == ':' &&
            equals_ignore_case(line.substr(0, name.size()), name)) {
            line.remove_prefix(name.size() + 1);
            line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
            return line;
        }
    }
    return {};
}

}  // namespace

std::string RtcOffer::to_sdp() const {
    std::string out =
        "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\n"
        "a=extmap-allow-mixed\r\n";
    if (!sends) {
        add_section(out, *this, false, kAudio, nullptr);
        add_section(out, *this, true, kVideo, nullptr);
        return out;
    }
    const auto sound = audio ? codec_of(*audio, kAudio) : std::nullopt;
    const auto picture = video ? codec_of(*video, kVideo) : std::nullopt;
    out = fmt::format("v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=group:BUNDLE{}{}\r\n",
                      sound ? " 0" : "", picture ? " 1" : "");
    if (sound) {
        add_section(out, *this, false, {&*sound, 1}, &*audio);
    }
    if (picture) {
        add_section(out, *this, true, {&*picture, 1}, &*video);
    }
    return out;
}

const RtcTrack* RtcAnswer::find(media::TrackKind kind) const {
    for (const RtcTrack& each : tracks) {
        if (each.kind == kind) {
            return &each;
        }
    }
    return nullptr;
}

Result<RtcAnswer> RtcAnswer::parse(std::string_view sdp, bool receives) {
    WEIR_TRY_ASSIGN(const sdp::Session session, sdp::Session::parse(sdp));
    RtcAnswer answer;
    for (const sdp::Media& media : session.media) {
        WEIR_TRY_ASSIGN(const sdp::MediaOffer section, sdp::read_media(session, media));
        if (section.rejected || section.direction == sdp::Direction::kInactive ||
            (media.kind != "audio" && media.kind != "video")) {
            continue;
        }
        if (answer.tracks.empty()) {
            WEIR_TRY(read_transport(session, media, answer));
        }
        WEIR_TRY_ASSIGN(RtcTrack track, read_track(section, receives));
        if (answer.find(track.kind) == nullptr) {
            answer.tracks.push_back(track);
        }
    }
    if (answer.tracks.empty()) {
        return make_error(ErrorCode::kUnsupported, "the answer takes no media section");
    }
    return answer;
}

std::string rtc_post_request(std::string_view authority,
                             std::string_view path,
                             std::string_view bearer,
                             std::string_view offer) {
    return fmt::format(
        "POST {} HTTP/1.1\r\nHost: {}\r\n{}Content-Type: application/sdp\r\n"
        "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
        path, authority,
        bearer.empty() ? std::string() : fmt::format("Authorization: Bearer {}\r\n", bearer),
        offer.size(), offer);
}

std::string rtc_delete_request(std::string_view authority, std::string_view path) {
    return fmt::format("DELETE {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", path,
                       authority);
}

Result<HttpAnswer> HttpAnswer::parse(std::string_view text) {
    const size_t head_end = text.find("\r\n\r\n");
    HttpAnswer answer;
    if (!text.starts_with("HTTP/1.") || text.size() < 12 || head_end == std::string_view::npos ||
        std::from_chars(text.data() + 9, text.data() + 12, answer.status).ptr != text.data() + 12) {
        return make_error(ErrorCode::kMalformed, "what answers is no HTTP server");
    }
    answer.location = header_of(text.substr(0, head_end), "Location");
    answer.body = text.substr(head_end + 4);
    return answer;
}

std::string describe(const HttpAnswer& answer) {
    std::string body = answer.body.substr(0, kReasonBytes);
    while (!body.empty() && (body.back() == '\n' || body.back() == '\r')) {
        body.pop_back();
    }
    return fmt::format("status {}{}{}", answer.status, body.empty() ? "" : ": ", body);
}

}  // namespace weir::load
