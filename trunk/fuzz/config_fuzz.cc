// The configuration: whatever the text, an answer that is either a configuration or a list of
// errors, never both. An accepted text gives the same configuration when it is read again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "config/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data,
                                      size_t size);  // NOLINT(readability-identifier-naming)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text = weir::as_text({data, size});
    weir::config::ParseOutcome outcome = weir::config::parse_config(text, "conf/fuzz.conf");
    WEIR_CHECK(outcome.ok() == outcome.errors.empty());
    WEIR_CHECK(outcome.errors.size() <= weir::kMaxDiagnostics);
    for (const weir::Diagnostic& error : outcome.errors) {
        WEIR_CHECK(!error.to_string().empty());
    }
    if (outcome.ok()) {
        WEIR_CHECK(!outcome.config->listen.empty());
        WEIR_CHECK(!outcome.config->vhosts.empty());
        WEIR_CHECK(weir::config::parse_config(text, "conf/fuzz.conf").config == outcome.config);
    }
    return 0;
}
