// Every defect is hidden from the optimiser and from compiler warnings by volatile pointers, and
// kept in a function of its own.
#include "app/run/plants.h"

#include "base/build.h"

#if WEIR_PLANTS

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "io/coroutine.h"
#include "proto/http/request.h"

// External linkage, C names: what a report has to show is what stands here.
extern "C" {
void plant_use_after_free();
void plant_stack_overflow();
void plant_stack_overrun();
void plant_leak();
void plant_leak_here();
void plant_wipe(int depth);
void plant_overrun();
void plant_uninitialised();
void plant_undefined();
void plant_hot();
void plant_hot_a();
void plant_hot_b();
void plant_grow();
int plant_recurse(int depth);
}

namespace {

constexpr size_t kLeakBytes = 1045;
constexpr size_t kGrowBytes = size_t{10} << 20;
constexpr int kHotRounds = 500;  // about 1.3 s without --debug=on
constexpr int kHotSpins = 2'000'000;

// What the compiler must not know: it may have been changed by anybody.
volatile int sink = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

template <typename T>
T* hidden(T* pointer) {
    T* volatile hide = pointer;
    return hide;
}

void spin(int rounds) {
    for (int i = 0; i < rounds; i++) {
        sink = i;
    }
}

}  // namespace

#define WEIR_PLANTED __attribute__((noinline, noclone))

WEIR_PLANTED void plant_use_after_free() {
    char* volatile block = static_cast<char*>(std::malloc(64));
    std::free(block);
    *static_cast<volatile char*>(block) = 2;
}

WEIR_PLANTED int plant_recurse(int depth) {
    std::array<volatile char, 512> frame;
    frame[static_cast<size_t>(depth) % frame.size()] = 1;
    if (hidden(&frame[0]) == nullptr) {
        return 0;
    }
    return plant_recurse(depth + 1) + frame[static_cast<size_t>(depth) % frame.size()];
}

WEIR_PLANTED void plant_stack_overflow() {
    sink = plant_recurse(0);
}

WEIR_PLANTED void plant_stack_overrun() {
    std::array<char, 16> small{};
    char* end = hidden(small.data()) + small.size();
    *end = 1;
    sink = small[0];
}

WEIR_PLANTED void plant_leak_here() {
    void* volatile block = std::malloc(kLeakBytes);
    std::memset(block, 1, kLeakBytes);
    block = nullptr;  // where it stood may live on: the sanitizer keeps frames that have ended
}

// Overwrites the stack below the caller, where the allocator's calls have left addresses.
// Not sanitized: the sanitizer would put the array elsewhere.
WEIR_PLANTED __attribute__((no_sanitize("address"))) void plant_wipe(int depth) {
    std::array<volatile char, 2048> wiped;
    for (volatile char& byte : wiped) {
        byte = 0;
    }
    if (depth > 0) {
        plant_wipe(depth - 1);
    }
    sink = wiped[0];
}

// So that no stale word of the stack still knows the blocks: a check would take them for reachable.
WEIR_PLANTED void plant_leak() {
    for (int i = 0; i < 10; i++) {
        plant_leak_here();
    }
    plant_wipe(8);
}

WEIR_PLANTED void plant_overrun() {
    char* block = hidden(static_cast<char*>(std::malloc(96)));
    for (int i = 0; i < 96 + 8; i++) {  // 8 bytes too many
        hidden(block)[i] = 1;
    }
    std::free(block);
    sink = 0;  // or the compiler would jump to free(), and no stack would show this function
}

WEIR_PLANTED void plant_uninitialised() {
    char* block = hidden(static_cast<char*>(std::malloc(32)));
    if (*hidden(block) == 7) {
        sink = 1;
    }
    std::free(block);
}

WEIR_PLANTED void plant_undefined() {
    sink = 0x7fffffff;
    sink = sink + 1;
}

WEIR_PLANTED void plant_hot_a() {
    spin(3 * kHotSpins);
}

WEIR_PLANTED void plant_hot_b() {
    spin(kHotSpins);
}

// The media thread, for a second or two: three quarters in plant_hot_a, one in plant_hot_b.
WEIR_PLANTED void plant_hot() {
    for (int i = 0; i < kHotRounds; i++) {
        plant_hot_a();
        plant_hot_b();
        weir::io::yield();
    }
}

// Stays reachable: growth, no leak.
WEIR_PLANTED void plant_grow() {
    static auto* kept = std::make_unique<std::vector<void*>>().release();
    kept->push_back(std::malloc(kGrowBytes));
    sink = static_cast<int>(kept->size());
}

namespace weir::app {
namespace {

struct Plant {
    const char* name;
    void (*run)();
};

constexpr std::array kPlants = {Plant{"use-after-free", &plant_use_after_free},
                                Plant{"stack-overflow", &plant_stack_overflow},
                                Plant{"stack-overrun", &plant_stack_overrun},
                                Plant{"leak", &plant_leak},
                                Plant{"overrun", &plant_overrun},
                                Plant{"uninitialised", &plant_uninitialised},
                                Plant{"undefined", &plant_undefined},
                                Plant{"hot", &plant_hot},
                                Plant{"grow", &plant_grow}};

void plant(net::HttpExchange& exchange, const net::ServerIdentity& identity) {
    const std::string_view what = exchange.request().query.get_or("what", "");
    std::string names;
    for (const Plant& one : kPlants) {
        if (one.name == what) {
            // A coroutine of its own: the stack of a report is short, and the request not in it.
            Result<io::Coroutine> ran =
                io::Coroutine::spawn("plant", io::StackSize::kNormal, one.run);
            if (!ran.ok()) {
                (void)exchange.respond_error(500, ran.error().message());
                return;
            }
            ran->join();
            net::Json body = net::envelope(identity);
            body["data"] = {{"planted", one.name}};
            answer(exchange, body);
            return;
        }
        names += names.empty() ? "" : ", ";
        names += one.name;
    }
    (void)exchange.respond_error(400, "what must be one of: " + names);
}

}  // namespace

void add_plants(net::HttpRouter& router, const net::ServerIdentity& identity) {
    net::HttpRouteOptions json;
    json.errors = http::ErrorFormat::kJson;
    json.access = net::HttpAccess::kAdmin;
    router.add_prefix("/api/v1/plant", json,
                      [identity](net::HttpExchange& exchange) { plant(exchange, identity); });
}

}  // namespace weir::app

#endif
