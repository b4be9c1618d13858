#include "app/processes/process_link.h"

#include <algorithm>
#include <csignal>

#include <fcntl.h>
#include <unistd.h>

#include "base/check.h"
#include "base/hmac.h"
#include "base/log.h"
#include "base/strings.h"
#include "config/process_config.h"
#include "io/deadline.h"
#include "io/tcp.h"

namespace weir::app {
namespace {

constexpr size_t kNameBytes = 16;

ErrorCode code_of(std::string_view name) {
    for (const ErrorCode code : {ErrorCode::kMalformed, ErrorCode::kBusy, ErrorCode::kDenied,
                                 ErrorCode::kLimit, ErrorCode::kUnsupported}) {
        if (to_string(code) == name) {
            return code;
        }
    }
    return ErrorCode::kSystem;
}

}  // namespace

ProcessLink::ProcessLink(const SeatArgument& seat, io::OwnFd control)
    : seat_(seat.seat), socket_(std::move(control)), peers_(seat.seat.count) {}

ProcessLink::~ProcessLink() {
    WEIR_CHECK(questions_.empty());
    registration_.remove();
}

Result<std::unique_ptr<ProcessLink>> ProcessLink::create(const SeatArgument& seat) {
    ::fcntl(seat.control, F_SETFD, FD_CLOEXEC);
    std::unique_ptr<ProcessLink> link(  // NOLINT: private constructor
        new ProcessLink(seat, io::OwnFd(seat.control)));
    WEIR_TRY_ASSIGN(link->registration_, io::Registration::add(seat.control, *link));
    link->read();
    const io::Deadline deadline = io::Deadline::after(kAnswerWait);
    while (link->token_.empty() && !link->lost_) {
        WEIR_TRY(link->seated_.wait_until(deadline, "the supervisor"));
    }
    if (link->lost_) {
        return make_error(ErrorCode::kClosed, "the supervisor has gone");
    }
    const auto at = [&link = *link](std::string_view purpose) {
        return [&link, purpose](uint32_t process) { return link.address_of(process, purpose); };
    };
    WEIR_TRY_ASSIGN(link->exchange_, ConnectionExchange::create(at("tcp"), link->seat_.index));
    WEIR_TRY_ASSIGN(link->datagrams_,
                    DatagramExchange::create(at("udp"), link->seat_.index, link->seat_.count));
    return link;
}

Sha256Digest ProcessLink::secret(std::string_view purpose) const {
    return hmac_sha256(as_bytes(token_), as_bytes(purpose));
}

std::string ProcessLink::mark() const {
    return hex(secret("folders"));
}

std::string ProcessLink::address_of(uint32_t process, std::string_view purpose) const {
    WEIR_DCHECK(process < names_.size());
    return fmt::format("@weir-{}-{}-{}", names_[process], process, purpose);
}

void ProcessLink::on_ready(uint8_t) {
    say_more();
    read();
}

void ProcessLink::read() {
    while (!lost_) {
        Result<std::optional<MessageSocket::Received>> got = socket_.receive();
        if (!got.ok()) {
            log::error("the supervisor: {}: this process ends", got.error().message());
            lose();
            return;
        }
        if (!*got) {
            return;
        }
        take(std::move(**got));
    }
}

void ProcessLink::lose() {
    lost_ = true;
    registration_.remove();
    socket_.close();
    seated_.notify_all();
    for (const auto& [id, question] : questions_) {
        question->signal.notify_all();
    }
    ::kill(::getpid(), SIGTERM);
}

void ProcessLink::take(MessageSocket::Received received) {
    const ProcessMessage& message = received.message;
    if (message.verb == "seat" && message.words.size() == 3) {
        token_ = message.words[2];
        note_peers(peers_);
        seated_.notify_all();
    } else if (message.verb == "owner") {
        take_owner(message);
    } else if (message.verb == "peers") {
        note_peers(peers_of(message));
    } else if (message.verb == "listening" || message.verb == "claimed") {
        const uint64_t id = message.number(0).value_or(0);
        if (const auto late = late_claims_.extract(id);
            late && message.number(1).value_or(0) != 0 && observer_.on_late_claim) {
            observer_.on_late_claim(late.mapped(), *message.number(1));
        }
        const auto asked = questions_.find(id);
        if (asked != questions_.end()) {
            asked->second->answer = std::move(received);
            asked->second->answered = true;
            asked->second->signal.notify_all();
        }
    }
}

void ProcessLink::note_peers(std::vector<ProcessFigures> peers) {
    peers.resize(seat_.count);
    const bool same_homes =
        std::ranges::equal(peers, peers_, {}, &ProcessFigures::given_up, &ProcessFigures::given_up);
    peers_ = std::move(peers);
    names_.clear();
    for (uint32_t i = 0; i < seat_.count; i++) {
        const Sha256Digest name = secret(fmt::format("address {} {}", i, peers_[i].restarts));
        names_.push_back(hex(ByteSpan(name).first(kNameBytes)));
        if (exchange_ && peers_[i].busy >= ProcessFigures::kNotThere) {
            exchange_->give_up(i);
        }
    }
    if (!same_homes && observer_.on_homes) {
        observer_.on_homes();
    }
}

void ProcessLink::take_owner(const ProcessMessage& message) {
    const Result<stream::StreamKey> key = message.key(0);
    if (!key.ok()) {
        return;
    }
    const StreamOwner owner{static_cast<uint32_t>(message.number(3).value_or(0)),
                            message.number(4).value_or(0)};
    const StreamOwner before = find(*key);
    if (owner.epoch == 0) {
        owners_.erase(*key);
    } else {
        owners_[*key] = owner;
    }
    if (observer_.on_owner) {
        observer_.on_owner(*key, owner, before);
    }
}

// ---- what it asks ----

Result<MessageSocket::Received> ProcessLink::ask(const std::string& verb,
                                                 std::vector<std::string> words) {
    if (questions_.size() >= kMaxQuestions) {
        return make_error(ErrorCode::kFull, "too many questions wait for the supervisor");
    }
    const uint64_t id = ++last_id_;
    words.insert(words.begin(), std::to_string(id));
    if (lost_) {
        return make_error(ErrorCode::kClosed, "the supervisor has gone");
    }
    tell({verb, words});
    Question question;
    questions_[id] = &question;
    const io::Deadline deadline = io::Deadline::after(kAnswerWait);
    Error failed;
    while (!question.answered && !lost_ && !failed) {
        failed = question.signal.wait_until(deadline, "the supervisor");
    }
    questions_.erase(id);
    if (question.answered) {
        return std::move(question.answer);
    }
    if (!failed) {
        return make_error(ErrorCode::kClosed, "the supervisor has gone");
    }
    if (verb == "claim" && late_claims_.size() < kMaxQuestions) {
        late_claims_[id] = {words[1], words[2], words[3]};
    }
    return failed.code() == ErrorCode::kTimeout
               ? make_error(ErrorCode::kTimeout, "the supervisor does not answer")
               : std::move(failed);
}

Result<std::unique_ptr<io::TcpListener>> ProcessLink::listen(const std::string& address) {
    WEIR_TRY_ASSIGN(io::OwnFd socket, ask_for_socket(address));
    return io::TcpListener::adopt(std::move(socket));
}

Result<std::unique_ptr<io::UdpSocket>> ProcessLink::open_udp(const std::string& address,
                                                             const io::UdpOptions& options) {
    WEIR_TRY_ASSIGN(io::OwnFd socket, ask_for_socket(address));
    return io::UdpSocket::adopt(std::move(socket), options);
}

Result<io::OwnFd> ProcessLink::ask_for_socket(const std::string& address) {
    WEIR_TRY_ASSIGN(MessageSocket::Received answer, ask("listen", {address}));
    const std::vector<std::string>& words = answer.message.words;
    if (words.size() == 3 && !words[1].empty()) {
        return make_error(code_of(words[2]), "{}", words[1]);
    }
    if (!answer.attached) {
        return make_error(ErrorCode::kSystem, "listen on {}: the supervisor gave no socket",
                          address);
    }
    return std::move(answer.attached);
}

Result<uint64_t> ProcessLink::claim(const stream::StreamKey& key, bool takeover) {
    WEIR_TRY_ASSIGN(const MessageSocket::Received answer,
                    ask("claim", {key.vhost, key.app, key.name, takeover ? "1" : "0"}));
    return answer.message.number(1).value_or(0);
}

// ---- what it tells ----

// In order, and nothing is lost: a word that did not come would keep a name for ever.
void ProcessLink::tell(ProcessMessage message) {
    if (lost_) {
        return;
    }
    if (unsaid_.size() >= kMaxUnsaid) {
        log::error("the supervisor does not read: this process ends");
        lose();
        return;
    }
    unsaid_.push_back(std::move(message));
    say_more();
}

void ProcessLink::say_more() {
    while (!lost_ && !unsaid_.empty()) {
        const Error failed = socket_.send(unsaid_.front());
        if (failed.code() == ErrorCode::kFull) {
            return;  // the next edge goes on
        }
        if (failed && failed.code() != ErrorCode::kClosed) {
            log::error("the supervisor: {}: {}", unsaid_.front().verb, failed.message());
        }
        unsaid_.pop_front();
    }
}

void ProcessLink::keep(std::vector<std::string> addresses) {
    tell({"keep", std::move(addresses)});
}

void ProcessLink::ready() {
    tell({"ready", {}});
}

void ProcessLink::drain() {
    tell({"drain", {}});
}

void ProcessLink::beat(const ProcessFigures& own) {
    tell({"beat", peers_words({own})});
}

void ProcessLink::release(const stream::StreamKey& key, uint64_t epoch) {
    tell({"release", {key.vhost, key.app, key.name, std::to_string(epoch)}});
}

uint32_t ProcessLink::home_of(const stream::StreamKey& key) const {
    const uint32_t first = config::home_of(key, seat_.count);
    for (uint32_t i = 0; i < seat_.count; i++) {
        const uint32_t at = (first + i) % seat_.count;
        if (figures_of(at).given_up == 0) {
            return at;
        }
    }
    return first;
}

StreamOwner ProcessLink::find(const stream::StreamKey& key) const {
    const auto found = owners_.find(key);
    return found == owners_.end() ? StreamOwner() : found->second;
}

double ProcessLink::busy_of(uint32_t process) const {
    return static_cast<double>(figures_of(process).busy) / ProcessFigures::kNotThere;
}

ProcessFigures ProcessLink::figures_of(uint32_t process) const {
    return process < peers_.size() ? peers_[process] : ProcessFigures();
}

io::FolderSeat folder_seat(const ProcessLink* link) {
    return link == nullptr ? io::FolderSeat()
                           : io::FolderSeat{link->seat().index, link->seat().count, link->mark()};
}

}  // namespace weir::app
