// Reloader: replaces the configuration of the running server, all of it or nothing.
//
// The files are read and checked on a worker; then new listeners are opened; only when nothing is
// wrong does the new configuration come into force. On any error the old one stays, with every
// listener and session that it has. One reload at a time; others wait for their turn.
//
// Who reads the Config finds the new values in the same object. References into it (to a vhost) are
// good until the next yield.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/run/listener_set.h"
#include "app/run/load.h"
#include "base/error.h"
#include "config/config.h"
#include "io/signal.h"
#include "io/worker_pool.h"

namespace weir::io {
class Deadline;
}

namespace weir::app {

struct ReloadReport {
    enum class Outcome : uint8_t {
        kDone,      // in force
        kRefused,   // the configuration is wrong
        kConflict,  // it is good, but cannot be had: a port is taken
        kBusy,      // no turn came in time, or the server is stopping
    };

    Outcome outcome = Outcome::kBusy;
    std::vector<Diagnostic> errors;  // not of kDone
    std::vector<std::string> warnings;
    std::vector<config::SettingChange> changes;  // of kDone; empty: nothing was different
    Millis took{0};
};

class Reloader {
  public:
    struct Parts {
        config::Config* config = nullptr;  // of the running server
        ListenerSet* listeners = nullptr;
        io::WorkerPool* workers = nullptr;
        // Yields if it likes. What else may be wrong with a configuration, before anything changes:
        // files it names, for instance.
        std::function<std::vector<Diagnostic>(const config::Config& next)> check = {};
        // Tells the parts of the server; the Config is the new one already. Must not yield.
        std::function<void(const config::Config& before)> reconfigure = {};
        // The listeners are as they will stay: those of the new one, or of the old one when the new
        // one could not have its own. Must not yield.
        std::function<void()> listening = {};
    };

    Reloader(ConfigSource source, Parts parts)
        : source_(std::move(source)), parts_(std::move(parts)) {}

    // Yields. `why`: for the log, "SIGHUP". Never fails silently: the report is in the log, too.
    ReloadReport reload(std::string_view why);

    // The workers are made after this object.
    void use(io::WorkerPool& workers) { parts_.workers = &workers; }

    // What the process was started with, for the watch.
    void note_loaded(std::vector<std::string> watched, std::string signature);

    // Yields. Looks once a second whether a file has changed, while `config_watch on;`, and reloads
    // when it has and is still for a second. Until interrupted.
    void watch();

    // Yields. No reload begins any more, and none is under way.
    void stop(io::Deadline deadline);

    uint64_t done() const { return done_; }

    uint64_t failed() const { return failed_; }

  private:
    class Turn;
    struct Job;

    ReloadReport reload_now();
    // Yields. False: interrupted, or too slow a disk.
    bool on_worker(std::function<void()> work);
    void report(std::string_view why, const ReloadReport& report) const;

    ConfigSource source_;
    Parts parts_;
    std::vector<std::string> watched_;
    std::string signature_;   // of watched_ when it was last loaded
    std::vector<Job*> jobs_;  // that coroutines wait for
    bool running_ = false;
    bool stopping_ = false;
    io::Signal ended_;
    uint64_t done_ = 0;
    uint64_t failed_ = 0;
};

}  // namespace weir::app
