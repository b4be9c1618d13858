#include "net/end_class.h"

namespace weir::net {

std::string_view to_string(EndClass why) {
    switch (why) {
        case EndClass::kPeerClosed: return "peer_closed";
        case EndClass::kKicked: return "kicked";
        case EndClass::kTimeout: return "timeout";
        case EndClass::kRefused: return "refused";
        case EndClass::kStalled: return "stalled";
        case EndClass::kNoPublisher: return "no_publisher";
        case EndClass::kReplaced: return "replaced";
        case EndClass::kError: return "error";
        case EndClass::kStopping: return "stopping";
    }
    return "error";
}

EndClass end_class(ErrorCode code) {
    switch (code) {
        case ErrorCode::kOk:
        case ErrorCode::kClosed: return EndClass::kPeerClosed;
        case ErrorCode::kTimeout: return EndClass::kTimeout;
        case ErrorCode::kInterrupted: return EndClass::kStopping;
        case ErrorCode::kDenied:
        case ErrorCode::kNotFound:
        case ErrorCode::kBusy:
        case ErrorCode::kUnavailable:
        case ErrorCode::kFull: return EndClass::kRefused;
        default: return EndClass::kError;
    }
}

}  // namespace weir::net
