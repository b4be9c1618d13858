#include "bench/load/sip_call_run.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "io/deadline.h"

#include "bench/load/core/units.h"
#include "bench/load/load_run.h"

namespace weir::load {
namespace {

constexpr uint64_t kTurnNs = 1'000'000;
constexpr uint64_t kTurns = kVoicePacketNs / kTurnNs;
constexpr uint64_t kLateNs = 5'000'000;
constexpr uint64_t kMaxBehind = 1'000;  // turns: what is older than a second is left out
constexpr Millis kTick{100};
constexpr uint64_t kSampleNs = 1'000'000'000;
constexpr Millis kGoodbye{3'000};
constexpr uint32_t kLineVoices = 1U << 23U;  // numbers of the lines' voices
constexpr size_t kMaxNameBytes = 64;
// Tones of neighbours differ, so that one who hears another's call is found by the tone as well.
constexpr uint32_t kTones = 40;
constexpr double kToneStep = 50;
constexpr double kFirstPhoneTone = 500;
constexpr double kFirstLineTone = 425;

// The stream that a call is, as the server names it.
std::string name_of_call(std::string_view call_id) {
    std::string name;
    for (const char c : call_id.substr(0, kMaxNameBytes)) {
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' ||
                           c == '-' || c == '_' || c == '@';
        name += plain ? c : '-';
    }
    return name;
}

}  // namespace

SipCallRun::SipCallRun(const SipCallOptions& options)
    : options_(options),
      report_("sip-call", options.url),
      facts_(gather_facts(options.run.command_line)) {}

SipCallRun::~SipCallRun() = default;

uint32_t SipCallRun::streams() const {
    return has_number(options_.lines) ? options_.calls : 1;
}

double SipCallRun::phone_hertz(uint32_t number) const {
    return options_.say != 0 ? options_.say : kFirstPhoneTone + kToneStep * (number % kTones);
}

double SipCallRun::line_hertz(uint32_t stream) const {
    return options_.hear != 0 ? options_.hear : kFirstLineTone + kToneStep * (stream % kTones);
}

SipVoiceOptions SipCallRun::voice_of(uint32_t number) const {
    SipVoiceOptions out;
    out.say = phone_hertz(number);
    out.voice = number;
    out.drop_thousandths = options_.drop;
    out.hear = options_.hear;
    if (options_.echo) {
        out.heard_voice = number;
        out.hear = options_.hear != 0 ? options_.hear : out.say;
    } else if (has_lines()) {
        const uint32_t stream = number % streams();
        out.heard_voice = kLineVoices + stream;
        out.hear = line_hertz(stream);
    }
    return out;
}

// ---- the run ----

Error SipCallRun::run(int& exit_code) {
    WEIR_TRY(prepare());
    Error failed = start_lines();
    if (!failed) {
        play();
        exit_code =
            control_->finish(report_, [this] { return html_report(report_, series_, facts_); });
    }
    clock_.interrupt();
    clock_.join();
    connects_.interrupt_all();
    const Error joined = connects_.join_all(io::Deadline::forever());  // they were interrupted
    return failed ? std::move(failed) : Error();
}

Error SipCallRun::prepare() {
    WEIR_TRY(ensure_descriptors(uint64_t{options_.calls} * (has_lines() ? 4 : 2)));
    for (const std::string& each : options_.run.expect) {
        WEIR_TRY_ASSIGN(Expression condition, parse_condition(each, options_.run, "--expect"));
        expected_.push_back(std::move(condition));
    }
    WEIR_TRY_ASSIGN(target_, sip_target(options_.url));
    WEIR_TRY_ASSIGN(local_, local_address_to(target_.address, options_.local));
    WEIR_TRY_ASSIGN(control_, RunControl::create(options_.run));
    WEIR_TRY_ASSIGN(usage_, UsageProbe::create(options_.run.server_pid, options_.run.server_api));
    signals_ = std::make_unique<SipSignals>(static_cast<SipSignalsOwner&>(*this));
    if (options_.transport == "tcp") {
        WEIR_TRY(
            signals_->connect(target_.address, io::Deadline::after(options_.run.connect_timeout)));
    } else {
        WEIR_TRY(signals_->bind(local_));
    }
    for (uint32_t i = 0; i < options_.calls; i++) {
        calls_.push_back(std::make_unique<Call>());
        calls_.back()->number = i;
    }
    started_ns_ = sampled_ns_ = begin_ns_ = now_ns();
    WEIR_TRY_ASSIGN(clock_, io::Coroutine::spawn("sip phones", io::StackSize::kNormal,
                                                 [this] { run_clock(); }));
    return {};
}

// One for each call is part of what a call costs, one for all is not.
Error SipCallRun::start_lines() {
    if (!has_lines()) {
        usage_->before_players();
        return {};
    }
    if (streams() > 1) {
        usage_->before_players();
    }
    const io::Deadline deadline = io::Deadline::after(options_.run.connect_timeout);
    for (uint32_t i = 0; i < streams() && !control_->stopped(); i++) {
        WEIR_TRY_ASSIGN(Url url, parse_url(numbered(options_.lines, i)));
        if (url.scheme != "rtmp") {
            return make_error(ErrorCode::kUnsupported, "--lines: found '{}', expected rtmp://",
                              options_.lines);
        }
        if (i == 0) {
            WEIR_TRY_ASSIGN(lines_address_, resolve(url.host, url.port));
            lines_from_ = SourceAddresses(lines_address_);
        }
        lines_.push_back(std::make_unique<SipLine>(std::move(url), line_hertz(i), kLineVoices + i));
        WEIR_TRY(lines_.back()->connect(lines_address_, lines_from_.of(i), deadline));
    }
    if (streams() == 1) {
        wait(options_.settle, "the line publishes");
        usage_->before_players();
    }
    return {};
}

void SipCallRun::play() {
    begin_ns_ = now_ns();
    turn_ = 0;
    begins_ = true;
    series_.mark(0, "calling");
    if (options_.talk.count() > 0) {  // the whole of it is measured
        begin_window();
        const auto each_s = Seconds(options_.calls / options_.rate + 1);
        wait(std::chrono::duration_cast<Millis>(each_s) + options_.talk +
                 options_.run.connect_timeout + kGoodbye,
             "calling", &SipCallRun::all_over);
        end_window();
    } else {
        talk_and_measure();
    }
    end_calls();
    make_report();
}

void SipCallRun::talk_and_measure() {
    const auto ramp = Seconds(options_.calls / options_.rate + 1);
    wait(std::chrono::duration_cast<Millis>(ramp) + options_.run.connect_timeout, "calling",
         &SipCallRun::all_set_up);
    wait(options_.settle, "settling");
    series_.mark(static_cast<double>(now_ns() - started_ns_) / 1e9, "measuring");
    begin_window();
    wait(options_.run.duration, "measuring");
    end_window();
}

void SipCallRun::end_calls() {
    begins_ = false;
    // The agent is done with a call when its BYE has gone out. A connection that is closed before
    // the server has read them takes them along: so their answers are waited for.
    uint64_t answers = signals_->received();
    for (const auto& call : calls_) {
        if (call->state == State::kTalking || call->state == State::kCalling) {
            hang_up(*call);
            answers++;
        }
    }
    const io::Deadline until = io::Deadline::after(kGoodbye);
    const auto over = [&] { return all_over() && signals_->received() >= answers; };
    while (!over() && !until.passed() && !io::sleep_for(kTick)) {
    }
    for (const auto& call : calls_) {
        totals_.unended += call->state == State::kEnding ? 1U : 0U;
    }
}

bool SipCallRun::all_set_up() const {
    return begun_ == calls_.size() && std::ranges::none_of(calls_, [](const auto& call) {
               return call->state == State::kWaiting || call->state == State::kCalling;
           });
}

bool SipCallRun::all_over() const {
    return std::ranges::all_of(calls_,
                               [](const auto& call) {
                                   return call->state == State::kEnded ||
                                          call->state == State::kFailed ||
                                          call->state == State::kWaiting;
                               }) &&
           (!begins_ || begun_ == calls_.size());
}

void SipCallRun::wait(Millis time, std::string_view phase, bool (SipCallRun::*until)() const) {
    const io::Deadline end = io::Deadline::after(time);
    while (!control_->stopped() && !end.passed() && !(until != nullptr && (this->*until)())) {
        const io::Deadline next = io::Deadline::after(kTick);
        control_->wait_until(next.time() < end.time() ? next : end);
        if (const uint64_t now = now_ns(); now - sampled_ns_ >= kSampleNs) {
            sample(now, phase);
        }
    }
}

void SipCallRun::sample(uint64_t now, std::string_view phase) {
    const SipHeard heard = heard_by_phones();
    const uint64_t lost = heard.rtp.lost + heard_by_lines().voice.lost;
    TimeSample one;
    one.time_s = static_cast<double>(now - started_ns_) / 1e9;
    one.span_s = static_cast<double>(now - sampled_ns_) / 1e9;
    one.connected = one.playing = talking();
    const uint64_t samples = heard.voice.samples - std::min(heard.voice.samples, sampled_samples_);
    one.received_bps = static_cast<double>(samples) * 8 / one.span_s;
    one.lost = lost - std::min(lost, sampled_lost_);
    const UsageNow usage = usage_->now();
    one.server_cpu_percent = usage.server_cpu_percent;
    one.server_memory_bytes = usage.server_memory_bytes;
    one.client_cpu_percent = usage.client_cpu_percent;
    one.client_memory_bytes = usage.client_memory_bytes;
    series_.add(one);
    sampled_ns_ = now;
    sampled_lost_ = lost;
    sampled_samples_ = heard.voice.samples;
    std::string text = fmt::format(
        "{:.0f} s {}: {} asked, {} answered, {} failed, {} talk, lost {}, wrong tones {}",
        one.time_s, phase, totals_.asked, totals_.answered, totals_.failed, one.playing, lost,
        heard.voice.wrong_seconds);
    if (usage.server_cpu_percent) {
        text += fmt::format(", server CPU {:.0f} %", *usage.server_cpu_percent);
    }
    control_->progress(text);
}

void SipCallRun::begin_window() {
    phone_delay_.clear();
    line_delay_.clear();
    for (const auto& call : calls_) {
        if (call->phone) {
            call->phone->set_measuring();
        }
        if (call->listener) {
            call->listener->check()->set_measuring(true);
        }
    }
    late_ = worst_late_ns_ = 0;
    window_begin_ns_ = now_ns();
    usage_->window_begins();
}

void SipCallRun::end_window() {
    window_s_ = static_cast<double>(now_ns() - window_begin_ns_) / 1e9;
    usage_->window_ends();
    phones_ = heard_by_phones();
    heard_lines_ = heard_by_lines();
    talking_at_end_ = talking();
}

// ---- the clock ----

void SipCallRun::run_clock() {
    while (!io::sleep_for(Millis(1))) {
        const uint64_t now = now_ns();
        const uint64_t due = (now - begin_ns_) / kTurnNs;
        if (due > turn_ && now - begin_ns_ - turn_ * kTurnNs > kLateNs) {
            late_++;
            worst_late_ns_ = std::max(worst_late_ns_, now - begin_ns_ - turn_ * kTurnNs);
        }
        turn_ = std::max(turn_, due - std::min(due, kMaxBehind));
        for (; turn_ < due; turn_++) {
            turn(now_ns());
        }
        signals_->look(MonoClock::now());
        if (begins_) {
            begin_due(now);
        }
    }
}

// Those whose turn this is.
void SipCallRun::turn(uint64_t now) {
    const uint64_t first = turn_ % kTurns;
    for (size_t i = first; i < lines_.size(); i += kTurns) {
        lines_[i]->say(now);
    }
    for (size_t i = first; i < calls_.size(); i += kTurns) {
        Call& call = *calls_[i];
        if (call.state == State::kTalking) {
            call.phone->read_more();
            call.phone->say(now);
            const auto talk = static_cast<uint64_t>(Micros(options_.talk).count()) * 1000;
            if (talk > 0 && now - call.answered_ns >= talk) {
                hang_up(call);
            }
        }
    }
}

void SipCallRun::begin_due(uint64_t now) {
    const uint64_t due = (now - begin_ns_) * options_.rate / 1'000'000'000 + 1;
    while (begun_ < calls_.size() && begun_ < due && !control_->stopped()) {
        begin(*calls_[begun_++], now_ns());
    }
}

void SipCallRun::begin(Call& call, uint64_t now) {
    totals_.asked++;
    call.phone = std::make_unique<SipPhone>(voice_of(call.number), phone_delay_);
    if (options_.talk.count() > 0) {
        call.phone->set_measuring();
    }
    if (Error failed = call.phone->open(local_)) {
        fail(call, std::string(failed.message()));
        return;
    }
    const std::string user = numbered(options_.user, call.number);
    sip::CallTarget target;
    target.flow = signals_->flow_to(target_.address.net_address());
    target.uri = target_.uri(call.number);
    target.from = fmt::format("sip:{}@{}", user, target_.domain);
    target.contact_user = user;
    target.login = {user, numbered(options_.password, call.number)};
    target.sdp = sdp::write_phone_offer(call.phone->description());
    call.state = State::kCalling;
    call.asked_ns = now;
    call.id = signals_->with_agent([&](sip::UserAgent& agent, MonoTime at) {
        const sip::CallId id = agent.call(at, target);
        by_id_[id] = &call;
        return id;
    });
    if (call.id == 0) {
        fail(call, "too many calls for this phone system");
    }
}

void SipCallRun::hang_up(Call& call) {
    call.state = State::kEnding;
    call.phone->end();
    if (call.listener) {
        call.listener->close();
    }
    hung_up_ns_[call.id] = now_ns();
    signals_->with_agent(
        [&](sip::UserAgent& agent, MonoTime at) { return agent.hang_up(at, call.id); });
}

void SipCallRun::fail(Call& call, const std::string& why) {
    call.state = State::kFailed;
    if (call.phone) {
        call.phone->end();
    }
    totals_.failed++;
    totals_.failures[why]++;
}

// ---- signalling ----

void SipCallRun::on_sip(sip::CallEvent event) {
    using Kind = sip::CallEvent::Kind;
    const auto found = by_id_.find(event.call);
    if (event.kind == Kind::kRequest) {
        const sip::TransactionId id = event.transaction;
        signals_->with_agent(
            [id](sip::UserAgent& agent, MonoTime at) { return agent.respond(at, id, 405); });
        return;
    }
    if (found == by_id_.end()) {
        return;
    }
    Call& call = *found->second;
    const uint64_t now = now_ns();
    switch (event.kind) {
        case Kind::kProgress:
            if (!std::exchange(call.rang, true)) {
                dial_.add((now - call.asked_ns) / 1000);
            }
            return;
        case Kind::kAnswered: on_answer(call, event.sdp); return;
        case Kind::kOffer: {
            const std::string sdp = sdp::write_phone_offer(call.phone->description());
            signals_->with_agent([&](sip::UserAgent& agent, MonoTime at) {
                return agent.answer_offer(at, call.id, sdp);
            });
            return;
        }
        case Kind::kFailed:
            if (call.state == State::kEnding) {
                call.state = State::kEnded;
            } else {
                fail(call, fmt::format("status {}{}{}", event.status,
                                       event.reason.empty() ? "" : " ", event.reason));
            }
            return;
        case Kind::kEnded:
            if (call.state == State::kTalking) {
                totals_.broken++;
                totals_.failures[fmt::format("ended by the other side, status {}", event.status)]++;
                call.phone->end();
            } else if (const auto at = hung_up_ns_.find(call.id); at != hung_up_ns_.end()) {
                end_.add((now - at->second) / 1000);
            }
            call.state = State::kEnded;
            return;
        default: return;
    }
}

void SipCallRun::on_answer(Call& call, const std::string& sdp) {
    const uint64_t now = now_ns();
    if (!call.rang) {
        dial_.add((now - call.asked_ns) / 1000);
    }
    setup_.add((now - call.asked_ns) / 1000);
    const auto read = sdp::read_phone_description(sdp);
    if (!read.ok()) {
        totals_.failures["an answer that cannot be read: " + std::string(read.error().message())]++;
        hang_up(call);
        return;
    }
    const auto agreed = sdp::accept_phone(*read, call.phone->description());
    if (!agreed.ok()) {
        totals_.failures[std::string(agreed.error().message())]++;
        hang_up(call);
        return;
    }
    totals_.answered++;
    totals_.last_answer_ns = now;
    call.state = State::kTalking;
    call.answered_ns = now;
    call.phone->begin(*agreed);
    if (has_lines() && options_.listen) {
        listen_to(call);
    }
}

void SipCallRun::listen_to(Call& call) {
    Url url;
    if (Result<Url> parsed = parse_url(numbered(options_.lines, 0)); parsed.ok()) {
        url = std::move(*parsed);
    }
    url.app = "sip";
    url.stream = name_of_call(signals_->agent().call_id_text(call.id));
    call.listener = std::make_unique<SipLine>(std::move(url), phone_hertz(call.number), call.number,
                                              line_delay_);
    Call* const which = &call;
    const Error failed = connects_.spawn("sip line", io::StackSize::kNormal, [this, which] {
        const Error error =
            which->listener->connect(lines_address_, lines_from_.of(which->number),
                                     io::Deadline::after(options_.run.connect_timeout));
        if (error && error.code() != ErrorCode::kInterrupted) {
            totals_.failures["a line: " + std::string(error.message())]++;
        }
        if (options_.talk.count() > 0) {
            which->listener->check()->set_measuring(true);
        }
    });
    if (failed) {
        call.listener.reset();
    }
}

Error sip_calls(const SipCallOptions& options, int& exit_code) {
    return SipCallRun(options).run(exit_code);
}

}  // namespace weir::load
