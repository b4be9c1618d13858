#include "app/config_policy.h"

namespace weir::app {
namespace {

// A peer that is gone without a word is noticed by the kernel after this long without an
// acknowledgement.
constexpr Millis kUserTimeout{30'000};

}  // namespace

stream::StreamKey ConfigPolicy::key_of(std::string_view vhost,
                                       std::string_view app,
                                       std::string_view name) const {
    const VhostConfig* found = config_.find_vhost(vhost);
    return {found ? found->name : std::string(vhost), std::string(app), std::string(name)};
}

Result<const VhostConfig*> ConfigPolicy::vhost_for(Action action,
                                                   const stream::StreamKey& key,
                                                   const io::SocketAddress& peer) const {
    const VhostConfig* vhost = config_.find_vhost(key.vhost);
    if (!vhost) {
        return make_error(ErrorCode::kDenied,
                          "vhost {} is disabled; set \"enabled on;\" in its section",
                          log::escaped(key.vhost));
    }
    const std::string host = peer.host();
    if (!vhost->security.allows(action, host)) {
        return make_error(ErrorCode::kDenied, "{}", refusal_text(action, host, vhost->name));
    }
    return vhost;
}

Result<net::PublishRules> ConfigPolicy::may_publish(const stream::StreamKey& key,
                                                    const io::SocketAddress& peer,
                                                    std::string_view) const {
    WEIR_TRY_ASSIGN(const VhostConfig* vhost, vhost_for(Action::kPublish, key, peer));
    net::PublishRules rules;
    rules.conflict = vhost->publish_conflict;
    rules.stream.gop_cap_bytes = vhost->play.gop_cache_max_size;
    rules.first_packet = vhost->publish.firstpkt_timeout;
    rules.silent = vhost->publish.normal_timeout;
    return rules;
}

Result<net::PlayRules> ConfigPolicy::may_play(const stream::StreamKey& key,
                                              const io::SocketAddress& peer,
                                              std::string_view) const {
    WEIR_TRY_ASSIGN(const VhostConfig* vhost, vhost_for(Action::kPlay, key, peer));
    net::PlayRules rules;
    rules.stream.gop_cap_bytes = vhost->play.gop_cache_max_size;
    rules.pump.merge_window = vhost->play.mw_latency;
    rules.pump.queue_length = vhost->play.queue_length;
    rules.pump.queue_bytes = vhost->play.queue_size;
    rules.pump.wait_publisher = vhost->play.wait_publisher;
    rules.pump.write_stall = vhost->write_stall_timeout;
    rules.socket.send_buffer_bytes = static_cast<int>(vhost->send_buffer);
    rules.socket.user_timeout = kUserTimeout;
    return rules;
}

}  // namespace weir::app
