#include "net/entrance.h"

#include <utility>

#include "io/deadline.h"
#include "io/lobby.h"
#include "io/tcp.h"
#include "net/client_table.h"
#include "net/ingress.h"
#include "net/limits.h"

namespace weir::net {

// A connection that has said nothing yet. Its client is not made before it does.
struct Entrance::Waiting {
    explicit Waiting(ConnectionBudget& b) : budget(&b) {}

    ~Waiting() {
        if (budget != nullptr) {
            budget->give_back();
        }
    }

    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    ConnectionBudget* budget;  // of which it has a place; null: given on
    Limits::AddressPlace place;
    std::unique_ptr<io::TcpStream> stream;
    std::shared_ptr<const Ingress> ingress;
    MonoTime since = MonoClock::now();
};

Entrance::Entrance(const char* protocol,
                   const Services& services,
                   io::TaskGroup& connections,
                   Begin begin)
    : protocol_(protocol),
      services_(services),
      lobby_(std::make_unique<io::Lobby>(protocol, connections)),
      begin_(std::move(begin)) {}

Entrance::~Entrance() = default;

void Entrance::dismiss() {
    lobby_->dismiss();
}

void Entrance::take(std::unique_ptr<io::TcpStream> stream,
                    const std::shared_ptr<const Ingress>& ingress,
                    Millis patience) {
    Result<std::shared_ptr<Waiting>> admitted = take_places(*stream, ingress.get());
    if (!admitted.ok()) {
        log::throttled(refused_, log::Level::kWarn, "connection refused ip={}: {}",
                       stream->peer().host(), admitted.error().message());
        return;
    }
    const std::shared_ptr<Waiting> waiting = std::move(*admitted);
    io::TcpStream& silent = *stream;
    waiting->stream = std::move(stream);
    waiting->ingress = ingress;
    lobby_->wait(silent, waiting->since + patience, [this, waiting] { begin_(arrive(*waiting)); });
}

// Before a handshake, which takes long; behind a proxy, the place of its address is taken when the
// client is known.
Result<std::shared_ptr<Entrance::Waiting>> Entrance::take_places(const io::TcpStream& stream,
                                                                 const Ingress* ingress) {
    if (!services_.connections.take()) {
        return make_error(ErrorCode::kFull, "max_connections {} reached",
                          services_.connections.limit());
    }
    auto waiting = std::make_shared<Waiting>(services_.connections);
    if (client_is_known(ingress)) {
        WEIR_TRY_ASSIGN(waiting->place, services_.limits.enter(stream.peer()));
    }
    return waiting;
}

Arrival Entrance::arrive(Waiting& waiting) {
    auto client =
        std::make_unique<Client>(services_.clients, protocol_, waiting.stream->peer().host());
    client->hold(*std::exchange(waiting.budget, nullptr));
    client->hold(std::move(waiting.place));
    return {.stream = std::move(waiting.stream),
            .client = std::move(client),
            .ingress = std::move(waiting.ingress),
            .since = waiting.since};
}

Error enter(const Ingress* ingress,
            io::TcpStream& stream,
            Client& client,
            Limits& limits,
            io::Deadline deadline) {
    if (ingress == nullptr) {
        return {};
    }
    WEIR_TRY(ingress->begin(stream, deadline));
    if (!client_is_known(ingress)) {
        WEIR_TRY_ASSIGN(Limits::AddressPlace place, limits.enter(stream.peer()));
        client.hold(std::move(place));
    }
    client.set_ip(stream.peer().host());
    client.encrypted = stream.encrypted();
    return {};
}

}  // namespace weir::net
