// No secret is shown: neither in a dump nor in a report of changes nor in an error. Which
// directives have secrets their rows say; each of them has to be in test/data/secrets.
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/config_parser.h"
#include "config/config.h"
#include "config/directives.h"
#include "config/settings.h"
#include "config/value_types.h"

#include "test/support/source_file.h"

namespace weir::config {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kMark = "MARK";

const std::vector<std::string>& marked_files() {
    static const std::vector<std::string> all = [] {
        std::vector<std::string> texts;
        for (const char* name : {"all", "registry_password"}) {
            std::ifstream file(test::source_file(fmt::format("test/data/secrets/{}.conf", name)));
            std::stringstream text;
            text << file.rdbuf();
            texts.push_back(text.str());
        }
        return texts;
    }();
    return all;
}

Settings settings_of(std::string_view text) {
    ParseOutcome outcome = parse_config(text, "t.conf");
    EXPECT_TRUE(outcome.ok()) << to_string(outcome.errors);
    return outcome.ok() ? outcome.config->settings : Settings{};
}

std::string errors_of(std::string_view text) {
    ParseOutcome outcome = parse_config(text, "t.conf");
    EXPECT_FALSE(outcome.ok()) << text;
    return to_string(outcome.errors);
}

// Where markers stand: "http_api.user 2" for the third word of `user`.
void add_marked(const std::vector<Statement>& statements,
                const std::string& path,
                std::set<std::string>& marked) {
    for (const Statement& statement : statements) {
        for (size_t i = 0; i < statement.arguments.size(); i++) {
            if (statement.arguments[i].text.find(kMark) != std::string::npos) {
                marked.insert(fmt::format("{}{} {}", path, statement.name.text, i));
            }
        }
        add_marked(statement.block, statement.name.text + ".", marked);
    }
}

bool has_url_secrets(const Directive& directive) {
    return value_type(directive.type).urls != UrlSecrets::kNone &&
           directive.type != ValueType::kText;
}

TEST(ConfigSecretsTest, EverySecretOfEveryDirectiveHasAMarker) {
    std::set<std::string> marked;
    for (const std::string& text : marked_files()) {
        DiagnosticSink sink("t.conf");
        add_marked(parse_statements(text, is_directive_name, sink), "", marked);
        EXPECT_TRUE(sink.empty());
    }
    size_t secrets = 0;
    for (const Directive& directive : directives()) {
        const bool url = has_url_secrets(directive);
        if (directive.secret_from == kNoSecret && !url) {
            continue;
        }
        secrets++;
        const bool top = (directive.contexts & kGlobalContext) != 0;
        std::string block =
            top ? "" : fmt::format("{}.", to_string(static_cast<Context>(directive.contexts)));
        const std::string place =
            fmt::format("{}{} {}", block, directive.name, url ? 0 : directive.secret_from);
        EXPECT_TRUE(marked.contains(place))
            << place << ": put a secret with MARK in it into test/data/secrets";
    }
    EXPECT_GE(secrets, 30U);
    EXPECT_GE(marked.size(), secrets);
}

// Parts of addresses in the words of a statement that have a marker.
void add_marked_parts(const std::vector<Statement>& statements,
                      std::map<std::string, std::set<std::string>>& parts) {
    for (const Statement& statement : statements) {
        for (const Token& word : statement.arguments) {
            const size_t scheme = word.text.find("://");
            const size_t query = word.text.find('?');
            const size_t login = word.text.find('@');
            for (size_t at = word.text.find(kMark); at != std::string::npos && scheme < at;
                 at = word.text.find(kMark, at + 1)) {
                const bool in_login = login != std::string::npos && at < login;
                parts[statement.name.text].insert(at > query ? "query"
                                                  : in_login ? "login"
                                                             : "path");
            }
        }
        add_marked_parts(statement.block, parts);
    }
}

TEST(ConfigSecretsTest, EachPartOfAnAddressThatMayBeSecretHasAMarker) {
    std::map<std::string, std::set<std::string>> parts;
    DiagnosticSink sink("t.conf");
    add_marked_parts(parse_statements(marked_files()[0], is_directive_name, sink), parts);
    for (const Directive& directive : directives()) {
        std::set<std::string> wanted;
        if (directive.type == ValueType::kUrl) {
            wanted = {"path", "query"};  // a login there is refused
        } else if (has_url_secrets(directive) || directive.type == ValueType::kCommand) {
            wanted = {"login", "path", "query"};
        }
        const std::set<std::string>& found = parts[std::string(directive.name)];
        for (const std::string& part : wanted) {
            EXPECT_TRUE(found.contains(part)) << directive.name << ": no MARK in its " << part;
        }
    }
}

TEST(ConfigSecretsTest, NoMarkerIsInADumpOrAReport) {
    for (const std::string& text : marked_files()) {
        const Settings settings = settings_of(text);
        EXPECT_THAT(dump_config(settings), Not(HasSubstr(kMark)));
        for (const bool begins : {true, false}) {
            const Settings none;
            for (const SettingChange& change :
                 changes_between(begins ? none : settings, begins ? settings : none)) {
                EXPECT_THAT(to_string(change), Not(HasSubstr(kMark)));
            }
        }
    }
}

// What scripts/diagnose removes from other texts.
TEST(ConfigSecretsTest, TheListOfSecretsHasEveryMarker) {
    const std::vector<std::string> list = secrets_of(settings_of(marked_files()[0]));
    for (const char* const secret : {"MARK-api-token",
                                     "MARK\"{api};token-2",
                                     "MARK api {user}; \"with' quotes\\",
                                     "MARK sip register}",
                                     "MARK-turn-password",
                                     "MARK-redis-password",
                                     "MARK cluster {secret}; 0123",
                                     "MARK srt {passphrase}",
                                     "MARK-playlist-password",
                                     "MARK-playlist-plain",
                                     "MARK-guide{bare}",
                                     "MARK-guide-path/epg.xml",
                                     "MARK-path-on-publish/hook",
                                     "MARK{publish}key;2",
                                     "MARK-on-publish;{x}",
                                     "MARK-source-password",
                                     "MARK-source-auth",
                                     "MARK-forward-stream-key",
                                     "MARK-forward-query",
                                     "MARK-forward-password",
                                     "MARK exec {word};",
                                     "MARK-exec-password",
                                     "MARK-exec-query",
                                     "MARK-exec-stream-key"}) {
        EXPECT_THAT(list, testing::Contains(secret));
    }
    for (const char* const harmless : {"admin", "-passphrase", "flv", "alice"}) {
        EXPECT_THAT(list, Not(testing::Contains(harmless)));
    }
}

TEST(ConfigSecretsTest, TheListHasKeysOfSeveralTargetsAndValuesOfOptions) {
    const std::vector<std::string> list = secrets_of(settings_of(
        "exec_push ffmpeg -f tee \"[f=flv]rtmp://a/app/MARK-key-1|[f=flv]rtmp://b/app/MARK-key-2\" "
        "--token=MARK-value;"));
    for (const char* const secret : {"MARK-key-1", "MARK-key-2", "MARK-value"}) {
        EXPECT_THAT(list, testing::Contains(secret));
    }
}

TEST(ConfigSecretsTest, SecretsOfAConfigurationWithErrorsAreListed) {
    const ParseOutcome outcome = parse_config(
        "lisen 1935;\n"
        "publish_kye MARK-misspelled;\n"
        "http_api { token read MARK-token; token rede MARK-refused; token read MARK-cut{x; } }\n"
        "forward rtmp://h:99999/app/MARK-forward;\n"
        "vhost a.example { security { publish_key MARK-of-vhost; } }\n",
        "t.conf");
    ASSERT_FALSE(outcome.ok());
    for (const char* const secret : {"MARK-misspelled", "MARK-token", "MARK-refused", "MARK-cut",
                                     "MARK-forward", "MARK-of-vhost"}) {
        EXPECT_THAT(outcome.secrets, testing::Contains(secret));
    }
}

TEST(ConfigSecretsTest, TheProgramOfExecPushIsShownAndItsArgumentsAreNot) {
    const std::string dump =
        dump_config(settings_of("exec_push ffmpeg -i file:MARK -headers \"Authorization: MARK\";"));
    EXPECT_THAT(dump, HasSubstr("exec_push ffmpeg (secret)"));
    EXPECT_THAT(dump, Not(HasSubstr(kMark)));
}

// Secrets with ';', braces, quotes and blanks that somebody has forgotten to quote, and mistakes of
// other kinds beside a secret.
TEST(ConfigSecretsTest, NoMarkerIsInAnError) {
    for (const char* const text :
         {"http_api { token read MARKab{MARKcd}MARKef; }",
          "http_api { token read MARKab;MARKcd; }",
          "http_api { token read MARKab; MARKcd MARKef; }",
          "http_api { token read MARKab MARKcd; }",
          "http_api { token read MARKab'MARKcd; }",
          "http_api { token read 'MARKab'MARKcd; }",
          "http_api { token read \"MARKab\"MARKcd\"; }",
          "http_api { token read \"MARKab; }",
          "http_api { token MARK read; }",
          "http_api { user read MARK; }",
          "http_api { user read bob MARK 02 {MARK}; 'MARK'; }",
          "vhost a { security { publish_key MARK}MARK; } }",
          "security { publish_user joe MARK MARK; }",
          "security { jwt_secret MARK; }",
          "sip_server { user alice \"MARK\x01\"; }",
          "sip_server { register sip:u:MARK@h { password x; } }",
          "sip_server { register sip:u@h { proxy sip:u:MARK@h; } }",
          "sip_server { register sip:u@h { password MARK{MARK; } }",
          "sip_server { outside 00 via u:MARK@h; }",
          "srt_passphrase MARK;",
          "srt_passphrase MARKMARKMARK MARKMARKMARK;",
          "cluster { secret MARK; }",
          "cluster { registry redis:/u:MARK@h; secret MARKMARKMARKMARKMARK; }",
          "cluster { advertise http://u:MARK@h:1/; }",
          "forward rtmp://u:MARK@h/x;",
          "forward rtmp://h/live/MARK rtmp://h/live/MARK;",
          "forward rtmp://h/live/MARK;MARK;",
          "origin http://u:MARK@h;",
          "origin http://h http://u:MARK@h;",
          "source rtsp://u:MARK@h:99999/x;",
          "source rtsp://u:p@h/x { stream live/a; MARK; }",
          "source http://h/x.m3u8?key=MARK { stream live/a; }",
          "playlist http://h/x?key=MARK http://h/x?key=MARK;",
          "http_hooks { on_play http://u:MARK@h/; }",
          "http_hooks { on_play http://h/?x=MARK{MARK}; }",
          "http_hooks { secret MARK; }",
          "exec_push ffmpeg rtmp://h/live/MARK$x;",
          "exec_push ffmpeg rtmp://h/live/{MARK};",
          "rtc_server { ice_server turn:h MARK; }",
          "rtc_server { ice_server turn:h u p MARK; }",
          "hook_secret MARK{MARK}MARK;"}) {
        const std::string errors = errors_of(text);
        EXPECT_THAT(errors, Not(HasSubstr(kMark))) << text;
        EXPECT_THAT(errors, HasSubstr("t.conf:1:")) << text;
    }
}

TEST(ConfigSecretsTest, ASecretInPiecesIsExplained) {
    EXPECT_THAT(errors_of("http_api { token read ab;cd; }"),
                HasSubstr("t.conf:1:26: found an unknown directive behind a secret, expected one "
                          "of ours; if it is a part of the secret: a value with blanks, quotes, "
                          "';', '{' or '}' belongs in quotes"));
    EXPECT_THAT(errors_of("srt_passphrase one-word two-words;"),
                HasSubstr("srt_passphrase takes one value; one with blanks belongs in quotes"));
    EXPECT_THAT(errors_of("security { publish_key \"a b\"; }"), HasSubstr("without blanks"));
    EXPECT_THAT(errors_of("http_api { token read abcd;\n lisen 1; }"), HasSubstr("'lisen'"))
        << "on another line nothing is hidden";
}

TEST(ConfigSecretsTest, PasswordsMayHaveBlanks) {
    const ParseOutcome outcome = parse_config(
        "srt_passphrase \"correct horse {battery}\"; sip_server { register sip:a@b { password \"a "
        "b\"; } }",
        "t.conf");
    ASSERT_TRUE(outcome.ok()) << to_string(outcome.errors);
    EXPECT_EQ(outcome.config->sip_server.registrations.at(0).password.value().text, "a b");
}

}  // namespace
}  // namespace weir::config
