#include "bench/load/play_report.h"

#include <algorithm>

#include <fmt/format.h>

namespace weir::load {
namespace {

constexpr size_t kFailuresShown = 5;

void add_clients(Report& report, const PlayResult& result) {
    const GroupCounts& clients = result.clients;
    ReportSection& section = report.section("clients", "clients");
    section.count("asked", "asked for", clients.wanted);
    section.count("connected", "connected", clients.connected);
    section.count("refused", "refused", clients.refused);
    section.count("broken", "broken", clients.broken);
    section.count("left", "left after their stay", clients.left);
    section.count("playing", "received media", clients.had_media);
    size_t shown = 0;
    for (const auto& [why, count] : result.failures) {
        if (++shown > kFailuresShown) {
            break;
        }
        section.text(fmt::format("failure_{}", shown), fmt::format("  {} x", count), why);
    }
    section.distribution("connect_ms", "connected after", result.totals.connect);
    section.distribution("first_byte_ms", "first media after", result.totals.first_byte);
    section.distribution("first_key_ms", "first key frame after", result.totals.first_key);
}

void add_media(Report& report, const PlayResult& result) {
    const PlaySum& sum = result.media;
    ReportSection& section = report.section("media", "received");
    section.number("window_s", "measured", result.window_s, "s", 1);
    double rate = result.bits_per_second();
    section.rate("bits_per_second", "rate", rate);
    uint64_t players = result.clients.open();
    if (result.expected_bps > 0) {
        section.rate("expected_bits_per_second", "rate expected", result.expected_bps);
        section.number("rate_ratio", "of it received", rate / result.expected_bps, "", 3);
    }
    if (result.clients.left == 0) {  // of changing players it says nothing
        section.rate("bits_per_second_per_player", "rate per player",
                     players > 0 ? rate / static_cast<double>(players) : 0);
    }
    section.count("bytes", "bytes, from the first", sum.counts.bytes);
    section.count("video_frames", "video frames", sum.counts.video_frames);
    section.count("audio_frames", "audio frames", sum.counts.audio_frames);
    section.count("stalls", "stalls", sum.counts.stalls);
    section.number("longest_gap_ms", "longest gap",
                   static_cast<double>(sum.counts.longest_gap_ns) / 1e6, "ms", 1);
    section.count("time_steps_back", "timestamps that went back", sum.counts.time_steps_back);
    if (!result.unverified.empty()) {
        section.text("unverified", "not verified", result.unverified);
    }
    if (!result.verify) {
        return;
    }
    section.count("lost", "frames lost", sum.lost);
    section.count("duplicated", "frames duplicated", sum.duplicated);
    section.count("reordered", "frames reordered", sum.reordered);
    section.count("corrupted", "frames corrupted", sum.counts.corrupted);
    section.count("unstamped", "frames not synthetic", sum.counts.unstamped);
    section.count("began_without_key", "began without a key frame", sum.without_key);
    section.count("republished", "publisher changed", sum.republished);
}

void add_latency(Report& report, const PlayResult& result) {
    if (!result.verify) {
        return;
    }
    ReportSection& section =
        report.section("latency", "end-to-end delay of frames sent after the join");
    section.count("timed_players", "measured by players", result.media.timed);
    section.distribution("all_ms", "whole window", result.totals.latency);
    section.distribution("video_ms", "video", result.totals.latency_of[0]);
    section.distribution("audio_ms", "audio", result.totals.latency_of[1]);
    section.distribution("first_quarter_ms", "first quarter", result.totals.latency_first);
    section.distribution("last_quarter_ms", "last quarter", result.totals.latency_last);
    section.number("worst_drift_ms", "worst growth of a player",
                   static_cast<double>(result.behind.worst_us) / 1e3, "ms", 1);
    section.count("behind", "players falling behind", result.behind.players);
    section.number("jitter_mean_ms", "jitter, mean of players", result.jitter_mean_us() / 1e3, "ms",
                   2);
    section.number("jitter_max_ms", "jitter, greatest of a player",
                   static_cast<double>(result.jitter_max_us) / 1e3, "ms", 2);
}

std::string number(bool known, double value) {
    return known ? fmt::format("{:.3f}", value) : std::string("null");
}

double ms_of_ns(uint64_t ns) {
    return static_cast<double>(ns) / 1e6;
}

// Why lost and changed frames of a group cannot be told, or not of all its tracks; empty: they can.
std::string why_unverified(const PlayerGroup& group, const PlayerCounts& counts) {
    const GroupOptions& options = group.options();
    if (!options.verify) {
        return "switched off";
    }
    if (!options.published_here && counts.unstamped > 0 && counts.sessions == 0) {
        return "frames of another publisher carry no stamps";
    }
    const std::array<bool, 2> stamped = group.totals().stamped;
    if (!stamped[0]) {
        return stamped[1] ? "video of this codec carries no stamps"
                          : "frames of these codecs carry no stamps";
    }
    return stamped[1] ? "" : "audio of this codec carries no stamps";
}

double ms_of_us(uint64_t us) {
    return static_cast<double>(us) / 1e3;
}

}  // namespace

void merge(RunTotals& sum, const RunTotals& other) {
    sum.connect.merge(other.connect);
    sum.first_byte.merge(other.first_byte);
    sum.first_key.merge(other.first_key);
    sum.latency.merge(other.latency);
    for (size_t track = 0; track < sum.latency_of.size(); track++) {
        sum.latency_of[track].merge(other.latency_of[track]);
    }
    sum.latency_first.merge(other.latency_first);
    sum.latency_last.merge(other.latency_last);
    sum.rtc.merge(other.rtc);
    sum.rtsp.merge(other.rtsp);
    sum.hls.merge(other.hls);
}

void PlayResult::add(const PlayerGroup& group, bool judge_gaps) {
    clients.add(group.counts());
    const PlaySum media_of_group = group.sum();
    media.add(media_of_group);
    merge(totals, group.totals());
    for (const auto& [why, count] : group.failures()) {
        failures[why] += count;
    }
    for (const PlayerGroup::Client& each : group.clients()) {
        const PlayerCheck& check = each.player->check();
        if (check.has_media() && check.timed()) {
            jitter_sum_us += static_cast<double>(check.jitter_us());
            jitter_max_us = std::max(jitter_max_us, check.jitter_us());
            jitter_players++;
        }
    }
    const GroupOptions& options = group.options();
    const std::string why = why_unverified(group, media_of_group.counts);
    if (!why.empty()) {
        unverified += fmt::format("{}{}: {}", unverified.empty() ? "" : "; ", options.name, why);
    }
    const bool is_verified = options.verify && (why.empty() || options.published_here) &&
                             (group.totals().stamped[0] || group.totals().stamped[1]);
    verify = verify || is_verified;
    if (!is_verified) {
        media.counts.unstamped -= media_of_group.counts.unstamped;
    }
    if (is_verified) {
        PlayerGroup::Behind its = group.behind(judge_gaps);
        behind.players += its.players;
        behind.worst_us = std::max(behind.worst_us, its.worst_us);
        behind_limit = group.options().behind;
    }
}

double PlayResult::jitter_mean_us() const {
    return jitter_players == 0 ? 0 : jitter_sum_us / static_cast<double>(jitter_players);
}

double PlayResult::bits_per_second() const {
    return window_s > 0 ? static_cast<double>(media.counts.window_bytes) * 8 / window_s : 0;
}

void add_rows(Report& report, const PlayResult& result) {
    add_clients(report, result);
    add_media(report, result);
    add_latency(report, result);
    result.totals.rtc.add_to(report, result.window_s);
    result.totals.rtsp.add_to(report, result.window_s);
    result.totals.hls.add_to(report, result.window_s);
    if (result.clients.connected == 0) {
        report.nothing_measured();
    }
}

void add_default_conditions(Report& report, const PlayResult& result) {
    const GroupCounts& clients = result.clients;
    const PlaySum& sum = result.media;
    report.expect("connected", clients.connected == clients.wanted, "all clients connect",
                  fmt::format("{} of {}", clients.connected, clients.wanted));
    report.expect("playing", clients.had_media == clients.wanted, "all clients receive media",
                  fmt::format("{} of {}", clients.had_media, clients.wanted));
    report.expect("unbroken", clients.broken == 0, "no connection breaks",
                  fmt::format("{} broke", clients.broken));
    report.expect("time", sum.counts.time_steps_back == 0, "timestamps never go back",
                  fmt::format("{} did", sum.counts.time_steps_back));
    if (result.totals.rtc.used) {
        report.expect("packets", result.totals.rtc.lost == 0, "no packet stays lost",
                      fmt::format("{} did", result.totals.rtc.lost));
    }
    if (result.totals.rtsp.used) {
        report.expect("packets", result.totals.rtsp.lost == 0, "no packet is lost",
                      fmt::format("{} were", result.totals.rtsp.lost));
    }
    if (result.totals.hls.used) {
        report.expect("viewers", result.totals.hls.stalls == 0, "no viewer's buffer runs dry",
                      fmt::format("{} times", result.totals.hls.stalls));
    }
    if (!result.verify) {
        return;
    }
    report.expect("synthetic", sum.counts.unstamped == 0, "every frame is one of weir-bench",
                  fmt::format("{} frames without a stamp", sum.counts.unstamped));
    const bool by_packets = result.totals.rtc.used || result.totals.rtsp.used;
    const uint64_t lost = by_packets ? result.lost_in_window : sum.lost;
    report.expect("lost", lost == 0, "no frame is lost", fmt::format("{} were", lost));
    report.expect("duplicated", sum.duplicated == 0, "no frame comes twice",
                  fmt::format("{} did", sum.duplicated));
    report.expect("reordered", sum.reordered == 0, "no frame comes late",
                  fmt::format("{} did", sum.reordered));
    report.expect("corrupted", sum.counts.corrupted == 0, "every byte is as sent",
                  fmt::format("{} frames differ", sum.counts.corrupted));
    report.expect("key_first", sum.without_key == 0, "players begin with a key frame",
                  fmt::format("{} did not", sum.without_key));
    report.expect("behind", result.behind.players == 0,
                  fmt::format("no player's delay grows by {} ms", result.behind_limit.count()),
                  fmt::format("{} players, worst by {:.0f} ms", result.behind.players,
                              static_cast<double>(result.behind.worst_us) / 1e3));
}

void append_clients(std::string& list, const PlayerGroup& group) {
    const GroupOptions& options = group.options();
    for (const PlayerGroup::Client& each : group.clients()) {
        const PlayerCheck& check = each.player->check();
        const PlayerCounts& counts = check.counts();
        list += fmt::format(
            "{}\n    {{\"group\": {}, \"client\": {}, \"stream\": {}, \"connect_ms\": {}, "
            "\"first_media_ms\": {}, \"first_key_ms\": {}, ",
            list.empty() ? "" : ",", json_string(options.name), each.number,
            each.number % options.streams, number(each.connect_us > 0, ms_of_us(each.connect_us)),
            number(check.has_media(), ms_of_ns(check.first_media_after_ns())),
            number(check.has_key(), ms_of_ns(check.first_key_after_ns())));
        list += fmt::format(
            "\"video_frames\": {}, \"audio_frames\": {}, \"bytes\": {}, \"lost\": {}, "
            "\"duplicated\": {}, \"reordered\": {}, \"corrupted\": {}, ",
            counts.video_frames, counts.audio_frames, counts.bytes, check.lost(),
            check.duplicated(), check.reordered(), counts.corrupted);
        list += fmt::format(
            "\"stalls\": {}, \"longest_gap_ms\": {:.3f}, \"mean_latency_ms\": {}, "
            "\"jitter_ms\": {:.3f}, \"left\": {}, \"failure\": {}}}",
            counts.stalls, ms_of_ns(counts.longest_gap_ns),
            number(check.mean_latency_us() > 0, ms_of_us(check.mean_latency_us())),
            ms_of_us(check.jitter_us()), each.left, json_string(each.failure));
    }
}

}  // namespace weir::load
