#include "app/run/stream_sources.h"

#include <algorithm>

#include "base/random.h"
#include "config/process_config.h"
#include "config/source_specs.h"
#include "io/socket_address.h"
#include "net/private_streams.h"

namespace weir::app {

StreamSources::StreamSources(const config::Config& config,
                             const net::Services& services,
                             const net::ServerIdentity& identity)
    : config_(config),
      private_streams_(services.private_streams),
      has_others_(services.claims != nullptr),
      sources_({services.registry,
                dialer_,
                services.policy,
                [this](const io::SocketAddress& local, const io::SocketAddress& peer) {
                    return is_own(local, peer);
                },
                system_random(),
                {},
                services.claims}),
      api_(identity, sources_, added_, [this](auto name) { return has_vhost(name); }) {}

Error StreamSources::start() {
    net::SourceConfig ask;
    AddedSources::IsOwn is_own;
    if (config_.processes > 1) {
        is_own = [count = config_.processes, own = config_.process](const stream::StreamKey& key) {
            return config::home_of(key, count) == own;
        };
    }
    WEIR_TRY(added_.load(config_.sources_file, std::move(is_own)));
    ask.named = [this] { return named(); };
    ask.for_any = [this](const stream::StreamKey& key) -> std::optional<net::SourceSpec> {
        std::optional<net::SourceSpec> spec = config::source_for(config_, key);
        const bool is_group = spec && spec->url.is_group();  // each process joins it by itself
        if (is_elsewhere_ && !is_group && is_elsewhere_(key)) {
            spec = config::relay_of(config_, key);
        }
        return spec && spec->relayed && is_private(key) ? std::nullopt : std::move(spec);
    };
    ask.stand_in = [this](const stream::StreamKey& key) -> std::optional<net::SourceSpec> {
        if (!has_others_ || is_private(key)) {
            return std::nullopt;
        }
        net::SourceSpec spec = config::relay_of(config_, key);
        spec.stands_in = true;
        return spec;
    };
    ask.forwards = [this](const stream::StreamKey& key) {
        return is_private(key) ? std::vector<net::SourceSpec>() : config::forwards_of(config_, key);
    };
    ask.max_sources = [this] { return size_t{config_.max_sources}; };
    return sources_.start(std::move(ask));
}

// The configuration's first: they have the name where both have it.
std::vector<net::SourceSpec> StreamSources::named() const {
    std::vector<net::SourceSpec> all = config::named_sources(config_);
    std::erase_if(all,
                  [this](const net::SourceSpec& spec) { return is_home_ && !is_home_(spec.key); });
    for (const auto& [key, spec] : added_.all()) {
        if (has_vhost(key.vhost)) {
            all.push_back(spec);
        }
    }
    return all;
}

bool StreamSources::is_private(const stream::StreamKey& key) const {
    return private_streams_ != nullptr && private_streams_->has(key);
}

bool StreamSources::has_vhost(std::string_view name) const {
    const config::VhostConfig* const found = config_.find_vhost(name);
    return found != nullptr && found->name == name;
}

void StreamSources::reconfigure() {
    sources_.reconfigure();
}

// Both ends have one address, so the connection has not left the machine; and the port is one of
// ours.
bool StreamSources::is_own(const io::SocketAddress& local, const io::SocketAddress& peer) const {
    if (local.host() != peer.host()) {
        return false;
    }
    const auto listens = [&peer](const config::ListenAddress& listen) {
        const Result<io::SocketAddress> address = io::SocketAddress::parse(listen.address);
        return address.ok() && address->port() == peer.port() &&
               (address->is_any() || address->host() == peer.host());
    };
    return std::ranges::any_of(config_.listen, listens) ||
           (config_.rtsp_server.enabled &&
            std::ranges::any_of(config_.rtsp_server.listen, listens)) ||
           (config_.http_server.enabled &&
            std::ranges::any_of(config_.http_server.listen, listens)) ||
           (config_.http_api.enabled && std::ranges::any_of(config_.http_api.listen, listens));
}

}  // namespace weir::app
