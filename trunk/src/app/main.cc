// weir: command line, configuration, start, signals, end.

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

#include "app/access/access_data.h"
#include "app/processes/message_socket.h"
#include "app/processes/process_link.h"
#include "app/processes/supervisor.h"
#include "app/run/config_search.h"
#include "app/run/drain_command.h"
#include "app/run/life.h"
#include "app/run/load.h"
#include "app/run/log_setup.h"
#include "app/run/run_as.h"
#include "app/run/server.h"
#include "app/run/start_check.h"
#include "app/run/tls_service.h"
#include "base/build.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/version.h"
#include "config/config.h"
#include "config/config_doc.h"
#include "config/environment.h"
#include "config/explain/explain.h"
#include "config/include.h"
#include "diagnosis/profilers.h"
#include "io/runtime.h"

namespace weir::app {
namespace {

constexpr int kUsageError = 1;
constexpr int kOutputError = 1;
constexpr size_t kMaxWhy = 4'000;  // of what a process tells its supervisor
// Exit codes of --explain when the result lacks something. If both apply, the code is kLost: weir
// -t refuses undecided lines as well, but does not know of lost functions.
constexpr int kToDecide = 2;
constexpr int kLost = 3;

constexpr std::string_view kUsage =
    "usage: weir [-c FILE] [-t] [-v] [-h]\n"
    "  -c FILE  configuration (default: $WEIR_CONFIG_FILE, else conf/weir.conf, then the "
    "installed\n"
    "           one, /etc/weir/weir.conf)\n"
    "  -t       only test the configuration, and open what a start opens but for the ports\n"
    "  -v       print the version\n"
    "  -h       this text\n"
    "  --drain [PID] [-c FILE] [--timeout SECONDS]   asks the server of that configuration, or "
    "process,\n"
    "                        to end when its last client has left, and waits for it; exit code 2:\n"
    "                        it does not run, 3: not allowed, 4: it still drains\n"
    "  --dump-config         the configuration in force, without secrets, and where each value\n"
    "                        comes from\n"
    "  --print-secrets       the secrets of the configuration, each with a NUL behind it: for\n"
    "                        scripts/diagnose, which removes them from what it collects; of one\n"
    "                        with errors those that were found, with exit code 1\n"
    "  --explain[=srs|=nginx-rtmp|=mediamtx] FILE   what a configuration of SRS, of nginx's RTMP\n"
    "                        module or of MediaMTX becomes here, and a configuration to begin\n"
    "                        with; exit code 2: something that restricted access there has to be\n"
    "                        decided, 3: a function is lost\n"
    "  --print-config-doc    the table of directives as doc/configuration.md\n"
    "  --print-full-config   the same as conf/full.conf\n"
    "  --print-migration-doc the tables of doc/migrating.md\n"
    "  --print-config-man    the same as the manual page weir.conf(5)\n";

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

// To standard error, whatever becomes of it.
void say(std::string_view text) {
    (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

// What was asked for, on standard output. Gives the exit code: a full disk must not look like
// success, nor end in an abort, as with fmt::print.
int print(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
        std::fflush(stdout) == 0) {
        return 0;
    }
    say(fmt::format("weir: cannot write the output: {}\n", std::strerror(errno)));
    return kOutputError;
}

struct CommandLine {
    std::string config_file;
    bool test_only = false;
    bool dump = false;
    bool secrets = false;
    bool explains = false;  // was wanted, perhaps with a mistake
    std::string explain_file;
    std::optional<config::ForeignServer> explain_as;
    std::optional<SeatArgument> seat;  // of a process that a supervisor has started
    std::string text;                  // to print, then end
    std::string error;
};

// "--explain" or "--explain=KIND".
bool take_explain(std::string_view argument, CommandLine& line) {
    argument.remove_prefix(std::string_view("--explain").size());
    if (argument.empty()) {
        return true;
    }
    line.explain_as =
        argument.front() == '=' ? config::foreign_server(argument.substr(1)) : std::nullopt;
    return line.explain_as.has_value();
}

// The result of --explain for a file that cannot be explained: -t refuses it, with the reason.
int refuse_explained(const CommandLine& line, std::string_view why) {
    (void)print(config::refused_config(line.explain_file, why));
    return 1;
}

// The explanation as comments, then the configuration: all of it is one that -t accepts, or refuses
// until something is decided.
int print_explained(const CommandLine& line) {
    const Result<std::string> text = config::real_disk().read(line.explain_file);
    if (!text.ok()) {
        say(fmt::format("weir: {}: {}\n", line.explain_file, text.error().message()));
        return refuse_explained(line, text.error().message());
    }
    const config::Explained done = config::explain(*text, line.explain_file, line.explain_as);
    if (!done.errors.empty()) {
        say(to_string(done.errors));
        return refuse_explained(line, to_string(done.errors));
    }
    std::string result;
    for (const std::string_view each : split(done.text, '\n')) {
        result += fmt::format("{}{}\n", each.empty() ? "#" : "# ", each);
    }
    if (const int failed = print(result + done.config); failed != 0) {
        return failed;
    }
    if (!done.losses.empty()) {
        say(fmt::format(
            "weir: {}: {} lost: the result says which at its beginning\n", line.explain_file,
            done.losses.size() == 1 ? "one function is"
                                    : fmt::format("{} functions are", done.losses.size())));
    }
    if (!done.decisions.empty()) {
        say(fmt::format(
            "weir: {}: {} to decide before this configuration can be used: the result says "
            "which at its beginning, and is refused until its lines \"unresolved\" are gone\n",
            line.explain_file,
            done.decisions.size() == 1
                ? "there is one thing"
                : fmt::format("there are {} things", done.decisions.size())));
    }
    return !done.losses.empty() ? kLost : !done.decisions.empty() ? kToDecide : 0;
}

CommandLine parse_arguments(int count, char** arguments, const config::Environment& environment) {
    CommandLine line;
    line.config_file = default_config(environment);
    for (int i = 1; i < count; i++) {
        const std::string_view argument = arguments[i];
        line.explains = line.explains || argument.starts_with("--explain");
        if (argument == "-c" && i + 1 < count) {
            line.config_file = arguments[++i];
        } else if (argument == "-t") {
            line.test_only = true;
        } else if (argument.starts_with("--explain") && i + 1 < count &&
                   take_explain(argument, line)) {
            line.explain_file = arguments[++i];
        } else if (argument.starts_with(kSeatOption)) {
            line.seat = parse_seat(argument.substr(kSeatOption.size()));
            if (!line.seat) {
                line.error =
                    fmt::format("{} is for processes that a supervisor starts", kSeatOption);
            }
        } else if (argument == "--print-migration-doc") {
            line.text = config::migration_markdown();
        } else if (argument == "--dump-config") {
            line.dump = true;
        } else if (argument == "--print-secrets") {
            line.secrets = true;
        } else if (argument == "-v" || argument == "--version") {
            line.text = version_text() + "\n";
        } else if (argument == "-h" || argument == "--help") {
            line.text = kUsage;
        } else if (argument == "--print-config-doc") {
            line.text = config::config_markdown();
        } else if (argument == "--print-full-config") {
            line.text = config::annotated_config();
        } else if (argument == "--print-config-man") {
            line.text = config::config_man_page();
        } else if (line.error.empty()) {
            CommandLine ignored;
            const bool needs_file = argument == "-c" || (argument.starts_with("--explain") &&
                                                         take_explain(argument, ignored));
            line.error = needs_file ? fmt::format("{} needs a file name", argument)
                                    : fmt::format("unknown argument '{}'", argument);
        }
    }
    return line;
}

// A configuration with errors gives the secrets of the part that could be read.
std::string secrets_text(const config::ParseOutcome& outcome) {
    std::string text;
    for (const std::string& secret :
         outcome.ok() ? config::secrets_of(outcome.config->settings) : outcome.secrets) {
        text += secret;
        text += '\0';
    }
    return text;
}

// An operator who starts a server by hand looks at the terminal, wherever the log goes.
void say_cannot_start(const config::Config& config, const Error& why) {
    log::error("cannot start: {}", why.message());
    if (!config.log_file.empty()) {
        say(fmt::format("weir: cannot start: {}\n", why.message()));
    }
}

// A process of several has no log yet, and nobody at its terminal: the supervisor says it.
void tell_supervisor(const std::optional<SeatArgument>& seat, std::string_view why) {
    if (seat) {
        MessageSocket to{io::OwnFd(seat->control)};
        (void)to.send({std::string(kCannotStart), {std::string(why.substr(0, kMaxWhy))}});
    }
}

void print_errors(const std::vector<Diagnostic>& errors,
                  const std::string& file,
                  const std::string& hint) {
    say(fmt::format("{}weir: {}: {} error{}\n", to_string(errors), file, errors.size(),
                    errors.size() == 1 ? "" : "s"));
    if (!hint.empty()) {
        say(fmt::format("weir: {}\n", hint));
    }
}

// What bounds this process from outside, and whether a crash leaves a core file.
void log_limits(const config::Config& config) {
    rlimit descriptors{};
    rlimit core{};
    getrlimit(RLIMIT_NOFILE, &descriptors);
    getrlimit(RLIMIT_CORE, &core);
    const auto shown = [](rlim_t limit) {
        return limit == RLIM_INFINITY ? "unlimited" : fmt::format("{}", limit);
    };
    std::ifstream file("/proc/sys/kernel/core_pattern");
    std::string pattern;
    std::getline(file, pattern);
    log::info("limits max_connections={} descriptors={} core_bytes={} core_pattern=\"{}\"",
              config.max_connections, shown(descriptors.rlim_cur), shown(core.rlim_cur),
              log::escaped(pattern));
}

// What is read again later: by a reload, or when it changes.
std::vector<std::string> files_of_a_reload(const config::Config& config,
                                           std::vector<std::string> files) {
    for (const auto* list : {&config.tls.certificates, &config.http_server.certificates,
                             &config.http_api.certificates}) {
        for (const config::CertificateConfig& each : *list) {
            files.push_back(each.certificate);
            files.push_back(each.key);
        }
    }
    const std::vector<std::string> secrets = secret_files(config);
    files.insert(files.end(), secrets.begin(), secrets.end());
    return files;
}

std::string unreadable_warning(const config::Config& config, const std::string& file) {
    return fmt::format("user {}: may not read {}: a reload will fail",
                       log::escaped(config.user.name), log::escaped(file));
}

// All ports are open and nobody is served yet: the last moment of a process that root started.
Error settle(const config::Config& config, const std::vector<std::string>& files) {
    std::vector<int> own;
    int pid_file = -1;
    if (!config.pid.empty()) {
        WEIR_TRY_ASSIGN(pid_file, write_pid_file(config.pid));
        own.push_back(pid_file);
    }
    if (!config.log_file.empty()) {
        own.push_back(io::LogWriter::crash_target().fd);
    }
    Error failed = become(config.user, own);
    if (pid_file >= 0) {
        ::close(pid_file);
    }
    if (failed) {
        if (!config.pid.empty()) {
            remove_pid_file(config.pid);
        }
        return failed;
    }
    if (const std::string warning = user_warning(config.user); !warning.empty()) {
        log::warn("{}", warning);
    }
    for (const std::string& file : unreadable(files)) {
        log::warn("{}", unreadable_warning(config, file));
    }
    return {};
}

// Yields. Runs until a signal asks for the end.
int serve(ConfigSource source,
          std::unique_ptr<LoadedConfig> loaded,
          LogSetup& log_setup,
          const std::optional<SeatArgument>& seat) {
    // That of the start; not on the stack, which it would fill.
    const auto at_start = std::make_unique<const config::Config>(*loaded->outcome.config);
    const config::Config& config = *at_start;
    Result<std::unique_ptr<Life>> life = Life::create(log_setup);
    if (!life.ok()) {
        say_cannot_start(config, life.error());
        return 1;
    }
    log::info("{} pid={} configuration={}", version_text(), getpid(), log::token(config.file, 500));
    if (kHasPlants) {
        log::warn("this build has planted defects: it leaks and crashes on purpose");
    }
    diagnosis::start_whole_run_profiles();
    const std::vector<std::string> files = files_of_a_reload(config, loaded->outcome.watched);
    std::unique_ptr<ProcessLink> link;
    if (seat) {
        Result<std::unique_ptr<ProcessLink>> made = ProcessLink::create(*seat);
        if (!made.ok()) {
            say_cannot_start(config, made.error());
            return 1;
        }
        link = std::move(*made);
    }
    Result<std::unique_ptr<Server>> server = Server::start(
        std::move(source), std::move(*loaded), [&] { return settle(config, files); }, link.get());
    if (!server.ok()) {
        say_cannot_start(config, server.error());
        return 1;
    }
    log_limits(config);
    log::info("ready");
    (*server)->on_reconfigure([&](const config::Config& now) {
        log_setup.reconfigure(now);
        (*life)->reconfigure(now);
    });
    (*life)->run(**server, config);
    (*life)->stopping();
    if (!config.pid.empty()) {
        remove_pid_file(config.pid);
    }
    (*server)->stop();
    diagnosis::end_whole_run_profiles();
    log::info("stopped");
    return 0;
}

// The supervisor of several processes, which have the rest.
int lead(const ConfigSource& source,
         const config::Config& config,
         char** arguments,
         LogSetup& log_setup) {
    if (!config.pid.empty()) {
        Result<int> file = write_pid_file(config.pid);
        if (!file.ok()) {
            say_cannot_start(config, file.error());
            return 1;
        }
        ::close(*file);
    }
    const int code = supervise(source, config, arguments, log_setup);
    if (!config.pid.empty()) {
        remove_pid_file(config.pid);
    }
    return code;
}

int run_drain(std::span<char* const> words) {
    const config::Environment environment = config::read_environment();
    const Result<DrainRequest> request = parse_drain(words, default_config(environment));
    if (!request.ok()) {
        say(fmt::format("weir: {}\n{}", request.error().message(), kUsage));
        return kDrainUnclear;
    }
    return drain(*request, environment);
}

// What a start would warn of, printed (a server that runs has it in its log), and what would stop
// it.
std::vector<Diagnostic> test_start(const config::ParseOutcome& outcome) {
    const config::Config& config = *outcome.config;
    StartCheck start = check_start(config);
    std::vector<std::string> warnings = check_certificates(config).warnings;
    warnings.insert(warnings.end(), start.warnings.begin(), start.warnings.end());
    for (const std::string& file :
         unreadable_by(config.user, files_of_a_reload(config, outcome.watched))) {
        warnings.push_back(unreadable_warning(config, file));
    }
    for (const std::string& warning : warnings) {
        say(fmt::format("weir: warning: {}\n", warning));
    }
    return std::move(start.errors);
}

int run(int count, char** arguments) {
    ConfigSource source;
    source.environment = config::read_environment();
    CommandLine line = parse_arguments(count, arguments, source.environment);
    if (!line.error.empty()) {
        say(fmt::format("weir: {}\n{}", line.error, kUsage));
        if (line.explains) {
            (void)print(config::refused_config("the file", line.error));
        }
        return kUsageError;
    }
    if (!line.text.empty()) {
        return print(line.text);
    }
    if (!line.explain_file.empty()) {
        return print_explained(line);
    }
    source.file = line.config_file;
    if (line.seat) {
        source.seat = line.seat->seat;
        source.single_port = line.seat->single_port;
        log::set_process(std::to_string(source.seat.index));
        ::prctl(PR_SET_NAME, "weir");  // it was started by another name of the program
    }
    auto loaded = std::make_unique<LoadedConfig>(load(source));
    const config::ParseOutcome& outcome = loaded->outcome;
    for (const std::string& warning : outcome.warnings) {
        say(fmt::format("weir: warning: {}\n", warning));
    }
    const std::vector<Diagnostic> errors =
        outcome.ok() && line.test_only ? test_start(outcome) : outcome.errors;
    if (!errors.empty()) {
        print_errors(errors, line.config_file, outcome.hint);
        tell_supervisor(line.seat, to_string(errors));
        if (line.secrets) {
            (void)print(secrets_text(outcome));
        }
        return 1;
    }
    if (line.dump) {
        return print(config::dump_config(outcome.config->settings));
    }
    if (line.secrets) {
        return print(secrets_text(outcome));
    }
    if (line.test_only) {
        return print(fmt::format("weir: {}: configuration is good\n", line.config_file));
    }
    diagnosis::enter_tool_settings(arguments);
    const config::Config& config = *outcome.config;
    forbid_new_privileges(config.user);
    Result<std::unique_ptr<LogSetup>> log_setup = LogSetup::start(config);
    if (!log_setup.ok()) {
        say(fmt::format("weir: cannot start: {}\n", log_setup.error().message()));
        tell_supervisor(line.seat, log_setup.error().message());
        return 1;
    }
    if (config.processes > 1 && !line.seat) {
        return lead(source, config, arguments, **log_setup);
    }
    source.alone = !line.seat;
    source.single_port = config.rtc_server.single_port;
    if (Error failed = io::init_runtime()) {
        say_cannot_start(config, failed);
        return 1;
    }
    return serve(std::move(source), std::move(loaded), **log_setup, line.seat);
}

}  // namespace
}  // namespace weir::app

int main(int count, char** arguments) {
    const std::span<char* const> words(arguments, static_cast<size_t>(count));
    if (count > 1 && std::string_view(words[1]) == "--drain") {
        return weir::app::run_drain(words.subspan(2));
    }
    return weir::app::run(count, arguments);
}
