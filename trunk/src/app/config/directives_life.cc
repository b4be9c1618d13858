// The top level: the log, and how the process ends.
#include "app/config/directive_tables.h"

namespace weir::app {
namespace {

const Directive kLifeDirectives[] = {
    {.name = "log_file",
     .type = ValueType::kPath,
     .default_text = "stderr",
     .special = "stderr",
     .doc =
         "Where the log goes. A file is appended to, made with mode 0640 where it is missing, and "
         "opened again on SIGUSR1 (doc/operations.md).",
     .apply = [](const Target& t, const Value& v) { t.config.log_file = v.text; }},
    {.name = "log_format",
     .type = ValueType::kChoice,
     .default_text = "text",
     .choices = "text|json",
     .doc = "Lines for people, or one JSON object per line for programs.",
     .apply = [](const Target& t, const Value& v) { t.config.log_json = v.number == 1; }},
    {.name = "drain_timeout",
     .type = ValueType::kDuration,
     .default_text = "5m",
     .min = kSecond,
     .max = 24 * kHour,
     .unit = kSecond,
     .doc = "After SIGQUIT nobody new is let in and the server ends when the last client has left, "
            "or after this time.",
     .apply = [](const Target& t, const Value& v) { t.config.drain_timeout = millis(v); }},
};

}  // namespace

std::span<const Directive> life_directives() {
    return kLifeDirectives;
}

}  // namespace weir::app
