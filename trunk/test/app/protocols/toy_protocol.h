// A protocol of the tests: over TCP it sends the time of each packet of live/a as a line of text.
// All of it is here; the server gets to know it by one row in the test's wiring.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/protocols/wiring.h"
#include "app/run/listener_service.h"
#include "diagnosis/memory_report.h"
#include "io/deadline.h"
#include "io/tcp.h"
#include "media/packet.h"
#include "net/acceptors.h"
#include "net/api/exposition.h"
#include "net/client.h"
#include "net/fanout.h"
#include "net/play_rules.h"
#include "net/player_protocol.h"
#include "stream/muxer.h"
#include "stream/stream.h"

namespace weir::app {

class ToyMuxer final : public stream::Muxer {
  public:
    void on_packet(const media::PacketRef& packet, const stream::Configs* start) override {
        const std::string line = fmt::format("{}\n", packet->time_ms());
        log().begin_entry(packet->time_ms(), start != nullptr);
        log().write(as_bytes(line));
        log().end_entry();
    }
};

class ToyFormat final : public stream::Format {
  public:
    const char* name() const override { return "toy"; }

    std::unique_ptr<stream::Muxer> create_muxer() const override {
        return std::make_unique<ToyMuxer>();
    }
};

class ToyPlayer final : public net::PlayerProtocol {
  public:
    void on_start(const stream::Stream&, const stream::Muxer&, bool, Bytes&) override {}

    net::PlayerVerdict on_data(ByteSpan, Bytes&) override { return net::PlayerVerdict::kGoOn; }

    void on_end(net::EndReason, bool, Bytes&) override {}
};

// What the test says, and what the protocol was told. Outlives it.
struct ToyState {
    std::vector<config::ListenAddress> listen;
    bool refuses = false;  // the next configuration
    int prepared = 0;
    int reconfigured = 0;
    int drained = 0;
    int stopped = 0;
};

class ToyProtocol final : public Protocol {
  public:
    ToyProtocol(const ProtocolContext& context, ToyState& state)
        : services_(context.services), state_(state) {}

    std::string_view name() const override { return "toy"; }

    std::span<const Transport> transports() const override {
        static constexpr Transport kAll[] = {{"toy", "the toy"}};
        return kAll;
    }

    std::vector<ListenerService> listeners() override {
        std::vector<ListenerService> all;
        all.push_back({.kind = "toy",
                       .scheme = "toy",
                       .path = "/",
                       .wanted = [this](const config::Config&) { return &state_.listen; },
                       .acceptors = &acceptors_});
        return all;
    }

    Error prepare(const config::Config&, io::WorkerPool&) override {
        state_.prepared++;
        return state_.refuses ? make_error(ErrorCode::kUnsupported, "the toy does not want that")
                              : Error();
    }

    void reconfigure(const config::Config&) override { state_.reconfigured++; }

    void start_drain() override {
        state_.drained++;
        acceptors_.stop();
    }

    Error stop(io::Deadline) override {
        state_.stopped++;
        acceptors_.stop();
        return {};
    }

    void add_features(net::Json& features) const override { features["toy"] = true; }

    net::Json summary() const override { return {{"players", players_}}; }

    void add_page_facts(net::Json& head) const override { head["toy_port"] = 7; }

    void add_stream_facts(const stream::Stream& stream, net::Json& json) const override {
        json["toy"] = {{"key", stream.key().to_string()}};
    }

    void add_metrics(net::Exposition& text) const override {
        text.single("weir_toy_players_total", "counter", "Players of the toy.", players_);
    }

    void add_memory(diagnosis::MemoryReport& report) const override {
        report.add_uncounted("toy_box", 4321);
        report.add_tcp_kind("toy", {"toy"}, {});
    }

  private:
    void begin(std::unique_ptr<io::TcpStream> stream) {
        players_++;
        auto client =
            std::make_unique<net::Client>(services_.clients, "toy", stream->peer().host());
        client->role = net::ClientRole::kPlayer;
        client->key = {std::string(stream::kDefaultVhost), "live", "a"};
        services_.fanout.play({}, format_, std::move(stream), std::make_unique<ToyPlayer>(),
                              std::move(client));
    }

    net::Services services_;
    ToyState& state_;
    ToyFormat format_;
    uint64_t players_ = 0;
    net::Acceptors acceptors_{"toy accept",
                              [this](auto stream, const auto&) { begin(std::move(stream)); }};
};

}  // namespace weir::app
