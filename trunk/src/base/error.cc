#include "base/error.h"

#include <cstring>

namespace weir {

std::string_view to_string(ErrorCode code) {
    switch (code) {
        case ErrorCode::kOk: return "ok";
        case ErrorCode::kClosed: return "closed";
        case ErrorCode::kTimeout: return "timeout";
        case ErrorCode::kInterrupted: return "interrupted";
        case ErrorCode::kMalformed: return "malformed";
        case ErrorCode::kUnsupported: return "unsupported";
        case ErrorCode::kLimit: return "limit";
        case ErrorCode::kDenied: return "denied";
        case ErrorCode::kNotFound: return "not_found";
        case ErrorCode::kBusy: return "busy";
        case ErrorCode::kFull: return "full";
        case ErrorCode::kSystem: return "system";
        case ErrorCode::kInternal: return "internal";
        case ErrorCode::kUnavailable: return "unavailable";
    }
    return "internal";
}

Error Error::make(ErrorCode code, std::string message, std::source_location where) {
    Error error;
    error.state_ = std::make_unique<State>(State{code, std::move(message), where});
    return error;
}

Error Error::from_errno(int error_number, std::string_view doing, std::source_location where) {
    char buffer[128];
    const char* text = strerror_r(error_number, buffer, sizeof buffer);
    return make(ErrorCode::kSystem, fmt::format("{}: {}", doing, text), where);
}

std::string Error::to_string() const {
    if (!state_) {
        return "ok";
    }
    return fmt::format("{}: {}", weir::to_string(state_->code), state_->message);
}

std::string Error::where() const {
    if (!state_) {
        return {};
    }
    return fmt::format("{}:{}", state_->where.file_name(), state_->where.line());
}

Error Error::with_context(std::string_view context) && {
    if (state_) {
        state_->message = fmt::format("{}: {}", context, state_->message);
    }
    return std::move(*this);
}

}  // namespace weir
