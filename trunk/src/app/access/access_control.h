// AccessControl: who shows the right secret. Holds the secrets that are in force and reads their
// files again when they change.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "app/access/access_data.h"
#include "base/error.h"
#include "base/log.h"
#include "config/access_rules.h"
#include "io/worker_pool.h"
#include "net/address_rates.h"
#include "net/limits.h"
#include "net/policy.h"
#include "proto/rtmp/adobe_auth.h"

namespace weir::app {

class AccessControl {
  public:
    // Wrong passwords of one user that an address may show at once, and one more per so many
    // seconds. Then it is refused, whatever it shows.
    static constexpr net::BucketOptions kLoginFailures{1.0 / 6, 10};

    // `limits` counts refusals; it must outlive this.
    explicit AccessControl(net::Limits& limits);

    // Before the first client: what the processes of a server have in common, since an answer comes
    // by a new connection, to any of them.
    void share_challenges(const rtmp::AdobeAuthenticator::Secret& secret) { adobe_.share(secret); }

    // Takes effect with the next who comes. Whoever publishes or plays goes on.
    void use(std::shared_ptr<const AccessData> data) { data_ = std::move(data); }

    const AccessData& data() const { return *data_; }

    // Success, or kDenied with a sentence for the peer that tells whether it showed nothing or
    // something wrong; counted. Only where the vhost asks for a secret for that action.
    Error check(const config::VhostConfig& vhost,
                config::Action action,
                const net::AccessRequest& request) const;

    // Adobe's challenge and response. `asked`: a publisher without a login is challenged.
    net::LoginAnswer login(const config::VhostConfig& vhost,
                           const net::LoginRequest& request,
                           bool asked);

    // Digest and Basic: a user of the publishers with its password, or any user with a key of that
    // action, or with a token where the password itself is shown (which check() looks at).
    net::PasswordAnswer check_password(const config::VhostConfig& vhost,
                                       const net::PasswordRequest& request);

    // Yields. Looks at the files, on a worker, and takes what has changed; what is wrong then is
    // logged once and the old secrets stay. `config` is what is in force.
    void refresh(const config::Config& config, io::WorkerPool& workers);

  private:
    Error refuse(net::Refusal reason, std::string text) const;
    void log_login_refused(std::string_view user,
                           const std::string& ip,
                           const config::VhostConfig& vhost) const;

    net::Limits& limits_;
    std::shared_ptr<const AccessData> data_;
    std::string told_;  // the last trouble with a file
    rtmp::AdobeAuthenticator adobe_;
    net::AddressRates login_failures_;  // by address, and by user in place of the port
    mutable log::Throttle log_{Millis(1000)};
};

// All keys are compared, each in constant time.
bool is_one_of(std::string_view shown, const std::vector<std::string>& secrets);

}  // namespace weir::app
