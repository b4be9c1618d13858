#include "net/player_protocol.h"

#include "io/tcp.h"
#include "net/client.h"

namespace weir::net {

std::string_view to_string(EndReason reason) {
    switch (reason) {
        case EndReason::kPeerClosed: return "closed by the player";
        case EndReason::kKicked: return "kicked by the API";
        case EndReason::kProtocolError: return "protocol error";
        case EndReason::kWriteStalled: return "write stalled: the player took nothing";
        case EndReason::kNoPublisher: return "no publisher came";
        case EndReason::kPublisherGone: return "the publisher left and none came back";
        case EndReason::kCodecsChanged: return kCodecsChangedText;
        case EndReason::kServerStopping: return "server stopping";
        case EndReason::kSystemError: return "socket error";
    }
    return "unknown";
}

EndClass end_class(EndReason reason) {
    switch (reason) {
        case EndReason::kPeerClosed: return EndClass::kPeerClosed;
        case EndReason::kKicked: return EndClass::kKicked;
        case EndReason::kWriteStalled: return EndClass::kStalled;
        case EndReason::kNoPublisher:
        case EndReason::kPublisherGone: return EndClass::kNoPublisher;
        case EndReason::kCodecsChanged: return EndClass::kReplaced;
        case EndReason::kServerStopping: return EndClass::kStopping;
        case EndReason::kProtocolError:
        case EndReason::kSystemError: return EndClass::kError;
    }
    return EndClass::kError;
}

void PlayerProtocol::on_released(std::unique_ptr<PlayerProtocol> self,
                                 std::unique_ptr<io::TcpStream> stream,
                                 std::unique_ptr<Client> client) {
    (void)self;
    (void)stream;
    (void)client;
}

}  // namespace weir::net
