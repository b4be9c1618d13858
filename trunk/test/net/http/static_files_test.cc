#include "net/http/static_files.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "net/http/file_answer.h"
#include "net/http/server.h"

#include "test/net/http/test_client.h"

namespace weir::net {
namespace {

namespace fs = std::filesystem;

const HttpRouteOptions kStatic{http::method_bit(http::Method::kGet), true,
                               http::ErrorFormat::kText};

class StaticFilesTest : public testing::Test {
  protected:
    StaticFilesTest() {
        std::string pattern = (fs::temp_directory_path() / "weir-static-XXXXXX").string();
        WEIR_CHECK(::mkdtemp(pattern.data()) != nullptr);
        top_ = pattern;
        root_ = top_ / "www";
        write("www/index.html", "<h1>index</h1>");
        write("www/page.js", "let x;");
        write("www/sub/index.html", "sub index");
        write("www/sub/space name.txt", "spaced");
        write("www/.hidden", "hidden");
        write("www/.git/config", "hidden too");
        write("www/node_modules/player/player.js", "the player");
        write("www/package.json", "{}");
        write("www/digits.bin", "0123456789");
        write("secret.txt", "secret");
        fs::create_directory(root_ / "empty");
        fs::create_symlink("../secret.txt", root_ / "leak.txt");
        fs::create_symlink("..", root_ / "up");
        fs::create_symlink("page.js", root_ / "inside.js");
        WEIR_CHECK(::mkfifo((root_ / "fifo").c_str(), 0600) == 0);
        workers_ = std::move(io::WorkerPool::create(2, 16)).value();
    }

    ~StaticFilesTest() override {
        if (server_) {
            Error error = server_->stop(io::soon());
            EXPECT_FALSE(error);
        }
        fs::remove_all(top_);
    }

    void write(const std::string& path, const std::string& content) {
        fs::create_directories((top_ / path).parent_path());
        std::ofstream(top_ / path) << content;
    }

    void start() { start(root_.string()); }

    void start(const std::string& root, const std::string& prefix = "") {
        StaticFilesOptions options;
        options.root = root;
        options.prefix = prefix;
        options.aliases = {{"/vendor/player.js", "node_modules/player/player.js"},
                           {"/vendor/missing.js", "node_modules/missing/missing.js"}};
        files_ = std::make_unique<StaticFiles>(std::move(options), *workers_);
        router_.add_prefix("/", kStatic,
                           [this](HttpExchange& exchange) { files_->handle(exchange); });
        server_ = HttpServer::create(router_, {});
        address_ = serve_on_loopback(*server_);
    }

    TestAnswer get(std::string_view target, std::string_view fields = "") {
        return TestClient(address_).ask(get_request(target, fields));
    }

    fs::path top_;
    fs::path root_;
    std::unique_ptr<io::WorkerPool> workers_;
    std::unique_ptr<StaticFiles> files_;
    HttpRouter router_;
    std::unique_ptr<HttpServer> server_;
    io::SocketAddress address_;
};

TEST_F(StaticFilesTest, ServesFilesWithTheirTypes) {
    start();
    TestAnswer page = get("/page.js");
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.body, "let x;");
    EXPECT_EQ(page.headers.get("Content-Type"), "text/javascript; charset=utf-8");
    EXPECT_EQ(page.headers.get("Access-Control-Allow-Origin"), "*");
    EXPECT_EQ(get("/").body, "<h1>index</h1>");
    EXPECT_EQ(get("/").headers.get("Content-Type"), "text/html; charset=utf-8");
    EXPECT_EQ(get("/sub/").body, "sub index");
    EXPECT_EQ(get("/sub/space%20name.txt").body, "spaced");
    EXPECT_EQ(get("/inside.js").body, "let x;") << "a link that stays inside";
}

TEST_F(StaticFilesTest, RefusesWhatIsNotForTheWorld) {
    start();

    struct Case {
        const char* target;
        int status;
    };

    const Case cases[] = {
        {"/none.html", 404},
        {"/../secret.txt", 400},
        {"/sub/../../secret.txt", 400},
        {"/%2e%2e/secret.txt", 400},
        {"/..%2fsecret.txt", 400},
        {"/sub/%2e%2e/%2e%2e/secret.txt", 400},
        {"/%252e%252e/secret.txt", 404},
        {"/leak.txt", 404},
        {"/up/secret.txt", 404},
        {"/.hidden", 404},
        {"/.git/config", 404},
        {"/%2ehidden", 404},
        {"/sub/..%2f.hidden", 404},
        {"/node_modules/player/player.js", 404},
        {"/package.json", 404},
        {"/fifo", 404},
        {"/empty/", 404},
        {"/page.js/", 404},
        {"/page.js/x", 404},
        {"/a%00b", 400},
    };
    for (const Case& c : cases) {
        TestAnswer answer = get(c.target);
        EXPECT_EQ(answer.status, c.status) << c.target;
        EXPECT_EQ(answer.body.find("secret\n"), std::string::npos) << c.target;
        EXPECT_TRUE(answer.body.starts_with(std::to_string(c.status)))
            << c.target << ": " << answer.body;
    }
}

TEST_F(StaticFilesTest, ServesAliases) {
    start();
    EXPECT_EQ(get("/vendor/player.js").body, "the player");
    EXPECT_EQ(get("/vendor/player.js").headers.get("Content-Type"),
              "text/javascript; charset=utf-8");
    EXPECT_EQ(get("/vendor/missing.js").status, 404);
}

TEST_F(StaticFilesTest, ServesBelowAPrefix) {
    start(root_.string(), "/console");
    EXPECT_EQ(get("/console/").body, "<h1>index</h1>");
    EXPECT_EQ(get("/console/page.js").body, "let x;");
    EXPECT_EQ(get("/console/vendor/player.js").body, "the player");
    EXPECT_EQ(get("/console/sub/").body, "sub index");
    const TestAnswer bare = get("/console?a=b");
    EXPECT_EQ(bare.status, 301);
    EXPECT_EQ(bare.headers.get("Location"), "/console/?a=b");
    EXPECT_EQ(get("/console/sub").headers.get("Location"), "/console/sub/");
    for (const char* missing :
         {"/", "/page.js", "/console/.hidden", "/console/node_modules/player/player.js",
          "/consolepage.js", "/console/../secret.txt", "/console/leak.txt"}) {
        EXPECT_EQ(get(missing).status, 404) << missing;
    }
}

TEST_F(StaticFilesTest, SendsAFolderToItsSlash) {
    start();
    TestAnswer answer = get("/sub?a=b");
    EXPECT_EQ(answer.status, 301);
    EXPECT_EQ(answer.headers.get("Location"), "/sub/?a=b");
}

TEST_F(StaticFilesTest, AnswersHeadWithTheLengthOnly) {
    start();
    TestClient c(address_);
    TestAnswer answer = c.ask("HEAD /digits.bin HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.headers.get("Content-Length"), "10");
    EXPECT_EQ(c.ask(get_request("/digits.bin")).body, "0123456789");
}

TEST_F(StaticFilesTest, AnswersConditionalRequests) {
    start();
    TestAnswer first = get("/digits.bin");
    std::string tag(first.headers.get("ETag").value_or(""));
    std::string date(first.headers.get("Last-Modified").value_or(""));
    ASSERT_FALSE(tag.empty() || date.empty());
    EXPECT_EQ(get("/digits.bin", "If-None-Match: " + tag + "\r\n").status, 304);
    EXPECT_EQ(get("/digits.bin", "If-None-Match: \"other\", W/" + tag + "\r\n").status, 304);
    EXPECT_EQ(get("/digits.bin", "If-None-Match: \"other\"\r\n").status, 200);
    EXPECT_EQ(get("/digits.bin", "If-Modified-Since: " + date + "\r\n").status, 304);
    EXPECT_EQ(get("/digits.bin", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n").status,
              200);
    EXPECT_EQ(get("/digits.bin", "If-None-Match: \"other\"\r\nIf-Modified-Since: " + date + "\r\n")
                  .status,
              200)
        << "the tag decides";
    write("www/digits.bin", "changed it");
    fs::last_write_time(root_ / "digits.bin",
                        fs::last_write_time(root_ / "digits.bin") + std::chrono::seconds(2));
    EXPECT_EQ(get("/digits.bin", "If-None-Match: " + tag + "\r\n").body, "changed it");
}

TEST_F(StaticFilesTest, AnswersOneRange) {
    start();
    TestAnswer part = get("/digits.bin", "Range: bytes=2-4\r\n");
    EXPECT_EQ(part.status, 206);
    EXPECT_EQ(part.body, "234");
    EXPECT_EQ(part.headers.get("Content-Range"), "bytes 2-4/10");
    EXPECT_EQ(get("/digits.bin", "Range: bytes=-2\r\n").body, "89");
    TestAnswer outside = get("/digits.bin", "Range: bytes=10-\r\n");
    EXPECT_EQ(outside.status, 416);
    EXPECT_EQ(outside.headers.get("Content-Range"), "bytes */10");
    EXPECT_EQ(get("/digits.bin", "Range: bytes=0-1,4-5\r\n").body, "0123456789")
        << "several ranges: everything";
    std::string tag(part.headers.get("ETag").value_or(""));
    EXPECT_EQ(get("/digits.bin", "Range: bytes=0-0\r\nIf-Range: " + tag + "\r\n").status, 206);
    EXPECT_EQ(get("/digits.bin", "Range: bytes=0-0\r\nIf-Range: \"other\"\r\n").status, 200);
}

TEST_F(StaticFilesTest, SendsFilesOfManySlices) {
    std::string large;
    for (size_t i = 0; i < 5 * kFileSliceBytes / 8 + 1; i++) {
        large += std::to_string(10000000 + i % 90000000);
    }
    write("www/large.bin", large);
    start();
    EXPECT_EQ(get("/large.bin").body, large);
    EXPECT_EQ(get("/large.bin", "Range: bytes=65530-131080\r\n").body,
              large.substr(65530, 131080 - 65530 + 1));
}

TEST_F(StaticFilesTest, SendsAnEmptyFile) {
    write("www/empty.txt", "");
    start();
    TestAnswer answer = get("/empty.txt");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.headers.get("Content-Length"), "0");
}

TEST_F(StaticFilesTest, SaysThatItsFolderIsMissing) {
    start((top_ / "nowhere").string());
    TestAnswer answer = get("/");
    EXPECT_EQ(answer.status, 404);
    EXPECT_NE(answer.body.find("folder of the pages is not there"), std::string::npos)
        << answer.body;
}

TEST_F(StaticFilesTest, SaysThatItMayNotReadAFile) {
    fs::permissions(root_ / "page.js", fs::perms::none);
    start();
    EXPECT_EQ(get("/page.js").status, ::geteuid() == 0 ? 200 : 403) << "root may read everything";
}

TEST(ContentTypeTest, GoesByTheExtension) {
    EXPECT_EQ(content_type_of("a.HTML"), "text/html; charset=utf-8");
    EXPECT_EQ(content_type_of("a.b.css"), "text/css; charset=utf-8");
    EXPECT_EQ(content_type_of("noextension"), "application/octet-stream");
    EXPECT_EQ(content_type_of(""), "application/octet-stream");
}

}  // namespace
}  // namespace weir::net
