// A run of many players of one kind: ramp-up, the measured window, the report. Players are event
// handlers; only connecting takes coroutines, a bounded number at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/player.h"
#include "bench/load/publishers.h"
#include "bench/load/run_control.h"

namespace weir::load {

struct PlayOptions {
    RunOptions run;
    std::string url;
    uint32_t clients = 100;
    Millis ramp{0};
    Millis stall{1'000};
    Millis behind{
        500};  // how much the mean delay of a player may grow from the first to the last quarter
    bool verify = true;
    StreamOptions stream;  // bits_per_second 0: does not publish

    PlayOptions() { stream.shape.bits_per_second = 0; }

    void add_to(OptionTable& table);
};

// Makes the client of the given number: its protocol, feeding the check.
using ClientFactory =
    std::function<std::unique_ptr<PlayClient>(uint32_t number, PlayerCheck& check)>;

class PlayRun final : private PlayerListener {
  public:
    // `options` must outlive the run. `command`: the subcommand, for the report.
    PlayRun(const PlayOptions& options, std::string command, ClientFactory factory);
    ~PlayRun();
    PlayRun(const PlayRun&) = delete;
    PlayRun& operator=(const PlayRun&) = delete;

    // Yields. The whole run; gives the exit code. `publish_url`: where the streams go when the
    // options say so.
    int run(const io::SocketAddress& address, const std::string& publish_url);

  private:
    void player_broke(const std::string& why) override;

    void player_got_media() override { with_media_++; }

    void player_has_more(Player& player) override;

    Error prepare(const std::string& publish_url);
    Error start_publishing(const std::string& url);
    Error connect_all();
    void connect_some();
    void wait_for_media();
    void measure();
    void resume_reading();
    void show_progress(std::string_view phase);

    Report make_report();
    void add_clients(Report& report) const;
    void add_media(Report& report);
    void add_latency(Report& report);

    const PlayOptions& options_;
    std::string command_;
    ClientFactory factory_;
    io::SocketAddress address_;
    SourceAddresses sources_;
    std::unique_ptr<RunControl> control_;
    std::unique_ptr<PublisherGroup> publishers_;
    UsageProbe usage_;
    RunTotals totals_;
    Bytes buffer_;
    std::vector<std::unique_ptr<Player>> players_;
    std::vector<Player*> unread_;  // stopped reading by budget
    io::Signal unread_signal_;
    std::map<std::string, uint64_t> failures_;  // why clients were refused or broke, and how many
    MonoTime began_{};
    uint32_t next_ = 0;  // number of the next client to connect
    uint64_t connected_ = 0;
    uint64_t refused_ = 0;
    uint64_t broken_ = 0;
    uint64_t with_media_ = 0;
    uint64_t progress_bytes_ = 0;
    uint64_t progress_ns_ = 0;
    uint64_t window_begin_ns_ = 0;
    uint64_t window_end_ns_ = 0;
    uint64_t players_at_end_ = 0;
};

}  // namespace weir::load
