// Options of 'weir-bench sip-call'.
#pragma once

#include <cstdint>
#include <string>

#include "bench/load/core/options.h"
#include "bench/load/run_control.h"

namespace weir::load {

inline constexpr uint32_t kMaxSipCalls = 50'000;

struct SipCallOptions {
    RunOptions run;
    std::string url = "sip:live/livestream@127.0.0.1:5060";
    std::string transport = "udp";
    std::string local;  // address of this side; empty: that of the way to the server
    uint32_t calls = 1;
    uint32_t rate = 50;  // new ones a second
    Millis talk{0};      // of each call; 0: to the end of the window
    Millis settle{1'000};
    std::string user = "phone";
    std::string password;
    uint32_t say = 0;   // hertz; 0: each phone has its own
    uint32_t hear = 0;  // hertz; 0: of the other end, where it is of this process
    bool echo = false;  // the other end returns what is said
    std::string lines;  // rtmp:// URL of the streams; empty: they are somebody else's
    bool listen = true;
    // To be called instead.
    uint32_t serve = 0;  // port; 0: not
    std::string answer = "tone";
    uint32_t drop = 0;  // of each thousand packets
    // To register instead.
    bool registers = false;
    Millis expires{60'000};

    SipCallOptions() { run.duration = Millis(10'000); }

    void add_to(OptionTable& table);
};

// "sip:USER@HOST:PORT".
struct SipTarget {
    std::string user;    // with its %d
    std::string domain;  // "HOST:PORT"
    io::SocketAddress address;

    std::string uri(uint32_t number) const;
};

// Blocks for a DNS query if the host is a name. kMalformed, kNotFound.
Result<SipTarget> sip_target(const std::string& url);

// The address of this host from which it is reached. kSystem.
Result<NetAddress> local_address_to(const io::SocketAddress& remote, const std::string& wanted);

// All three yield, print the report, and give the exit code of a run that could be begun.
Error sip_calls(const SipCallOptions& options, int& exit_code);
Error sip_serves(const SipCallOptions& options, int& exit_code);
Error sip_registers(const SipCallOptions& options, int& exit_code);

}  // namespace weir::load
