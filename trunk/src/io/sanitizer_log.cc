#include "io/sanitizer_log.h"

#include "base/build.h"
#include "io/fiber.h"

#if WEIR_ASAN && WEIR_SANITIZER_LOG
#include <string_view>

#include <unistd.h>

#include "base/log.h"
#include "base/strings.h"
#endif

namespace weir::io {

#if WEIR_ASAN && WEIR_SANITIZER_LOG

namespace {

constexpr Millis kFlush{300};

// Called with the whole text of a report, on the stack that made it.
void on_report(const char* text) {
    for (const std::string_view line : split(text, '\n')) {
        if (!trim(line).empty()) {
            log::error("sanitizer: {}", line);
        }
    }
}

void on_death() {
    log::error(
        "sanitizer: ended the process; the whole report is in weir-sanitizer.log.{}, or "
        "where ASAN_OPTIONS=log_path sent it",
        getpid());
    (void)log::flush(kFlush);
}

}  // namespace

void install_sanitizer_log() {
    __asan_set_error_report_callback(&on_report);
    __sanitizer_set_death_callback(&on_death);
}

#else

void install_sanitizer_log() {}

#endif

}  // namespace weir::io
