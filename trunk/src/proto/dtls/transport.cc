#include "proto/dtls/transport.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace weir::dtls {

namespace {

void append(Bytes& to, ByteSpan bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

struct Transport::Ongoing {
    Ongoing(const Identity& identity, const TransportOptions& options, MonoTime now)
        : handshake(identity, options.role, options.remote, options.mtu),
          timeout(options.handshake_timeout),
          deadline(now + options.handshake_timeout) {}

    // The highest number of a message in the datagram; -1 without any.
    static int newest_message(ByteSpan datagram) {
        int newest = -1;
        while (std::optional<RecordView> record = next_record(datagram)) {
            if (std::optional<MessageHead> head = message_head(*record)) {
                newest = std::max(newest, int{head->sequence});
            }
        }
        return newest;
    }

    Handshake handshake;
    Millis timeout;
    MonoTime deadline;
    std::vector<Bytes> flight;  // the latest one
    size_t unsent = 0;          // index in it
    // OpenSSL numbers records for one transmission each. Peers drop a number that they have seen,
    // even when they could not use the record at that time, so each transmission of a clear record
    // gets a new one. Those of epoch 1 (our Finished) are repeated as they are: a peer that can
    // read epoch 1 wants them at once, so none drops one unused.
    uint64_t next_sequence = 0;
    std::optional<MonoTime> repeat_at;
    Millis repeat_after = kFirstRepeat;
    int newest = -1;    // message of the peer
    int answered = -1;  // its newest message when the flight was made
    size_t bytes = 0;
    size_t datagrams = 0;
};

Transport::Transport(const Identity& identity, const TransportOptions& options, MonoTime now)
    : ongoing_(std::make_unique<Ongoing>(identity, options, now)) {
    if (options.role == Role::kClient) {
        step(now, {});
    }
}

Transport::~Transport() {
    object_class().remove_bytes(kept_.size());
}

void Transport::handle_packet(MonoTime now, ByteSpan datagram) {
    if (state_ == State::kConnected) {
        handle_late_packet(now, datagram);
        return;
    }
    if (state_ != State::kHandshaking || datagram.empty() || datagram.size() > kMaxDatagram) {
        return;
    }
    ongoing_->bytes += datagram.size();
    ongoing_->datagrams++;
    if (ongoing_->bytes > kMaxHandshakeBytes || ongoing_->datagrams > kMaxHandshakeDatagrams) {
        fail(make_error(ErrorCode::kLimit, "{} bytes in {} datagrams are too many", ongoing_->bytes,
                        ongoing_->datagrams));
        return;
    }
    step(now, datagram);
}

void Transport::handle_timeout(MonoTime now) {
    if (state_ == State::kConnected && now >= repeat_last_at_) {
        send_last_flight_ = true;
        unasked_++;
        repeat_last_at_ = unasked_ < kUnaskedRepeats
                              ? now + std::min(kFirstRepeat * (1 << unasked_), kLongestRepeat)
                              : MonoTime::max();
    }
    if (state_ != State::kHandshaking) {
        return;
    }
    if (now >= ongoing_->deadline) {
        fail(make_error(ErrorCode::kTimeout, "not done within {} ms, {} datagrams received",
                        ongoing_->timeout.count(), ongoing_->datagrams));
    } else if (ongoing_->repeat_at && now >= *ongoing_->repeat_at) {
        ongoing_->repeat_after = std::min(2 * ongoing_->repeat_after, kLongestRepeat);
        repeat_flight(now);
    }
}

std::optional<MonoTime> Transport::next_timeout() const {
    if (state_ == State::kConnected && repeat_last_at_ != MonoTime::max()) {
        return repeat_last_at_;
    }
    if (state_ != State::kHandshaking) {
        return std::nullopt;
    }
    return std::min(ongoing_->deadline, ongoing_->repeat_at.value_or(ongoing_->deadline));
}

size_t Transport::transmit_bytes() const {
    if (ongoing_ && ongoing_->unsent < ongoing_->flight.size()) {
        return ongoing_->flight[ongoing_->unsent].size();
    }
    return send_last_flight_ ? last_flight().size() : send_close_ ? close_notify().size() : 0;
}

ByteSpan Transport::poll_transmit() {
    if (ongoing_ && ongoing_->unsent < ongoing_->flight.size()) {
        Bytes& datagram = ongoing_->flight[ongoing_->unsent++];
        renumber_clear_records(datagram, ongoing_->next_sequence);
        return datagram;
    }
    if (std::exchange(send_last_flight_, false)) {
        return last_flight();
    }
    if (std::exchange(send_close_, false)) {
        return close_notify();
    }
    return {};
}

std::optional<Event> Transport::poll_event() {
    return std::exchange(event_, std::nullopt);
}

srtp::Keys Transport::take_keys() {
    return std::exchange(keys_, {});
}

void Transport::close() {
    send_close_ = state_ == State::kConnected && !close_notify().empty();
    state_ = State::kOver;
}

void Transport::step(MonoTime now, ByteSpan datagram) {
    Ongoing& ongoing = *ongoing_;
    const int newest = Ongoing::newest_message(datagram);
    std::vector<Bytes> out;
    const Handshake::Status status = ongoing.handshake.step(datagram, out);
    const bool is_new = !out.empty();
    if (is_new) {
        ongoing.flight = std::move(out);
        ongoing.unsent = 0;
    }
    if (status == Handshake::Status::kFailed) {
        fail(ongoing.handshake.take_error());
        return;
    }
    if (status == Handshake::Status::kDone) {
        connect(now, is_new);
        return;
    }
    ongoing.newest = std::max(ongoing.newest, newest);
    if (is_new) {
        ongoing.answered = ongoing.newest;
        ongoing.repeat_after = kFirstRepeat;
        ongoing.repeat_at = now + ongoing.repeat_after;
        next_answer_ = now + kAnswerInterval;
    } else if (newest >= 0 && newest <= ongoing.answered && now >= next_answer_) {
        repeat_flight(now);
    }
}

// The flight that ends a full handshake is the server's. A client that is done has had it, so that
// nobody waits for anything of the client's any more.
void Transport::connect(MonoTime now, bool with_flight) {
    Result<Secrets> secrets = ongoing_->handshake.finish();
    if (!secrets.ok()) {
        fail(secrets.take_error());
        return;
    }
    size_t flight_bytes = 0;
    for (size_t i = 0; with_flight && i < ongoing_->flight.size(); i++) {
        flight_bytes += ongoing_->flight[i].size();
    }
    // ChangeCipherSpec and Finished: about 75 bytes, and one datagram.
    kept_.reserve(flight_bytes + secrets->close_notify.size());
    for (size_t i = 0; with_flight && i < ongoing_->flight.size(); i++) {
        append(kept_, ongoing_->flight[i]);
    }
    renumber_clear_records(kept_, ongoing_->next_sequence);
    append(kept_, secrets->close_notify);
    object_class().add_bytes(kept_.size());
    last_flight_bytes_ = static_cast<uint16_t>(flight_bytes);
    send_last_flight_ = with_flight;
    if (with_flight) {
        repeat_last_at_ = now + kFirstRepeat;
    }
    keys_ = secrets->srtp;
    remote_records_ = secrets->remote_records;
    ongoing_.reset();
    state_ = State::kConnected;
    event_ = Event::kConnected;
}

// What is in the flight may be an alert that tells the peer why: it can still be polled.
void Transport::fail(Error error) {
    error_ = std::move(error).with_context("DTLS handshake");
    state_ = State::kOver;
    event_ = Event::kFailed;
}

void Transport::repeat_flight(MonoTime now) {
    ongoing_->unsent = 0;
    ongoing_->repeat_at = now + ongoing_->repeat_after;
    next_answer_ = now + kAnswerInterval;
}

void Transport::handle_late_packet(MonoTime now, ByteSpan datagram) {
    while (std::optional<RecordView> record = next_record(datagram)) {
        if (is_closing_alert(*record, remote_records_)) {
            state_ = State::kOver;
            send_close_ = !close_notify().empty();  // RFC 5246 §7.2.1: answered in kind
            event_ = Event::kClosed;
            return;
        }
        if (is_repetition(*record) && now >= next_answer_ && answers_ < kMaxAnswersAfterwards) {
            answers_++;
            next_answer_ = now + kAnswerInterval;
            send_last_flight_ = !last_flight().empty();
        }
    }
}

size_t Transport::heap_bytes() const {
    return kept_.capacity() + (ongoing_ ? sizeof(Ongoing) - sizeof(Handshake) : 0);
}

// A record of the flight that the last one answers: its messages in the clear (a ClientHello is not
// among them), or its Finished.
bool Transport::is_repetition(const RecordView& record) {
    const std::optional<MessageHead> head = message_head(record);
    return head ? head->type != kClientHello
                : record.type == RecordType::kHandshake && record.epoch == 1;
}

}  // namespace weir::dtls
