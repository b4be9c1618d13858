#include "app/run/tls_service.h"

#include <algorithm>
#include <ctime>

#include <sys/stat.h>

#include "base/strings.h"
#include "io/coroutine.h"
#include "io/tls_acceptor.h"
#include "net/http/router.h"
#include "net/trusted_proxies.h"
#include "proto/http/response.h"

namespace weir::app {
namespace {

constexpr int64_t kDay = 24 * 3600;
constexpr Millis kWarnPeriod{24 * 3600 * 1000};
constexpr Millis kIdleLook{60'000};  // where the files are not watched: for the dates
constexpr size_t kMaxShownNames = 8;

int64_t now_s() {
    return static_cast<int64_t>(std::time(nullptr));
}

constexpr TlsScope kScopes[] = {TlsScope::kRtmp, TlsScope::kHttp, TlsScope::kApi, TlsScope::kRtsp,
                                TlsScope::kSip};

const std::vector<config::CertificateConfig>& certificates_of(const config::Config& config,
                                                              TlsScope scope) {
    const auto& own = scope == TlsScope::kHttp  ? config.http_server.certificates
                      : scope == TlsScope::kApi ? config.http_api.certificates
                                                : config.tls.certificates;
    return own.empty() ? config.tls.certificates : own;
}

const std::vector<config::ListenAddress>& listeners_of(const config::Config& config,
                                                       TlsScope scope) {
    return scope == TlsScope::kHttp   ? config.http_server.listen
           : scope == TlsScope::kApi  ? config.http_api.listen
           : scope == TlsScope::kRtsp ? config.rtsp_server.listen
           : scope == TlsScope::kSip  ? config.sip_server.listen
                                      : config.listen;
}

bool is_enabled(const config::Config& config, TlsScope scope) {
    return scope == TlsScope::kHttp   ? config.http_server.enabled
           : scope == TlsScope::kApi  ? config.http_api.enabled
           : scope == TlsScope::kRtsp ? config.rtsp_server.enabled
           : scope == TlsScope::kSip  ? config.sip_server.enabled
                                      : true;
}

bool uses_tls(const config::Config& config, TlsScope scope) {
    return is_enabled(config, scope) &&
           std::ranges::any_of(listeners_of(config, scope),
                               [](const config::ListenAddress& listen) { return listen.ssl; });
}

std::vector<io::TlsCertificateFiles> files_of(const std::vector<config::CertificateConfig>& list) {
    std::vector<io::TlsCertificateFiles> files;
    for (const config::CertificateConfig& each : list) {
        files.push_back({each.certificate, each.key});
    }
    return files;
}

TlsFiles::Stamp stamp_of(const std::string& path) {
    TlsFiles::Stamp stamp{path};

    struct stat status {};

    if (stat(path.c_str(), &status) == 0) {  // through symbolic links, which certbot changes
        stamp.changed_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
        stamp.inode = status.st_ino;
        stamp.bytes = status.st_size;
    }
    return stamp;
}

std::vector<TlsFiles::Stamp> stamps_again(const std::vector<TlsFiles::Stamp>& stamps) {
    std::vector<TlsFiles::Stamp> now;
    now.reserve(stamps.size());
    for (const TlsFiles::Stamp& each : stamps) {
        now.push_back(stamp_of(each.path));
    }
    return now;
}

Result<TlsFiles> load_sources(
    std::array<std::vector<io::TlsCertificateFiles>, kTlsScopes> sources) {
    TlsFiles files;
    files.sources = std::move(sources);
    for (size_t i = 0; i < kTlsScopes; i++) {
        const std::vector<io::TlsCertificateFiles>& source = files.sources[i];
        if (source.empty()) {
            continue;
        }
        // Before the files are read: a change meanwhile is seen at the next look.
        for (const io::TlsCertificateFiles& each : source) {
            files.stamps.push_back(stamp_of(each.certificate));
            files.stamps.push_back(stamp_of(each.key));
        }
        const auto same = std::find(files.sources.begin(), files.sources.begin() + i, source);
        if (same != files.sources.begin() + i) {
            files.contexts[i] = files.contexts[static_cast<size_t>(same - files.sources.begin())];
            continue;
        }
        WEIR_TRY_ASSIGN(files.contexts[i], io::TlsContext::server(source));
        for (size_t c = 0; c < source.size(); c++) {
            for (std::string& warning : io::tls_certificate_warnings(
                     source[c], files.contexts[i]->certificates()[c], now_s())) {
                files.warnings.push_back(std::move(warning));
            }
        }
    }
    return files;
}

std::string shown_names(const io::TlsCertificateInfo& info) {
    const std::span shown =
        std::span(info.names).first(std::min(info.names.size(), kMaxShownNames));
    return join(shown, ",") + (info.names.size() > shown.size() ? ",..." : "");
}

std::string iso_time(int64_t seconds) {
    const auto time = static_cast<time_t>(seconds);
    std::tm broken{};
    gmtime_r(&time, &broken);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &broken)};
}

// Those of two scopes may be the same object: each certificate once.
template <typename Visit>
void for_each_certificate(const TlsFiles& files, Visit&& visit) {
    for (size_t i = 0; i < kTlsScopes; i++) {
        const auto& context = files.contexts[i];
        if (context == nullptr || std::find(files.contexts.begin(), files.contexts.begin() + i,
                                            context) != files.contexts.begin() + i) {
            continue;
        }
        for (const io::TlsCertificateInfo& info : context->certificates()) {
            visit(kScopes[i], info);
        }
    }
}

}  // namespace

std::string_view to_string(TlsScope scope) {
    switch (scope) {
        case TlsScope::kRtmp: return "rtmp";
        case TlsScope::kHttp: return "http";
        case TlsScope::kApi: return "api";
        case TlsScope::kRtsp: return "rtsp";
        case TlsScope::kSip: return "sip";
    }
    return "rtmp";
}

CertificateCheck check_certificates(const config::Config& config) {
    CertificateCheck check;
    std::vector<const config::CertificateConfig*> seen;
    for (const auto* list : {&config.tls.certificates, &config.http_server.certificates,
                             &config.http_api.certificates}) {
        for (const config::CertificateConfig& each : *list) {
            if (std::ranges::any_of(seen, [&](const auto* other) { return *other == each; })) {
                continue;
            }
            seen.push_back(&each);
            const io::TlsCertificateFiles files{each.certificate, each.key};
            const auto context = io::TlsContext::server({&files, 1});
            if (!context.ok()) {
                check.errors.push_back(
                    {config.file, each.line, 1, std::string(context.error().message())});
                continue;
            }
            for (std::string& warning :
                 io::tls_certificate_warnings(files, (*context)->certificates().front(), now_s())) {
                check.warnings.push_back(std::move(warning));
            }
        }
    }
    return check;
}

Result<TlsFiles> TlsService::load(const config::Config& config) {
    std::array<std::vector<io::TlsCertificateFiles>, kTlsScopes> sources;
    for (const TlsScope scope : kScopes) {
        if (uses_tls(config, scope)) {
            sources[static_cast<size_t>(scope)] = files_of(certificates_of(config, scope));
        }
    }
    return load_sources(std::move(sources));
}

Error TlsService::use(TlsFiles files, const config::Config& config) {
    const bool wanted =
        std::ranges::any_of(files.contexts, [](const auto& context) { return context != nullptr; });
    if (wanted && !workers_) {
        WEIR_TRY_ASSIGN(workers_, make_workers_());
        acceptor_.set_workers(workers_.get());
    }
    files_ = std::move(files);
    loaded_at_ = MonoClock::now();
    refused_.clear();
    watch_ = config.tls.watch;
    if (config.tls.trusted_proxies) {
        std::vector<net::AddressRange> ranges;
        for (const config::IpNetwork& network : *config.tls.trusted_proxies) {
            ranges.push_back({network.address.bytes, network.bits});
        }
        proxies_.set(std::move(ranges));
    } else {
        proxies_.reset();
    }
    for (const std::string& warning : files_.warnings) {
        log::warn("tls: {}", warning);
    }
    for_each_certificate(files_, [](TlsScope scope, const io::TlsCertificateInfo& info) {
        log::info("tls certificate for={} names={} key=\"{}\" issuer=\"{}\" until={}",
                  to_string(scope), log::escaped(shown_names(info)), info.key,
                  log::escaped(info.issuer), iso_time(info.not_after_s));
    });
    warn_of_the_end(now_s());
    return {};
}

void TlsService::warn_of_the_end(int64_t now) {
    for_each_certificate(files_, [now](TlsScope, const io::TlsCertificateInfo& info) {
        const int64_t days = (info.not_after_s - now) / kDay;
        if (info.not_after_s > now && days < kWarnDays) {
            log::warn("tls: the certificate {} ends in {} days, on {}; is its renewal working?",
                      info.file, days, iso_time(info.not_after_s));
        }
    });
}

Error TlsService::reload_certificates(io::WorkerPool& disk) {
    Result<TlsFiles> loaded = make_error(ErrorCode::kInternal, "not read");
    const auto sources = files_.sources;
    WEIR_TRY(disk.run([&] { loaded = load_sources(sources); }));
    if (!loaded.ok()) {
        failed_reloads_++;
        return loaded.take_error();
    }
    if (files_.sources != sources) {
        return {};  // a new configuration came meanwhile, with files that it has just read
    }
    files_ = std::move(*loaded);
    loaded_at_ = MonoClock::now();
    refused_.clear();
    reloads_++;
    return {};
}

// Yields. Takes over what has changed; what cannot be used is told once.
void TlsService::look(io::WorkerPool& disk) {
    std::vector<TlsFiles::Stamp> stamps;
    const std::vector<TlsFiles::Stamp> before = files_.stamps;
    if (Error refused = disk.run([&] { stamps = stamps_again(before); })) {
        return;  // the disk is slow: at the next look
    }
    const bool changed = stamps != before && stamps != refused_;
    const bool old_keys = MonoClock::now() - loaded_at_ > kTicketKeyAge && stamps == before;
    if (!changed && !old_keys) {
        return;
    }
    if (Error failed = reload_certificates(disk)) {
        refused_ = std::move(stamps);
        log::error("tls: changed certificates cannot be used, the old ones stay in force: {}",
                   failed.message());
    } else if (changed) {
        for (const std::string& warning : files_.warnings) {
            log::warn("tls: {}", warning);
        }
        for_each_certificate(files_, [](TlsScope scope, const io::TlsCertificateInfo& info) {
            log::info("tls certificate read anew for={} names={} until={}", to_string(scope),
                      log::escaped(shown_names(info)), iso_time(info.not_after_s));
        });
    }
}

void TlsService::watch(io::WorkerPool& disk) {
    MonoTime warned = MonoClock::now();
    while (!io::sleep_for(watch_ > Millis::zero() ? watch_ : kIdleLook)) {
        if (files_.stamps.empty()) {
            continue;
        }
        if (watch_ > Millis::zero()) {
            look(disk);
        }
        if (MonoClock::now() - warned >= kWarnPeriod) {
            warned = MonoClock::now();
            warn_of_the_end(now_s());
        }
    }
}

std::shared_ptr<const net::Ingress> TlsService::ingress(TlsScope scope,
                                                        const config::ListenAddress& listen) {
    if (!listen.ssl && !listen.proxy_protocol) {
        return nullptr;
    }
    return std::make_shared<net::Ingress>(
        net::Ingress::Shared{proxies_, acceptor_, stats_}, listen.proxy_protocol,
        listen.ssl ? &files_.contexts[static_cast<size_t>(scope)] : nullptr);
}

void TlsService::add_to(net::HttpRouter& router, const net::ServerIdentity& identity) {
    net::HttpRouteOptions options;
    options.errors = http::ErrorFormat::kJson;
    router.add_prefix("/api/v1/tls", options, [this, identity](net::HttpExchange& exchange) {
        net::Json body = net::envelope(identity);
        body["data"] = json(now_s());
        answer(exchange, body);
    });
}

net::Json TlsService::json(int64_t now) const {
    net::Json certificates = net::Json::array();
    for_each_certificate(files_, [&](TlsScope scope, const io::TlsCertificateInfo& info) {
        certificates.push_back({{"for", to_string(scope)},
                                {"file", info.file},
                                {"names", info.names},
                                {"key", info.key},
                                {"issuer", info.issuer},
                                {"not_before", iso_time(info.not_before_s)},
                                {"not_after", iso_time(info.not_after_s)},
                                {"days_left", (info.not_after_s - now) / kDay}});
    });
    const io::TlsServerStats& tls = acceptor_.stats();
    return {{"certificates", std::move(certificates)},
            {"reloads", reloads_},
            {"failed_reloads", failed_reloads_},
            {"handshakes",
             {{"done", tls.handshakes},
              {"resumed", tls.resumed},
              {"failed", tls.failed},
              {"closed", tls.closed},
              {"timeouts", tls.timeouts},
              {"not_tls", tls.not_tls},
              {"ongoing", tls.ongoing}}},
            {"proxy_protocol",
             {{"accepted", stats_.proxied},
              {"untrusted", stats_.proxy_untrusted},
              {"malformed", stats_.proxy_malformed},
              {"timeouts", stats_.proxy_timeouts}}}};
}

void TlsService::add_metrics(net::Exposition& text) const {
    constexpr std::string_view kEnd = "weir_tls_certificate_not_after_seconds";
    text.head(kEnd, "gauge", "When the certificate ends, in seconds since 1970.");
    for_each_certificate(files_, [&](TlsScope scope, const io::TlsCertificateInfo& info) {
        text.sample(kEnd, info.not_after_s,
                    fmt::format("{{for=\"{}\",file=\"{}\",name=\"{}\"}}", to_string(scope),
                                net::label_value(info.file),
                                net::label_value(info.names.empty() ? "" : info.names.front())));
    });
    text.single("weir_tls_certificate_reloads_total", "counter",
                "Times that changed files of certificates were taken over.", reloads_);
    text.single("weir_tls_certificate_failed_reloads_total", "counter",
                "Times that changed files of certificates could not be used.", failed_reloads_);
    const io::TlsServerStats& tls = acceptor_.stats();
    constexpr std::string_view kHandshakes = "weir_tls_handshakes_total";
    text.head(kHandshakes, "counter", "TLS handshakes of clients, by outcome.");
    text.sample(kHandshakes, tls.handshakes, "{result=\"done\"}");
    text.sample(kHandshakes, tls.failed, "{result=\"failed\"}");
    text.sample(kHandshakes, tls.closed, "{result=\"closed\"}");
    text.sample(kHandshakes, tls.timeouts, "{result=\"timeout\"}");
    text.sample(kHandshakes, tls.not_tls, "{result=\"not_tls\"}");
    text.single("weir_tls_handshakes_resumed_total", "counter",
                "TLS handshakes that a ticket of an earlier one made short.", tls.resumed);
    text.single("weir_tls_handshakes_ongoing", "gauge", "TLS handshakes under way.", tls.ongoing);
    constexpr std::string_view kProxied = "weir_proxy_protocol_connections_total";
    text.head(kProxied, "counter", "Connections to listeners with proxy_protocol, by outcome.");
    text.sample(kProxied, stats_.proxied, "{result=\"accepted\"}");
    text.sample(kProxied, stats_.proxy_untrusted, "{result=\"untrusted\"}");
    text.sample(kProxied, stats_.proxy_malformed, "{result=\"malformed\"}");
    text.sample(kProxied, stats_.proxy_timeouts, "{result=\"timeout\"}");
}

}  // namespace weir::app
