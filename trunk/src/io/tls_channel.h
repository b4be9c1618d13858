// Private to io/: OpenSSL's side of one encrypted TcpStream.
//
// First a handshake that only knows memory: feed() what came, step() on any thread, send what
// take_output() gives. Then attach(): read() and write() speak with the socket themselves. OpenSSL
// writes into a buffer of ours, never to the socket, so it never has a record half sent: what the
// socket does not take waits here (at most a batch), and the caller's bytes count as written. So
// callers may come back with other bytes, a read never waits for room, and nothing of what was
// accepted has to be kept by them. The owner calls flush() at each writable edge.
//
//     caller's bytes -> records (16 KiB) -> a batch, shared by all -> socket
//                                              | what it did not take
//                                              v
//                                           pending_ -> flush()
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <sys/uio.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/object_count.h"
#include "io/io_result.h"

// OpenSSL's own names, so that its headers are not needed here.
struct bio_method_st;
struct bio_st;
struct ssl_ctx_st;
struct ssl_st;

namespace weir::io {

class TlsChannel final : private Counted<TlsChannel> {
  public:
    // OpenSSL's part of an encrypted connection.
    static constexpr ObjectName kObjectName{"tls_connection", "network"};
    // Size of OpenSSL's objects while no record is in progress, measured (doc/memory.md).
    static constexpr uint64_t kHeldBytes = 13'800;

    static constexpr size_t kRecordBytes = 16 * 1024;  // plain, RFC 8446 §5.1
    static constexpr size_t kBatchBytes = 2 * kRecordBytes;
    // What may wait for the socket: a batch, and what answers to the peer (key updates, alerts)
    // add.
    static constexpr size_t kMaxPendingBytes = 3 * kRecordBytes;

    // Records without data (key updates, tickets) in one read(): each costs some microseconds, and
    // a socket may hold hundreds of thousands.
    static constexpr size_t kMaxQuietRecords = 64;

    enum class Step : uint8_t { kOngoing, kDone, kFailed };

    TlsChannel(ssl_ctx_st* context, bool server);
    ~TlsChannel();
    TlsChannel(const TlsChannel&) = delete;
    TlsChannel& operator=(const TlsChannel&) = delete;

    ssl_st* raw() { return ssl_.get(); }

    // The handshake. Bytes that came, also those behind it.
    void feed(ByteSpan bytes);
    // Before the first step(): it has something to do, a whole record or what is no record.
    bool has_record() const;
    Step step();
    Bytes take_output();
    // After kFailed.
    Error take_error();

    // Behind the handshake: the socket, which stays the caller's.
    void attach(int fd);

    // Never yield. read() reads until `out` is full or nothing is there; then `readable` is
    // cleared. `hangup`: the socket's end was announced, so a short read may hide a FIN.
    IoResult read(std::span<uint8_t> out, bool& readable, bool hangup);
    IoResult write(std::span<const iovec> parts, bool& writable);

    bool pending() const { return !pending_.empty(); }

    // kDone: nothing waits any more.
    IoStatus flush();

    // close_notify, if there is room for it.
    void say_goodbye();

    // What a read or a write of a broken channel comes to.
    IoResult broken() const;

  private:
    struct Free {
        void operator()(ssl_st* ssl) const;
    };

    static const bio_method_st* bio_method();
    static int bio_read(bio_st* bio, char* out, int size);
    static int bio_write(bio_st* bio, const char* data, int size);
    static long bio_control(bio_st* bio, int command, long number, void* pointer);

    int read_raw(std::span<uint8_t> out);
    bool write_record(ByteSpan record);
    void send_batch();
    void keep(ByteSpan rest);
    void fail(int error_number);

    std::unique_ptr<ssl_st, Free> ssl_;
    Bytes inbox_;  // fed and not yet taken by OpenSSL
    size_t taken_ = 0;
    Bytes pending_;  // for the socket; in the handshake: all that is to be sent
    size_t sent_ = 0;
    int fd_ = -1;
    int error_number_ = 0;
    bool attached_ = false;
    bool drained_ = false;  // this read() has emptied the socket
    bool hangup_ = false;
    bool eof_ = false;
    bool failed_ = false;
    bool would_block_ = false;  // the last BIO read found nothing
};

}  // namespace weir::io
