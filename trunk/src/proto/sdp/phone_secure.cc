#include "proto/sdp/phone_secure.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "proto/sdp/media_offer.h"

namespace weir::sdp {
namespace {

constexpr std::string_view kHash = "sha-256";
constexpr size_t kHashBytes = 32;
constexpr size_t kCandidateWords = 8;  // up to its type; more are not read
constexpr size_t kAddressWord = 4;
constexpr size_t kPortWord = 5;
// RFC 8445 §5.1.2.1, of host candidates of the components 1 and 2.
constexpr uint32_t kRtpPriority = 2'130'706'431;
constexpr uint32_t kRtcpPriority = kRtpPriority - 1;

bool is_candidate_at(std::string_view candidate, const NetAddress& to) {
    const std::vector<std::string_view> words = split(candidate, ' ', kCandidateWords);
    if (words.size() <= kPortWord) {
        return false;
    }
    const auto port = parse_uint(words[kPortWord], 1, UINT16_MAX);
    const auto address =
        port ? NetAddress::parse_ip(words[kAddressWord], static_cast<uint16_t>(*port))
             : std::nullopt;
    return address && *address == to;
}

bool may_be_dtls(const PhoneTransport& theirs, const PhoneSecurity& own) {
    return own.srtp != PhoneSrtp::kOff && own.fingerprint && theirs.fingerprint &&
           theirs.setup != Setup::kHoldConn;
}

void add(Media& media, std::string name, std::string value = {}) {
    media.attributes.push_back({std::move(name), std::move(value)});
}

}  // namespace

std::string_view to_string(PhoneKeys keys) {
    switch (keys) {
        case PhoneKeys::kNone: return "none";
        case PhoneKeys::kSdes: return "sdes";
        case PhoneKeys::kDtls: return "dtls";
    }
    return "";
}

bool is_phone_profile(std::string_view protocol) {
    constexpr std::string_view kAll[] = {"RTP/AVP",   "RTP/AVPF",         "RTP/SAVP",
                                         "RTP/SAVPF", "UDP/TLS/RTP/SAVP", "UDP/TLS/RTP/SAVPF"};
    return std::ranges::find(kAll, protocol) != std::ranges::end(kAll);
}

PhoneTransport read_phone_transport(const Session& session,
                                    const Media& media,
                                    const NetAddress& to) {
    PhoneTransport out;
    out.dtls_profile = media.protocol.starts_with("UDP/TLS/");
    out.secure_profile = media.protocol.find("RTP/SAVP") != std::string::npos;
    for (const Attribute& each : media.attributes) {
        if (each.name == "crypto" && out.crypto.size() < kMaxCryptoLines) {
            if (auto line = parse_crypto(each.value)) {
                out.crypto.push_back(std::move(*line));
            }
        }
    }
    Result<TransportOffer> read = read_transport(session, media);
    if (!read.ok()) {
        return out;
    }
    for (Fingerprint& each : read->fingerprints) {
        if (each.hash == kHash && each.bytes.size() == kHashBytes && !out.fingerprint) {
            out.fingerprint = std::move(each);
        }
    }
    out.setup = read->setup;
    if (!read->ice_ufrag.empty() && !read->ice_pwd.empty() && !read->ice_lite && !to.empty()) {
        out.ice_mismatch = std::ranges::none_of(
            read->candidates, [&](const std::string& each) { return is_candidate_at(each, to); });
        if (!out.ice_mismatch) {
            out.ice_ufrag = std::move(read->ice_ufrag);
            out.ice_pwd = std::move(read->ice_pwd);
        }
    }
    return out;
}

const CryptoLine* choose_crypto(const PhoneTransport& theirs, const PhoneSecurity& own) {
    const auto found = std::ranges::find_if(theirs.crypto, [&](const CryptoLine& line) {
        return !line.has_mki && std::ranges::any_of(own.keys, [&](const CryptoLine& mine) {
            return mine.suite == line.suite;
        });
    });
    return found == theirs.crypto.end() ? nullptr : &*found;
}

std::optional<PhoneSecured> agree_security(const PhoneTransport& theirs, const PhoneSecurity& own) {
    PhoneSecured out;
    const CryptoLine* const line =
        own.srtp == PhoneSrtp::kOff || theirs.dtls_profile ? nullptr : choose_crypto(theirs, own);
    if (line != nullptr) {
        out.keys = PhoneKeys::kSdes;
        out.remote_key = *line;
        out.local_key = *std::ranges::find_if(
            own.keys, [&](const CryptoLine& mine) { return mine.suite == line->suite; });
        out.local_key->tag = line->tag;
    } else if (may_be_dtls(theirs, own)) {
        out.keys = PhoneKeys::kDtls;
        out.remote_fingerprint = theirs.fingerprint;
        // Where the peer leaves it open, it speaks first: it may be behind NAT, and that opens it.
        out.dtls_client = theirs.setup == Setup::kPassive ||
                          (theirs.setup != Setup::kActive && own.dtls_client.value_or(false));
    } else if (theirs.secure_profile || own.srtp == PhoneSrtp::kRequired) {
        return std::nullopt;
    }
    if (!own.ice_ufrag.empty() && !theirs.ice_ufrag.empty()) {
        out.ice_ufrag = theirs.ice_ufrag;
        out.ice_pwd = theirs.ice_pwd;
        out.local_ice_ufrag = own.ice_ufrag;
        out.local_ice_pwd = own.ice_pwd;
    }
    return out;
}

std::string_view offered_profile(const PhoneSecurity& own) {
    switch (own.offer_profile) {
        case PhoneKeys::kNone: break;
        case PhoneKeys::kSdes: return "RTP/SAVP";
        case PhoneKeys::kDtls: return "UDP/TLS/RTP/SAVP";
    }
    return "RTP/AVP";
}

void add_offered_security(Media& media, const PhoneSecurity& own) {
    if (own.srtp == PhoneSrtp::kOff) {
        return;
    }
    if (own.offer_profile != PhoneKeys::kDtls) {
        for (size_t i = 0; i < own.keys.size(); i++) {
            CryptoLine line = own.keys[i];
            line.tag = static_cast<uint32_t>(i + 1);
            add(media, "crypto", write_crypto(line));
        }
    }
    if (own.offer_profile != PhoneKeys::kSdes && own.fingerprint) {
        add(media, "fingerprint", write_fingerprint(*own.fingerprint));
        add(media, "setup", std::string(to_string(Setup::kActPass)));
    }
}

void add_answered_security(Media& media,
                           const PhoneTransport& theirs,
                           const PhoneSecured& agreed,
                           const PhoneSecurity& own) {
    if (agreed.keys == PhoneKeys::kSdes) {
        add(media, "crypto", write_crypto(*agreed.local_key));
    } else if (agreed.keys == PhoneKeys::kDtls) {
        add(media, "fingerprint", write_fingerprint(*own.fingerprint));
        add(media, "setup",
            std::string(to_string(agreed.dtls_client ? Setup::kActive : Setup::kPassive)));
    }
    if (theirs.ice_mismatch && !own.ice_ufrag.empty()) {
        add(media, "ice-mismatch");
    }
}

void add_ice(Media& media, const PhoneSecurity& own, const NetAddress& rtp, bool rtcp_mux) {
    add(media, "ice-ufrag", own.ice_ufrag);
    add(media, "ice-pwd", own.ice_pwd);
    add(media, "candidate",
        fmt::format("1 1 UDP {} {} {} typ host", kRtpPriority, rtp.ip_text(), rtp.port()));
    if (!rtcp_mux) {
        add(media, "candidate",
            fmt::format("1 2 UDP {} {} {} typ host", kRtcpPriority, rtp.ip_text(), rtp.port() + 1));
    }
}

}  // namespace weir::sdp
