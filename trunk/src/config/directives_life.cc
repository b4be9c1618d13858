// The top level: the log, and how the process ends.
#include "config/directive_tables.h"

namespace weir::config {
namespace {

const Directive kLifeDirectives[] = {
    {.name = "log_file",
     .type = ValueType::kPath,
     .default_text = "stderr",
     .special = "stderr",
     .doc = "Where the log is written. A file is created with mode 0640 if it is missing, "
            "lines are appended, and SIGUSR1 opens it again (doc/operations.md).",
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
     .doc = "After SIGQUIT no new client is accepted, and the server ends when the last "
            "client has left, or after this time.",
     .apply = [](const Target& t, const Value& v) { t.config.drain_timeout = millis(v); }},
    {.name = "user",
     .type = ValueType::kUser,
     .reloadable = false,
     .example = "weir",
     .doc = "If root started the process, it becomes this user (and group, if it is not the "
            "user's own) after its ports, log_file and pid are open. It reads all other "
            "files as that user, also at a reload. Without this directive a process that "
            "root started stays root, with a warning; if another user started it, the "
            "directive has no effect.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.user = {v.words.at(0), v.words.size() > 1 ? v.words[1] : ""};
         }},
};

}  // namespace

std::span<const Directive> life_directives() {
    return kLifeDirectives;
}

}  // namespace weir::config
