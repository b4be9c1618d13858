// Sees the datagrams that libsrt receives before libsrt does, and limits what a handshake costs:
// see srt_greeting.h. libsrt has no hook for that, so this program has a recvmsg() of its own,
// which libsrt is linked to when it is loaded. All but handshakes of SRT pass through it as they
// are.
//
// Private to io/srt/.
#pragma once

#include "base/clock.h"

namespace weir::io {

class SrtHandshakes;

// Handshakes that come to this socket are judged by `judge`, until forget_srt_judge(). Any thread.
void set_srt_judge(int fd, SrtHandshakes& judge);

// When it has returned, no thread looks at this judge any more.
void forget_srt_judge(const SrtHandshakes& judge);
void forget_srt_judge(int fd);

// Inside libsrt's listen callback: the latency that the caller asked for.
Millis heard_srt_latency();

// False: libsrt would not call the recvmsg() of this program.
bool srt_datagrams_are_seen();

}  // namespace weir::io
