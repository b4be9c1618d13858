// What a session tells the API of itself: its way to the peer, and its memory.
#include <string>

#include "net/fanout.h"
#include "net/link_facts.h"
#include "proto/dtls/handshake.h"
#include "session/webrtc/rtc_server.h"
#include "session/webrtc/rtc_session.h"

namespace weir::session {
namespace {

// A node of a hash table or a tree, with the allocator's header: its value and four pointers.
constexpr size_t kNodeBytes = 48;

// Of a text that does not fit into the string itself.
size_t heap_of(const std::string& text) {
    return text.capacity() > std::string().capacity() ? text.capacity() + 1 : 0;
}

size_t heap_of(const sdp::Answer& answer) {
    size_t bytes = heap_of(answer.text) + heap_of(answer.remote.ice_ufrag) +
                   heap_of(answer.remote.ice_pwd) +
                   answer.remote.candidates.capacity() * sizeof(std::string) +
                   answer.media.capacity() * sizeof(sdp::NegotiatedMedia);
    for (const std::string& candidate : answer.remote.candidates) {
        bytes += heap_of(candidate);
    }
    for (const sdp::NegotiatedMedia& media : answer.media) {
        bytes += heap_of(media.mid) + heap_of(media.refusal) + heap_of(media.remote_fmtp) +
                 heap_of(media.local_fmtp) +
                 media.remote_ssrcs.capacity() * sizeof(sdp::RemoteSsrc) +
                 media.rids.capacity() * sizeof(std::string);
    }
    return bytes;
}

}  // namespace

RtcSessionMemory& RtcSessionMemory::operator+=(const RtcSessionMemory& more) {
    ice += more.ice;
    dtls += more.dtls;
    srtp += more.srtp;
    media += more.media;
    other += more.other;
    return *this;
}

void RtcSecureTransport::add_to(RtcSessionMemory& memory) const {
    memory.ice = sizeof(ice::LiteAgent) + agent_.heap_bytes();
    if (dtls_) {
        memory.dtls = sizeof(dtls::Transport) + dtls_->heap_bytes();
        memory.dtls +=
            dtls_->handshaking() ? sizeof(dtls::Handshake) + dtls::Handshake::kHeldBytes : 0;
    }
    if (protector_) {
        memory.srtp += sizeof(srtp::Protector) + protector_->heap_bytes();
    }
    if (unprotector_) {
        memory.srtp += sizeof(srtp::Unprotector) + unprotector_->heap_bytes();
    }
    memory.srtp += rtcp_unprotector_ ? sizeof(srtp::RtcpUnprotector) : 0;
}

RtcSessionMemory RtcSession::memory() const {
    RtcSessionMemory memory;
    transport_.add_to(memory);
    memory.media = role_->media_bytes();
    memory.other = sizeof(RtcSession) - sizeof(ice::LiteAgent) + role_->own_bytes() + heap_of(id_) +
                   heap_of(answer_);
    memory.other += sizeof(net::Client) + heap_of(client_->ip()) + heap_of(client_->key.vhost) +
                    heap_of(client_->key.app) + heap_of(client_->key.name);
    memory.other += 4 * kNodeBytes + 2 * sizeof(std::string) + heap_of(id_) +
                    agent().path_count() * (kNodeBytes + sizeof(ice::Path));
    return memory;
}

std::optional<net::LagFacts> RtcSession::lag_facts() const {
    return role_->lag_facts();
}

std::optional<net::LinkFacts> RtcSession::link_facts() const {
    net::LinkFacts facts;
    facts.state = media_begun_ ? "connected" : "connecting";
    if (const ice::Path* path = agent().selected()) {
        facts.remote = path->remote.to_string();
        if (const RtcLink* link = server_.transport().link_of(*path)) {
            facts.transport = link->transport();
            facts.local = link->local().to_string();
        }
    }
    role_->add_to(facts);
    return facts;
}

uint64_t RtcServer::history_bytes() const {
    uint64_t bytes = 0;
    services_.fanout.for_each(RtcPump::kKind, [&bytes](net::StreamPump& pump) {
        bytes += static_cast<RtcPump&>(pump).writer().log().bytes();
    });
    return bytes;
}

RtcServer::Kinds RtcServer::kinds() const {
    Kinds kinds;
    transport_.for_each([&kinds](const RtcSession& session) {
        Kinds::Kind& kind = !session.is_connected() ? kinds.connecting
                            : session.publishes()   ? kinds.publishers
                                                    : kinds.players;
        kind.sessions++;
        kind.memory += session.memory();
    });
    return kinds;
}

}  // namespace weir::session
