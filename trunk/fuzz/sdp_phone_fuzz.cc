// Descriptions of telephones: bounds hold; an answer has the offer's sections, is read again, and
// means the same to a side that would have made the offer.
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "proto/sdp/phone.h"

namespace sdp = weir::sdp;
using weir::media::Codec;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

static sdp::PhoneOptions options(sdp::PhoneSrtp srtp) {
    sdp::PhoneOptions own;
    own.address = *weir::NetAddress::parse_ip("192.0.2.1", 0);
    own.audio.codecs = {
        {Codec::kG711U, 8000, 0}, {Codec::kG711A, 8000, 8}, {Codec::kOpus, 48'000, 96}};
    own.video.codecs = {{Codec::kH264, 90'000, 99}, {Codec::kVp8, 90'000, 100}};
    own.audio.port = 20'000;
    own.video.port = 20'002;
    own.audio.security.srtp = own.video.security.srtp = srtp;
    own.audio.security.keys = {{0, "AES_CM_128_HMAC_SHA1_80", weir::Bytes(30, 1)},
                               {0, "AEAD_AES_128_GCM", weir::Bytes(28, 2)}};
    own.audio.security.fingerprint = sdp::Fingerprint{"sha-256", std::vector<uint8_t>(32, 3)};
    own.audio.security.ice_ufrag = "ourufrag";
    own.audio.security.ice_pwd = "our-password-of-24-chars";
    return own;
}

static void check(const sdp::PhoneTrack& track, const sdp::PhoneSecurity& own) {
    const sdp::PhoneSecured& secured = track.secured;
    WEIR_CHECK((secured.keys == sdp::PhoneKeys::kSdes) == secured.local_key.has_value());
    WEIR_CHECK((secured.keys == sdp::PhoneKeys::kSdes) == secured.remote_key.has_value());
    WEIR_CHECK(!secured.remote_key ||
               secured.remote_key->key_and_salt.size() == secured.local_key->key_and_salt.size());
    WEIR_CHECK((secured.keys == sdp::PhoneKeys::kDtls) == secured.remote_fingerprint.has_value());
    WEIR_CHECK(!secured.remote_fingerprint || secured.remote_fingerprint->bytes.size() == 32);
    WEIR_CHECK(!track.in_use || own.srtp != sdp::PhoneSrtp::kRequired ||
               secured.keys != sdp::PhoneKeys::kNone);
    WEIR_CHECK(own.srtp != sdp::PhoneSrtp::kOff || secured.keys == sdp::PhoneKeys::kNone);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size > sdp::kMaxTextBytes / 2) {
        return 0;  // rejected sections repeat the offer, and the answer may be too long to read
    }
    const auto offer = sdp::read_phone_description(weir::as_text({data, size}));
    if (!offer.ok()) {
        return 0;
    }
    for (const auto srtp :
         {sdp::PhoneSrtp::kOptional, sdp::PhoneSrtp::kRequired, sdp::PhoneSrtp::kOff}) {
        const sdp::PhoneOptions own = options(srtp);
        static_cast<void>(sdp::accept_phone(*offer, own));
        const auto agreed = sdp::answer_phone(*offer, own);
        if (!agreed.ok()) {
            continue;
        }
        check(agreed->audio, own.audio.security);
        check(agreed->video, own.video.security);
        const auto again = sdp::read_phone_description(agreed->answer);
        WEIR_CHECK(again.ok() && again->media.size() == offer->media.size());
        const sdp::PhoneMedia* const audio = again->find(weir::media::TrackKind::kAudio);
        WEIR_CHECK((audio != nullptr) == agreed->audio.in_use);
        WEIR_CHECK(!agreed->audio.secured.local_key ||
                   audio->transport.crypto.at(0) == *agreed->audio.secured.local_key);
    }
    return 0;
}
