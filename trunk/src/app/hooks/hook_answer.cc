#include "app/hooks/hook_answer.h"

#include <string_view>

#include "base/strings.h"
#include "net/api/answer.h"

namespace weir::app {
namespace {

constexpr int kMaxDepth = 8;  // only members of the object itself are looked at

// A sentence that can be put anywhere: printable ASCII, and not too long.
std::string shown_text(std::string_view text) {
    std::string shown;
    for (char c : text.substr(0, kMaxHookMessage)) {
        shown += c >= ' ' && c <= '~' ? c : ' ';
    }
    return shown;
}

HookAnswer refusal(const net::Json& body) {
    HookAnswer answer;
    answer.verdict = HookAnswer::Verdict::kRefuse;
    if (body.is_object()) {
        const auto message = body.find("msg");
        if (message != body.end() && message->is_string()) {
            answer.text = shown_text(message->get_ref<const std::string&>());
        }
    }
    return answer;
}

}  // namespace

HookAnswer read_hook_answer(const http::Response& response) {
    const net::Json body = net::parsed(response.body, kMaxDepth);
    const net::Json* code = &body;
    if (body.is_object()) {
        const auto found = body.find("code");
        code = found == body.end() ? nullptr : &*found;
    }
    const bool has_code = code != nullptr && code->is_number_integer();
    HookAnswer answer;
    if (response.status == 200 || response.status == 201) {
        if (!has_code) {
            answer.text = response.body.empty()
                              ? "it answers with nothing, expected 0 or {\"code\":0}"
                              : "it answers with neither 0 nor {\"code\":0}";
            return answer;
        }
        if (*code != 0) {
            return refusal(body);
        }
        answer.verdict = HookAnswer::Verdict::kAllow;
        return answer;
    }
    answer.again = response.status >= 500 || response.status == 408 || response.status == 429;
    if (response.status >= 400 && !answer.again) {
        answer = refusal(body);
        answer.bare_status = has_code ? 0 : response.status;
        return answer;
    }
    answer.text = fmt::format("it answers with status {}{}", response.status,
                              response.status >= 500 ? ": its own log says why" : "");
    return answer;
}

bool hook_took_it(const http::Response& response) {
    return response.status / 100 == 2;
}

}  // namespace weir::app
