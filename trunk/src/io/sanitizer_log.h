// Private to io/: what a build with --sanitizer-log=on adds to the sanitizer's reports.
#pragma once

namespace weir::io {

// From now on each line of a report of AddressSanitizer is a line of the log, with level, time and
// the id of the client whose coroutine ran; and when a sanitizer ends the process, the log says
// where the whole report is (weir-sanitizer.log.PID, sanitizer_options.cc). Nothing in other
// builds.
void install_sanitizer_log();

}  // namespace weir::io
