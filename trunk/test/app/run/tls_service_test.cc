#include "app/run/tls_service.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "test/support/io/tls_pair.h"

namespace weir::app {
namespace {

class TlsServiceTest : public testing::Test {
  protected:
    TlsServiceTest() {
        log::set_sink([](log::Level, std::string_view line) { lines().emplace_back(line); });
        lines().clear();
        auto disk = io::WorkerPool::create(1, 100);
        WEIR_CHECK(disk.ok());
        disk_ = std::move(*disk);
    }

    ~TlsServiceTest() override { log::set_sink(nullptr); }

    static std::vector<std::string>& lines() {
        static std::vector<std::string> instance;
        return instance;
    }

    static size_t logged(std::string_view text) {
        return static_cast<size_t>(std::ranges::count_if(lines(), [&](const std::string& line) {
            return line.find(text) != std::string::npos;
        }));
    }

    config::Config config(const std::string& more = "") {
        config::ParseOutcome outcome = config::parse_config(
            "listen 1936 ssl; ssl_certificate a.pem; ssl_certificate_key a.key;" + more,
            certificates_.folder() + "/weir.conf");
        WEIR_CHECK(outcome.ok());
        return *outcome.config;
    }

    Error use(const config::Config& config) {
        WEIR_TRY_ASSIGN(TlsFiles files, TlsService::load(config));
        return service_.use(std::move(files), config);
    }

    // The name of the first certificate in force for RTMP.
    std::string in_force() const {
        return service_.json(0)["certificates"][0]["names"][0].get<std::string>();
    }

    io::TestCertificates certificates_;
    std::unique_ptr<io::WorkerPool> disk_;
    int pools_ = 0;
    TlsService service_{[this] {
        pools_++;
        return io::WorkerPool::create(1, TlsService::kQueue);
    }};
};

TEST_F(TlsServiceTest, LooksAtAllFilesBeforeAServerUsesThem) {
    certificates_.make("a");
    certificates_.make("old", {.ends_s = -1000});
    config::ParseOutcome outcome = config::parse_config(
        "ssl_certificate a.pem; ssl_certificate_key a.key;\n"
        "ssl_certificate old.pem; ssl_certificate_key old.key;\n"
        "ssl_certificate a.pem; ssl_certificate_key old.key;\n"
        "http_api { ssl_certificate gone.pem;\nssl_certificate_key gone.key; }",
        certificates_.folder() + "/weir.conf");
    ASSERT_TRUE(outcome.ok()) << to_string(outcome.errors);
    const CertificateCheck check = check_certificates(*outcome.config);
    ASSERT_EQ(check.errors.size(), 2U);
    EXPECT_EQ(check.errors[0].line, 3U);
    EXPECT_NE(check.errors[0].message.find("does not belong"), std::string::npos);
    EXPECT_EQ(check.errors[1].line, 4U);
    EXPECT_NE(check.errors[1].message.find("gone.pem: cannot be opened: No such file"),
              std::string::npos);
    ASSERT_EQ(check.warnings.size(), 1U);
    EXPECT_NE(check.warnings[0].find("has expired"), std::string::npos);
}

TEST_F(TlsServiceTest, HasThreadsOnlyWhenAListenerNeedsThem) {
    certificates_.make("a");
    config::ParseOutcome plain = config::parse_config(
        "ssl_certificate a.pem; ssl_certificate_key a.key;", certificates_.folder() + "/weir.conf");
    ASSERT_TRUE(plain.ok());
    ASSERT_FALSE(use(*plain.config));
    EXPECT_EQ(pools_, 0);
    EXPECT_EQ(service_.ingress(TlsScope::kRtmp, plain.config->listen[0]), nullptr);
    const config::Config with = config();
    ASSERT_FALSE(use(with));
    ASSERT_FALSE(use(with));
    EXPECT_EQ(pools_, 1);
    const auto ingress = service_.ingress(TlsScope::kRtmp, with.listen[0]);
    ASSERT_NE(ingress, nullptr);
    EXPECT_TRUE(ingress->secure());
    EXPECT_FALSE(ingress->proxy_protocol());
}

TEST_F(TlsServiceTest, ABlockMayHaveCertificatesOfItsOwn) {
    certificates_.make("a", {.names = {"top.net"}});
    certificates_.make("b", {.names = {"api.net"}});
    const config::Config both = config(
        "http_server { listen 443 ssl; }"
        "http_api { listen 1986 ssl; ssl_certificate b.pem; ssl_certificate_key b.key; }");
    const Result<TlsFiles> files = TlsService::load(both);
    ASSERT_TRUE(files.ok()) << files.error().to_string();
    EXPECT_EQ(files->contexts[0], files->contexts[1]) << "the same files are read once";
    ASSERT_NE(files->contexts[2], nullptr);
    EXPECT_EQ(files->contexts[2]->certificates().at(0).names.at(0), "api.net");
}

TEST_F(TlsServiceTest, ABrokenCertificateLeavesTheOldOneInForce) {
    certificates_.make("a", {.names = {"first.net"}});
    ASSERT_FALSE(use(config()));
    EXPECT_EQ(in_force(), "first.net");
    certificates_.make("a", {.names = {"second.net"}});
    ASSERT_FALSE(service_.reload_certificates(*disk_));
    EXPECT_EQ(in_force(), "second.net");
    certificates_.write("a.pem", "nonsense");
    const Error error = service_.reload_certificates(*disk_);
    EXPECT_EQ(error.code(), ErrorCode::kMalformed);
    EXPECT_EQ(in_force(), "second.net");
    const net::Json json = service_.json(0);
    EXPECT_EQ(json["reloads"], 1);
    EXPECT_EQ(json["failed_reloads"], 1);
}

TEST_F(TlsServiceTest, ChangedFilesAreTakenOverByThemselves) {
    certificates_.make("a", {.names = {"first.net"}});
    ASSERT_FALSE(use(config("ssl_certificate_watch 1s;")));
    io::Coroutine watching = io::go([this] { service_.watch(*disk_); });
    // As certbot does it: the name points to other files.
    certificates_.make("b", {.names = {"second.net"}});
    const std::string folder = certificates_.folder();
    std::filesystem::rename(folder + "/b.key", folder + "/a.key");
    std::filesystem::rename(folder + "/b.pem", folder + "/a.pem");
    EXPECT_TRUE(io::eventually([this] { return in_force() == "second.net"; }));
    EXPECT_GE(logged("read anew"), 1U);
    certificates_.write("a.pem", "nonsense");
    EXPECT_TRUE(io::eventually([] { return logged("cannot be used") > 0; }));
    EXPECT_EQ(in_force(), "second.net");
    certificates_.make("a", {.names = {"third.net"}});
    EXPECT_TRUE(io::eventually([this] { return in_force() == "third.net"; }));
    EXPECT_EQ(logged("cannot be used"), 1U) << "told once";
    watching.interrupt();
    watching.join();
}

TEST_F(TlsServiceTest, WarnsOfACertificateThatEndsSoon) {
    certificates_.make("a", {.ends_s = 5 * 24 * 3600 + 100});
    ASSERT_FALSE(use(config()));
    EXPECT_EQ(logged("ends in 5 days"), 1U);
    lines().clear();
    certificates_.make("a", {.ends_s = 20 * 24 * 3600});
    ASSERT_FALSE(use(config()));
    EXPECT_EQ(logged("ends in"), 0U);
}

TEST_F(TlsServiceTest, OldConnectionsKeepTheirCertificate) {
    certificates_.make("a", {.names = {"localhost"}});
    ASSERT_FALSE(use(config()));
    const auto ingress = service_.ingress(TlsScope::kRtmp, config().listen[0]);
    io::LoopbackPair pair = io::loopback_pair();
    const auto trusting = io::TlsContext::client({.verify = false});
    ASSERT_TRUE(trusting.ok());
    Error error;
    io::Coroutine serving = io::go([&] { error = ingress->begin(*pair.server, io::soon()); });
    ASSERT_FALSE(io::tls_connect(*pair.client, **trusting, "localhost", io::soon()));
    serving.join();
    ASSERT_FALSE(error) << error.to_string();
    certificates_.make("a", {.names = {"other.net"}});
    ASSERT_FALSE(service_.reload_certificates(*disk_));
    Bytes buffer(10);
    ASSERT_FALSE(pair.client->write_all(as_bytes("still"), io::soon()));
    EXPECT_TRUE(pair.server->read_some(buffer, io::soon()).ok());
}

TEST_F(TlsServiceTest, TellsMetrics) {
    certificates_.make("a", {.names = {"a\"b.net"}});
    ASSERT_FALSE(use(config()));
    net::Exposition text;
    service_.add_metrics(text);
    const std::string series = text.take();
    EXPECT_NE(series.find("weir_tls_certificate_not_after_seconds{for=\"rtmp\",file=\""),
              std::string::npos)
        << series;
    EXPECT_NE(series.find("name=\"a\\\"b.net\"}"), std::string::npos) << series;
    EXPECT_NE(series.find("weir_tls_handshakes_total{result=\"done\"} 0"), std::string::npos);
}

TEST_F(TlsServiceTest, ProxiesAreThoseOfTheConfiguration) {
    certificates_.make("a");
    const auto trusts = [this](const std::string& ip) {
        return service_.proxies().trusts(io::SocketAddress::parse(ip + ":1").value());
    };
    ASSERT_FALSE(use(config()));
    EXPECT_TRUE(trusts("127.0.0.1"));
    ASSERT_FALSE(use(config("trusted_proxies 10.0.0.0/8;")));
    EXPECT_TRUE(trusts("10.2.3.4"));
    EXPECT_FALSE(trusts("127.0.0.1"));
    ASSERT_FALSE(use(config("trusted_proxies none;")));
    EXPECT_FALSE(trusts("10.2.3.4"));
}

}  // namespace
}  // namespace weir::app
