// One DTLS 1.2 handshake on OpenSSL: datagrams in, datagrams out, keys at the end. About 77 KB
// while it lives.
//
// Not a machine of its own: proto/dtls/transport.h repeats flights, watches time and bounds what
// comes in. OpenSSL's own timer goes by the wall clock and is switched off. OpenSSL takes
// randomness from the system, not from a RandomSource.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/object_count.h"
#include "proto/dtls/fingerprint.h"
#include "proto/dtls/record.h"
#include "proto/srtp/keys.h"

// OpenSSL's own names, so that its headers are not needed here.
struct bio_method_st;
struct bio_st;
struct ssl_ctx_st;
struct ssl_st;
struct x509_store_ctx_st;

namespace weir::dtls {

class Identity;

// kClient speaks first: for a peer that insists on a=setup:passive.
enum class Role : uint8_t { kServer, kClient };

// What a finished handshake leaves behind.
struct Secrets {
    srtp::Keys srtp;
    RecordKey remote_records;  // reads what the peer sends in epoch 1
    Bytes close_notify;        // a record, ready to be sent
};

class Handshake final : private Counted<Handshake> {
  public:
    static constexpr ObjectName kObjectName{"dtls_handshake", "dtls"};
    static constexpr size_t kHeldBytes =
        77'000;  // of OpenSSL's objects, measured (bench/micro/proto/dtls)

    enum class Status : uint8_t { kOngoing, kDone, kFailed };

    // `identity` must outlive this. No datagram that it writes is longer than `mtu`.
    Handshake(const Identity& identity, Role role, const Fingerprint& remote, size_t mtu);
    Handshake(const Handshake&) = delete;
    Handshake& operator=(const Handshake&) = delete;
    ~Handshake();

    // Takes one datagram, or none to start as the client; what is to be sent is appended to `out`,
    // also when it failed (an alert). After kDone and kFailed it is over.
    Status step(ByteSpan datagram, std::vector<Bytes>& out);

    // After kFailed: kDenied (the certificate is not the expected one), kClosed (the peer gave up),
    // kUnsupported (no common SRTP profile), kMalformed.
    Error take_error() { return std::move(error_); }

    // After kDone, once.
    Result<Secrets> finish();

    // What Identity sets in the context that all handshakes share.
    static void set_verification(ssl_ctx_st* context);

  private:
    struct Free {
        void operator()(ssl_st* ssl) const;
    };

    // The BIO that stands for the socket: one datagram to read, all that is written collected.
    static const bio_method_st* bio_method();
    static int bio_read(bio_st* bio, char* out, int size);
    static int bio_write(bio_st* bio, const char* data, int size);
    static long bio_control(bio_st* bio, int command, long number, void* pointer);
    static int verify(x509_store_ctx_st* store, void* unused);

    Error failure(int ssl_error);
    Result<srtp::Keys> export_srtp_keys();
    Result<RecordKey> export_record_key();

    std::unique_ptr<ssl_st, Free> ssl_;
    Role role_;
    Fingerprint remote_;
    ByteSpan incoming_;                  // during step() only
    std::vector<Bytes>* out_ = nullptr;  // the same
    bool wrong_certificate_ = false;
    Error error_;
};

}  // namespace weir::dtls
