// What a build with ./configure --srt=off has instead of srt_worker.cc.
#if !WEIR_SRT

#include "io/srt/srt_worker.h"

namespace weir::io {

bool srt_worker_built() {
    return false;
}

void run_srt_worker(SrtBridge&) {}

}  // namespace weir::io

#endif
