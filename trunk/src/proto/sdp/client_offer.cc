#include "proto/sdp/client_offer.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "proto/sdp/codec.h"
#include "proto/sdp/description.h"
#include "proto/sdp/media_offer.h"

namespace weir::sdp {
namespace {

using media::Codec;
using media::TrackKind;

constexpr uint16_t kDiscardPort = 9;  // RFC 9429 §5.2.1: the address is in the candidates

struct OfferedCodec {
    Codec codec;
    uint8_t payload_type;  // that of RTX is the next one
    std::string_view rtpmap;
    std::string_view fmtp;
};

// H.264 by profile, since servers compare them: level 5.2, as decoders play more than they name.
constexpr std::array<OfferedCodec, 8> kVideo = {{
    {Codec::kH264, 96, "H264/90000",
     "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=640034"},
    {Codec::kHevc, 98, "H265/90000", ""},
    {Codec::kVp8, 100, "VP8/90000", ""},
    {Codec::kVp9, 102, "VP9/90000", "profile-id=0"},
    {Codec::kAv1, 104, "AV1/90000", ""},
    {Codec::kH264, 106, "H264/90000",
     "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e034"},
    {Codec::kH264, 108, "H264/90000",
     "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=4d0034"},
    {Codec::kH264, 112, "H264/90000",
     "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=420034"},
}};
constexpr std::array<OfferedCodec, 3> kAudio = {{
    {Codec::kOpus, 111, "opus/48000/2", "minptime=10;useinbandfec=1;stereo=1"},
    {Codec::kG711U, 0, "PCMU/8000", ""},
    {Codec::kG711A, 8, "PCMA/8000", ""},
}};

std::span<const OfferedCodec> codecs_of(TrackKind kind) {
    return kind == TrackKind::kVideo ? std::span<const OfferedCodec>(kVideo)
                                     : std::span<const OfferedCodec>(kAudio);
}

std::string_view mid_of(TrackKind kind) {
    return kind == TrackKind::kVideo ? "1" : "0";
}

// ---- the offer ----

class OfferWriter {
  public:
    explicit OfferWriter(const ClientOffer& offer) : offer_(offer) {}

    std::string write() {
        Session out;
        out.origin = fmt::format("- {} 1 IN IP4 0.0.0.0", offer_.session_id);
        std::string mids;
        for (const TrackKind kind : {TrackKind::kAudio, TrackKind::kVideo}) {
            const std::vector<OfferedCodec> codecs = codecs_to_offer(kind);
            if (!codecs.empty()) {
                mids += fmt::format(" {}", mid_of(kind));
                out.media.push_back(section(kind, codecs, out.media.empty()));
            }
        }
        out.attributes = {{"group", "BUNDLE" + mids}, {"extmap-allow-mixed", ""}};
        return out.write();
    }

  private:
    const std::optional<ClientTrack>& track(TrackKind kind) const {
        return kind == TrackKind::kVideo ? offer_.video : offer_.audio;
    }

    // All, or the one that is sent; none: there is no such section.
    std::vector<OfferedCodec> codecs_to_offer(TrackKind kind) const {
        const std::span<const OfferedCodec> all = codecs_of(kind);
        if (!offer_.sends) {
            return {all.begin(), all.end()};
        }
        const std::optional<ClientTrack>& sent = track(kind);
        const auto found =
            sent ? std::ranges::find(all, sent->codec, &OfferedCodec::codec) : all.end();
        if (found == all.end()) {
            return {};
        }
        OfferedCodec one = *found;
        one.fmtp = sent->fmtp.empty() ? one.fmtp : std::string_view(sent->fmtp);
        return {one};
    }

    void add(std::string_view name, std::string_view value = {}) {
        out_.attributes.push_back({std::string(name), std::string(value)});
    }

    Media section(TrackKind kind, std::span<const OfferedCodec> codecs, bool with_candidates) {
        out_ = {};
        out_.kind = to_string(kind);
        out_.port = kDiscardPort;
        out_.protocol = "UDP/TLS/RTP/SAVPF";
        out_.connection = "IN IP4 0.0.0.0";
        add("mid", mid_of(kind));
        add(to_string(offer_.sends ? Direction::kSendOnly : Direction::kRecvOnly));
        add("ice-ufrag", offer_.ice_ufrag);
        add("ice-pwd", offer_.ice_pwd);
        add("fingerprint", write_fingerprint(offer_.fingerprint));
        add("setup", to_string(Setup::kActPass));
        add("rtcp-mux");
        add("rtcp-rsize");
        if (offer_.mid) {
            add("extmap", fmt::format("{} {}", kOfferedMidId, uri_of(Extension::kMid)));
        }
        if (offer_.transport_cc) {
            add("extmap",
                fmt::format("{} {}", kOfferedTransportCcId, uri_of(Extension::kTransportCc)));
        }
        for (const OfferedCodec& each : codecs) {
            add_codec(each, kind);
        }
        if (offer_.sends) {
            add_stream(*track(kind));
        }
        if (with_candidates && !offer_.candidates.empty()) {
            for (const std::string& candidate : offer_.candidates) {
                add("candidate", candidate);
            }
            add("end-of-candidates");
        }
        return std::move(out_);
    }

    void add_codec(const OfferedCodec& codec, TrackKind kind) {
        const unsigned type = codec.payload_type;
        out_.formats.push_back(fmt::format("{}", type));
        add("rtpmap", fmt::format("{} {}", type, codec.rtpmap));
        if (!codec.fmtp.empty()) {
            add("fmtp", fmt::format("{} {}", type, codec.fmtp));
        }
        const bool is_video = kind == TrackKind::kVideo;
        Feedback feedback;
        feedback.nack = is_video && offer_.nack;
        feedback.pli = is_video;
        feedback.fir = is_video;
        feedback.transport_cc = offer_.transport_cc;
        for (const std::string_view text : feedback.texts()) {
            add("rtcp-fb", fmt::format("{} {}", type, text));
        }
        if (feedback.nack) {
            out_.formats.push_back(fmt::format("{}", type + 1));
            add("rtpmap", fmt::format("{} rtx/90000", type + 1));
            add("fmtp", fmt::format("{} apt={}", type + 1, type));
        }
    }

    void add_stream(const ClientTrack& sent) {
        add("msid", fmt::format("{} {}", offer_.cname, offer_.cname));
        if (sent.rtx_ssrc != 0) {
            add("ssrc-group", fmt::format("FID {} {}", sent.ssrc, sent.rtx_ssrc));
            add("ssrc", fmt::format("{} cname:{}", sent.rtx_ssrc, offer_.cname));
        }
        add("ssrc", fmt::format("{} cname:{}", sent.ssrc, offer_.cname));
    }

    const ClientOffer& offer_;
    Media out_;
};

// ---- the answer ----

class AnswerReader {
  public:
    explicit AnswerReader(const ClientOffer& offer) : offer_(offer) {}

    Result<Answer> read(std::string_view text) {
        WEIR_TRY_ASSIGN(const Session session, Session::parse(text));
        for (const Media& media : session.media) {
            WEIR_TRY(take_section(session, media));
        }
        if (answer_.media.empty()) {
            return make_error(ErrorCode::kUnsupported, "the answer takes no media section{}{}",
                              refusals_.empty() ? "" : ": ", refusals_);
        }
        return std::move(answer_);
    }

  private:
    static std::optional<TrackKind> kind_of(std::string_view name) {
        for (const TrackKind kind : {TrackKind::kAudio, TrackKind::kVideo}) {
            if (name == to_string(kind)) {
                return kind;
            }
        }
        return std::nullopt;
    }

    // Why a section is not used; empty when it is.
    std::string_view refusal(const MediaOffer& section, TrackKind kind) const {
        if (section.rejected) {
            return "rejected (port 0)";
        }
        if (offer_.sends ? !receives(section.direction) : !sends(section.direction)) {
            return to_string(section.direction);
        }
        return answer_.find(kind) != nullptr ? "a second one of its kind" : "";
    }

    Error take_section(const Session& session, const Media& media) {
        const std::optional<TrackKind> kind = kind_of(media.kind);
        if (!kind) {
            return {};
        }
        WEIR_TRY_ASSIGN(const MediaOffer section, read_media(session, media));
        if (!section.rejected) {
            WEIR_TRY(take_transport(session, media));
        }
        if (const std::string_view why = refusal(section, *kind); !why.empty()) {
            refusals_ += fmt::format("{}{} is {}", refusals_.empty() ? "" : ", ", media.kind, why);
            return {};
        }
        if (!section.is_secure_rtp || !section.rtcp_mux) {
            return make_error(ErrorCode::kUnsupported, "the answer's {} section is without {}",
                              media.kind, section.is_secure_rtp ? "a=rtcp-mux" : "SRTP over DTLS");
        }
        return take_formats(section, *kind);
    }

    Error take_formats(const MediaOffer& section, TrackKind kind) {
        const size_t before = answer_.media.size();
        for (const PayloadFormat& format : section.formats) {
            if (was_offered(format, kind) && answer_.media.size() < kMaxAnsweredFormats) {
                answer_.media.push_back(negotiated(section, format, kind));
            }
        }
        if (answer_.media.size() == before) {
            return make_error(ErrorCode::kUnsupported,
                              "the answer's {} section has no codec that was offered",
                              section.section->kind);
        }
        return {};
    }

    // RFC 3264 §7: what we receive has the numbers of our offer.
    bool was_offered(const PayloadFormat& format, TrackKind kind) const {
        const std::optional<ClientTrack>& sent =
            kind == TrackKind::kVideo ? offer_.video : offer_.audio;
        return std::ranges::any_of(codecs_of(kind), [&](const OfferedCodec& each) {
            return each.payload_type == format.payload_type && each.codec == format.codec &&
                   (!offer_.sends || (sent && sent->codec == each.codec));
        });
    }

    NegotiatedMedia negotiated(const MediaOffer& section,
                               const PayloadFormat& format,
                               TrackKind kind) const {
        NegotiatedMedia out;
        out.mid = section.mid;
        out.kind = kind;
        out.accepted = true;
        out.direction = offer_.sends ? Direction::kSendOnly : Direction::kRecvOnly;
        out.codec = format.codec;
        out.payload_type = format.payload_type;
        out.clock_hz = format.clock_hz;
        out.channels = format.channels;
        out.remote_fmtp = format.fmtp;
        out.reduced_size_rtcp = section.reduced_size_rtcp;
        out.feedback = format.feedback;
        out.feedback.nack &= offer_.nack && kind == TrackKind::kVideo;
        out.feedback.remb = false;  // was not offered
        if (out.feedback.nack) {
            out.rtx_payload_type = format.rtx_payload_type;
        }
        for (const OfferedExtension& each : section.extensions) {
            const bool mid =
                offer_.mid && each.extension == Extension::kMid && each.id == kOfferedMidId;
            const bool cc = offer_.transport_cc && each.extension == Extension::kTransportCc &&
                            each.id == kOfferedTransportCcId;
            if (mid || cc) {
                out.extensions.set(each.extension, each.id);
            }
        }
        out.feedback.transport_cc &= out.extensions.has(Extension::kTransportCc);
        if (!offer_.sends) {
            out.remote_ssrcs = section.ssrcs;
        }
        return out;
    }

    // RFC 9143 §7.3: one transport. It is in the first section that is not rejected, which may be
    // inactive; others may repeat it.
    Error take_transport(const Session& session, const Media& media) {
        WEIR_TRY_ASSIGN(TransportOffer theirs, read_transport(session, media));
        RemoteTransport& out = answer_.remote;
        for (std::string& candidate : theirs.candidates) {
            if (out.candidates.size() < kMaxCandidates &&
                std::ranges::find(out.candidates, candidate) == out.candidates.end()) {
                out.candidates.push_back(std::move(candidate));
            }
        }
        if (!out.ice_ufrag.empty()) {
            const bool same = theirs.ice_ufrag.empty() || theirs.ice_ufrag == out.ice_ufrag;
            return same ? Error()
                        : make_error(ErrorCode::kUnsupported,
                                     "the answer gives each of its media a transport of its own: "
                                     "the server does not BUNDLE");
        }
        if (theirs.ice_ufrag.empty() || theirs.ice_pwd.empty()) {
            return make_error(ErrorCode::kMalformed, "the answer has no a=ice-ufrag and a=ice-pwd");
        }
        WEIR_TRY(take_fingerprint(theirs));
        if (theirs.setup == Setup::kHoldConn) {
            return make_error(ErrorCode::kUnsupported, "a=setup:holdconn asks for no connection");
        }
        out.dtls_client = theirs.setup != Setup::kActive;
        out.ice_ufrag = std::move(theirs.ice_ufrag);
        out.ice_pwd = std::move(theirs.ice_pwd);
        out.trickle = theirs.trickle;
        out.end_of_candidates = theirs.end_of_candidates;
        return {};
    }

    Error take_fingerprint(const TransportOffer& theirs) {
        const auto found =
            std::ranges::find(theirs.fingerprints, std::string_view("sha-256"), &Fingerprint::hash);
        if (found == theirs.fingerprints.end()) {
            return make_error(ErrorCode::kUnsupported, "the answer has no SHA-256 fingerprint{}",
                              theirs.fingerprints.empty()
                                  ? ""
                                  : fmt::format(" (but {})", theirs.fingerprints[0].hash));
        }
        std::ranges::copy(found->bytes, answer_.remote.fingerprint_sha256.begin());
        return {};
    }

    const ClientOffer& offer_;
    Answer answer_;
    std::string refusals_;
};

}  // namespace

std::string ClientOffer::write() const {
    return OfferWriter(*this).write();
}

Result<Answer> read_answer(std::string_view text, const ClientOffer& offer) {
    return AnswerReader(offer).read(text);
}

}  // namespace weir::sdp
