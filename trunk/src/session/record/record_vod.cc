#include "session/record/record_vod.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/strings.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "net/limits.h"
#include "session/record/record_vod_source.h"

namespace weir::session {
namespace {

constexpr size_t kMaxPath = 2'048;
constexpr std::string_view kKind = "mp4:";  // in front of a name, as Flash writes it
constexpr std::string_view kEnd = ".mp4";
constexpr size_t kMaxReads = RecordVod::kMaxPlaybacks;  // each has one job at most
constexpr Millis kOpenWait{30'000};                     // for a disk

class Found final : public net::VodRecording {
  public:
    explicit Found(std::vector<VodPiece> found)
        : pieces(std::move(found)), key_(pieces.front().file.key) {}

    const stream::StreamKey& key() const override { return key_; }

    std::vector<VodPiece> pieces;

  private:
    stream::StreamKey key_;
};

// Slashes once, and no "mp4:".
std::string plain_path(std::string_view path) {
    std::string out;
    for (std::string_view part : split(path, '/')) {
        if (part.starts_with(kKind)) {
            part.remove_prefix(kKind.size());
        }
        if (!part.empty()) {
            out += out.empty() ? "" : "/";
            out += part;
        }
    }
    return out;
}

// What waits for the first packet of a source.
class Opening final : public net::VodSource::Listener {
  public:
    void on_vod_ready() override { signal.notify_all(); }

    io::Signal signal;
};

}  // namespace

RecordVod::~RecordVod() {
    WEIR_CHECK(open_ == 0);
}

// Yields.
Result<std::unique_ptr<net::VodRecording>> RecordVod::find(const net::Policy& policy,
                                                           std::string_view vhost,
                                                           std::string_view path,
                                                           std::string_view query) {
    const std::string plain = path.size() <= kMaxPath ? plain_path(path) : std::string();
    std::vector<VodPiece> pieces;
    // Names begin with the vhost where nothing else is configured; who asks need not say it. (VLC
    // cannot: it writes addresses of RTSP in small letters.)
    const std::string full = fmt::format("{}/{}", policy.key_of(vhost, "", "").vhost, plain);
    const auto find_file = [&] {
        std::optional<VodPiece> file;
        for (const std::string& name :
             {plain, plain + std::string(kEnd), full, full + std::string(kEnd)}) {
            file = !file && name.ends_with(kEnd) ? find_vod_file(service_, name) : std::move(file);
        }
        return file;
    };
    std::optional<VodPiece> file = find_file();
    if (is_news_due(file)) {
        service_.look_around();
        file = find_file();
    }
    if (file) {
        pieces.push_back(std::move(*file));
    }
    if (const size_t slash = plain.rfind('/'); pieces.empty() && slash != std::string::npos) {
        const std::vector<QueryItem> items = parse_query(query);
        WEIR_TRY_ASSIGN(const VodSpan span,
                        parse_vod_span(query_value(items, "from"), query_value(items, "to")));
        const std::string_view whole(plain);
        const stream::StreamKey key =
            policy.key_of(vhost, whole.substr(0, slash), whole.substr(slash + 1));
        WEIR_TRY_ASSIGN(pieces, find_vod_span(service_, key, span));
    }
    if (pieces.empty() || !rules_.record_options(pieces.front().file.key).play) {
        return make_error(ErrorCode::kNotFound,
                          "no recording has that name, or not as mp4, or it is not played; "
                          "GET /api/v1/recordings lists them");
    }
    return std::unique_ptr<net::VodRecording>(std::make_unique<Found>(std::move(pieces)));
}

// Yields.
Result<std::unique_ptr<net::VodSource>> RecordVod::open(
    std::unique_ptr<net::VodRecording> recording, const io::SocketAddress& peer) {
    if (open_ >= kMaxPlaybacks || held_bytes_ > kMaxHeldBytes) {
        return make_error(ErrorCode::kFull, "too many recordings are played: try again later");
    }
    WEIR_TRY_ASSIGN(net::AddressPlace place,
                    limits_.enter(net::Share::kRecordings, peer,
                                  {.of_one = kMaxPlaybacksOfOne, .places = kMaxPlaybacks}));
    if (!readers_) {
        WEIR_TRY_ASSIGN(readers_, make_workers_(kReaders, kMaxReads));
    }
    auto& found = static_cast<Found&>(*recording);
    auto source =
        std::make_unique<RecordVodSource>(*this, std::move(found.pieces), std::move(place));
    if (source->failed().code() == ErrorCode::kLimit) {
        return make_error(ErrorCode::kFull, "the disk is busy: try again later");
    }
    Opening opening;
    source->set_listener(&opening);
    const io::Deadline deadline = io::Deadline::after(kOpenWait);
    Error waited;
    while (source->front() == nullptr && !source->ended() && !waited) {
        waited = opening.signal.wait_until(deadline);
    }
    source->set_listener(nullptr);
    if (waited) {
        return waited.code() == ErrorCode::kTimeout
                   ? make_error(ErrorCode::kFull, "the disk is busy: try again later")
                   : std::move(waited);
    }
    if (source->front() == nullptr) {
        return source->failed() ? make_error(source->failed().code() == ErrorCode::kNotFound
                                                 ? ErrorCode::kNotFound
                                                 : ErrorCode::kMalformed,
                                             "the recording cannot be read: the log says why")
                                : make_error(ErrorCode::kNotFound, "the recording is empty");
    }
    return std::unique_ptr<net::VodSource>(std::move(source));
}

}  // namespace weir::session
