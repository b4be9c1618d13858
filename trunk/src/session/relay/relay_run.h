// RelayRun: one try at one server, as the protocol that brings the stream sees it. It is the run of
// the relay, but for the address, and for what nodes say to each other.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/deadline.h"
#include "net/cluster/origins.h"
#include "net/cluster/relay_node.h"
#include "net/rtp/derived_aac.h"
#include "net/source/source_run.h"
#include "net/source/source_spec.h"
#include "session/relay/relay_pull.h"

namespace weir::io {
class TcpStream;
}

namespace weir::net {
class HttpClient;
struct GroupStats;
struct SourceUrl;
}  // namespace weir::net

namespace weir::stream {
class Publisher;
class Stream;
}  // namespace weir::stream

namespace weir::session {

class RelayRun final : public net::SourceRun {
  public:
    // `path`: nodes that the stream goes on to, this one last. All must outlive this.
    RelayRun(net::SourceRun& run,
             net::RelayNode& node,
             const net::Origin& origin,
             std::vector<std::string> path,
             const RelayPullOptions& options);
    ~RelayRun();

    // The server has agreed.
    bool was_connected() const { return connected_; }

    // What its answer says of the end, where it says something.
    std::optional<net::RelayEnd> answered_end() const { return end_; }

    // net::SourceRun

    const net::SourceSpec& spec() const override { return spec_; }

    Result<std::unique_ptr<io::TcpStream>> connect() override;

    Result<std::unique_ptr<io::TcpStream>> connect_to(const net::SourceUrl& url,
                                                      const net::AddressFilter& allows) override;

    Result<std::unique_ptr<io::TcpStream>> follow(const net::SourceUrl& url) override {
        return run_.follow(url);
    }

    const net::Hops& hops() const override { return run_.hops(); }

    net::HttpClient& dialer() override { return run_.dialer(); }

    io::Deadline connect_deadline() const override;
    void connected() override;

    io::Deadline media_deadline() const override { return run_.media_deadline(); }

    Error silence() const override { return run_.silence(); }

    void note_bytes(uint64_t bytes) override;
    std::string request_fields() const override;
    Error on_answer(int status, std::string_view relay) override;

    Error publish(media::TrackKind kind,
                  uint32_t timestamp,
                  Bytes body,
                  media::Audience audience) override;
    Error publish(Ref<media::MediaPacket> packet) override;

    Error publish_transport(Ref<media::MediaPacket> packet) override {
        return run_.publish_transport(std::move(packet));
    }

    uint64_t kept_bytes() const override { return run_.kept_bytes(); }

    void end_transport() override { run_.end_transport(); }

    Result<stream::Stream*> begin() override { return run_.begin(); }

    const stream::Publisher& publisher() const override { return run_.publisher(); }

    void set_key_frame_request(std::function<void()> ask) override {
        run_.set_key_frame_request(std::move(ask));
    }

    void set_sink_watch(std::function<void()> watch) override {
        run_.set_sink_watch(std::move(watch));
    }

    stream::Stream* stream() override { return run_.stream(); }

    void note_group(const net::GroupStats& stats) override { run_.note_group(stats); }

    void live() override { run_.live(); }

  private:
    bool is_signed() const;
    const std::string& secret() const;
    void make_aac(const media::PacketRef& packet);

    net::SourceRun& run_;
    net::RelayNode& node_;
    net::Origin origin_;
    std::vector<std::string> path_;
    const RelayPullOptions& options_;
    net::SourceSpec spec_;
    MonoTime since_;
    bool connected_ = false;
    std::optional<net::RelayEnd> end_;
    std::unique_ptr<net::DerivedAac> aac_;  // for players that cannot have the publisher's audio
    media::Codec aac_of_ = media::Codec::kUnknown;
};

}  // namespace weir::session
