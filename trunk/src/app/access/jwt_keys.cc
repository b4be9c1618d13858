#include "app/access/jwt_keys.h"

#include <algorithm>
#include <utility>

#include "app/access/strict_json.h"
#include "base/base64.h"
#include "base/hmac.h"
#include "base/strings.h"

namespace weir::app {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 5;
constexpr std::string_view kPemBegin = "-----BEGIN ";

std::string_view text_of(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string()
               ? std::string_view(found->get_ref<const std::string&>())
               : std::string_view();
}

Result<Bytes> bytes_of(const Json& jwk, const char* name) {
    std::optional<Bytes> bytes = parse_base64url(text_of(jwk, name));
    if (!bytes || bytes->empty()) {
        return make_error(ErrorCode::kMalformed, "member {} is missing or no base64url", name);
    }
    return std::move(*bytes);
}

Result<PublicKey> public_key(const Json& jwk) {
    if (text_of(jwk, "kty") == "RSA") {
        WEIR_TRY_ASSIGN(const Bytes n, bytes_of(jwk, "n"));
        WEIR_TRY_ASSIGN(const Bytes e, bytes_of(jwk, "e"));
        return PublicKey::rsa(n, e);
    }
    WEIR_TRY_ASSIGN(const Bytes x, bytes_of(jwk, "x"));
    WEIR_TRY_ASSIGN(const Bytes y, bytes_of(jwk, "y"));
    return PublicKey::p256(x, y);
}

// The algorithm that a JWK's type is for here; empty: none.
std::string_view algorithm_of(const Json& jwk) {
    const std::string_view type = text_of(jwk, "kty");
    if (type == "oct") {
        return "HS256";
    }
    if (type == "RSA") {
        return "RS256";
    }
    return type == "EC" && text_of(jwk, "crv") == "P-256" ? "ES256" : std::string_view();
}

// Whether it is for checking signatures in a way that is known here (RFC 7517 §4.2 to §4.4).
bool is_for_us(const Json& jwk) {
    const std::string_view algorithm = algorithm_of(jwk);
    if (algorithm.empty() || (jwk.contains("use") && text_of(jwk, "use") != "sig") ||
        (jwk.contains("alg") && text_of(jwk, "alg") != algorithm)) {
        return false;
    }
    const auto operations = jwk.find("key_ops");
    return operations == jwk.end() ||
           (operations->is_array() &&
            std::find(operations->begin(), operations->end(), Json("verify")) != operations->end());
}

Error add_jwk(JwtKeys& keys, const Json& jwk) {
    if (keys.size() == kMaxJwtKeys) {
        return make_error(ErrorCode::kLimit, "more than {} keys", kMaxJwtKeys);
    }
    if (text_of(jwk, "kty") == "oct") {
        WEIR_TRY_ASSIGN(const Bytes secret, bytes_of(jwk, "k"));
        WEIR_TRY(add_jwt_secret(keys, as_text(secret)));
        keys.back().id = text_of(jwk, "kid");
        return {};
    }
    WEIR_TRY_ASSIGN(PublicKey key, public_key(jwk));
    keys.push_back({std::string(text_of(jwk, "kid")), std::move(key)});
    return {};
}

}  // namespace

std::string_view JwtKey::algorithm() const {
    const PublicKey* asymmetric = std::get_if<PublicKey>(&key);
    if (asymmetric == nullptr) {
        return "HS256";
    }
    return asymmetric->kind() == PublicKey::Kind::kRsa ? "RS256" : "ES256";
}

bool JwtKey::verify(std::string_view signed_part, ByteSpan signature) const {
    if (const std::string* secret = std::get_if<std::string>(&key)) {
        return equal_in_constant_time(hmac_sha256(as_bytes(*secret), as_bytes(signed_part)),
                                      signature);
    }
    return std::get<PublicKey>(key).verify_sha256(as_bytes(signed_part), signature);
}

Error add_jwt_secret(JwtKeys& keys, std::string_view secret) {
    if (secret.size() < kMinJwtSecret) {
        return make_error(ErrorCode::kMalformed, "a secret for HS256 needs at least {} bytes",
                          kMinJwtSecret);
    }
    // HS256 with what everybody may know would let everybody sign.
    if (secret.find("-----BEGIN") != std::string_view::npos) {
        return make_error(ErrorCode::kMalformed,
                          "that is a key in PEM, not a secret; jwks_file takes public keys");
    }
    keys.push_back({{}, std::string(secret)});
    return {};
}

Error add_jwks(JwtKeys& keys, std::string_view text) {
    if (text.size() > kMaxJwksBytes) {
        return make_error(ErrorCode::kLimit, "more than {} bytes", kMaxJwksBytes);
    }
    if (trim(text).starts_with(kPemBegin)) {
        WEIR_TRY_ASSIGN(PublicKey key, PublicKey::pem(trim(text)));
        keys.push_back({{}, std::move(key)});
        return {};
    }
    const std::optional<Json> parsed = parse_strict_object(text, kMaxDepth);
    if (!parsed) {
        return make_error(ErrorCode::kMalformed,
                          "neither a JSON object with unique names nor a public key in PEM");
    }
    const auto set = parsed->find("keys");
    const Json list = set == parsed->end() ? Json::array({*parsed}) : *set;
    if (!list.is_array()) {
        return make_error(ErrorCode::kMalformed, "the member keys must be a list");
    }
    const size_t before = keys.size();
    for (size_t i = 0; i < list.size(); i++) {
        if (!list[i].is_object()) {
            return make_error(ErrorCode::kMalformed, "key {} is no object", i + 1);
        }
        if (is_for_us(list[i])) {
            if (Error wrong = add_jwk(keys, list[i])) {
                return std::move(wrong).with_context(fmt::format("key {}", i + 1));
            }
        }
    }
    if (keys.size() == before) {
        return make_error(ErrorCode::kMalformed,
                          "no key for RS256, ES256 (P-256) or HS256 with use \"sig\"");
    }
    return {};
}

}  // namespace weir::app
