#include "proto/rtmp/handshake.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/hmac.h"

namespace weir::rtmp {
namespace {

// C1 and S1:  time 4 | version 4 | 764 bytes | 764 bytes. One half holds the 32-byte digest at an
// offset that its first four bytes give, the other one a key for RTMPE, which is random here.
constexpr size_t kVersionOffset = 4;
constexpr size_t kFirstHalf = 8;
constexpr size_t kHalfSize = 764;
constexpr size_t kDigestRange = kHalfSize - 4 - kDigestSize;  // 728

// What Flash Player and Flash Media Server sign with: a sentence for the first message, sentence
// and salt for the answer.
constexpr std::string_view kPlayerName = "Genuine Adobe Flash Player 001";
constexpr std::string_view kServerName = "Genuine Adobe Flash Media Server 001";
constexpr uint8_t kSalt[] = {0xF0, 0xEE, 0xC2, 0x4A, 0x80, 0x68, 0xBE, 0xE8, 0x2E, 0x00, 0xD0,
                             0xD1, 0x02, 0x9E, 0x7E, 0x57, 0x6E, 0xEC, 0x5D, 0x2D, 0x29, 0x80,
                             0x6F, 0xAB, 0x93, 0xB8, 0xE6, 0x36, 0xCF, 0xEB, 0x31, 0xAE};

// Versions in S1 and C1; anything with a first byte that is not 0 tells the peer that there is a
// digest.
constexpr uint8_t kServerVersion[] = {4, 5, 0, 1};
constexpr uint8_t kClientVersion[] = {9, 0, 124, 2};

size_t digest_offset(DigestScheme scheme, ByteSpan block) {
    const size_t half = scheme == DigestScheme::kDigestFirst ? kFirstHalf : kFirstHalf + kHalfSize;
    const size_t sum = size_t{block[half]} + block[half + 1] + block[half + 2] + block[half + 3];
    return half + 4 + sum % kDigestRange;
}

// HMAC over the block without the digest.
Sha256Digest block_digest(DigestScheme scheme, ByteSpan block, std::string_view key) {
    const size_t at = digest_offset(scheme, block);
    return hmac_sha256(as_bytes(key), block.first(at), block.subspan(at + kDigestSize));
}

ByteSpan digest_of(DigestScheme scheme, ByteSpan block) {
    return block.subspan(digest_offset(scheme, block), kDigestSize);
}

DigestScheme find_scheme(ByteSpan block, std::string_view key) {
    if (std::all_of(block.begin() + kVersionOffset, block.begin() + kFirstHalf,
                    [](uint8_t b) { return b == 0; })) {
        return DigestScheme::kNone;
    }
    for (const DigestScheme scheme : {DigestScheme::kDigestFirst, DigestScheme::kKeyFirst}) {
        if (std::ranges::equal(block_digest(scheme, block, key), digest_of(scheme, block))) {
            return scheme;
        }
    }
    return DigestScheme::kNone;
}

// Fills a block of kHandshakeSize bytes at `out`: zero time, version, random bytes, and the digest
// if there is a scheme.
void make_block(DigestScheme scheme,
                const uint8_t* version,
                std::string_view key,
                RandomSource& random,
                uint8_t* out) {
    std::fill_n(out, kFirstHalf, uint8_t{0});
    random.fill({out + kFirstHalf, kHandshakeSize - kFirstHalf});
    if (scheme == DigestScheme::kNone) {
        return;  // the version stays 0: a peer would look for a digest otherwise
    }
    std::copy_n(version, 4, out + kVersionOffset);
    const ByteSpan block(out, kHandshakeSize);
    const Sha256Digest digest = block_digest(scheme, block, key);
    std::copy(digest.begin(), digest.end(), out + digest_offset(scheme, block));
}

// The last 32 bytes of S2 and C2: the answer to the digest of the peer.
Sha256Digest answer_digest(std::string_view name, ByteSpan peer_digest, ByteSpan content) {
    Bytes key(name.begin(), name.end());
    key.insert(key.end(), std::begin(kSalt), std::end(kSalt));
    return hmac_sha256(hmac_sha256(key, peer_digest), content);
}

void make_answer(std::string_view name, ByteSpan peer_digest, RandomSource& random, uint8_t* out) {
    constexpr size_t kContent = kHandshakeSize - kDigestSize;
    random.fill({out, kContent});
    const Sha256Digest digest = answer_digest(name, peer_digest, ByteSpan(out, kContent));
    std::copy(digest.begin(), digest.end(), out + kContent);
}

// Grows `out` by `size` bytes and gives the place.
uint8_t* extend(Bytes& out, size_t size) {
    out.resize(out.size() + size);
    return out.data() + out.size() - size;
}

// Moves up to what is missing from `bytes` to `block`; true when the block is complete.
bool collect(ByteSpan& bytes, Bytes& block) {
    block.reserve(kHandshakeSize);
    const ByteSpan part = bytes.first(std::min(kHandshakeSize - block.size(), bytes.size()));
    block.insert(block.end(), part.begin(), part.end());
    bytes = bytes.subspan(part.size());
    return block.size() == kHandshakeSize;
}

// RTMP 1.0 §5.2.2: versions below 32 are answered with ours; the others never were RTMP.
Error check_client_version(uint8_t version) {
    switch (version) {
        case 6:
        case 8:
        case 9:
            return make_error(ErrorCode::kUnsupported, "RTMPE (version {}) is not supported",
                              version);
        case 0x16: return make_error(ErrorCode::kMalformed, "not RTMP: this looks like TLS");
        default: break;
    }
    if (version >= 32) {
        return make_error(ErrorCode::kMalformed, "not RTMP: the first byte is 0x{:02x}", version);
    }
    return {};
}

}  // namespace

Result<size_t> ServerHandshake::feed(ByteSpan bytes) {
    const size_t offered = bytes.size();
    while (!bytes.empty() && state_ != State::kDone) {
        switch (state_) {
            case State::kVersion:
                WEIR_TRY(check_client_version(bytes.front()));
                bytes = bytes.subspan(1);
                state_ = State::kC1;
                break;
            case State::kC1:
                if (collect(bytes, input_)) {
                    answer();
                    input_ = Bytes();
                    missing_ = kHandshakeSize;
                    state_ = State::kC2;
                }
                break;
            case State::kC2: {
                const size_t size = std::min<size_t>(missing_, bytes.size());
                missing_ = static_cast<uint16_t>(missing_ - size);
                bytes = bytes.subspan(size);
                if (missing_ == 0) {
                    state_ = State::kDone;
                }
                break;
            }
            case State::kDone: break;
        }
    }
    return offered - bytes.size();
}

void ServerHandshake::answer() {
    scheme_ = find_scheme(input_, kPlayerName);
    output_.reserve(1 + 2 * kHandshakeSize);
    output_.push_back(kRtmpVersion);
    make_block(scheme_, kServerVersion, kServerName, random_, extend(output_, kHandshakeSize));
    if (scheme_ == DigestScheme::kNone) {
        output_.insert(output_.end(), input_.begin(),
                       input_.end());  // S2 is C1; some clients compare
    } else {
        make_answer(kServerName, digest_of(scheme_, input_), random_,
                    extend(output_, kHandshakeSize));
    }
}

Bytes ServerHandshake::take_output() {
    return std::exchange(output_, Bytes());
}

ClientHandshake::ClientHandshake(RandomSource& random, DigestScheme scheme)
    : random_(random), scheme_(scheme) {
    output_.reserve(1 + kHandshakeSize);
    output_.push_back(kRtmpVersion);
    make_block(scheme_, kClientVersion, kPlayerName, random_, extend(output_, kHandshakeSize));
    if (scheme_ != DigestScheme::kNone) {
        const ByteSpan own = digest_of(scheme_, ByteSpan(output_).subspan(1));
        std::copy(own.begin(), own.end(), own_digest_);
    }
}

Result<size_t> ClientHandshake::feed(ByteSpan bytes) {
    const size_t offered = bytes.size();
    while (!bytes.empty() && state_ != State::kDone) {
        switch (state_) {
            case State::kVersion:
                if (bytes.front() != kRtmpVersion) {
                    return make_error(ErrorCode::kMalformed,
                                      "the server answers with RTMP version {}", bytes.front());
                }
                bytes = bytes.subspan(1);
                state_ = State::kS1;
                break;
            case State::kS1:
                if (collect(bytes, input_)) {
                    WEIR_TRY(read_s1());
                    input_ = Bytes();
                    state_ = State::kS2;
                }
                break;
            case State::kS2:
                if (collect(bytes, input_)) {
                    WEIR_TRY(read_s2());
                    input_ = Bytes();
                    state_ = State::kDone;
                }
                break;
            case State::kDone: break;
        }
    }
    return offered - bytes.size();
}

Error ClientHandshake::read_s1() {
    if (scheme_ != DigestScheme::kNone) {
        const DigestScheme servers = find_scheme(input_, kServerName);
        if (servers == DigestScheme::kNone && input_[kVersionOffset] != 0) {
            return make_error(ErrorCode::kMalformed, "the digest in S1 does not verify");
        }
        scheme_ = servers;  // a server without digests: the simple handshake goes on
    }
    if (scheme_ == DigestScheme::kNone) {
        output_.insert(output_.end(), input_.begin(), input_.end());
    } else {
        make_answer(kPlayerName, digest_of(scheme_, input_), random_,
                    extend(output_, kHandshakeSize));
    }
    return {};
}

Error ClientHandshake::read_s2() {
    if (scheme_ == DigestScheme::kNone) {
        return {};
    }
    const ByteSpan s2(input_);
    const ByteSpan content = s2.first(kHandshakeSize - kDigestSize);
    const Sha256Digest expected = answer_digest(kServerName, own_digest_, content);
    if (!std::ranges::equal(expected, s2.last(kDigestSize))) {
        return make_error(ErrorCode::kMalformed, "the digest in S2 does not verify");
    }
    verified_ = true;
    return {};
}

Bytes ClientHandshake::take_output() {
    return std::exchange(output_, Bytes());
}

}  // namespace weir::rtmp
