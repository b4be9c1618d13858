#include "session/flv/flv_pull.h"

#include <array>

#include "base/version.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/io_result.h"
#include "io/tcp.h"
#include "net/source/source_spec.h"
#include "net/source/source_url.h"
#include "proto/cluster/relay_field.h"
#include "proto/cluster/relay_tag.h"
#include "proto/flv/reader.h"
#include "proto/http/stream_response.h"

namespace weir::session {
namespace {

constexpr size_t kReadBytes = 64 * 1024;

// Shared by all of them: nothing yields between a read and its use.
std::span<uint8_t> read_buffer() {
    static std::array<uint8_t, kReadBytes> buffer;
    return buffer;
}

std::string request_of(const net::SourceUrl& url, std::string_view fields) {
    return fmt::format(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: Weir/{}\r\nAccept: */*\r\n{}"
        "Connection: close\r\n\r\n",
        url.target(), url.authority(), kVersion, fields);
}

class Pull {
  public:
    explicit Pull(net::SourceRun& run) : run_(run) {}

    Error run() {
        WEIR_TRY_ASSIGN(stream_, run_.connect());
        WEIR_TRY(stream_->write_all(as_bytes(request_of(run_.spec().url, run_.request_fields())),
                                    run_.connect_deadline()));
        for (;;) {
            Error failed = read();
            if (failed.code() == ErrorCode::kTimeout || (!failed && deadline().passed())) {
                return connected_ ? run_.silence()
                                  : make_error(ErrorCode::kTimeout, "the origin did not answer");
            }
            WEIR_TRY(std::move(failed));
        }
    }

  private:
    io::Deadline deadline() const {
        return connected_ ? run_.media_deadline() : run_.connect_deadline();
    }

    Error read() {
        WEIR_TRY(stream_->wait_readable(deadline()));
        const io::IoResult got = stream_->try_read(read_buffer());
        switch (got.status) {
            case io::IoStatus::kWouldBlock: return {};
            case io::IoStatus::kClosed:
                return make_error(
                    ErrorCode::kClosed, "{}",
                    connected_ ? "the origin's stream ended" : "the origin closed the connection");
            case io::IoStatus::kFailed: return Error::from_errno(got.error_number, "read");
            case io::IoStatus::kDone: break;
        }
        run_.note_bytes(got.bytes);
        return take({read_buffer().data(), got.bytes});
    }

    Error take(ByteSpan bytes) {
        using Status = http::StreamResponse::Status;
        const io::NoYield no_yield;
        body_.clear();
        const Status status = response_.feed(bytes, body_);
        if (status == Status::kError) {
            return response_.take_error();
        }
        if (status == Status::kHead) {
            return {};
        }
        if (!connected_) {
            WEIR_TRY(run_.on_answer(response_.status(), response_.kept()));
            if (response_.status() != 200) {
                return make_error(
                    response_.status() == 404 ? ErrorCode::kNotFound : ErrorCode::kDenied,
                    "the origin answers {}{}", response_.status(),
                    response_.location().empty()
                        ? ""
                        : ": redirects are not followed; give the last address");
            }
            connected_ = true;
            run_.connected();
        }
        WEIR_TRY(publish(body_));
        return status == Status::kEnded
                   ? make_error(ErrorCode::kClosed, "the origin's stream ended")
                   : Error();
    }

    Error publish(ByteSpan bytes) {
        const bool relayed = !response_.kept().empty();
        for (;;) {
            flv::Tag tag;
            const flv::TagReader::Status status = tags_.next(tag);
            if (status == flv::TagReader::Status::kError) {
                return tags_.take_error();
            }
            if (status == flv::TagReader::Status::kTag) {
                if (const auto kind = flv::track_kind(tag.type)) {
                    WEIR_TRY(run_.publish(*kind, tag.timestamp, std::move(tag.body),
                                          relayed ? cluster::relayed_audience(tag.stream_id)
                                                  : media::Audience::kEverybody));
                }
                continue;
            }
            if (bytes.empty()) {
                return {};
            }
            bytes = bytes.subspan(tags_.feed(bytes));
        }
    }

    net::SourceRun& run_;
    std::unique_ptr<io::TcpStream> stream_;
    http::StreamResponse response_{cluster::kRelayField};
    flv::TagReader tags_;
    Bytes body_;  // of one read, without its chunks
    bool connected_ = false;
};

}  // namespace

Error FlvPull::run(net::SourceRun& run) {
    Pull pull(run);
    return pull.run();
}

}  // namespace weir::session
