// One run of 'weir-bench sip-call' that calls: phones, the RTMP lines at the other end, the clock
// of all of them, the measured window, the report.
//
// A phone or line sends in one of twenty turns of a millisecond each, so that the load is even.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/coroutine.h"

#include "bench/load/core/condition.h"
#include "bench/load/core/html_report.h"
#include "bench/load/core/time_series.h"
#include "bench/load/sip_call_options.h"
#include "bench/load/sip_line.h"
#include "bench/load/sip_phone.h"
#include "bench/load/sip_signals.h"
#include "bench/load/usage_probe.h"

namespace weir::load {

// What was heard at one end of all calls.
struct SipHeard {
    VoiceCounts voice;
    RtpMeterCounts rtp;
    double jitter_sum_ms = 0;
    double jitter_max_ms = 0;
    uint64_t ends = 0;     // that heard something
    uint64_t silent = 0;   // that heard nothing, though they should
    uint64_t strange = 0;  // datagrams
};

class SipCallRun final : private SipSignalsOwner {
  public:
    explicit SipCallRun(const SipCallOptions& options);
    ~SipCallRun();
    SipCallRun(const SipCallRun&) = delete;
    SipCallRun& operator=(const SipCallRun&) = delete;

    // Yields.
    Error run(int& exit_code);

  private:
    enum class State : uint8_t { kWaiting, kCalling, kTalking, kEnding, kEnded, kFailed };

    struct Call {
        uint32_t number = 0;
        State state = State::kWaiting;
        sip::CallId id = 0;
        std::unique_ptr<SipPhone> phone;
        std::unique_ptr<SipLine> listener;
        uint64_t asked_ns = 0;
        uint64_t answered_ns = 0;
        bool rang = false;
    };

    struct Totals {
        uint64_t asked = 0;
        uint64_t answered = 0;
        uint64_t failed = 0;
        uint64_t broken = 0;  // ended by the other side while they talked
        uint64_t unended = 0;
        uint64_t last_answer_ns = 0;
        std::map<std::string, uint64_t> failures;
    };

    Error prepare();
    Error start_lines();
    void play();
    void talk_and_measure();
    void end_calls();
    void run_clock();
    void turn(uint64_t now);
    void begin_due(uint64_t now);
    void begin(Call& call, uint64_t now);
    void hang_up(Call& call);
    void listen_to(Call& call);
    void on_sip(sip::CallEvent event) override;
    void on_answer(Call& call, const std::string& sdp);
    void fail(Call& call, const std::string& why);
    void wait(Millis time, std::string_view phase, bool (SipCallRun::*until)() const = nullptr);
    bool all_set_up() const;
    bool all_over() const;
    void sample(uint64_t now, std::string_view phase);
    void begin_window();
    void end_window();

    bool has_lines() const { return !options_.lines.empty(); }

    uint32_t streams() const;
    double phone_hertz(uint32_t number) const;
    double line_hertz(uint32_t stream) const;
    SipVoiceOptions voice_of(uint32_t number) const;

    // sip_call_report.cc
    SipHeard heard_by_phones() const;
    SipHeard heard_by_lines() const;
    size_t talking() const;
    void make_report();
    void add_calls();
    void add_heard(std::string_view key,
                   std::string_view title,
                   const SipHeard& heard,
                   const Histogram& delays,
                   bool has_rtp);
    void add_cost();
    void add_conditions();
    void expect_heard(std::string_view key, std::string_view who, const SipHeard& heard);
    void set_metrics();

    const SipCallOptions& options_;
    Report report_;
    std::unique_ptr<RunControl> control_;
    std::optional<UsageProbe> usage_;
    std::vector<Expression> expected_;
    SipTarget target_;
    NetAddress local_;
    std::unique_ptr<SipSignals> signals_;
    std::vector<std::unique_ptr<SipLine>> lines_;  // publishers
    io::SocketAddress lines_address_;
    SourceAddresses lines_from_;
    std::vector<std::unique_ptr<Call>> calls_;
    std::unordered_map<sip::CallId, Call*> by_id_;
    size_t begun_ = 0;
    uint64_t begin_ns_ = 0;
    uint64_t turn_ = 0;  // milliseconds since begin_ns_ that are done
    bool begins_ = false;
    uint64_t late_ = 0;  // turns that began 5 ms after their time
    uint64_t worst_late_ns_ = 0;
    io::Coroutine clock_;
    io::TaskGroup connects_;
    Totals totals_;
    Histogram dial_;   // microseconds from INVITE to 180, or to 200 where nothing rang
    Histogram setup_;  // to 200
    Histogram end_;    // from BYE to its answer
    Histogram phone_delay_;
    Histogram line_delay_;
    std::unordered_map<sip::CallId, uint64_t> hung_up_ns_;
    SipHeard phones_;  // at the end of the window
    SipHeard heard_lines_;
    size_t talking_at_end_ = 0;
    uint64_t window_begin_ns_ = 0;
    double window_s_ = 0;
    RunFacts facts_;
    TimeSeries series_;
    uint64_t sampled_ns_ = 0;
    uint64_t sampled_lost_ = 0;
    uint64_t sampled_samples_ = 0;
    uint64_t started_ns_ = 0;
    MetricValues metrics_;
};

}  // namespace weir::load
