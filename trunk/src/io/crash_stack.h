// Private to io/: the calls that led to a crash, for its handler.
//
// The unwinder of the compiler's library trusts the registers and the stack: it reads where they
// lead, and looks at the code at every return address. So it runs under run_guarded(), each frame
// is kept as soon as it is known, and the first one is the place of the crash itself, which needs
// no unwinding.
#pragma once

#include <span>

namespace weir::io {

// From the crashed instruction outwards, at least one frame, in static memory. `context` is the
// third argument of the handler, which must be among the callers; it is changed in between. Behind
// the first frame stands the return address less one: within the call, where the return address may
// be of the next line.
std::span<void* const> crash_stack(void* context);

}  // namespace weir::io
