// Server session: any bytes behind the handshake. The first byte chooses how the input is cut,
// whether publish and play are accepted, and whether anybody reads the answers; where somebody
// does, whole and cut input give the same events and the same error.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "proto/rtmp/server_session.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data,
                                      size_t size);  // NOLINT(readability-identifier-naming)

namespace weir::rtmp {
namespace {

void answer(ServerSession& session, Event& event, bool accept) {
    switch (event.kind) {
        case EventKind::kConnect:
            WEIR_CHECK(event.connect().app.size() <= kMaxAppSize);
            WEIR_CHECK(event.connect().arguments.size() <= ServerSession::kMaxConnectArguments);
            if (!event.connect().arguments.empty()) {
                session.take_calls();
            }
            accept ? session.accept_connect()
                   : session.reject_connect(status::kConnectRejected, "no");
            break;
        case EventKind::kPublish:
            WEIR_CHECK(!event.publish().name.stream.empty() && !event.publish().name.app.empty());
            accept ? session.accept_publish(event.stream_id)
                   : session.reject(event.stream_id, status::kPublishDenied, "no");
            break;
        case EventKind::kPlay:
            WEIR_CHECK(!event.play().name.stream.empty() && !event.play().name.app.empty());
            accept ? session.accept_play(event.stream_id)
                   : session.reject(event.stream_id, status::kPlayFailed, "no");
            break;
        case EventKind::kCall:
            session.answer_call(event.call().transaction, accept ? "" : "no");
            session.call("answer", event.call().arguments);
            break;
        case EventKind::kSeek:
            session.answer_seek(event.stream_id, 1);
            session.end_recording(event.stream_id);
            break;
        case EventKind::kPause: session.answer_pause(event.stream_id, event.pause().on); break;
        default: break;
    }
}

// What an owner acts on.
std::string describe(Event& event) {
    std::string text =
        std::to_string(static_cast<int>(event.kind)) + " " + std::to_string(event.stream_id) + " ";
    switch (event.kind) {
        case EventKind::kConnect: return text + event.connect().app + "?" + event.connect().query;
        case EventKind::kPublish: return text + event.publish().name.path();
        case EventKind::kPlay: return text + event.play().name.path();
        case EventKind::kMedia:
            return text + std::to_string(event.media().timestamp) + " " +
                   std::string(as_text(event.media().body));
        case EventKind::kCall: return text + event.call().name;
        case EventKind::kPause: return text + (event.pause().on ? "on" : "off");
        default: return text;
    }
}

std::vector<std::string> converse(uint8_t choices, ByteSpan bytes, size_t step) {
    const bool take = choices & 0x40;  // whether the output is read
    const bool refuse = choices & 0x80;
    std::vector<std::string> outcome;
    ServerSession session;
    while (!bytes.empty() && !session.failed()) {
        bytes = bytes.subspan(session.feed(bytes.first(std::min(step, bytes.size()))));
        Event event;
        while (session.next_event(event)) {
            outcome.push_back(describe(event));
            answer(session, event, !refuse || event.kind == EventKind::kConnect);
        }
        if (take) {
            WEIR_CHECK(session.take_output().size() <=
                       ServerSession::kMaxOutput + ServerSession::kMaxCommandSize);
        }
    }
    if (session.failed()) {
        const Error error = session.take_error();
        WEIR_CHECK(bool(error));
        outcome.emplace_back(error.message());
    }
    return outcome;
}

void check(uint8_t choices, ByteSpan bytes) {
    const auto cut = converse(choices, bytes, size_t{choices & 0x3Fu} + 1);
    const auto whole = converse(choices, bytes, SIZE_MAX);
    // Acknowledgements follow the reads: where nobody takes them, they fill the output sooner.
    WEIR_CHECK((choices & 0x40) == 0 || cut == whole);
}

}  // namespace
}  // namespace weir::rtmp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size > 0) {
        weir::rtmp::check(data[0], {data + 1, size - 1});
    }
    return 0;
}
