// libsrt, loaded when it is first needed: with the threads that it starts it would cost a server
// that speaks no SRT memory and wake-ups.
//
// Private to io/srt/. The functions that are used, by their own names; the types come from the
// headers of the package at build time, and loading insists on the same version of the interface.
#pragma once

#include <srt/srt.h>

#include "base/error.h"

namespace weir::io {

// NOLINTBEGIN(readability-identifier-naming): names of the library
struct SrtLibrary {
    decltype(&::srt_startup) srt_startup;
    decltype(&::srt_create_socket) srt_create_socket;
    decltype(&::srt_bind_acquire) srt_bind_acquire;
    decltype(&::srt_listen) srt_listen;
    decltype(&::srt_listen_callback) srt_listen_callback;
    decltype(&::srt_accept) srt_accept;
    decltype(&::srt_connect) srt_connect;
    decltype(&::srt_close) srt_close;
    decltype(&::srt_getsockflag) srt_getsockflag;
    decltype(&::srt_setsockflag) srt_setsockflag;
    decltype(&::srt_getsockstate) srt_getsockstate;
    decltype(&::srt_sendmsg2) srt_sendmsg2;
    decltype(&::srt_recvmsg2) srt_recvmsg2;
    decltype(&::srt_getsndbuffer) srt_getsndbuffer;
    decltype(&::srt_getlasterror) srt_getlasterror;
    decltype(&::srt_getlasterror_str) srt_getlasterror_str;
    decltype(&::srt_clearlasterror) srt_clearlasterror;
    decltype(&::srt_bistats) srt_bistats;
    decltype(&::srt_epoll_create) srt_epoll_create;
    decltype(&::srt_epoll_set) srt_epoll_set;
    decltype(&::srt_epoll_add_usock) srt_epoll_add_usock;
    decltype(&::srt_epoll_update_usock) srt_epoll_update_usock;
    decltype(&::srt_epoll_remove_usock) srt_epoll_remove_usock;
    decltype(&::srt_epoll_uwait) srt_epoll_uwait;
    decltype(&::srt_epoll_release) srt_epoll_release;
    decltype(&::srt_setloglevel) srt_setloglevel;
    decltype(&::srt_setloghandler) srt_setloghandler;
    decltype(&::srt_getrejectreason) srt_getrejectreason;
    decltype(&::srt_setrejectreason) srt_setrejectreason;
    decltype(&::srt_rejectreason_str) srt_rejectreason_str;

    // Any thread; blocks on disk the first time, and starts the library. kUnsupported: it is
    // missing; the message names the package. The object lives until the process ends.
    static Result<const SrtLibrary*> load();
};

// NOLINTEND(readability-identifier-naming)

}  // namespace weir::io
