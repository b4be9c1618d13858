// What one can see: /metrics and the console.
#include "config/directive_tables.h"

namespace weir::config {
namespace {

const Directive kObserveDirectives[] = {
    {.name = "metrics_per_stream",
     .contexts = kHttpApiContext,
     .type = ValueType::kCount,
     .default_text = "200",
     .min = 0,
     .max = 10000,
     .doc = "The number of live streams, in order of name, that have series of their own in "
            "/metrics; 0: none. The totals include all streams.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.http_api.metrics_per_stream = static_cast<uint32_t>(v.number);
         }},
};

}  // namespace

std::span<const Directive> observe_directives() {
    return kObserveDirectives;
}

}  // namespace weir::config
