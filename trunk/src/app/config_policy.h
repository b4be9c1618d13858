// net::Policy from the configuration. No directive asks for a token yet.
#pragma once

#include "app/config/config.h"
#include "net/policy.h"

namespace weir::app {

class ConfigPolicy final : public net::Policy {
  public:
    // `config` must outlive this.
    explicit ConfigPolicy(const Config& config) : config_(config) {}

    stream::StreamKey key_of(std::string_view vhost,
                             std::string_view app,
                             std::string_view name) const override;
    Result<net::PublishRules> may_publish(const stream::StreamKey& key,
                                          const io::SocketAddress& peer,
                                          std::string_view token) const override;
    Result<net::PlayRules> may_play(const stream::StreamKey& key,
                                    const io::SocketAddress& peer,
                                    std::string_view token) const override;

  private:
    Result<const VhostConfig*> vhost_for(Action action,
                                         const stream::StreamKey& key,
                                         const io::SocketAddress& peer) const;

    const Config& config_;
};

}  // namespace weir::app
