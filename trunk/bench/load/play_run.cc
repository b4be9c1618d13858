#include "bench/load/play_run.h"

#include <algorithm>

#include <fmt/format.h>

#include "io/deadline.h"

#include "bench/load/subcommand.h"

namespace weir::load {
namespace {

constexpr Millis kWarmUp{2'000};  // at most, unless it is given, to fill the server's GOP

}  // namespace

void PlayOptions::add_to(OptionTable& table) {
    table.text("--url", "URL", "what to play; %d in it is the number of the stream", url);
    table.count("--clients", "players", clients, 1, 1'000'000);
    table.count("--streams", "streams that the players are spread over, numbers from 0",
                stream.streams, 1, 100'000);
    table.duration("--ramp", "time over which the players are started", ramp);
    table.duration("--warm-up", "time from the publishers' start to the first player; 0: a GOP",
                   warm_up);
    table.duration("--settle", "time between everybody's first frame and the measurement", settle);
    table.duration("--stay", "a player leaves so long after it has connected; 0: stays",
                   group.stay);
    stream.add_to(table, "--publish", "--publish-file");
    table.text("--publish-url", "URL",
               "rtmp:// address to publish to; default: the same stream, port 1935 unless the URL "
               "to play is rtmp://",
               publish_url);
    table.flag("--no-verify", "play any stream; frames are counted, not checked", group.verify,
               false);
    table.flag("--read-at-once",
               "every player reads each message as it comes, not most by the clock",
               group.read_at_once);
    table.duration("--stall", "a gap between frames that counts as a stall", group.stall);
    table.duration("--behind", "growth of a player's mean delay that counts as falling behind",
                   group.behind);
    table.bit_rate("--expected-rate", "bit rate of each stream, when somebody else publishes it",
                   expected_rate);
    limit.add_to(table);
    run.add_to(table);
    run.add_checks_to(table);
}

PlayRun::PlayRun(const PlayOptions& options, std::string command, PlayTarget target)
    : options_(options), command_(std::move(command)), target_(std::move(target)) {}

int PlayRun::run() {
    if (Error error = start()) {
        complain(error.message());
        if (run_) {
            run_->stop();
        }
        return kExitUsage;
    }
    play();
    return run_->finish();
}

Error PlayRun::start() {
    if (options_.run.duration.count() == 0) {
        return make_error(ErrorCode::kMalformed,
                          "--duration: found 0, expected the time to measure");
    }
    if (options_.limit.wanted() && options_.group.stay.count() > 0) {
        return make_error(ErrorCode::kUnsupported,
                          "--until finds how many players can stay: give it without --stay");
    }
    // Before anything is started, for the whole run.
    uint64_t most = options_.limit.wanted() ? options_.limit.max_clients : options_.clients;
    WEIR_TRY(ensure_descriptors(most + (options_.stream.wanted() ? options_.stream.streams : 0)));
    if (options_.limit.wanted()) {
        WEIR_TRY_ASSIGN(search_, LimitSearch::create(options_.limit, options_.run));
    }
    WEIR_TRY_ASSIGN(run_, LoadRun::create(options_.run, command_, target_.url));
    if (options_.stream.wanted()) {
        WEIR_TRY(publish().with_context("publisher"));
    }
    GroupOptions group = options_.group;
    group.stamped = stamped_;
    group.published_here = options_.stream.wanted();
    group.bits_per_second = options_.stream.wanted() ? stream_bits_per_second_
                                                     : static_cast<double>(options_.expected_rate);
    group.name = command_;
    group.streams = options_.stream.streams;
    group.connect_timeout = options_.run.connect_timeout;
    players_ = &run_->add_players(std::move(group), target_);
    return {};
}

Error PlayRun::publish() {
    run_->phase("publishing");
    const std::string& url =
        options_.publish_url.empty() ? target_.publish_url : options_.publish_url;
    WEIR_TRY_ASSIGN(auto publishers, PublisherGroup::create(url, options_.stream));
    stamped_ = {publishers->is_stamped(media::TrackKind::kVideo),
                publishers->is_stamped(media::TrackKind::kAudio)};
    stream_bits_per_second_ = publishers->bits_per_second();
    WEIR_TRY(run_->add_publishers(std::move(publishers), Millis(0)));
    Millis gop(1000 * uint64_t{options_.stream.shape.gop} / options_.stream.shape.fps);
    run_->wait_for(options_.warm_up.count() > 0 ? options_.warm_up : std::min(gop, kWarmUp));
    return {};
}

void PlayRun::play() {
    if (search_) {
        search_->search(*run_, *players_, options_.clients, options_.ramp,
                        options_.run.connect_timeout);
        return;
    }
    run_->phase("connecting");
    if (Error error = run_->grow(*players_, options_.clients, options_.ramp)) {
        run_->control().stop(std::string(error.message()));
        return;
    }
    run_->wait_connected();
    run_->phase("waiting for first frames");
    run_->wait_settled(io::Deadline::after(options_.run.connect_timeout));
    if (options_.settle.count() > 0) {
        run_->phase("settling");
        run_->wait_for(options_.settle);
    }
    run_->phase("measuring");
    run_->measure(options_.run.duration);
}

namespace {

Error run_play(const PlayOptions& options, const PlayProtocol& protocol, int& exit_code) {
    WEIR_TRY_ASSIGN(PlayTarget target,
                    protocol.make(options.url, options.stream.streams, options.protocol));
    PlayRun run(options, std::string(protocol.name), std::move(target));
    exit_code = run.run();
    return {};
}

}  // namespace

int play_command(const PlayProtocol& protocol, std::span<const char* const> arguments) {
    PlayOptions options;
    options.url = protocol.default_url;
    OptionTable table(fmt::format("{} [OPTIONS]", protocol.name),
                      fmt::format("{} A stream of --publish or of 'weir-bench rtmp-publish' is "
                                  "verified byte for byte; of others, times, gaps and rates count.",
                                  protocol.about));
    options.add_to(table);
    if (protocol.add_options != nullptr) {
        protocol.add_options(table, options.protocol);
    }
    options.run.command_line = {"weir-bench", protocol.name.data()};
    options.run.command_line.insert(options.run.command_line.end(), arguments.begin(),
                                    arguments.end());
    Error error = table.parse(arguments);
    if (!error && table.help_wanted()) {
        fmt::print("{}", table.help());
        return kExitPassed;
    }
    int exit_code = kExitUsage;
    if (!error) {
        error = run_play(options, protocol, exit_code);
    }
    if (error) {
        complain(error.message());
    }
    return exit_code;
}

}  // namespace weir::load
