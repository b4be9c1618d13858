#include "app/run/load.h"

#include <algorithm>

#include <sys/stat.h>

#include <fmt/format.h>

#include "app/access/access_data.h"
#include "app/protocols/wiring.h"
#include "app/run/cpu_affinity.h"
#include "app/run/run_as.h"
#include "app/run/tls_service.h"
#include "config/include.h"
#include "config/process_config.h"

namespace weir::app {
namespace {

void append_file(std::string& signature, const std::string& path) {
    struct stat facts {};

    if (stat(path.c_str(), &facts) != 0) {
        signature += fmt::format("{} -\n", path);
        return;
    }
    signature += fmt::format("{} {} {} {} {}.{}\n", path, facts.st_dev, facts.st_ino, facts.st_size,
                             facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
}

// How many processes there are is settled at the start, and so is what they share.
void fit(config::Config& config, const ConfigSource& source) {
    config.rtc_server.single_port = source.single_port.value_or(config.rtc_server.single_port);
    if (source.seat.is_one_of_many()) {
        config::fit_to_process(config, source.seat.index, source.seat.count);
    } else if (source.alone) {
        config.processes = 1;
    } else if (config.processes == 0) {
        config.processes = static_cast<uint32_t>(
            std::clamp<size_t>(available_cores().size(), 1, config::kMostProcesses));
    }
}

}  // namespace

LoadedConfig load(const ConfigSource& source) {
    LoadedConfig loaded;
    config::ParseOutcome& outcome = loaded.outcome;
    outcome = config::load_config(source.file, source.environment);
    if (outcome.ok()) {
        outcome.errors = missing_cores(*outcome.config);
        for (Diagnostic& bad : check_certificates(*outcome.config).errors) {
            outcome.errors.push_back(std::move(bad));
        }
        if (Result<std::shared_ptr<const AccessData>> secrets = AccessData::load(*outcome.config);
            !secrets.ok()) {
            outcome.errors.push_back({source.file, 0, 0, std::string(secrets.error().message())});
        }
        if (Error bad = check_user(outcome.config->user)) {
            outcome.errors.push_back({source.file, 0, 0, std::string(bad.message())});
        }
        if (Error bad = apply_environment(*outcome.config, source.environment)) {
            outcome.errors.push_back({"", 0, 0, std::string(bad.message())});
        }
    }
    if (outcome.errors.empty() && outcome.config) {
        fit(*outcome.config, source);
        if (std::string problem = config::check_processes(*outcome.config); !problem.empty()) {
            outcome.errors.push_back({source.file, 0, 0, std::move(problem)});
        }
    }
    if (!outcome.errors.empty()) {
        outcome.config.reset();
    }
    loaded.signature = signature_of(outcome.watched);
    return loaded;
}

std::string signature_of(const std::vector<std::string>& watched) {
    std::string signature;
    for (const std::string& path : watched) {
        if (path.find_first_of("*?[") != std::string::npos) {
            for (const std::string& each : config::real_disk().matching(path)) {
                append_file(signature, each);
            }
        }
        append_file(signature, path);
    }
    return signature;
}

}  // namespace weir::app
