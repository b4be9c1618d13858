// What can look for leaks in a build: valgrind, LeakSanitizer, the heap profiler of gperftools.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "diagnosis/leak_report.h"

namespace weir::diagnosis {

class LeakTool {
  public:
    virtual ~LeakTool() = default;
    LeakTool(const LeakTool&) = delete;
    LeakTool& operator=(const LeakTool&) = delete;

    virtual std::string_view name() const = 0;

    // The checks that it can do, in the order of kLeakChecks.
    virtual std::vector<LeakCheck> checks() const = 0;

    // Looks now; the process stands still meanwhile. Only checks of checks(). Never yields.
    // kBusy: not now. kUnsupported: this process cannot, because an option turns the tool off or
    // the tool that runs is older than the build (it may have done another check then). kInternal:
    // the tool's report cannot be read. The message says what to do.
    virtual Result<RawLeaks> run(LeakCheck check) = 0;

    // Fills in the stack of records that have only addresses.
    virtual void name_stacks(std::vector<LeakRecord>&) {}

  protected:
    LeakTool() = default;
};

// The tool of this process: valgrind's where it runs under valgrind, else the sanitizer's, else
// gperftools'. nullptr when there is none.
std::unique_ptr<LeakTool> make_leak_tool();

// What a tool needs, for people.
struct LeakToolInfo {
    std::string_view name;
    bool built = false;         // this build has it
    bool usable = false;        // and this process can use it
    std::string_view checks;    // "full, added"
    std::string_view commands;  // that build it and start the server so that it can be used
};

// All three.
std::vector<LeakToolInfo> leak_tools();

// Each in its own file; nullptr when this process cannot use it.
std::unique_ptr<LeakTool> make_valgrind_tool();
std::unique_ptr<LeakTool> make_lsan_tool();
std::unique_ptr<LeakTool> make_gperf_tool();

}  // namespace weir::diagnosis
