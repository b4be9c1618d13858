#include "proto/sdp/answer_writer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::sdp {
namespace {

constexpr uint16_t kDiscardPort = 9;  // RFC 9429 §5.3.1: the address is in the candidates

class SectionWriter {
  public:
    SectionWriter(const AnswerContext& context,
                  const MediaOffer& offer,
                  const NegotiatedMedia& media)
        : context_(context), offer_(offer), media_(media) {}

    Media write(const RemoteTransport& remote, bool with_candidates) {
        out_.kind = offer_.section->kind;
        out_.protocol = offer_.section->protocol;
        out_.connection = "IN IP4 0.0.0.0";
        if (!media_.mid.empty()) {
            add("mid", media_.mid);
        }
        add(to_string(media_.direction));
        if (!media_.accepted) {
            out_.formats = offer_.section->formats;
            return std::move(out_);
        }
        out_.port = kDiscardPort;
        add_transport(remote);
        add_extensions();
        add_format();
        add_layers();
        if (sends(media_.direction)) {
            add_streams();
        }
        if (with_candidates) {
            for (const std::string& candidate : context_.local.candidates) {
                add("candidate", candidate);
            }
            add("end-of-candidates");
        }
        return std::move(out_);
    }

  private:
    void add(std::string_view name, std::string_view value = {}) {
        out_.attributes.push_back({std::string(name), std::string(value)});
    }

    // In every section, not only in the first of the bundle: not every peer looks there.
    void add_transport(const RemoteTransport& remote) {
        add("ice-ufrag", context_.local.ice_ufrag);
        add("ice-pwd", context_.local.ice_pwd);
        add("fingerprint", write_fingerprint(context_.local.fingerprint));
        add("setup", to_string(remote.dtls_client ? Setup::kActive : Setup::kPassive));
        add("rtcp-mux");
        if (media_.reduced_size_rtcp) {
            add("rtcp-rsize");
        }
    }

    void add_extensions() {
        if (has_attribute(offer_.section->attributes, "extmap-allow-mixed")) {
            add("extmap-allow-mixed");  // RFC 8285 §6.1: Firefox says it here, Chromium above
        }
        for (const OfferedExtension& offered : offer_.extensions) {
            if (media_.extensions[offered.extension] != offered.id) {
                continue;
            }
            // RFC 8285 §6: a direction is answered with its reverse.
            const std::string direction =
                offered.direction ? fmt::format("/{}", to_string(reversed(*offered.direction)))
                                  : "";
            add("extmap", fmt::format("{}{} {}", offered.id, direction, uri_of(offered.extension)));
        }
    }

    void add_format() {
        const std::string_view name = encoding_name_of(media_.codec);
        add("rtpmap", media_.codec == media::Codec::kOpus
                          ? fmt::format("{} {}/{}/2", media_.payload_type, name, media_.clock_hz)
                          : fmt::format("{} {}/{}", media_.payload_type, name, media_.clock_hz));
        out_.formats.push_back(fmt::format("{}", media_.payload_type));
        for (const std::string_view text : media_.feedback.texts()) {
            add("rtcp-fb", fmt::format("{} {}", media_.payload_type, text));
        }
        if (!media_.local_fmtp.empty()) {
            add("fmtp", fmt::format("{} {}", media_.payload_type, media_.local_fmtp));
        }
        if (media_.rtx_payload_type) {
            out_.formats.push_back(fmt::format("{}", *media_.rtx_payload_type));
            add("rtpmap", fmt::format("{} rtx/{}", *media_.rtx_payload_type, media_.clock_hz));
            add("fmtp", fmt::format("{} apt={}", *media_.rtx_payload_type, media_.payload_type));
        }
    }

    void add_layers() {
        if (media_.rids.empty()) {
            return;
        }
        for (const std::string& rid : media_.rids) {
            add("rid", rid + " recv");
        }
        add("simulcast", fmt::format("recv {}", join(media_.rids, ";")));
    }

    void add_streams() {
        const std::string msid = fmt::format("{} {}", context_.stream_id, to_string(media_.kind));
        add("msid", msid);
        if (media_.rtx_ssrc != 0) {
            add("ssrc-group", fmt::format("FID {} {}", media_.ssrc, media_.rtx_ssrc));
        }
        for (const uint32_t ssrc : {media_.ssrc, media_.rtx_ssrc}) {
            if (ssrc != 0) {
                add("ssrc", fmt::format("{} cname:{}", ssrc, context_.local.cname));
                add("ssrc", fmt::format("{} msid:{}", ssrc, msid));
            }
        }
    }

    const AnswerContext& context_;
    const MediaOffer& offer_;
    const NegotiatedMedia& media_;
    Media out_;
};

}  // namespace

std::string write_answer(const AnswerContext& context, const Answer& answer) {
    Session out;
    out.origin = fmt::format("- {} 1 IN IP4 127.0.0.1", context.local.session_id);
    if (context.bundled) {
        std::string mids;
        for (const NegotiatedMedia& media : answer.media) {
            if (media.accepted) {
                mids += " " + media.mid;
            }
        }
        out.attributes.push_back({"group", "BUNDLE" + mids});
    }
    if (has_attribute(context.offer.attributes, "extmap-allow-mixed")) {
        out.attributes.push_back({"extmap-allow-mixed", ""});
    }
    const bool any_sent = std::any_of(
        answer.media.begin(), answer.media.end(),
        [](const NegotiatedMedia& media) { return media.accepted && sends(media.direction); });
    if (any_sent) {
        out.attributes.push_back({"msid-semantic", "WMS *"});
    }
    out.attributes.push_back({"ice-lite", ""});
    if (answer.remote.trickle) {
        out.attributes.push_back({"ice-options", "trickle"});
    }
    bool first = true;
    for (size_t i = 0; i < answer.media.size(); i++) {
        const NegotiatedMedia& media = answer.media[i];
        const bool with_candidates = media.accepted && std::exchange(first, false);
        out.media.push_back(
            SectionWriter(context, context.offers[i], media).write(answer.remote, with_candidates));
    }
    return out.write();
}

}  // namespace weir::sdp
