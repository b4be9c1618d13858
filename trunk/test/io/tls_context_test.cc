#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "io/tls.h"

#include "test/support/io/certificates.h"

namespace weir::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Error refusal(const TlsCertificateFiles& files) {
    auto context = TlsContext::server({&files, 1});
    return context.ok() ? Error() : context.take_error();
}

TEST(TlsContextFilesTest, TakesAsManyCertificatesAsItSaysAndNoMore) {
    TestCertificates folder;
    const TlsCertificateFiles one = folder.make("one");
    std::vector<TlsCertificateFiles> files(TlsContext::kMaxCertificates, one);
    auto most = TlsContext::server(files);
    ASSERT_TRUE(most.ok()) << most.error().to_string();
    EXPECT_EQ((*most)->certificates().size(), TlsContext::kMaxCertificates);
    files.push_back(one);
    auto over = TlsContext::server(files);
    ASSERT_FALSE(over.ok());
    EXPECT_EQ(over.error().code(), ErrorCode::kLimit);
}

TEST(TlsContextFilesTest, OneBadPairOfManyIsNamed) {
    TestCertificates folder;
    const std::vector<TlsCertificateFiles> files = {
        folder.make("a", {.names = {"a.net"}}),
        {folder.make("b", {.names = {"b.net"}}).certificate, folder.folder() + "/missing.key"},
        folder.make("c", {.names = {"c.net"}})};
    auto context = TlsContext::server(files);
    ASSERT_FALSE(context.ok());
    EXPECT_THAT(context.error().to_string(), HasSubstr("missing.key"));
}

// OpenSSL's default would ask the terminal for it, and the server would stand still.
TEST(TlsContextFilesTest, AKeyWithAPassphraseIsRefusedAndNobodyIsAsked) {
    TestCertificates folder;
    const TlsCertificateFiles good = folder.make("good");
    std::FILE* in = std::fopen(good.key.c_str(), "r");
    ASSERT_NE(in, nullptr);
    EVP_PKEY* key = PEM_read_PrivateKey(in, nullptr, nullptr, nullptr);
    std::fclose(in);
    ASSERT_NE(key, nullptr);
    const std::string locked = folder.folder() + "/locked.key";
    std::FILE* out = std::fopen(locked.c_str(), "w");
    ASSERT_NE(out, nullptr);
    const std::string secret = "secret";
    ASSERT_EQ(PEM_write_PrivateKey(out, key, EVP_aes_128_cbc(),
                                   reinterpret_cast<const unsigned char*>(secret.data()),
                                   static_cast<int>(secret.size()), nullptr, nullptr),
              1);
    std::fclose(out);
    EVP_PKEY_free(key);
    const Error error = refusal({good.certificate, locked});
    EXPECT_EQ(error.code(), ErrorCode::kMalformed);
    EXPECT_THAT(error.to_string(), HasSubstr("locked.key"));
    EXPECT_THAT(error.to_string(), HasSubstr("without a passphrase"));
}

TEST(TlsContextFilesTest, WhatIsNoRegularFileIsRefused) {
    TestCertificates folder;
    const TlsCertificateFiles good = folder.make("good");
    EXPECT_TRUE(refusal({folder.folder(), good.key}));
    EXPECT_TRUE(refusal({good.certificate, folder.folder()}));
    const std::string fifo = folder.folder() + "/fifo";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    EXPECT_TRUE(refusal({fifo, good.key})) << "and nobody waits for a writer";
    EXPECT_TRUE(refusal({good.certificate, fifo}));
    EXPECT_TRUE(refusal({folder.write("empty", ""), good.key}));
}

TEST(TlsContextFilesTest, AFileThatIsCutAnywhereIsRefused) {
    TestCertificates folder;
    const TlsCertificateFiles good = folder.make("good");
    for (const std::string* whole : {&good.certificate, &good.key}) {
        const size_t size = std::filesystem::file_size(*whole);
        const std::string part = folder.folder() + "/part";
        std::filesystem::copy_file(*whole, part, std::filesystem::copy_options::overwrite_existing);
        // The last line feed may be missing.
        for (size_t left = size - 2; left > 0; left -= std::min<size_t>(left, 13)) {
            std::filesystem::resize_file(part, left);
            EXPECT_TRUE(whole == &good.key ? refusal({good.certificate, part})
                                           : refusal({part, good.key}))
                << *whole << " " << left;
        }
        std::filesystem::remove(part);
    }
}

TEST(TlsContextFilesTest, WithoutAlternativeNamesTheCommonNameCounts) {
    TestCertificates folder;
    const TlsCertificateFiles files = folder.make("nameless", {.names = {}});
    auto context = TlsContext::server({&files, 1});
    ASSERT_TRUE(context.ok());
    EXPECT_THAT((*context)->certificates().at(0).names, ElementsAre("nameless"));
    EXPECT_EQ((*context)->certificates().at(0).file, files.certificate);
}

TEST(TlsContextFilesTest, ANameThatFitsNothingGetsTheFirst) {
    TestCertificates folder;
    const std::vector<TlsCertificateFiles> files = {folder.make("a", {.names = {"a.net"}}),
                                                    folder.make("b", {.names = {"*.b.net"}}),
                                                    folder.make("x", {.names = {"x.b.net"}})};
    auto context = TlsContext::server(files);
    ASSERT_TRUE(context.ok());
    const TlsContext& made = **context;
    for (const char* host : {"", "c.net", "b.net", "y.x.b.net", "192.0.2.1"}) {
        EXPECT_EQ(made.raw_for(host), made.raw()) << host;
    }
    EXPECT_NE(made.raw_for("y.b.net"), made.raw());
    EXPECT_NE(made.raw_for("x.b.net"), made.raw_for("y.b.net")) << "exact before wildcard";
}

TEST(TlsContextFilesTest, AClientNamesTheFileThatItCannotTrust) {
    const TestCertificates folder;
    for (const std::string& file : {folder.write("text", "nothing\n"), folder.folder() + "/none"}) {
        auto context = TlsContext::client({.ca_file = file});
        ASSERT_FALSE(context.ok()) << file;
        EXPECT_EQ(context.error().code(), ErrorCode::kMalformed);
        EXPECT_THAT(context.error().to_string(), HasSubstr(file));
    }
}

TEST(TlsContextFilesTest, WarnsFromTheSecondInWhichItExpires) {
    TestCertificates folder;
    const TlsCertificateFiles files = folder.make("a");
    auto context = TlsContext::server({&files, 1});
    ASSERT_TRUE(context.ok());
    const TlsCertificateInfo& info = (*context)->certificates().at(0);
    const auto warnings = [&](int64_t now_s) {
        return tls_certificate_warnings(files, info, now_s).size();
    };
    EXPECT_EQ(warnings(info.not_before_s - 1), 1U);
    EXPECT_EQ(warnings(info.not_before_s), 0U);
    EXPECT_EQ(warnings(info.not_after_s - 1), 0U);
    EXPECT_EQ(warnings(info.not_after_s), 1U);
    ASSERT_EQ(chmod(files.key.c_str(), 0640), 0);
    EXPECT_EQ(warnings(info.not_before_s), 0U) << "the group may read it";
    ASSERT_EQ(chmod(files.key.c_str(), 0602), 0);
    EXPECT_EQ(warnings(info.not_after_s), 2U) << "both are said";
}

}  // namespace
}  // namespace weir::io
