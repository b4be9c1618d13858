// Scans of files that grow: kept while somebody asks, bounded, and gone on with.
#include "session/record/growing_indexes.h"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/log.h"
#include "io/deadline.h"
#include "stream/registry.h"

#include "test/session/record/recorded_file.h"
#include "test/support/io/loopback.h"

namespace weir::session {
namespace {

namespace fs = std::filesystem;

class GrowingIndexesTest : public testing::Test, protected RecordRules {
  protected:
    GrowingIndexesTest() {
        std::string pattern = (fs::temp_directory_path() / "weir-vod-XXXXXX").string();
        place_ = ::mkdtemp(pattern.data());
    }

    ~GrowingIndexesTest() override { fs::remove_all(place_); }

    RecordOptions record_options(const stream::StreamKey&) const override { return {}; }

    void on_recorded(const RecordedFile&) override {}

    VodPiece piece(const std::string& name, int64_t started_ms = 0) const {
        VodPiece out;
        out.grows = true;
        out.file.folder = place_;
        out.file.file = name;
        out.file.started_ms = started_ms;
        return out;
    }

    GrowingIndexes::Lease take(const VodPiece& piece) {
        auto lease = indexes_.take(piece, io::soon());
        EXPECT_TRUE(lease.ok());
        return lease.ok() ? std::move(*lease) : GrowingIndexes::Lease();
    }

    std::string place_;
    GrowingIndexes indexes_;
};

TEST_F(GrowingIndexesTest, AFileIsGoneOnWith) {
    const VodPiece cam = piece("cam.mp4");
    EXPECT_EQ(take(cam).read(cam).error().code(), ErrorCode::kNotFound);
    test::append_fragments(place_ + "/cam.mp4.part", 2);
    auto index = take(cam).read(cam);
    ASSERT_TRUE(index.ok()) << index.error().message();
    EXPECT_EQ(index->spans.size(), 2U);
    test::append_fragments(place_ + "/cam.mp4.part", 3, 2);
    fs::rename(place_ + "/cam.mp4.part", place_ + "/elsewhere");
    index = take(cam).read(cam);
    ASSERT_TRUE(index.ok()) << "it is open still";
    EXPECT_EQ(index->spans.size(), 5U);
    EXPECT_EQ(indexes_.size(), 1U);
}

TEST_F(GrowingIndexesTest, OneRequestAtATimeHasAFile) {
    const VodPiece cam = piece("cam.mp4");
    {
        const GrowingIndexes::Lease first = take(cam);
        EXPECT_EQ(indexes_.take(cam, io::Deadline::after(Millis(10))).error().code(),
                  ErrorCode::kTimeout);
        (void)take(piece("other.mp4"));
        (void)take(piece("cam.mp4", 1));  // a name that comes again is another file
    }
    (void)take(cam);
    EXPECT_EQ(indexes_.size(), 3U);
}

TEST_F(GrowingIndexesTest, ThereAreNotManyAndTheyGo) {
    for (size_t i = 0; i <= GrowingIndexes::kMaxFiles; i++) {
        (void)take(piece(std::to_string(i)));
    }
    EXPECT_EQ(indexes_.size(), GrowingIndexes::kMaxFiles);
    const VodPiece more = piece("more.mp4");
    test::append_fragments(place_ + "/more.mp4.part", 2);
    EXPECT_TRUE(take(more).read(more).ok()) << "from its beginning";
    stream::Registry registry;
    RecordRules& rules = *this;
    RecordService service(registry, rules);
    indexes_.tick(service, MonoClock::now());
    EXPECT_EQ(indexes_.size(), 0U) << "none of them grows any more";
    EXPECT_FALSE(service.stop(io::Deadline::after(Seconds(20))));
}

}  // namespace
}  // namespace weir::session
