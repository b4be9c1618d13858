#include "proto/sdp/negotiate.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "proto/sdp/answer_writer.h"

namespace weir::sdp {
namespace {

using media::Codec;
using media::TrackKind;

constexpr size_t kMaxNamesInMessage = 8;

// What was decided for one section: a choice of format, or why there is none.
struct Choice {
    const PayloadFormat* format = nullptr;
    size_t send_codec = 0;
    Fit fit = Fit::kNone;
};

TrackKind kind_of(std::string_view kind) {
    return kind == "audio"   ? TrackKind::kAudio
           : kind == "video" ? TrackKind::kVideo
                             : TrackKind::kData;
}

// "VP8, VP9": of what the peer offers, each once.
std::string names_of(std::span<const PayloadFormat> formats) {
    std::vector<std::string_view> names;
    for (const PayloadFormat& format : formats) {
        const std::string_view name = format.name;
        if (names.size() < kMaxNamesInMessage &&
            std::find(names.begin(), names.end(), name) == names.end()) {
            names.push_back(name);
        }
    }
    return names.empty() ? "nothing" : join(names, ", ");
}

std::string names_of(std::span<const Codec> codecs) {
    std::vector<std::string_view> names;
    for (const Codec codec : codecs) {
        names.push_back(encoding_name_of(codec));
    }
    return names.empty() ? "nothing" : join(names, ", ");
}

std::string names_of(std::span<const SendCodec> codecs) {
    std::vector<Codec> plain;
    for (const SendCodec& codec : codecs) {
        plain.push_back(codec.codec);
    }
    return names_of(plain);
}

// What WHIP and WHEP do differently, apart from this one algorithm.
class Role {
  public:
    Role() = default;
    Role(const Role&) = delete;
    Role& operator=(const Role&) = delete;
    virtual ~Role() = default;

    // Our direction when the section is in use.
    virtual Direction direction() const = 0;
    virtual std::string_view stream_id() const = 0;
    // False: this side has no use for the kind.
    virtual bool wants(TrackKind kind) const = 0;
    virtual Choice choose(const MediaOffer& offer, TrackKind kind) const = 0;
    virtual std::string what_we_have(TrackKind kind) const = 0;
    // Why choose() gave nothing although a codec is common; empty when none is.
    virtual std::string obstacle(const MediaOffer& offer, TrackKind kind) const = 0;
    // Features, as the options say.
    virtual bool rtx() const = 0;
    virtual bool transport_cc() const = 0;
    virtual bool remb() const = 0;
    virtual bool uses(Extension extension) const = 0;
    // Fills what is of this direction alone.
    virtual void complete(const MediaOffer& offer,
                          const Choice& choice,
                          NegotiatedMedia& out) const = 0;
};

class PublisherRole final : public Role {
  public:
    explicit PublisherRole(const PublisherOptions& options) : options_(options) {}

    Direction direction() const override { return Direction::kRecvOnly; }

    std::string_view stream_id() const override { return {}; }

    bool wants(TrackKind kind) const override { return !codecs(kind).empty(); }

    Choice choose(const MediaOffer& offer, TrackKind kind) const override {
        std::vector<Codec> order = codecs(kind);
        if (options_.offer_order) {
            const auto place = [&](Codec codec) {
                return std::find_if(offer.formats.begin(), offer.formats.end(),
                                    [&](const PayloadFormat& f) { return f.codec == codec; });
            };
            std::stable_sort(order.begin(), order.end(),
                             [&](Codec a, Codec b) { return place(a) < place(b); });
        }
        for (const Codec codec : order) {
            if (const PayloadFormat* format = choose_for_receiving(codec, offer.formats)) {
                return {format, 0, Fit::kExact};
            }
        }
        return {};
    }

    std::string what_we_have(TrackKind kind) const override {
        return fmt::format("this server takes {}", names_of(codecs(kind)));
    }

    std::string obstacle(const MediaOffer&, TrackKind) const override { return {}; }

    bool rtx() const override { return options_.rtx; }

    bool transport_cc() const override { return options_.transport_cc; }

    bool remb() const override { return options_.remb; }

    bool uses(Extension extension) const override { return extension != Extension::kPlayoutDelay; }

    void complete(const MediaOffer& offer,
                  const Choice& choice,
                  NegotiatedMedia& out) const override {
        out.local_fmtp = fmtp_for_receiving(*choice.format);
        out.remote_ssrcs = offer.ssrcs;
        for (const Rid& rid : offer.rids) {
            const std::vector<uint8_t>& types = rid.payload_types;
            const bool fits = types.empty() || std::find(types.begin(), types.end(),
                                                         out.payload_type) != types.end();
            if (fits && out.rids.size() < options_.simulcast_layers) {
                out.rids.push_back(rid.id);
            }
        }
        if (out.rids.empty()) {
            out.extensions.set(Extension::kRid, 0);
            out.extensions.set(Extension::kRepairedRid, 0);
        }
    }

  private:
    const std::vector<Codec>& codecs(TrackKind kind) const {
        return kind == TrackKind::kAudio ? options_.audio : options_.video;
    }

    const PublisherOptions& options_;
};

class PlayerRole final : public Role {
  public:
    explicit PlayerRole(const PlayerOptions& options) : options_(options) {}

    Direction direction() const override { return Direction::kSendOnly; }

    std::string_view stream_id() const override { return options_.stream_id; }

    bool wants(TrackKind kind) const override { return !track(kind).codecs.empty(); }

    Choice choose(const MediaOffer& offer, TrackKind kind) const override {
        // First without the leniency: a second codec that fits is better than a first that may not.
        const std::vector<SendCodec>& codecs = track(kind).codecs;
        for (const bool lenient : {false, true}) {
            for (size_t i = 0; i < codecs.size() && (!lenient || options_.lenient_profiles); i++) {
                const SendChoice choice = choose_for_sending(codecs[i], offer.formats, lenient);
                if (choice.format) {
                    return {choice.format, i, choice.fit};
                }
            }
        }
        return {};
    }

    std::string what_we_have(TrackKind kind) const override {
        return fmt::format("this stream has {}", names_of(track(kind).codecs));
    }

    std::string obstacle(const MediaOffer& offer, TrackKind kind) const override {
        for (const SendCodec& codec : track(kind).codecs) {
            if (std::string why = why_none_fits(codec, offer.formats); !why.empty()) {
                return why;
            }
        }
        return {};
    }

    bool rtx() const override { return options_.rtx; }

    bool transport_cc() const override { return options_.transport_cc; }

    bool remb() const override { return options_.remb; }

    bool uses(Extension extension) const override {
        return extension != Extension::kRid && extension != Extension::kRepairedRid;
    }

    void complete(const MediaOffer&, const Choice& choice, NegotiatedMedia& out) const override {
        const SendTrack& sent = track(out.kind);
        out.send_codec = choice.send_codec;
        out.fit = choice.fit;
        out.local_fmtp = fmtp_for_sending(sent.codecs[choice.send_codec], *choice.format);
        out.ssrc = sent.ssrc;
        out.rtx_ssrc = out.rtx_payload_type ? sent.rtx_ssrc : 0;
    }

  private:
    const SendTrack& track(TrackKind kind) const {
        return kind == TrackKind::kAudio ? options_.audio : options_.video;
    }

    const PlayerOptions& options_;
};

class Negotiation {
  public:
    Negotiation(const Session& offer, const LocalTransport& local, const Role& role)
        : offer_(offer), local_(local), role_(role) {}

    Result<Answer> run() {
        WEIR_TRY(read_offers());
        for (const MediaOffer& offer : offers_) {
            WEIR_TRY_ASSIGN(NegotiatedMedia media, decide(offer));
            answer_.media.push_back(std::move(media));
        }
        WEIR_TRY(check_use());
        WEIR_TRY(take_transport());
        answer_.text = write_answer(
            {offer_, offers_, local_, role_.stream_id(), bundle_.has_value()}, answer_);
        return std::move(answer_);
    }

  private:
    Error read_offers() {
        if (offer_.media.empty()) {
            return make_error(ErrorCode::kUnsupported, "the offer has no m= line");
        }
        bundle_ = find_bundle(offer_.attributes);
        for (const Media& media : offer_.media) {
            WEIR_TRY_ASSIGN(MediaOffer read, read_media(offer_, media));
            for (const MediaOffer& other : offers_) {
                if (!read.mid.empty() && read.mid == other.mid) {
                    return make_error(ErrorCode::kMalformed, "two m= lines have the mid {}",
                                      read.mid);
                }
            }
            offers_.push_back(std::move(read));
        }
        return {};
    }

    bool in_bundle(const MediaOffer& offer) const {
        return bundle_ && !offer.mid.empty() &&
               std::find(bundle_->begin(), bundle_->end(), offer.mid) != bundle_->end();
    }

    // Why a section cannot be part of this session, whatever its codecs are; empty when it can.
    std::string_view obstacle(const MediaOffer& offer, TrackKind kind) const {
        if (offer.rejected) {
            return "the peer rejected it";
        }
        if (kind == TrackKind::kData) {
            return "neither audio nor video";
        }
        if (transport_ && !in_bundle(offer)) {
            return "not in the bundle";
        }
        return {};
    }

    // What a section that is to be used must have.
    Error check_requirements(const MediaOffer& offer) const {
        if (!offer.is_secure_rtp) {
            return make_error(ErrorCode::kUnsupported,
                              "{}: the protocol {} is not SRTP over DTLS (UDP/TLS/RTP/SAVPF)",
                              label(offer), offer.section->protocol);
        }
        if (!offer.rtcp_mux) {
            return make_error(ErrorCode::kUnsupported, "{}: a=rtcp-mux is needed", label(offer));
        }
        if (!in_bundle(offer) && offers_.size() > 1) {
            return make_error(ErrorCode::kUnsupported,
                              "{}: all media have to be in one a=group:BUNDLE", label(offer));
        }
        return {};
    }

    static std::string label(const MediaOffer& offer) {
        const std::string& kind = offer.section->kind;
        return offer.mid.empty() ? kind : fmt::format("{} (mid {})", kind, offer.mid);
    }

    Result<NegotiatedMedia> decide(const MediaOffer& offer) {
        NegotiatedMedia out;
        out.mid = offer.mid;
        out.kind = kind_of(offer.section->kind);
        if (const std::string_view why = obstacle(offer, out.kind); !why.empty()) {
            out.refusal = why;
            return out;
        }
        const Direction ours = role_.direction();
        const bool peer_agrees = sends(ours) ? receives(offer.direction) : sends(offer.direction);
        const bool taken = answer_.find(out.kind) != nullptr;
        const bool use = peer_agrees && !taken && role_.wants(out.kind);
        if (use) {
            WEIR_TRY(check_requirements(offer));
        }
        const Choice choice = role_.choose(offer, out.kind);
        if (use && choice.format) {
            accept(offer, choice, out);
            out.direction = ours;
            return out;
        }
        if (const std::string why = use ? role_.obstacle(offer, out.kind) : ""; !why.empty()) {
            return make_error(ErrorCode::kUnsupported, "{}: {}", label(offer), why);
        }
        if (use) {
            return make_error(ErrorCode::kUnsupported, "{}: no common codec: the offer has {}, {}",
                              label(offer), names_of(offer.formats), role_.what_we_have(out.kind));
        }
        out.refusal = !peer_agrees ? fmt::format("offered as {}", to_string(offer.direction))
                      : taken      ? "a second one of its kind"
                                   : role_.what_we_have(out.kind);
        keep_inactive(offer, out);
        return out;
    }

    // An inactive section stays part of the bundle, so that the peer's description stays whole;
    // it needs some codec, whichever. What cannot stay is rejected.
    void keep_inactive(const MediaOffer& offer, NegotiatedMedia& out) {
        const auto known = std::find_if(
            offer.formats.begin(), offer.formats.end(), [](const PayloadFormat& format) {
                return format.codec != Codec::kUnknown && !is_telephony_only(format.codec);
            });
        if (known == offer.formats.end() || !offer.is_secure_rtp || !offer.rtcp_mux ||
            !in_bundle(offer)) {
            return;
        }
        copy_format(offer, *known, out);
        out.local_fmtp = fmtp_for_receiving(*known);
    }

    void copy_format(const MediaOffer& offer, const PayloadFormat& format, NegotiatedMedia& out) {
        out.accepted = true;
        out.codec = format.codec;
        out.payload_type = format.payload_type;
        out.clock_hz = format.clock_hz;
        out.channels = format.channels;
        out.remote_fmtp = format.fmtp;
        out.reduced_size_rtcp = offer.reduced_size_rtcp;
        if (!transport_) {
            transport_ = offer.section;
        }
    }

    void accept(const MediaOffer& offer, const Choice& choice, NegotiatedMedia& out) {
        const PayloadFormat& format = *choice.format;
        copy_format(offer, format, out);
        out.feedback = format.feedback;
        // NACK without RTX is answered by resending the packet itself (RFC 4585 §6.2.1).
        if (role_.rtx() && format.feedback.nack) {
            out.rtx_payload_type = format.rtx_payload_type;
        }
        choose_feedback(offer, out);
        role_.complete(offer, choice, out);
    }

    // One of transport-cc and REMB: with both, a sender would serve two masters.
    void choose_feedback(const MediaOffer& offer, NegotiatedMedia& out) {
        ExtensionIds offered;
        const Direction theirs = reversed(role_.direction());
        for (const OfferedExtension& extension : offer.extensions) {
            const Direction direction = extension.direction.value_or(Direction::kSendRecv);
            const bool usable = sends(theirs) ? sends(direction) : receives(direction);
            // We send one-byte headers only.
            const bool fits = sends(theirs) || extension.id <= 14;
            const bool useful =
                extension.extension != Extension::kDependencyDescriptor || out.codec == Codec::kAv1;
            if (usable && fits && useful && role_.uses(extension.extension)) {
                offered.set(extension.extension, extension.id);
            }
        }
        out.feedback.transport_cc &= role_.transport_cc() && offered.has(Extension::kTransportCc);
        out.feedback.remb &= role_.remb() && !out.feedback.transport_cc;
        if (!out.feedback.transport_cc) {
            offered.set(Extension::kTransportCc, 0);
        }
        if (!out.feedback.remb) {
            offered.set(Extension::kAbsSendTime, 0);
        }
        out.extensions = offered;
    }

    Error check_use() const {
        std::string why;
        for (size_t i = 0; i < offers_.size(); i++) {
            if (answer_.media[i].in_use()) {
                return {};
            }
            why += fmt::format("{}{}: {}", i == 0 ? "" : "; ", label(offers_[i]),
                               answer_.media[i].refusal);
        }
        return make_error(ErrorCode::kUnsupported, "{} in this offer: {}",
                          sends(role_.direction()) ? "nothing to play" : "nothing to publish", why);
    }

    // RFC 9143 §7.1.2: the transport of a bundle is that of its first section that is not rejected.
    Error take_transport() {
        WEIR_TRY_ASSIGN(TransportOffer theirs, read_transport(offer_, *transport_));
        RemoteTransport& out = answer_.remote;
        if (theirs.ice_ufrag.empty() || theirs.ice_pwd.empty()) {
            return make_error(ErrorCode::kUnsupported,
                              "the offer has no a=ice-ufrag and a=ice-pwd");
        }
        if (theirs.ice_lite) {
            return make_error(ErrorCode::kUnsupported,
                              "the offer is of an ICE lite agent, as is this server: neither would "
                              "begin (RFC 8445 2.5)");
        }
        WEIR_TRY(take_fingerprint(theirs));
        if (theirs.setup == Setup::kHoldConn) {
            return make_error(ErrorCode::kUnsupported, "a=setup:holdconn asks for no connection");
        }
        out.dtls_client = theirs.setup == Setup::kPassive;
        out.ice_ufrag = std::move(theirs.ice_ufrag);
        out.ice_pwd = std::move(theirs.ice_pwd);
        out.trickle = theirs.trickle;
        out.renomination = theirs.renomination;
        out.candidates = std::move(theirs.candidates);
        out.end_of_candidates = theirs.end_of_candidates;
        return {};
    }

    Error take_fingerprint(const TransportOffer& theirs) {
        for (const Fingerprint& fingerprint : theirs.fingerprints) {
            if (fingerprint.hash == "sha-256") {
                std::copy(fingerprint.bytes.begin(), fingerprint.bytes.end(),
                          answer_.remote.fingerprint_sha256.begin());
                return {};
            }
        }
        if (theirs.fingerprints.empty()) {
            return make_error(ErrorCode::kUnsupported,
                              "the offer has no a=fingerprint: without DTLS there is no WebRTC");
        }
        return make_error(ErrorCode::kUnsupported, "a=fingerprint by {}: only sha-256 is supported",
                          theirs.fingerprints[0].hash);
    }

    const Session& offer_;
    const LocalTransport& local_;
    const Role& role_;
    std::optional<std::vector<std::string>> bundle_;
    std::vector<MediaOffer> offers_;
    const Media* transport_ = nullptr;  // the first accepted section
    Answer answer_;
};

}  // namespace

const NegotiatedMedia* Answer::find(TrackKind kind) const {
    for (const NegotiatedMedia& section : media) {
        if (section.kind == kind && section.in_use()) {
            return &section;
        }
    }
    return nullptr;
}

Result<Answer> answer_publisher(const Session& offer,
                                const LocalTransport& local,
                                const PublisherOptions& options) {
    return Negotiation(offer, local, PublisherRole(options)).run();
}

Result<Answer> answer_player(const Session& offer,
                             const LocalTransport& local,
                             const PlayerOptions& options) {
    return Negotiation(offer, local, PlayerRole(options)).run();
}

int http_status(const Error& error) {
    switch (error.code()) {
        case ErrorCode::kMalformed: return 400;
        case ErrorCode::kLimit: return 413;
        case ErrorCode::kUnsupported: return 422;
        default: return 500;
    }
}

}  // namespace weir::sdp
