// Errors as values: Error (one pointer, null means success) and Result<T> (a T or an Error).
//
// Tier 2 of the error policy in doc/CONTRIBUTING.md: for operations. Per-packet paths use small
// enums instead. Not copyable: an error is handled or returned exactly once. Both types warn when
// dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace weir {

// Few and semantic; protocol specifics belong in the message.
enum class ErrorCode : uint8_t {
    kOk,
    kClosed,       // the peer closed the connection in an orderly way, or it is already closed
    kTimeout,      // a deadline passed
    kInterrupted,  // the coroutine was asked to stop; never logged as a failure
    kMalformed,    // bytes that break the protocol
    kUnsupported,  // legal, but not implemented here
    kLimit,        // a named limit was exceeded
    kDenied,       // refused by access rules
    kNotFound,
    kBusy,    // another owner holds it
    kFull,    // there is no place now; later there may be one
    kSystem,  // a system call failed; errno is in the message
    kInternal,
    kUnavailable,  // somebody who has to agree cannot be asked, or answers with nonsense
};

// Stable lower-case name ("closed", "timeout" ...), for logs, metrics and the API.
std::string_view to_string(ErrorCode code);

class [[nodiscard]] Error {
  public:
    Error() noexcept = default;  // success
    Error(Error&&) noexcept = default;
    Error& operator=(Error&&) noexcept = default;
    Error(const Error&) = delete;
    Error& operator=(const Error&) = delete;
    ~Error() = default;

    static Error make(ErrorCode code,
                      std::string message,
                      std::source_location where = std::source_location::current());

    // "what we were doing: strerror(error_number)", code kSystem.
    static Error from_errno(int error_number,
                            std::string_view doing,
                            std::source_location where = std::source_location::current());

    // True means failure: `if (Error e = f()) { ... }`.
    explicit operator bool() const { return state_ != nullptr; }

    ErrorCode code() const { return state_ ? state_->code : ErrorCode::kOk; }

    // The message with the contexts that were put in front of it; empty for success.
    std::string_view message() const {
        return state_ ? std::string_view(state_->message) : std::string_view();
    }

    // "code: message"; "ok" for success.
    std::string to_string() const;

    // Where it was made, "file:line"; for debug logs.
    std::string where() const;

    // Puts "context: " in front of the message; success stays success.
    Error with_context(std::string_view context) &&;

  private:
    struct State {
        ErrorCode code;
        std::string message;
        std::source_location where;
    };

    std::unique_ptr<State> state_;
};

// A format string that remembers where it was written.
template <typename... Args>
struct LocatedFormat {
    template <typename S>
    consteval LocatedFormat(const S& s, std::source_location w = std::source_location::current())
        : format(s), where(w) {}

    fmt::format_string<Args...> format;
    std::source_location where;
};

// make_error(ErrorCode::kLimit, "chunk size {} is over {}", size, kMaxChunkSize)
template <typename... Args>
Error make_error(ErrorCode code,
                 LocatedFormat<std::type_identity_t<Args>...> text,
                 Args&&... args) {
    return Error::make(code, fmt::format(text.format, std::forward<Args>(args)...), text.where);
}

template <typename T>
class [[nodiscard]] Result {
  public:
    Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)

    Result(Error error) : error_(std::move(error)) {
        WEIR_DCHECK(bool(error_));
    }  // NOLINT(google-explicit-constructor)

    bool ok() const { return value_.has_value(); }

    explicit operator bool() const { return ok(); }

    T& value() & {
        WEIR_DCHECK(ok());
        return *value_;
    }

    const T& value() const& {
        WEIR_DCHECK(ok());
        return *value_;
    }

    T&& value() && {
        WEIR_DCHECK(ok());
        return std::move(*value_);
    }

    T& operator*() & { return value(); }

    const T& operator*() const& { return value(); }

    T&& operator*() && { return std::move(*this).value(); }

    T* operator->() { return &value(); }

    const T* operator->() const { return &value(); }

    const Error& error() const { return error_; }

    // Gives the error up; call only when !ok().
    Error take_error() { return std::move(error_); }

  private:
    std::optional<T> value_;
    Error error_;
};

}  // namespace weir

// Returns early with the error of an expression that gives an Error.
#define WEIR_TRY(expression)                               \
    do {                                                   \
        if (::weir::Error weir_try_error = (expression)) { \
            return weir_try_error;                         \
        }                                                  \
    } while (false)

#define WEIR_CONCAT_(a, b) a##b
#define WEIR_CONCAT(a, b) WEIR_CONCAT_(a, b)

// WEIR_TRY_ASSIGN(auto x, f()): x = value of the Result, or returns its error.
#define WEIR_TRY_ASSIGN(target, expression) \
    WEIR_TRY_ASSIGN_(WEIR_CONCAT(weir_result_, __LINE__), target, expression)
#define WEIR_TRY_ASSIGN_(result, target, expression) \
    auto result = (expression);                      \
    if (!result.ok()) {                              \
        return result.take_error();                  \
    }                                                \
    target = std::move(result).value()
