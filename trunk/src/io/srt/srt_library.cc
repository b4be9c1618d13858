#if WEIR_SRT

#include "io/srt/srt_library.h"

#include <mutex>
#include <string>

#include <dlfcn.h>
#include <fmt/format.h>
#include <syslog.h>

#include "io/srt/srt_datagrams.h"

namespace weir::io {
namespace {

struct Loaded {
    SrtLibrary functions{};
    std::string why;  // it could not be loaded; empty when it was
};

template <typename Function>
void bind(void* handle, const char* name, Function& out, std::string& why) {
    out = reinterpret_cast<Function>(dlsym(handle, name));
    if (out == nullptr) {
        why = fmt::format("the library has no {}", name);
    }
}

// Debian has it with OpenSSL and with GnuTLS; the interface is the same.
void* open_library(std::string& why) {
    for (const char* name : {"libsrt.so.1.5", "libsrt-gnutls.so.1.5"}) {
        if (void* const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
            why.clear();
            return handle;
        }
        const char* reason = dlerror();
        why = fmt::format("{}: {}", name, reason == nullptr ? "unknown" : reason);
    }
    return nullptr;
}

void ignore_line(void*, int, const char*, int, const char*, const char*) {}

void load_all(Loaded& loaded) {
    std::string& why = loaded.why;
    SrtLibrary& f = loaded.functions;
    void* const handle = open_library(why);
    if (handle == nullptr) {
        return;
    }
#define WEIR_BIND(name) bind(handle, #name, f.name, why)
    WEIR_BIND(srt_startup);
    WEIR_BIND(srt_create_socket);
    WEIR_BIND(srt_bind_acquire);
    WEIR_BIND(srt_listen);
    WEIR_BIND(srt_listen_callback);
    WEIR_BIND(srt_accept);
    WEIR_BIND(srt_connect);
    WEIR_BIND(srt_close);
    WEIR_BIND(srt_getsockflag);
    WEIR_BIND(srt_setsockflag);
    WEIR_BIND(srt_getsockstate);
    WEIR_BIND(srt_sendmsg2);
    WEIR_BIND(srt_recvmsg2);
    WEIR_BIND(srt_getsndbuffer);
    WEIR_BIND(srt_getlasterror);
    WEIR_BIND(srt_getlasterror_str);
    WEIR_BIND(srt_clearlasterror);
    WEIR_BIND(srt_bistats);
    WEIR_BIND(srt_epoll_create);
    WEIR_BIND(srt_epoll_set);
    WEIR_BIND(srt_epoll_add_usock);
    WEIR_BIND(srt_epoll_update_usock);
    WEIR_BIND(srt_epoll_remove_usock);
    WEIR_BIND(srt_epoll_uwait);
    WEIR_BIND(srt_epoll_release);
    WEIR_BIND(srt_setloglevel);
    WEIR_BIND(srt_setloghandler);
    WEIR_BIND(srt_getrejectreason);
    WEIR_BIND(srt_setrejectreason);
    WEIR_BIND(srt_rejectreason_str);
#undef WEIR_BIND
    if (why.empty() && !srt_datagrams_are_seen()) {
        why = "this program hides its recvmsg(), and libsrt needs it";
    }
    if (!why.empty()) {
        return;
    }
    // It would write to standard error by itself. What matters comes back as results of calls.
    f.srt_setloglevel(LOG_CRIT);
    f.srt_setloghandler(nullptr, ignore_line);
    if (f.srt_startup() < 0) {
        why = fmt::format("srt_startup: {}", f.srt_getlasterror_str());
    }
}

}  // namespace

Result<const SrtLibrary*> SrtLibrary::load() {
    static std::once_flag once;
    static Loaded loaded;
    std::call_once(once, [] { load_all(loaded); });
    if (!loaded.why.empty()) {
        return make_error(ErrorCode::kUnsupported,
                          "libsrt cannot be loaded ({}); install it: apt-get install "
                          "libsrt1.5-openssl",
                          loaded.why);
    }
    return &loaded.functions;
}

}  // namespace weir::io

#endif
