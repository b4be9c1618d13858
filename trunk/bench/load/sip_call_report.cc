// What a run of 'weir-bench sip-call' has found, as report, conditions and figures.
#include <algorithm>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "bench/load/core/units.h"
#include "bench/load/sip_call_run.h"

namespace weir::load {
namespace {

// Megahertz of a core as the kernel says; 0: it does not.
double core_mhz() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("cpu MHz")) {
            double value = 0;
            std::istringstream(line.substr(line.find(':') + 1)) >> value;
            return value;
        }
    }
    return 0;
}

std::string clock_text(double mhz) {
    return fmt::format("{:.0f} MHz", mhz);
}

}  // namespace

size_t SipCallRun::talking() const {
    return static_cast<size_t>(std::ranges::count_if(
        calls_, [](const auto& call) { return call->state == State::kTalking; }));
}

SipHeard SipCallRun::heard_by_phones() const {
    SipHeard out;
    for (const auto& call : calls_) {
        if (!call->phone || call->answered_ns == 0) {
            continue;
        }
        const SipPhone& phone = *call->phone;
        out.voice.add(phone.check().counts());
        out.rtp.add(phone.meter().counts());
        out.strange += phone.strange();
        (phone.check().heard() ? out.ends : out.silent)++;
        out.jitter_sum_ms += phone.meter().jitter_ms();
        out.jitter_max_ms = std::max(out.jitter_max_ms, phone.meter().jitter_ms());
    }
    return out;
}

SipHeard SipCallRun::heard_by_lines() const {
    SipHeard out;
    for (const auto& call : calls_) {
        if (call->listener) {
            const VoiceCheck& check = *call->listener->check();
            out.voice.add(check.counts());
            (check.heard() ? out.ends : out.silent)++;
        }
    }
    return out;
}

void SipCallRun::make_report() {
    const auto window_bits =
        static_cast<uint64_t>(8) * (phones_.voice.samples + heard_lines_.voice.samples);
    usage_->add_to(report_, options_.talk.count() > 0 ? 0 : talking_at_end_,
                   static_cast<double>(window_bits));
    set_metrics();
    add_calls();
    add_cost();
    add_heard("phones", "what the phones heard, in the window", phones_, phone_delay_, true);
    if (has_lines() && options_.listen) {
        add_heard("lines", "what the RTMP lines heard, in the window", heard_lines_, line_delay_,
                  false);
    }
    report_.attach("metrics", metrics_.to_json("  "));
    report_.attach("series", series_.to_json("  "));
    if (options_.run.default_conditions) {
        add_conditions();
    }
    for (const Expression& each : expected_) {
        report_.expect("expect", each.holds(metrics_).value_or(false), each.text(),
                       each.found(metrics_));
    }
}

void SipCallRun::add_calls() {
    ReportSection& section = report_.section("calls", "calls");
    section.count("asked", "asked for", totals_.asked);
    section.count("answered", "answered", totals_.answered);
    section.count("failed", "failed", totals_.failed);
    section.count("broken", "ended by the other side", totals_.broken);
    section.count("talking", "talking at the end of the window", talking_at_end_);
    section.count("unended", "BYE without an answer", totals_.unended);
    section.distribution("dial_ms", "post-dial delay (INVITE to 180, or 200)", dial_);
    section.distribution("setup_ms", "INVITE to 200", setup_);
    if (totals_.answered > 0) {
        section.number(
            "setups_per_s", "answered in a second",
            static_cast<double>(totals_.answered) * 1e9 /
                static_cast<double>(std::max<uint64_t>(totals_.last_answer_ns - begin_ns_, 1)),
            "", 1);
    }
    section.distribution("end_ms", "BYE to its answer", end_);
    section.count("messages_sent", "SIP messages sent", signals_->sent());
    section.count("messages_received", "received", signals_->received());
    section.count("malformed", "that cannot be read", signals_->malformed());
    section.count("unsent", "that the kernel did not take", signals_->unsent());
    section.count("late_turns", "this process: turns late by 5 ms, in the window", late_);
    section.number("worst_late_ms", "its latest turn", static_cast<double>(worst_late_ns_) / 1e6,
                   "ms", 1);
    size_t number = 0;
    for (const auto& [why, count] : totals_.failures) {
        section.text(fmt::format("failure_{}", ++number), fmt::format("{} x", count), why);
    }
    for (const auto& line : lines_) {
        if (!line->failure().empty()) {
            section.text("line_failure", "a line failed", line->failure());
            break;
        }
    }
}

void SipCallRun::add_heard(std::string_view key,
                           std::string_view title,
                           const SipHeard& heard,
                           const Histogram& delays,
                           bool has_rtp) {
    ReportSection& section = report_.section(key, title);
    section.count("hearing", "that heard something", heard.ends);
    section.count("silent", "that heard nothing", heard.silent);
    section.count("seconds", "seconds of tone that were judged", heard.voice.seconds);
    section.count("wrong_seconds", "of them without the tone", heard.voice.wrong_seconds);
    section.number("worst_share", "smallest share of the tone",
                   heard.voice.seconds > 0 ? heard.voice.worst_share : 0, "", 3);
    section.count("stamped", "packets by their stamps", heard.voice.stamped);
    section.count("lost", "lost", heard.voice.lost);
    section.count("duplicated", "twice", heard.voice.duplicated);
    section.count("reordered", "late", heard.voice.reordered);
    section.count("foreign", "of another voice", heard.voice.foreign);
    section.distribution("delay_ms", "delay, sent to received", delays);
    if (!has_rtp) {
        return;
    }
    section.count("rtp_packets", "RTP packets", heard.rtp.packets);
    section.count("rtp_lost", "lost on the last leg", heard.rtp.lost);
    section.count("rtp_duplicated", "twice", heard.rtp.duplicated);
    section.count("rtp_reordered", "late", heard.rtp.reordered);
    section.count("rtp_strange", "datagrams of another kind", heard.strange);
    section.count("gaps", "gaps of more than 100 ms", heard.rtp.gaps);
    section.number("longest_gap_ms", "longest gap",
                   static_cast<double>(heard.rtp.longest_gap_ns) / 1e6, "ms", 1);
    const auto ends = static_cast<double>(std::max<uint64_t>(heard.ends, 1));
    section.number("jitter_mean_ms", "jitter, mean of the phones", heard.jitter_sum_ms / ends, "ms",
                   2);
    section.number("jitter_max_ms", "greatest", heard.jitter_max_ms, "ms", 2);
}

void SipCallRun::add_cost() {
    const std::optional<double> cpu = metrics_.get("server.cpu");
    const double mhz = core_mhz();
    if (!cpu || mhz <= 0) {
        return;
    }
    ReportSection& section = report_.section("cost", "what the server spends, in the window");
    section.text("core", "a core", clock_text(mhz));
    const bool storm = options_.talk.count() > 0;
    const double share = *cpu / 100;
    if (storm) {
        section.number(
            "ms_per_call", "CPU per call",
            1000 * share * window_s_ / static_cast<double>(std::max<uint64_t>(totals_.answered, 1)),
            "ms", 3);
    } else if (talking_at_end_ > 0) {
        const auto calls = static_cast<double>(talking_at_end_);
        section.number("percent_per_call", "CPU per call", *cpu / calls, "% of a core", 4);
        section.number("mhz_per_call", "the same", share * mhz / calls, "MHz", 2);
    }
}

void SipCallRun::add_conditions() {
    report_.expect("answered", totals_.answered == calls_.size(), "all calls are answered",
                   fmt::format("{} of {}", totals_.answered, calls_.size()));
    report_.expect("broken", totals_.broken == 0, "no call is ended by the other side",
                   fmt::format("{} were", totals_.broken));
    report_.expect("unended", totals_.unended == 0, "each BYE is answered",
                   fmt::format("{} were not", totals_.unended));
    expect_heard("phones", "phones", phones_);
    if (has_lines() && options_.listen) {
        expect_heard("lines", "lines", heard_lines_);
    }
    for (const auto& line : lines_) {
        if (!line->failure().empty()) {
            report_.expect("line", false, "every line publishes to the end", line->failure());
            break;
        }
    }
}

void SipCallRun::expect_heard(std::string_view key, std::string_view who, const SipHeard& heard) {
    const auto name = [key](std::string_view what) { return fmt::format("{}_{}", key, what); };
    report_.expect(name("silent"), heard.silent == 0 && heard.ends > 0,
                   fmt::format("all {} hear something", who),
                   fmt::format("{} of {}", heard.ends, heard.ends + heard.silent));
    report_.expect(
        name("tone"), heard.voice.wrong_seconds == 0,
        fmt::format("{}: the tone in each second", who),
        fmt::format("{} of {} without it", heard.voice.wrong_seconds, heard.voice.seconds));
    const uint64_t lost = std::max(heard.voice.lost, heard.rtp.lost);
    report_.expect(name("lost"), lost == 0, fmt::format("{}: no packet is lost", who),
                   fmt::format("{} were", lost));
    const uint64_t wrong = heard.voice.foreign + heard.voice.duplicated + heard.rtp.duplicated;
    report_.expect(name("wrong"), wrong == 0,
                   fmt::format("{}: none comes twice or from another call", who),
                   fmt::format("{} do", wrong));
}

void SipCallRun::set_metrics() {
    const auto set = [this](std::string_view name, uint64_t value) {
        metrics_.set(name, static_cast<double>(value));
    };
    usage_->add_to(metrics_);
    set("clients.wanted", calls_.size());
    set("clients.connected", totals_.answered);
    set("clients.refused", totals_.failed);
    set("clients.broken", totals_.broken);
    set("clients.playing", talking_at_end_);
    set("loss", phones_.voice.lost + heard_lines_.voice.lost);
    set("duplicated", phones_.voice.duplicated + heard_lines_.voice.duplicated);
    set("reordered", phones_.voice.reordered + heard_lines_.voice.reordered);
    set("corrupted", phones_.voice.foreign + heard_lines_.voice.foreign);
    set("stalls", phones_.rtp.gaps);
    set("tones.wrong", phones_.voice.wrong_seconds + heard_lines_.voice.wrong_seconds);
    set("tones.judged", phones_.voice.seconds + heard_lines_.voice.seconds);
    set("packets.lost", phones_.rtp.lost);
    const uint64_t packets = phones_.rtp.packets + phones_.rtp.lost;
    if (packets > 0) {
        metrics_.set("packets.loss",
                     static_cast<double>(phones_.rtp.lost) / static_cast<double>(packets));
    }
    Histogram delays = phone_delay_;
    delays.merge(line_delay_);
    metrics_.set_times("latency", delays);
    metrics_.set_times("connect", setup_);
    metrics_.set_times("dial", dial_);
}

}  // namespace weir::load
