// weir-bench sip-call: telephones that call, that are called, or that register.
#include <cerrno>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include "proto/sip/uri.h"

#include "bench/load/core/units.h"
#include "bench/load/sip_call_options.h"
#include "bench/load/subcommand.h"

namespace weir::load {
namespace {

constexpr uint32_t kMaxRate = 10'000;
constexpr uint32_t kMaxHertz = 3'900;

}  // namespace

void SipCallOptions::add_to(OptionTable& table) {
    table.text("--url", "URL",
               "whom to call: sip:APP/STREAM@HOST:PORT or sip:NUMBER@HOST:PORT; %d is the number "
               "of the call; --url may be left out",
               url);
    table.text("--transport", "HOW", "of the signalling: udp or tcp", transport);
    table.text("--local", "ADDRESS", "of this side, instead of that of the way to the server",
               local);
    table.count("--calls", "calls in all, or users that register", calls, 1, kMaxSipCalls);
    table.count("--rate", "new ones a second", rate, 1, kMaxRate);
    table.duration("--talk", "length of each call; 0: to the end of the window", talk);
    table.duration("--settle", "time between the last answer and the measurement", settle);
    table.text("--user", "NAME", "who calls; %d is the number of the call", user);
    table.text("--password", "PASSWORD", "of a Digest login; %d as well", password);
    table.count("--say", "Hz that each phone says; 0: each its own", say, 0, kMaxHertz);
    table.count("--hear", "Hz that each phone has to hear; 0: that of the line, or of the echo",
                hear, 0, kMaxHertz);
    table.flag("--echo", "the other end returns what is said: it has to be heard again", echo);
    table.text("--lines", "URL",
               "publish what the phones hear, as G.711 to this rtmp:// URL (%d: one stream for "
               "each call), and play what each phone says",
               lines);
    table.flag("--no-listen", "what the phones say is not played", listen, false);
    table.count("--serve", "be called at this port instead", serve, 1, 65'535);
    table.text("--answer", "HOW", "with --serve: echo, tone, or a status as 486", answer);
    table.count("--drop", "of each thousand packets, not sent: a fault to be found", drop, 0, 999);
    table.flag("--register", "register --calls users instead, and refresh", registers);
    table.duration("--expires", "of a registration; it is refreshed earlier", expires);
    run.add_to(table);
    run.add_checks_to(table);
}

std::string SipTarget::uri(uint32_t number) const {
    return fmt::format("sip:{}@{}", numbered(user, number), domain);
}

Result<SipTarget> sip_target(const std::string& url) {
    const auto uri = sip::SipUri::parse(numbered(url, 0));
    if (!uri || uri->scheme != sip::Scheme::kSip || uri->user.empty()) {
        return make_error(ErrorCode::kMalformed, "--url: found '{}', expected sip:NAME@HOST:PORT",
                          url);
    }
    SipTarget target;
    const size_t at = url.rfind('@');
    const size_t begin = url.find(':') + 1;
    target.user = url.substr(begin, at - begin);
    target.domain = url.substr(at + 1);
    WEIR_TRY_ASSIGN(target.address,
                    resolve(std::string(sip::without_brackets(uri->host)), uri->port_or_default()));
    return target;
}

Result<NetAddress> local_address_to(const io::SocketAddress& remote, const std::string& wanted) {
    if (!wanted.empty()) {
        const auto address = NetAddress::parse_ip(wanted, 0);
        if (!address) {
            return make_error(ErrorCode::kMalformed, "--local: found '{}', expected an address",
                              wanted);
        }
        return *address;
    }
    // A socket that is connected and never used knows it.
    const int fd = socket(remote.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_storage name{};
    socklen_t size = sizeof(name);
    // The sockets API has one type for all families.
    auto* const raw = reinterpret_cast<sockaddr*>(&name);
    const bool known = fd >= 0 && connect(fd, remote.raw(), remote.raw_size()) == 0 &&
                       getsockname(fd, raw, &size) == 0;
    const int number = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (!known) {
        return Error::from_errno(number, "the way to the server");
    }
    return NetAddress::from_sockaddr(*raw).with_port(0);
}

int sip_call(std::span<const char* const> arguments) {
    SipCallOptions options;
    OptionTable table("sip-call [sip:NAME@HOST:PORT] [OPTIONS]",
                      "Telephones with G.711: they call streams (or other phones), say a tone with "
                      "stamps in it, and check the tone, the stamps and the RTP that they hear. Or "
                      "they are called (--serve), or register (--register).");
    options.add_to(table);
    options.run.command_line = {"weir-bench", "sip-call"};
    options.run.command_line.insert(options.run.command_line.end(), arguments.begin(),
                                    arguments.end());
    std::vector<const char*> words(arguments.begin(), arguments.end());
    const auto is_url = [&words](size_t i) {
        return std::string_view(words[i]).starts_with("sip:") &&
               (i == 0 || std::string_view(words[i - 1]) != "--url");
    };
    for (size_t i = 0; i < words.size(); i++) {
        if (is_url(i)) {
            options.url = words[i];
            words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
            break;
        }
    }
    Error error = table.parse(words);
    if (!error && table.help_wanted()) {
        fmt::print("{}", table.help());
        return kExitPassed;
    }
    int exit_code = kExitUsage;
    if (!error && options.transport != "udp" && options.transport != "tcp") {
        error = make_error(ErrorCode::kMalformed, "--transport: found '{}', expected udp or tcp",
                           options.transport);
    }
    if (!error) {
        error = options.registers    ? sip_registers(options, exit_code)
                : options.serve != 0 ? sip_serves(options, exit_code)
                                     : sip_calls(options, exit_code);
    }
    if (error) {
        complain(error.message());
    }
    return exit_code;
}

}  // namespace weir::load
