#include "diagnosis/leak_tool.h"

#include "base/build.h"
#include "diagnosis/profilers.h"
#include "io/valgrind_check.h"

namespace weir::diagnosis {

std::unique_ptr<LeakTool> make_leak_tool() {
    if (auto tool = make_valgrind_tool()) {
        return tool;
    }
    if (auto tool = make_lsan_tool()) {
        return tool;
    }
    return make_gperf_tool();
}

std::vector<LeakToolInfo> leak_tools() {
    return {
        {"valgrind", WEIR_VALGRIND != 0, io::on_valgrind(),
         io::knows_new_valgrind_check() ? "full, added, changed, quick, new"
                                        : "full, added, changed, quick",
         "./configure --valgrind=on && make && valgrind --leak-check=full "
         "--log-file=objs/valgrind.log objs/weir -c conf/weir.conf"},
        {"lsan", WEIR_ASAN != 0, WEIR_ASAN != 0, "full, added",
         "./configure --sanitizer=on && make && objs/weir -c conf/weir.conf"},
        {"gperf", kHasHeapProfiler, kHasHeapProfiler, "full, added",
         "./configure --gperf=on --gmp=on && make && objs/weir -c conf/weir.conf"},
    };
}

}  // namespace weir::diagnosis
