// Adobe's authentication of publishers (authmod=adobe), the user and password fields of OBS, ffmpeg
// and other encoders: what the server says and checks. Without I/O and without memory of who was
// challenged: a challenge is signed, so a client that brings it back has got it from here.
//
//   connect app                                       -> rejected: code=403 need auth;
//   authmod=adobe connect app?authmod=adobe&user=U                  -> rejected:
//   ?reason=needauth&user=U&salt=S&
//                                                        challenge=C&opaque=C
//   connect app?authmod=adobe&user=U&challenge=X&
//           response=R&opaque=C                       -> accepted, or ?reason=authfailed
//
//   R = base64(md5(base64(md5(U + S + password)) + C + X))
//
// There is no book of it; this is how encoders do it (librtmp and ffmpeg).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"

namespace weir::rtmp {

// What a connect's query says about it; views of the query. Values stand as they are: base64 is not
// percent-encoded by encoders.
struct AdobeQueryView {
    std::string_view authmod;
    std::string_view user;
    std::string_view challenge;  // the client's
    std::string_view response;
    std::string_view opaque;  // ours, brought back

    static AdobeQueryView parse(std::string_view query);
};

// Descriptions of a rejected connect, as encoders look for them.
std::string adobe_need_auth();
std::string adobe_failed();  // for a wrong password and for a user that does not exist

// R of the table above.
std::string adobe_response(std::string_view user,
                           std::string_view salt,
                           std::string_view password,
                           std::string_view server_challenge,
                           std::string_view client_challenge);

class AdobeAuthenticator {
  public:
    static constexpr int64_t kLifetimeMs = 30'000;  // of a challenge
    static constexpr size_t kMaxUser = 128;
    static constexpr size_t kMaxUsed =
        1024;  // challenges that were answered, so that none is twice

    explicit AdobeAuthenticator(RandomSource& random);

    using Secret = std::array<uint8_t, 32>;

    // Challenges of others with the same secret are good here, too. What was answered there is not
    // known here.
    void share(const Secret& secret) { secret_ = secret; }

    struct Challenge {
        std::string salt;
        std::string text;

        std::string description(std::string_view user) const;
    };

    // `peer`: its address; the challenge is good for that user and address alone. Of `user` only
    // what is_user_name() takes.
    Challenge challenge(std::string_view user, std::string_view peer, int64_t now_ms);

    enum class Verdict : uint8_t { kGood, kStale, kWrong };

    // Each of `passwords` may be the user's; none: there is no such user, and the check takes as
    // long. kStale: a challenge that is not ours, too old, or used; ask again.
    Verdict check(const AdobeQueryView& query,
                  std::string_view peer,
                  std::span<const std::string> passwords,
                  int64_t now_ms);

    // Letters, digits and "._-@+", at most kMaxUser: what can stand in a query as it is.
    static bool is_user_name(std::string_view name);

  private:
    std::string sign(std::string_view front, std::string_view user, std::string_view peer) const;
    std::string salt_of(std::string_view challenge) const;
    bool is_ours(std::string_view challenge,
                 std::string_view user,
                 std::string_view peer,
                 int64_t now_ms) const;
    bool was_used(std::string_view challenge) const;

    RandomSource& random_;
    Secret secret_{};
    std::vector<uint64_t> used_;  // a ring, kMaxUsed long, of what the client could not choose
    size_t used_at_ = 0;
};

}  // namespace weir::rtmp
