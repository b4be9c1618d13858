#include "io/tls_channel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "base/check.h"
#include "io/socket_calls.h"

namespace weir::io {
namespace {

constexpr size_t kRecordHeader = 5;  // RFC 8446 §5.1: type, version, length
constexpr uint8_t kFirstRecordType = 20;
constexpr uint8_t kLastRecordType = 23;
constexpr size_t kMaxRecord = TlsChannel::kRecordBytes + 256;  // RFC 8446 §5.2

// Shared by all channels of the media thread: filled and emptied within one call.
Bytes& batch() {
    static Bytes bytes;
    return bytes;
}

std::array<uint8_t, TlsChannel::kRecordBytes>& staging() {
    static std::array<uint8_t, TlsChannel::kRecordBytes> bytes;
    return bytes;
}

bool is_reset(int error_number) {
    return error_number == ECONNRESET || error_number == EPIPE || error_number == ENOTCONN;
}

// Takes the caller's parts in pieces of a record, without a copy where a part is long enough.
class RecordCutter {
  public:
    explicit RecordCutter(std::span<const iovec> parts) : parts_(parts) {}

    ByteSpan next() {
        while (!parts_.empty() && at_ == parts_.front().iov_len) {
            parts_ = parts_.subspan(1);
            at_ = 0;
        }
        if (parts_.empty()) {
            return {};
        }
        const size_t left = parts_.front().iov_len - at_;
        if (left >= TlsChannel::kRecordBytes || parts_.size() == 1) {
            return take(std::min(left, TlsChannel::kRecordBytes));
        }
        size_t filled = 0;
        while (!parts_.empty() && filled < staging().size()) {
            const ByteSpan piece =
                take(std::min(parts_.front().iov_len - at_, staging().size() - filled));
            std::copy(piece.begin(), piece.end(),
                      staging().begin() + static_cast<ptrdiff_t>(filled));
            filled += piece.size();
            if (at_ == parts_.front().iov_len) {
                parts_ = parts_.subspan(1);
                at_ = 0;
            }
        }
        return ByteSpan(staging()).first(filled);
    }

  private:
    ByteSpan take(size_t size) {
        const auto* bytes = static_cast<const uint8_t*>(parts_.front().iov_base) + at_;
        at_ += size;
        return {bytes, size};
    }

    std::span<const iovec> parts_;
    size_t at_ = 0;
};

}  // namespace

void TlsChannel::Free::operator()(ssl_st* ssl) const {
    SSL_free(ssl);
}

TlsChannel::TlsChannel(ssl_ctx_st* context, bool server) : ssl_(SSL_new(context)) {
    BIO* bio = BIO_new(bio_method());
    WEIR_CHECK(ssl_ && bio);
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);  // takes it
    if (server) {
        SSL_set_accept_state(ssl_.get());
    } else {
        SSL_set_connect_state(ssl_.get());
    }
}

TlsChannel::~TlsChannel() {
    object_class().remove_bytes(attached_ ? pending_.size() : 0);
}

const bio_method_st* TlsChannel::bio_method() {
    static const BIO_METHOD* method = [] {
        BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weir stream");
        WEIR_CHECK(made && BIO_meth_set_read(made, bio_read) == 1 &&
                   BIO_meth_set_write(made, bio_write) == 1 &&
                   BIO_meth_set_ctrl(made, bio_control) == 1);
        return made;
    }();
    return method;
}

int TlsChannel::bio_read(bio_st* bio, char* out, int size) {
    auto* self = static_cast<TlsChannel*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    const int got =
        self->read_raw({reinterpret_cast<uint8_t*>(out), static_cast<size_t>(std::max(size, 0))});
    if (got < 0 && self->would_block_) {
        BIO_set_retry_read(bio);
    }
    return got;
}

// What OpenSSL may have: what was fed first, then the socket. 0 at the end, -1 otherwise.
int TlsChannel::read_raw(std::span<uint8_t> out) {
    would_block_ = false;
    if (taken_ < inbox_.size()) {
        const size_t size = std::min(out.size(), inbox_.size() - taken_);
        std::memcpy(out.data(), inbox_.data() + taken_, size);
        taken_ += size;
        if (taken_ == inbox_.size()) {
            inbox_ = Bytes();
            taken_ = 0;
        }
        return static_cast<int>(size);
    }
    if (!attached_ || drained_) {
        would_block_ = true;
        return -1;
    }
    const ssize_t got = receive(fd_, out);
    if (got > 0) {
        drained_ = static_cast<size_t>(got) < out.size() && !hangup_;
    } else if (got == 0) {
        eof_ = true;
    } else if (errno == EAGAIN) {
        drained_ = true;
        would_block_ = true;
    } else {
        error_number_ = errno;
    }
    return static_cast<int>(got);
}

int TlsChannel::bio_write(bio_st* bio, const char* data, int size) {
    auto* self = static_cast<TlsChannel*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    Bytes& out = self->attached_ ? batch() : self->pending_;
    out.insert(out.end(), data, data + size);
    return size;
}

long TlsChannel::bio_control(bio_st* bio, int command, long /*number*/, void* /*pointer*/) {
    if (command == BIO_CTRL_EOF) {
        return static_cast<TlsChannel*>(BIO_get_data(bio))->eof_ ? 1 : 0;
    }
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

void TlsChannel::feed(ByteSpan bytes) {
    inbox_.insert(inbox_.end(), bytes.begin(), bytes.end());
}

bool TlsChannel::has_record() const {
    const ByteSpan rest = ByteSpan(inbox_).subspan(taken_);
    if (rest.size() < kRecordHeader) {
        return false;
    }
    const size_t length = static_cast<size_t>(rest[3]) << 8 | rest[4];
    // What is no record, OpenSSL refuses in its own words.
    return rest[0] < kFirstRecordType || rest[0] > kLastRecordType || length > kMaxRecord ||
           rest.size() >= kRecordHeader + length;
}

TlsChannel::Step TlsChannel::step() {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    if (result == 1) {
        return Step::kDone;
    }
    if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ) {
        return Step::kOngoing;
    }
    failed_ = true;
    return Step::kFailed;
}

Bytes TlsChannel::take_output() {
    return std::exchange(pending_, Bytes());
}

Error TlsChannel::take_error() {
    const unsigned long code = ERR_peek_error();
    const char* text = ERR_reason_error_string(code);
    const std::string reason = text != nullptr ? text : "unreadable";
    ERR_clear_error();
    const long verdict = SSL_get_verify_result(ssl_.get());
    if (verdict != X509_V_OK) {
        return make_error(ErrorCode::kDenied, "the certificate of the peer is not accepted: {}",
                          X509_verify_cert_error_string(verdict));
    }
    // An alert of the peer comes as an error of its own.
    if (ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) >= SSL_AD_REASON_OFFSET) {
        return make_error(ErrorCode::kDenied, "the peer gave up: {}", reason);
    }
    return make_error(ErrorCode::kMalformed, "{}", reason);
}

void TlsChannel::attach(int fd) {
    WEIR_CHECK(pending_.empty());
    fd_ = fd;
    attached_ = true;
}

void TlsChannel::fail(int error_number) {
    failed_ = true;
    error_number_ = error_number;
    ERR_clear_error();
}

IoResult TlsChannel::broken() const {
    return {is_reset(error_number_) ? IoStatus::kClosed : IoStatus::kFailed, 0, error_number_};
}

IoResult TlsChannel::read(std::span<uint8_t> out, bool& readable, bool hangup) {
    if (failed_) {
        return broken();
    }
    drained_ = false;
    hangup_ = hangup;
    size_t total = 0;
    size_t quiet = 0;
    bool ended = false;
    while (total < out.size()) {
        ERR_clear_error();
        would_block_ = false;
        const size_t room = std::min<size_t>(out.size() - total, INT_MAX);
        const int got = SSL_read(ssl_.get(), out.data() + total, static_cast<int>(room));
        if (got > 0) {
            total += static_cast<size_t>(got);
            continue;
        }
        const int why = SSL_get_error(ssl_.get(), got);
        if (why == SSL_ERROR_WANT_READ && !would_block_) {
            if (++quiet <= kMaxQuietRecords) {
                continue;
            }
            fail(EPROTO);
        } else if (why == SSL_ERROR_WANT_READ) {
            readable = false;
        } else if (why == SSL_ERROR_ZERO_RETURN) {
            ended = true;
        } else {
            fail(error_number_ != 0 ? error_number_ : EPROTO);
        }
        break;
    }
    send_batch();  // an alert, an answer to a key update
    if (total > 0) {
        return {IoStatus::kDone, total};
    }
    if (failed_) {
        return broken();
    }
    return {ended ? IoStatus::kClosed : IoStatus::kWouldBlock};
}

bool TlsChannel::write_record(ByteSpan record) {
    ERR_clear_error();
    const int written = SSL_write(ssl_.get(), record.data(), static_cast<int>(record.size()));
    if (written == static_cast<int>(record.size())) {
        return true;
    }
    fail(EPROTO);
    return false;
}

IoResult TlsChannel::write(std::span<const iovec> parts, bool& writable) {
    if (flush() != IoStatus::kDone) {
        if (failed_) {
            return broken();
        }
        writable = false;
        return {IoStatus::kWouldBlock};
    }
    RecordCutter cutter(parts);
    size_t accepted = 0;
    ByteSpan record = cutter.next();
    while (!record.empty() && !pending() && write_record(record)) {
        accepted += record.size();
        record = cutter.next();
        if (record.empty() || batch().size() >= kBatchBytes) {
            send_batch();
        }
    }
    send_batch();
    if (failed_) {
        return broken();  // what was accepted went nowhere, or nobody will say how far it got
    }
    if (pending()) {
        writable = false;
    }
    return {IoStatus::kDone, accepted};
}

// What was written in this call goes out, behind what waits already.
void TlsChannel::send_batch() {
    if (batch().empty()) {
        return;
    }
    if (!pending()) {
        const ssize_t sent = transmit(fd_, ByteSpan(batch()));
        if (sent < 0 && errno != EAGAIN) {
            fail(errno);
        } else if (const auto done = static_cast<size_t>(std::max<ssize_t>(sent, 0));
                   done < batch().size()) {
            keep(ByteSpan(batch()).subspan(done));
        }
    } else if (pending_.size() - sent_ + batch().size() <= kMaxPendingBytes) {
        keep(batch());
    } else {
        fail(EPROTO);  // it makes us answer and does not read
    }
    batch().clear();
}

void TlsChannel::keep(ByteSpan rest) {
    pending_.insert(pending_.end(), rest.begin(), rest.end());
    object_class().add_bytes(rest.size());
}

IoStatus TlsChannel::flush() {
    while (!failed_ && !pending_.empty()) {
        const ssize_t sent = transmit(fd_, ByteSpan(pending_).subspan(sent_));
        if (sent < 0) {
            if (errno == EAGAIN) {
                return IoStatus::kWouldBlock;
            }
            fail(errno);
            break;
        }
        sent_ += static_cast<size_t>(sent);
        if (sent_ == pending_.size()) {
            object_class().remove_bytes(pending_.size());
            pending_ = Bytes();
            sent_ = 0;
        }
    }
    return failed_ ? IoStatus::kFailed : IoStatus::kDone;
}

void TlsChannel::say_goodbye() {
    if (failed_ || !attached_ || flush() != IoStatus::kDone) {
        return;
    }
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
    send_batch();
}

}  // namespace weir::io
