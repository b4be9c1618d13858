// weir: command line, configuration, start, signals, end.

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include <signal.h>
#include <unistd.h>

#include <fmt/format.h>

#include "app/config/config.h"
#include "app/config/config_doc.h"
#include "app/cpu_affinity.h"
#include "app/diagnosis/profilers.h"
#include "app/server.h"
#include "base/build.h"
#include "base/log.h"
#include "base/version.h"
#include "io/runtime.h"
#include "io/signals.h"

namespace weir::app {
namespace {

constexpr int kUsageError = 2;

constexpr std::string_view kUsage =
    "usage: weir [-c FILE] [-t] [-v] [-h]\n"
    "  -c FILE  configuration (default: conf/weir.conf)\n"
    "  -t       only test the configuration\n"
    "  -v       print the version\n"
    "  -h       this text\n"
    "  --print-config-doc    the table of directives as doc/configuration.md\n"
    "  --print-full-config   the same as conf/full.conf\n";

// "weir 0.1.0", and what makes this build another than the one for production.
std::string version_text() {
    std::string text = fmt::format("weir {}", kVersion);
    if (*kBuildFlags != '\0') {
        text += fmt::format(" (built with {})", kBuildFlags);
    }
    if (kHasPlants) {
        text += ", WITH PLANTED DEFECTS: for tests only, never for production";
    }
    return text;
}

struct CommandLine {
    std::string config_file = "conf/weir.conf";
    bool test_only = false;
    std::string text;  // to print, then end
    std::string error;
};

CommandLine parse_arguments(int count, char** arguments) {
    CommandLine line;
    for (int i = 1; i < count; i++) {
        const std::string_view argument = arguments[i];
        if (argument == "-c" && i + 1 < count) {
            line.config_file = arguments[++i];
        } else if (argument == "-t") {
            line.test_only = true;
        } else if (argument == "-v" || argument == "--version") {
            line.text = version_text() + "\n";
        } else if (argument == "-h" || argument == "--help") {
            line.text = kUsage;
        } else if (argument == "--print-config-doc") {
            line.text = config_markdown();
        } else if (argument == "--print-full-config") {
            line.text = annotated_config();
        } else {
            line.error = argument == "-c" ? "-c needs a file name"
                                          : fmt::format("unknown argument '{}'", argument);
        }
    }
    return line;
}

Error write_pid_file(const std::string& path) {
    std::ofstream file(path);
    file << getpid() << '\n';
    file.close();
    if (file.fail()) {
        return make_error(
            ErrorCode::kSystem,
            "pid {}: cannot be written; does the folder exist, and may this user write there?",
            path);
    }
    return {};
}

// Yields. Runs until a signal asks for the end.
int serve(Config config) {
    Result<std::unique_ptr<io::SignalSet>> signals = io::SignalSet::create({SIGINT, SIGTERM});
    if (!signals.ok()) {
        log::error("signals: {}", signals.error().message());
        return 1;
    }
    const std::string pid_file = config.pid;
    log::info("{} pid={} configuration={}", version_text(), getpid(), config.file);
    if (kHasPlants) {
        log::warn("this build has planted defects: it leaks and crashes on purpose");
    }
    start_whole_run_profiles();
    Result<std::unique_ptr<Server>> server = Server::start(std::move(config));
    if (!server.ok()) {
        log::error("cannot start: {}", server.error().message());
        return 1;
    }
    if (!pid_file.empty()) {
        if (Error failed = write_pid_file(pid_file)) {
            log::error("cannot start: {}", failed.message());
            (*server)->stop();
            return 1;
        }
    }
    log::info("ready");
    Result<int> signal_number =
        (*signals)->wait(io::Deadline::forever());  // ended by the operator's signal
    log::info("stopping on signal {}", signal_number.ok() ? strsignal(*signal_number) : "?");
    (*server)->stop();
    if (!pid_file.empty()) {
        unlink(pid_file.c_str());
    }
    end_whole_run_profiles();
    log::info("stopped");
    return 0;
}

int run(int count, char** arguments) {
    CommandLine line = parse_arguments(count, arguments);
    if (!line.error.empty()) {
        fmt::print(stderr, "weir: {}\n{}", line.error, kUsage);
        return kUsageError;
    }
    if (!line.text.empty()) {
        fmt::print("{}", line.text);
        return 0;
    }
    ParseOutcome outcome = load_config(line.config_file);
    if (outcome.ok()) {
        outcome.errors = missing_cores(*outcome.config);
    }
    if (!outcome.errors.empty()) {
        fmt::print(stderr, "{}weir: {}: {} error{}\n", to_string(outcome.errors), line.config_file,
                   outcome.errors.size(), outcome.errors.size() == 1 ? "" : "s");
        return 1;
    }
    if (line.test_only) {
        fmt::print("weir: {}: configuration is good\n", line.config_file);
        return 0;
    }
    enter_tool_settings(arguments);
    log::set_level(outcome.config->log_level);
    if (Error failed = io::init_runtime()) {
        log::error("cannot start: {}", failed.message());
        return 1;
    }
    return serve(std::move(*outcome.config));
}

}  // namespace
}  // namespace weir::app

int main(int count, char** arguments) {
    return weir::app::run(count, arguments);
}
