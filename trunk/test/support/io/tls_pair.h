// Two ends of an encrypted connection on loopback.
#pragma once

#include <memory>
#include <utility>

#include "io/tls.h"
#include "io/tls_acceptor.h"

#include "test/support/io/certificates.h"
#include "test/support/io/loopback.h"

namespace weir::io {

// A certificate for localhost, and both contexts for it. Made once per test program: keys cost.
struct TestTls {
    TestTls() : files(certificates.make("localhost", {.names = {"localhost", "127.0.0.1"}})) {
        auto made = TlsContext::server({&files, 1});
        WEIR_CHECK(made.ok());
        server = std::move(*made);
        auto trusting = TlsContext::client({.verify = true, .ca_file = files.certificate});
        WEIR_CHECK(trusting.ok());
        client = std::move(*trusting);
    }

    TestCertificates certificates;
    TlsCertificateFiles files;
    std::shared_ptr<const TlsContext> server;
    std::shared_ptr<const TlsContext> client;
};

inline TestTls& test_tls() {
    static TestTls instance;
    return instance;
}

// Yields. Shakes hands on both ends, or ends the test program.
inline void encrypt(LoopbackPair& pair) {
    TlsAcceptor acceptor(nullptr);
    Error accepted;
    Coroutine serving =
        go([&] { accepted = acceptor.accept(*pair.server, test_tls().server, soon()); });
    const Error connected = tls_connect(*pair.client, *test_tls().client, "localhost", soon());
    serving.join();
    WEIR_CHECK(!connected && !accepted);
}

inline LoopbackPair encrypted_pair() {
    LoopbackPair pair = loopback_pair();
    encrypt(pair);
    return pair;
}

}  // namespace weir::io
