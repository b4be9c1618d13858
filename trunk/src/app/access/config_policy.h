// net::Policy from the configuration: rules by address, secrets, limits.
//
// A rule by address and a secret: both are asked (`satisfy all`), and where only a secret is
// configured it takes the place of the unwritten rules by address. Reads the configuration when it
// is asked, so what a reload puts there holds for the next who comes.
#pragma once

#include <optional>

#include "app/access/access_control.h"
#include "config/config.h"
#include "net/policy.h"

namespace weir::app {

class ConfigPolicy final : public net::Policy {
  public:
    // All must outlive this. A reload changes what `config` holds: nothing here keeps a reference
    // into it beyond a call, and neither may a caller.
    ConfigPolicy(const config::Config& config, AccessControl& access, net::Limits& limits)
        : config_(config), access_(access), limits_(limits) {}

    stream::StreamKey key_of(std::string_view vhost,
                             std::string_view app,
                             std::string_view name) const override;
    Result<net::PublishRules> may_publish(const net::AccessRequest& request) const override;
    net::PublishRules rules_of_source(const stream::StreamKey& key) const override;
    net::PlayRules rules_of_forward(const stream::StreamKey& key) const override;
    Result<net::PlayRules> may_play(const net::AccessRequest& request) const override;
    bool plays_openly(const net::AccessRequest& request) const override;
    Error may_bring(const stream::StreamKey& key) const override;
    std::function<bool(const NetAddress&)> fast_change_servers(
        const stream::StreamKey& key) const override;
    net::LoginAnswer login(const net::LoginRequest& request) const override;
    bool asks_for_secret(const stream::StreamKey& key, bool publishes) const override;
    net::PasswordAnswer check_password(const net::PasswordRequest& request) const override;

    // What holds for the players of a running pump of that stream; none where the vhost is gone or
    // disabled: they keep what they have.
    std::optional<net::PumpOptions> pump_options(const stream::StreamKey& key) const;

  private:
    Result<const config::VhostConfig*> section_of(const stream::StreamKey& key) const;
    Result<const config::VhostConfig*> admit(config::Action action,
                                             const net::AccessRequest& request) const;
    Error check_page(const config::VhostConfig& vhost, const net::AccessRequest& request) const;

    const config::Config& config_;
    AccessControl& access_;
    net::Limits& limits_;
};

}  // namespace weir::app
