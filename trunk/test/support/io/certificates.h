// Certificates for tests: made when they are asked for, in a folder that goes with the object.
#pragma once

#include <string>
#include <vector>

#include "io/tls.h"

namespace weir::io {

class TestCertificates {
  public:
    TestCertificates();
    ~TestCertificates();
    TestCertificates(const TestCertificates&) = delete;
    TestCertificates& operator=(const TestCertificates&) = delete;

    struct Wanted {
        std::vector<std::string> names = {"localhost"};  // DNS names; "127.0.0.1" as an address
        bool rsa = false;                                // else EC on P-256
        int64_t begins_s = -3600;                        // from now
        int64_t ends_s = 30 * 24 * 3600;
    };

    // Self-signed; `name` of the files.
    TlsCertificateFiles make(const std::string& name, const Wanted& wanted);

    TlsCertificateFiles make(const std::string& name) { return make(name, Wanted()); }

    const std::string& folder() const { return folder_; }

    std::string write(const std::string& name, const std::string& text) const;

  private:
    std::string folder_;
};

}  // namespace weir::io
