#include "app/hooks/hook_answer.h"

#include <gtest/gtest.h>

namespace weir::app {
namespace {

using Verdict = HookAnswer::Verdict;

HookAnswer read(int status, std::string body) {
    http::Response response;
    response.status = status;
    response.body = std::move(body);
    return read_hook_answer(response);
}

struct Case {
    int status;
    std::string body;
    Verdict verdict;
    std::string_view text;
};

TEST(HookAnswerTest, KnowsWhatIsAllowedRefusedAndNeither) {
    const Case cases[] = {
        {200, "0", Verdict::kAllow, ""},
        {200, " 0\r\n", Verdict::kAllow, ""},
        {201, "0", Verdict::kAllow, ""},
        {200, "{\"code\":0}", Verdict::kAllow, ""},
        {200, "{\"code\": 0, \"msg\":\"hello\", \"data\":{\"x\":[1]}}", Verdict::kAllow, ""},
        {200, "1", Verdict::kRefuse, ""},
        {200, "-1", Verdict::kRefuse, ""},
        {200, "{\"code\":403,\"msg\":\"not on the list\"}", Verdict::kRefuse, "not on the list"},
        {200, "{\"code\":1,\"msg\":17}", Verdict::kRefuse, ""},
        {403, "", Verdict::kRefuse, ""},
        {403, "{\"code\":0}", Verdict::kRefuse, ""},
        {401, "{\"msg\":\"who are you?\"}", Verdict::kRefuse, "who are you?"},
        {404, "<html>", Verdict::kRefuse, ""},
        {200, "", Verdict::kError, "it answers with nothing, expected 0 or {\"code\":0}"},
        {200, "ok", Verdict::kError, "it answers with neither 0 nor {\"code\":0}"},
        {200, "00", Verdict::kError, "it answers with neither 0 nor {\"code\":0}"},
        {200, "0.0", Verdict::kError, "it answers with neither 0 nor {\"code\":0}"},
        {200, "true", Verdict::kError, "it answers with neither 0 nor {\"code\":0}"},
        {200, "{}", Verdict::kError, "it answers with neither 0 nor {\"code\":0}"},
        {200, "{\"code\":\"0\"}", Verdict::kError, "it answers with neither 0 nor {\"code\":0}"},
        {200, "{\"code\":0", Verdict::kError, "it answers with neither 0 nor {\"code\":0}"},
        {200, "[0]", Verdict::kError, "it answers with neither 0 nor {\"code\":0}"},
        {200, std::string(60'000, '['), Verdict::kError,
         "it answers with neither 0 nor {\"code\":0}"},
        {204, "", Verdict::kError, "it answers with status 204"},
        {302, "0", Verdict::kError, "it answers with status 302"},
        {500, "0", Verdict::kError, "it answers with status 500: its own log says why"},
        {503, "", Verdict::kError, "it answers with status 503: its own log says why"},
        {429, "", Verdict::kError, "it answers with status 429"},
    };
    for (const Case& each : cases) {
        const HookAnswer answer = read(each.status, each.body);
        EXPECT_EQ(answer.verdict, each.verdict) << each.status << " " << each.body.substr(0, 60);
        EXPECT_EQ(answer.text, each.text) << each.status << " " << each.body.substr(0, 60);
    }
}

TEST(HookAnswerTest, ARefusalByStatusAloneMayBeAWrongAddress) {
    EXPECT_EQ(read(404, "<html>").bare_status, 404);
    EXPECT_EQ(read(403, "").bare_status, 403);
    EXPECT_EQ(read(405, "{\"detail\":\"Method Not Allowed\"}").bare_status, 405);
    EXPECT_EQ(read(403, "{\"code\":403}").bare_status, 0);
    EXPECT_EQ(read(403, "1").bare_status, 0);
    EXPECT_EQ(read(200, "1").bare_status, 0);
    EXPECT_EQ(read(500, "").bare_status, 0) << "no refusal";
}

TEST(HookAnswerTest, TheTextForTheClientIsShortAndPlain) {
    const HookAnswer answer =
        read(200, "{\"code\":1,\"msg\":\"a\\r\\nb\\u0000\xc3\xa4" + std::string(1000, 'x') + "\"}");
    EXPECT_EQ(answer.verdict, Verdict::kRefuse);
    EXPECT_TRUE(answer.text.starts_with("a  b   xxx")) << answer.text;
    EXPECT_EQ(answer.text.size(), kMaxHookMessage);
}

TEST(HookAnswerTest, AnyAnswerOf2xxTakesANotification) {
    for (int status : {200, 201, 202, 204}) {
        http::Response response;
        response.status = status;
        response.body = "whatever";
        EXPECT_TRUE(hook_took_it(response));
    }
    for (int status : {302, 400, 404, 500}) {
        http::Response response;
        response.status = status;
        EXPECT_FALSE(hook_took_it(response));
    }
}

}  // namespace
}  // namespace weir::app
