#include "app/processes/process_streams.h"

#include "base/log.h"
#include "io/deadline.h"

namespace weir::app {

ProcessStreams::ProcessStreams(ProcessLink& link,
                               const ProcessPlacement& placement,
                               stream::Registry& registry)
    : link_(link), placement_(placement), registry_(registry) {
    registry_.observers().add(*this);
    link_.set_observer(
        {.on_owner = [this](const stream::StreamKey& key, const StreamOwner& owner,
                            const StreamOwner& before) { take_owner(key, owner, before); },
         .on_late_claim =
             [this](const stream::StreamKey& key, uint64_t epoch) {
                 if (!held_.contains(key)) {
                     link_.release(key, epoch);
                 }
             },
         .on_homes =
             [this] {
                 if (on_homes) {
                     on_homes();
                 }
             }});
}

ProcessStreams::~ProcessStreams() {
    link_.set_observer({});
    registry_.observers().remove(*this);
}

std::string ProcessStreams::socket_of(const ProcessLink& link, uint32_t process) {
    return link.address_of(process, "http");
}

// ---- claims ----

Error ProcessStreams::claim(const stream::StreamKey& key, stream::PublishConflict conflict) {
    WEIR_TRY_ASSIGN(const uint64_t epoch,
                    link_.claim(key, conflict == stream::PublishConflict::kTakeover));
    const StreamOwner now = link_.find(key);  // it may have been taken over already
    if (epoch == 0 || (now.epoch > epoch && now.process != link_.seat().index)) {
        return make_error(ErrorCode::kBusy, "another publisher has this stream");
    }
    Held& held = held_[key];
    held.epoch = epoch;
    held.places++;
    if (cluster_claims_ != nullptr) {
        if (Error refused = cluster_claims_->claim(key, conflict)) {
            give_up_here(key);
            return refused;
        }
        const auto found = held_.find(key);
        if (found == held_.end() || found->second.epoch != epoch) {
            cluster_claims_->give_up(key);
            return make_error(ErrorCode::kBusy, "another publisher has taken this stream");
        }
    }
    return {};
}

void ProcessStreams::give_up(const stream::StreamKey& key) {
    if (cluster_claims_ != nullptr) {
        cluster_claims_->give_up(key);
    }
    give_up_here(key);
}

void ProcessStreams::give_up_here(const stream::StreamKey& key) {
    const auto found = held_.find(key);
    if (found != held_.end() && found->second.places > 0) {
        found->second.places--;
        release_if_unused(key);
    }
}

void ProcessStreams::release_if_unused(const stream::StreamKey& key) {
    const auto found = held_.find(key);
    const stream::Stream* const stream = registry_.find(key);
    const bool published = stream != nullptr && stream->live() && !stream->relayed();
    if (found != held_.end() && found->second.places == 0 && !published) {
        link_.release(key, found->second.epoch);
        held_.erase(found);
    }
}

void ProcessStreams::on_unpublish(stream::Stream& stream, stream::PublishEnd why) {
    if (why == stream::PublishEnd::kLeft) {
        release_if_unused(stream.key());
    }
}

std::optional<uint64_t> ProcessStreams::epoch(const stream::StreamKey& key) const {
    if (cluster_claims_ != nullptr) {
        return cluster_claims_->epoch(key);
    }
    const auto found = held_.find(key);
    return found == held_.end() ? std::nullopt : std::optional(found->second.epoch);
}

// ---- what the supervisor says ----

void ProcessStreams::take_owner(const stream::StreamKey& key,
                                const StreamOwner& owner,
                                const StreamOwner& before) {
    const bool own = owner.epoch != 0 && owner.process == link_.seat().index;
    // This process knows best that it has given a name up: a source that is here waits as long as
    // after any failure. Viewers may need one from elsewhere.
    const bool given_up =
        owner.epoch == 0 && before.epoch != 0 && before.process == link_.seat().index;
    if (given_up && on_given_up) {
        on_given_up(key);
    }
    if (own || given_up) {
        return;
    }
    if (owner.epoch != 0 && held_.erase(key) > 0) {
        stream::Stream* const stream = registry_.find(key);
        if (stream != nullptr && stream->live() && !stream->relayed()) {
            log::info("replaced stream={} process={}: another publisher has the name",
                      log::token(key.to_string()), owner.process);
            registry_.lose_publisher(*stream, MonoClock::now());
        }
    }
    if (on_owner) {
        on_owner(key, owner.epoch);
    }
}

// ---- where streams are ----

Result<net::Origin> ProcessStreams::find(const stream::StreamKey& key, io::Deadline deadline) {
    const uint32_t home = placement_.home_of(key);
    if (home == link_.seat().index) {
        return cluster_origins_ != nullptr
                   ? cluster_origins_->find(key, deadline)
                   : Result<net::Origin>(make_error(ErrorCode::kNotFound, "nobody publishes it"));
    }
    net::Origin origin;
    origin.url.scheme = "http";
    origin.url.host = fmt::format("process-{}", home);
    origin.url.port = 80;
    origin.socket = socket_of(link_, home);
    origin.node = origin.url.host;
    return origin;
}

void ProcessStreams::note_failure(const stream::StreamKey& key, const net::Origin& origin) {
    if (origin.socket.empty() && cluster_origins_ != nullptr) {
        cluster_origins_->note_failure(key, origin);
    }
}

}  // namespace weir::app
