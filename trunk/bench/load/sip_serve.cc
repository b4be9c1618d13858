// weir-bench sip-call --serve: phones that are called.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "io/deadline.h"

#include "bench/load/core/units.h"
#include "bench/load/sip_call_options.h"
#include "bench/load/sip_phone.h"
#include "bench/load/sip_signals.h"

namespace weir::load {
namespace {

constexpr uint64_t kTurnNs = 1'000'000;
constexpr uint64_t kTurns = kVoicePacketNs / kTurnNs;
constexpr uint64_t kMaxBehind = 1'000;
constexpr Millis kTick{200};

class SipServeRun final : private SipSignalsOwner {
  public:
    explicit SipServeRun(const SipCallOptions& options)
        : options_(options),
          report_("sip-call", fmt::format("port {}", options.serve)),
          signals_(static_cast<SipSignalsOwner&>(*this)) {}

    Error run(int& exit_code);

  private:
    struct Call {
        std::unique_ptr<SipPhone> phone;
        sdp::PhoneAgreement agreed;
    };

    Error read_answer();
    void run_clock();
    void on_sip(sip::CallEvent event) override;
    void on_invited(const sip::CallEvent& event);
    void refuse(sip::CallId id, int status);
    void drop(sip::CallId id);
    void make_report();

    const SipCallOptions& options_;
    Report report_;
    std::unique_ptr<RunControl> control_;
    NetAddress local_;
    SipSignals signals_;
    std::map<sip::CallId, Call> calls_;
    io::Coroutine clock_;
    int status_ = 200;
    bool echo_ = false;
    uint64_t turn_ = 0;
    uint64_t begin_ns_ = 0;
    uint64_t invited_ = 0;
    uint64_t answered_ = 0;
    uint64_t refused_ = 0;
    uint64_t ended_ = 0;
    size_t most_ = 0;
    uint64_t dropped_ = 0;
    VoiceCounts heard_;
    RtpMeterCounts rtp_;
    Histogram delays_;
};

Error SipServeRun::read_answer() {
    echo_ = options_.answer == "echo";
    if (echo_ || options_.answer == "tone") {
        return {};
    }
    constexpr uint64_t kLowest = 300;
    constexpr uint64_t kHighest = 699;
    auto status = parse_count(options_.answer, kLowest, kHighest);
    if (!status.ok()) {
        return make_error(ErrorCode::kMalformed,
                          "--answer: found '{}', expected echo, tone or a status from 300 to 699",
                          options_.answer);
    }
    status_ = static_cast<int>(*status);
    return {};
}

Error SipServeRun::run(int& exit_code) {
    WEIR_TRY(read_answer());
    WEIR_TRY(ensure_descriptors(kMaxSipCalls / 10));
    const std::string host = options_.local.empty() ? "127.0.0.1" : options_.local;
    const auto address = NetAddress::parse_ip(host, static_cast<uint16_t>(options_.serve));
    if (!address) {
        return make_error(ErrorCode::kMalformed, "--local: found '{}', expected an address", host);
    }
    local_ = *address;
    WEIR_TRY_ASSIGN(control_, RunControl::create(options_.run));
    WEIR_TRY(signals_.bind(local_));
    begin_ns_ = now_ns();
    WEIR_TRY_ASSIGN(clock_, io::Coroutine::spawn("sip phones", io::StackSize::kNormal,
                                                 [this] { run_clock(); }));
    const bool forever = options_.run.duration.count() == 0;
    const io::Deadline end =
        forever ? io::Deadline::forever() : io::Deadline::after(options_.run.duration);
    while (!control_->stopped() && !end.passed()) {
        control_->wait_for(kTick);
        control_->progress(fmt::format("{} calls, {} answered, {} refused, lost {}", calls_.size(),
                                       answered_, refused_, rtp_.lost));
    }
    clock_.interrupt();
    clock_.join();
    while (!calls_.empty()) {
        const sip::CallId id = calls_.begin()->first;
        drop(id);
        signals_.with_agent(
            [id](sip::UserAgent& agent, MonoTime now) { return agent.hang_up(now, id); });
    }
    make_report();
    exit_code = control_->finish(report_);
    return {};
}

void SipServeRun::run_clock() {
    while (!io::sleep_for(Millis(1))) {
        const uint64_t due = (now_ns() - begin_ns_) / kTurnNs;
        turn_ = std::max(turn_, due - std::min(due, kMaxBehind));
        for (; turn_ < due; turn_++) {
            const uint64_t now = now_ns();
            for (auto& [id, call] : calls_) {
                if (id % kTurns == turn_ % kTurns) {
                    call.phone->read_more();
                    call.phone->say(now);
                }
            }
        }
        signals_.look(MonoClock::now());
    }
}

void SipServeRun::refuse(sip::CallId id, int status) {
    refused_++;
    signals_.with_agent([id, status](sip::UserAgent& agent, MonoTime now) {
        return agent.reject(now, id, status);
    });
}

void SipServeRun::on_invited(const sip::CallEvent& event) {
    invited_++;
    const sip::CallId id = event.call;
    if (status_ != 200) {
        refuse(id, status_);
        return;
    }
    SipVoiceOptions voice;
    voice.say = options_.say != 0 ? options_.say : 1000;
    voice.hear = options_.hear;
    voice.voice = static_cast<uint32_t>(id % kMaxVoices);
    voice.echo = echo_;
    voice.drop_thousandths = options_.drop;
    Call call;
    call.phone = std::make_unique<SipPhone>(voice, delays_);
    call.phone->set_measuring();
    const auto offer = sdp::read_phone_description(event.sdp);
    if (!offer.ok() || call.phone->open(local_.with_port(0))) {
        refuse(id, offer.ok() ? 503 : 488);
        return;
    }
    auto agreed = sdp::answer_phone(*offer, call.phone->description());
    if (!agreed.ok()) {
        refuse(id, 488);
        return;
    }
    call.agreed = std::move(*agreed);
    const std::string answer = call.agreed.answer;
    calls_.emplace(id, std::move(call));
    most_ = std::max(most_, calls_.size());
    signals_.with_agent([&](sip::UserAgent& agent, MonoTime now) {
        agent.ring(now, id);
        return agent.accept(now, id, answer);
    });
}

void SipServeRun::on_sip(sip::CallEvent event) {
    using Kind = sip::CallEvent::Kind;
    const sip::CallId id = event.call;
    switch (event.kind) {
        case Kind::kInvited: on_invited(event); return;
        case Kind::kConfirmed:
            answered_++;
            if (const auto found = calls_.find(id); found != calls_.end()) {
                found->second.phone->begin(found->second.agreed);
            }
            return;
        case Kind::kOffer:
            if (const auto found = calls_.find(id); found != calls_.end()) {
                const std::string sdp = found->second.agreed.answer;
                signals_.with_agent([&](sip::UserAgent& agent, MonoTime now) {
                    return agent.answer_offer(now, id, sdp);
                });
            }
            return;
        case Kind::kRequest:
            signals_.with_agent([&](sip::UserAgent& agent, MonoTime now) {
                return agent.respond(now, event.transaction,
                                     event.request.method == sip::Method::kOptions ? 200 : 405);
            });
            return;
        case Kind::kEnded:
        case Kind::kCancelled: drop(id); return;
        default: return;
    }
}

void SipServeRun::drop(sip::CallId id) {
    const auto found = calls_.find(id);
    if (found == calls_.end()) {
        return;
    }
    ended_++;
    heard_.add(found->second.phone->check().counts());
    rtp_.add(found->second.phone->meter().counts());
    dropped_ += found->second.phone->dropped();
    calls_.erase(found);
}

void SipServeRun::make_report() {
    ReportSection& section = report_.section("served", "calls that came");
    section.count("invited", "asked for", invited_);
    section.count("answered", "answered", answered_);
    section.count("refused", "refused", refused_);
    section.count("most", "at once", most_);
    section.count("rtp_packets", "RTP packets", rtp_.packets);
    section.count("rtp_lost", "lost", rtp_.lost);
    section.count("rtp_reordered", "late", rtp_.reordered);
    section.count("dropped", "not sent, by --drop", dropped_);
    section.count("seconds", "seconds of tone that were judged", heard_.seconds);
    section.count("wrong_seconds", "of them without the tone", heard_.wrong_seconds);
    section.distribution("delay_ms", "delay, sent to received", delays_);
    report_.expect("tone", heard_.wrong_seconds == 0, "the tone in each second",
                   fmt::format("{} of {} without it", heard_.wrong_seconds, heard_.seconds));
    report_.expect("lost", rtp_.lost == 0, "no packet is lost", fmt::format("{} were", rtp_.lost));
}

}  // namespace

Error sip_serves(const SipCallOptions& options, int& exit_code) {
    return SipServeRun(options).run(exit_code);
}

}  // namespace weir::load
