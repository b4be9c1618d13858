// The ICE agent: each three bytes are an action (a check, sound or not; time; a restart; a lost
// connection; a path proven or taken by another session; a peer that answers or does not), an
// argument and a path. What the owner is told must agree with what there is.
#include <array>
#include <set>
#include <utility>

#include "base/check.h"
#include "proto/ice/lite_agent.h"
#include "proto/stun/message_writer.h"

#include "test/support/counting_random.h"

namespace ice = weir::ice;
namespace stun = weir::stun;

namespace {

size_t write_check(std::span<uint8_t> out, const ice::Credentials& who, uint8_t bits) {
    stun::MessageWriter writer(out, stun::MessageClass::kRequest, stun::kBinding, {bits});
    writer.username(std::string(who.ufrag_text()) + ":x").priority(bits & 0x30U);
    if ((bits & 1U) != 0) {
        writer.use_candidate();
    }
    if ((bits & 2U) != 0) {
        writer.nomination(bits >> 5U);
    }
    writer.integrity((bits & 0x0CU) == 0x0C ? weir::as_bytes("wrong") : who.key()).fingerprint();
    return writer.size();
}

// What the peer answers to a check of ours.
size_t write_answer(std::span<uint8_t> out,
                    weir::ByteSpan check,
                    const ice::RemoteCredentials& peer) {
    stun::MessageView view;
    WEIR_CHECK(stun::MessageView::parse(check, view) == stun::ParseStatus::kDone);
    stun::MessageWriter writer(out, stun::MessageClass::kSuccess, stun::kBinding, view.transaction);
    writer.integrity(peer.key());
    return writer.size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    weir::test::CountingRandom random;
    weir::MonoTime now{weir::Seconds(1)};
    std::array<ice::Credentials, 2> known = {ice::Credentials::make(random)};
    known[1] = known[0];
    const ice::RemoteCredentials peer{"x", "the-password-of-the-peer"};
    ice::LiteAgent agent(now, {}, known[0], peer, random);
    bool answers = true;  // the peer, to checks of ours
    std::set<std::pair<uint16_t, uint32_t>> paths;
    for (size_t at = 0; at + 3 <= size; at += 3) {
        ice::Path path{weir::NetAddress::from_v4({1, 2, 3, 4}, data[at + 2]), data[at + 2] & 1U};
        std::array<uint8_t, ice::kMaxCheckBytes> packet{};
        std::array<uint8_t, ice::kMaxResponseBytes> answer{};
        switch (data[at] % 10) {
            case 0:
            case 1: {
                size_t bytes = write_check(packet, known[data[at] % 2], data[at + 1]);
                agent.handle_packet(now, std::span(packet).first(bytes), path, answer);
                break;
            }
            case 2: agent.handle_packet(now, {data + at, size - at}, path, answer); break;
            case 3: now += weir::Millis(data[at + 1] * 50); break;
            case 4:
                known = {ice::Credentials::make(random), known[0]};
                agent.restart(known[0], peer);
                break;
            case 5: agent.distrust(now, path); break;
            case 6: agent.note_received(now, path, data[at + 1], (data[at + 1] & 1U) != 0); break;
            case 7: answers = !answers; break;
            case 8: agent.prove(now, path); break;
            default: agent.forget_link(data[at + 1] & 1U);
        }
        size_t bytes = 0;
        while (const ice::Path* to = agent.poll_check(now, packet, bytes)) {
            WEIR_CHECK(!agent.is_proven(*to));
            if (answers) {
                const ice::Path from = *to;
                bytes = write_answer(answer, std::span(packet).first(bytes), peer);
                agent.handle_packet(now, std::span(answer).first(bytes), from, {});
                WEIR_CHECK(agent.is_proven(from));
            }
        }
        if (agent.next_timeout() && *agent.next_timeout() <= now) {
            agent.handle_timeout(now);
            WEIR_CHECK(!agent.next_timeout() || *agent.next_timeout() > now);
        }
        while (std::optional<ice::Event> event = agent.poll_event()) {
            std::pair key(event->path.remote.port(), event->path.link);
            if (event->type == ice::Event::Type::kPathAdded) {
                WEIR_CHECK(paths.insert(key).second);
            } else if (event->type == ice::Event::Type::kPathRemoved) {
                WEIR_CHECK(paths.erase(key) == 1);
            }
        }
        WEIR_CHECK(paths.size() == agent.path_count() && paths.size() <= ice::kMaxPaths);
        WEIR_CHECK(paths.empty() == (agent.selected() == nullptr));
        WEIR_CHECK(!agent.media_path() || agent.is_proven(*agent.media_path()));
    }
    return 0;
}
