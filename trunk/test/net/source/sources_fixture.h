// Sources with a protocol of the test's own, without any network.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "base/object_count.h"
#include "io/resolver.h"
#include "net/cluster/claims.h"
#include "net/http/client.h"
#include "net/policy.h"
#include "net/source/sources.h"
#include "stream/registry.h"

#include "test/support/io/loopback.h"
#include "test/support/media_packets.h"

namespace weir::net {

class SourcePolicy final : public Policy {
  public:
    stream::StreamKey key_of(std::string_view,
                             std::string_view app,
                             std::string_view name) const override {
        return {"v", std::string(app), std::string(name)};
    }

    Result<PublishRules> may_publish(const AccessRequest&) const override { return rules; }

    Result<PlayRules> may_play(const AccessRequest&) const override { return PlayRules(); }

    PublishRules rules_of_source(const stream::StreamKey&) const override { return rules; }

    PublishRules rules;
};

// Each run is given to the function of its stream's name; without one it stays until it is
// interrupted.
class SourceBodies final : public SourceProtocol {
  public:
    using Body = std::function<Error(SourceRun&)>;

    Error run(SourceRun& run) override {
        begun++;
        const auto found = bodies.find(run.spec().key.name);
        const Body body = found == bodies.end() ? Body(stay) : found->second;
        Error end = body(run);
        ended++;
        return end;
    }

    static Error stay(SourceRun&) {
        io::Signal never;
        return never.wait_until(io::soon());
    }

    int running() const { return begun - ended; }

    std::map<std::string, Body> bodies;
    int begun = 0;
    int ended = 0;
};

// Another node has all names, or none.
class SourceClaims final : public Claims {
  public:
    Error claim(const stream::StreamKey&, stream::PublishConflict) override {
        asked++;
        return elsewhere ? make_error(ErrorCode::kBusy, "node media-2 has the name") : Error();
    }

    void give_up(const stream::StreamKey&) override {}

    std::optional<uint64_t> epoch(const stream::StreamKey&) const override { return std::nullopt; }

    bool elsewhere = false;
    int asked = 0;
};

struct SourceViewer final : stream::Muxer {
    void on_packet(const media::PacketRef& packet, const stream::Configs*) override {
        packets += packet->info().config ? 0 : 1;
    }

    int packets = 0;
};

struct SourceRival final : stream::Publisher {
    std::string describe() const override { return "a client"; }

    std::string_view client_id() const override { return "c"; }

    void on_taken_over() override {}
};

class SourcesByItselfTest : public testing::Test {
  protected:
    SourcesByItselfTest() {
        log::set_sink([](log::Level, std::string_view) {});
        config_.named = [this] { return named_; };
    }

    ~SourcesByItselfTest() override {
        sources_->stop(io::soon());
        EXPECT_EQ(protocol_.running(), 0);
        sources_.reset();
        EXPECT_EQ(registry_.size(), 0U);
        EXPECT_EQ(find_object_class("source")->live(), before_);
        log::set_sink(nullptr);
    }

    static stream::StreamKey key(std::string_view name) { return {"v", "live", std::string(name)}; }

    static SourceSpec spec(std::string_view name, SourceRole role = SourceRole::kPull) {
        return spec_of(name, fmt::format("rtmp://192.0.2.1/live/{}", name), role);
    }

    static SourceSpec spec_of(std::string_view name,
                              const std::string& url,
                              SourceRole role = SourceRole::kPull) {
        SourceSpec made;
        made.role = role;
        made.key = key(name);
        made.url = SourceUrl::parse(url).value();
        made.shown = made.url.shown();
        made.named = role == SourceRole::kPull;
        made.on_demand = role == SourceRole::kForward;
        made.linger = Millis(role == SourceRole::kForward ? 0 : 10'000);
        return made;
    }

    // Any stream that somebody asks for has a source, for `linger` behind the last viewer.
    void bring_any(Millis linger, size_t most = 1'000) {
        config_.for_any = [linger](const stream::StreamKey& wanted) {
            SourceSpec made = spec(wanted.name);
            made.named = false;
            made.on_demand = true;
            made.linger = linger;
            return std::optional(made);
        };
        config_.max_sources = [most] { return most; };
    }

    // The same of streams that other nodes have.
    void relay_any(size_t most = 1'000, Millis linger = Millis(10'000)) {
        bring_any(linger, most);
        config_.for_any = [any = config_.for_any](const stream::StreamKey& wanted) {
            std::optional<SourceSpec> made = any(wanted);
            made->relayed = true;
            made->input_timeout = Millis(3'000);
            return made;
        };
    }

    // Comes from a node of that name, by a claim of that epoch, and is live until it is
    // interrupted.
    static SourceBodies::Body from(const std::string& node, uint64_t epoch) {
        return [node, epoch](SourceRun& run) {
            Origin origin;
            origin.url = SourceUrl::parse("http://192.0.2.1:8080").value();
            origin.node = node;
            origin.epoch = epoch;
            run.note_origin(origin);
            run.connected();
            EXPECT_FALSE(run.publish(media::TrackKind::kVideo, 0, test::avc_frame(true, 1)));
            return SourceBodies::stay(run);
        };
    }

    // Relays of sources that other nodes run, by "rtsp" to tell them apart.
    void stand_in_for_named(Millis linger = Millis(10'000)) {
        sources_->add(SourceRole::kPull, "rtsp", relays_);
        config_.stand_in = [linger](const stream::StreamKey& wanted) {
            SourceSpec made = spec_of(wanted.name, "rtsp://192.0.2.2/relay");
            made.named = false;
            made.on_demand = made.relayed = made.stands_in = true;
            made.linger = linger;
            return std::optional(made);
        };
    }

    void forward_to(std::vector<std::string> urls) {
        config_.forwards = [urls = std::move(urls)](const stream::StreamKey& published) {
            std::vector<SourceSpec> all;
            for (const std::string& url : urls) {
                all.push_back(spec_of(published.name, url, SourceRole::kForward));
            }
            return all;
        };
    }

    void start() {
        Error error = sources_->start(config_);
        ASSERT_FALSE(error) << error.to_string();
    }

    const Source* find(std::string_view name, SourceRole role = SourceRole::kPull) const {
        const Source* found = nullptr;
        sources_->for_each([&](const Source& source) {
            const SourceSpec& spec = source.spec();
            const bool is_it = spec.key.name == name && spec.role == role && !spec.stands_in;
            found = is_it ? &source : found;
        });
        return found;
    }

    SourceState state(std::string_view name, SourceRole role = SourceRole::kPull) const {
        const Source* const source = find(name, role);
        return source != nullptr ? source->machine().state() : SourceState::kStopped;
    }

    stream::Stream& stream(std::string_view name) {
        return registry_.get_or_create(key(name), {}, MonoClock::now());
    }

    bool live(std::string_view name) {
        const stream::Stream* const found = registry_.find(key(name));
        return found != nullptr && found->live();
    }

    stream::Stream& publish(SourceRival& client,
                            std::string_view name,
                            stream::PublishConflict conflict = stream::PublishConflict::kRefuse) {
        stream::Stream& made = stream(name);
        EXPECT_FALSE(made.start_publish(client, conflict, MonoClock::now()));
        return made;
    }

    void unpublish(SourceRival& client, stream::Stream& from) {
        from.end_publish(client, MonoClock::now());
        registry_.release(from);
    }

    uint64_t before_ = find_object_class("source")->live();
    io::Resolver resolver_;
    HttpClient dialer_{resolver_};
    SourcePolicy policy_;
    stream::Registry registry_;
    SourceBodies protocol_;
    SourceBodies relays_;
    SourceClaims claims_;
    SourceConfig config_;
    std::vector<SourceSpec> named_;
    bool is_own_ = false;
    std::unique_ptr<Sources> sources_ = [this] {
        auto made = std::make_unique<Sources>(SourceServices{
            registry_,
            dialer_,
            policy_,
            [this](const io::SocketAddress&, const io::SocketAddress&) { return is_own_; },
            system_random(),
            {},
            &claims_});
        made->add(SourceRole::kPull, "rtmp", protocol_);
        made->add(SourceRole::kForward, "rtmp", protocol_);
        return made;
    }();
};

}  // namespace weir::net
