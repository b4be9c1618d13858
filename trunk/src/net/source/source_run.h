// SourceRun: one try of a source or forward, as the code of its protocol sees it.
//
// A protocol implements SourceProtocol: run once, in a coroutine of its own, and say why it ended.
// When it runs again, for how long it waits, who is told of it: that is the business of Source.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/ref.h"
#include "media/codec.h"
#include "media/packet.h"
#include "net/hops.h"

namespace weir::io {
class Deadline;
class TcpStream;
}  // namespace weir::io

namespace weir::stream {
class Publisher;
class Stream;
}  // namespace weir::stream

namespace weir::net {

class HttpClient;
struct GroupStats;
struct Origin;
struct SourceSpec;
struct SourceUrl;

class SourceRun {
  public:
    SourceRun() = default;
    SourceRun(const SourceRun&) = delete;
    SourceRun& operator=(const SourceRun&) = delete;

    virtual const SourceSpec& spec() const = 0;

    // Yields. Name, connection and TLS, until connect_deadline(). kDenied when it would be this
    // server and the same stream: a loop.
    virtual Result<std::unique_ptr<io::TcpStream>> connect() = 0;

    // Yields. The same to a server that was found for the stream: host, port and TLS of `url`.
    // `allows`: of the addresses that its name may have; null: all.
    virtual Result<std::unique_ptr<io::TcpStream>> connect_to(const SourceUrl& url,
                                                              const AddressFilter& allows) = 0;

    // Yields. The same to where the answer of the server has sent us. kDenied, too: not there, by
    // SourceSpec::only_servers or Hops.
    virtual Result<std::unique_ptr<io::TcpStream>> follow(const SourceUrl& url) = 0;

    // Where answers to the last connection may lead.
    virtual const Hops& hops() const = 0;

    // Makes connections for what outlives the run, as words of farewell.
    virtual HttpClient& dialer() = 0;

    // The run began some seconds before this; until then connected() is due.
    virtual io::Deadline connect_deadline() const = 0;

    // The other side has agreed: media may come (or may be sent).
    virtual void connected() = 0;

    // Fields of a request by HTTP besides, each with its CR LF; and what the answer says: its
    // status, and its field Weir-Relay (empty: there is none). An error refuses it.
    virtual std::string request_fields() const { return {}; }

    virtual Error on_answer(int /*status*/, std::string_view /*relay*/) { return {}; }

    // Where the stream comes from, when that was not known before the run.
    virtual void note_origin(const Origin& /*origin*/) {}

    // The next media is due (firstpkt_timeout, normal_timeout); and what to say when it was not.
    virtual io::Deadline media_deadline() const = 0;
    virtual Error silence() const = 0;

    // Bytes that came from the other side, or were sent to it.
    virtual void note_bytes(uint64_t bytes) = 0;

    // Never yields. A pull: publishes what came, an FLV tag body or AMF0 data, with the other
    // side's time in milliseconds. What is no media is ignored. `audience`: of audio. kBusy:
    // another publisher has the name; kDenied: more than max_publish_bitrate.
    virtual Error publish(media::TrackKind kind,
                          uint32_t timestamp,
                          Bytes body,
                          media::Audience audience) = 0;

    Error publish(media::TrackKind kind, uint32_t timestamp, Bytes body) {
        return publish(kind, timestamp, std::move(body), media::Audience::kEverybody);
    }

    // The same of a packet that is made already.
    virtual Error publish(Ref<media::MediaPacket> packet) = 0;

    // The bytes of a transport stream, as of Stream::publish_transport(). What it keeps for those
    // who come later is limited to kept_bytes().
    virtual Error publish_transport(Ref<media::MediaPacket> packet) = 0;
    virtual uint64_t kept_bytes() const = 0;

    // Nobody takes it any more: what is published from now on are frames alone.
    virtual void end_transport() = 0;

    // Never yields. The stream as it is published by publisher(), for code that publishes by
    // itself: from now on it has the name. Errors as of publish(). Good until the run ends, or
    // publish() fails.
    virtual Result<stream::Stream*> begin() = 0;
    virtual const stream::Publisher& publisher() const = 0;

    // Asks the other side for a key frame, for a player that cannot go on without one. Must not
    // yield; forgotten when the run ends.
    virtual void set_key_frame_request(std::function<void()> ask) = 0;

    // Called for each Publisher::on_sink(). Must not yield; forgotten when the run ends.
    virtual void set_sink_watch(std::function<void()> watch) = 0;

    // The stream of begin() and publish(); null: it has none yet, or has lost the name.
    virtual stream::Stream* stream() = 0;

    // What there is to say of the group that a transport stream comes from; for the API.
    virtual void note_group(const GroupStats& stats) = 0;

    // A forward: media goes out.
    virtual void live() = 0;

  protected:
    ~SourceRun() = default;
};

class SourceProtocol {
  public:
    SourceProtocol() = default;
    SourceProtocol(const SourceProtocol&) = delete;
    SourceProtocol& operator=(const SourceProtocol&) = delete;
    virtual ~SourceProtocol() = default;

    // Yields. Until the stream ends, something fails or the coroutine is interrupted; never
    // success. Called by one coroutine per source, for several sources at a time.
    virtual Error run(SourceRun& run) = 0;

    // The server stops: what still runs has to end in a fraction of a second.
    virtual void hurry() {}
};

}  // namespace weir::net
