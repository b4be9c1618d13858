// Several processes that record into one folder: who has the lock, whose files are whose, and what
// each knows of the others.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/log.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/folder_files.h"
#include "proto/mp4/fragment.h"
#include "session/record/record_folder.h"
#include "session/record/record_service.h"
#include "session/record/vod_pieces.h"
#include "stream/registry.h"

#include "test/support/codec_samples.h"

namespace weir::session {
namespace {

namespace fs = std::filesystem;

constexpr const char* kServer = "one server";

class RecordProcessesTest : public testing::Test, protected RecordRules {
  protected:
    RecordProcessesTest() {
        log::set_sink([](log::Level, std::string_view) {});
        std::string pattern = (fs::temp_directory_path() / "weir-record-XXXXXX").string();
        place_ = ::mkdtemp(pattern.data());
        options_.path = place_;
        options_.section = "v";
        const std::array tracks = {*mp4::make_track(media::Codec::kH264, test::kAvcHighConfig, {})};
        mp4::write_header(tracks, header_, mp4::Length::kFilledIn);
    }

    ~RecordProcessesTest() override {
        if (service_) {
            EXPECT_FALSE(service_->stop(io::Deadline::after(Seconds(20))));
            service_.reset();
        }
        fs::remove_all(place_);
    }

    RecordOptions record_options(const stream::StreamKey&) const override { return options_; }

    uint64_t min_free_of(const std::string&) const override { return min_free_; }

    void on_recorded(const RecordedFile& file) override { told_.push_back(file.file); }

    bool records_here(const stream::StreamKey&) const override { return false; }

    static io::FolderSeat seat(uint32_t index, uint32_t count = 2, std::string server = kServer) {
        return {index, count, std::move(server)};
    }

    std::unique_ptr<RecordFolder> open(const io::FolderSeat& seat) const {
        auto folder = std::make_unique<RecordFolder>(place_, seat);
        const auto opened = folder->open();
        EXPECT_TRUE(opened.ok()) << opened.error().message();
        return folder;
    }

    // A file of two fragments that grows.
    std::unique_ptr<GrowingFile> grow(RecordFolder& folder, std::string name = "live/cam") const {
        FileOrder order;
        order.key = {"v", "live", "cam"};
        order.name = std::move(name);
        order.section = "v";
        order.started_ms = wall_time_ms();
        auto made = folder.create(order);
        EXPECT_TRUE(made.ok()) << made.error().message();
        WEIR_CHECK(made.ok());  // nothing goes on without it
        EXPECT_FALSE((*made)->append(header_));
        for (uint32_t i = 0; i < 2; i++) {
            const Bytes data = {0, 0, 0, 2, 0x65, 0x88};
            const std::array<mp4::SampleView, 1> samples = {
                mp4::SampleView{.data = data, .duration = 3600}};
            const std::array runs = {
                mp4::RunView{.video = true, .decode_time = 3600u * i, .samples = samples}};
            Bytes out;
            mp4::write_fragment(i + 1, runs, out);
            EXPECT_FALSE((*made)->append(out));
        }
        return std::move(*made);
    }

    // Finished, of both processes one in turn; each is a little newer than the one before.
    void finish(RecordFolder& folder, const std::string& name) const {
        const auto done = grow(folder, name)->finish("unpublish", 0);
        ASSERT_TRUE(done.ok()) << done.error().message();
        ASSERT_EQ(done->file, name + ".mp4");
        const int64_t now = wall_time_ms();
        while (wall_time_ms() == now) {
        }
    }

    // Of that process, as a server has it.
    RecordService& serve(const io::FolderSeat& seat) {
        RecordRules& rules = *this;
        service_ = std::make_unique<RecordService>(
            registry_, rules,
            [seat](const std::string& path) { return std::make_unique<RecordFolder>(path, seat); });
        service_->use_folder(place_);
        look_around();
        return *service_;
    }

    // However long the disk takes: a call gives up after kLookWait.
    void look_around() {
        const auto deadline = io::Deadline::after(Seconds(30));
        MonoTime began;
        do {
            began = MonoClock::now();
            service_->look_around();
        } while (MonoClock::now() - began >= RecordService::kLookWait && !deadline.passed());
    }

    const RecordStore& store() const {
        const RecordStore* found = nullptr;
        service_->for_each_store([&](const RecordStore& each) { found = &each; });
        return *found;
    }

    template <typename Condition>
    void wait_until(Condition&& condition) {
        const auto deadline = io::Deadline::after(Seconds(20));
        while (!condition() && !deadline.passed()) {
            ASSERT_FALSE(io::sleep_for(Millis(2)));
        }
        EXPECT_TRUE(condition());
    }

    bool has(const std::string& file) const { return fs::exists(fs::path(place_) / file); }

    uint64_t size_of(const std::string& file) const {
        return fs::file_size(fs::path(place_) / file);
    }

    std::string place_;
    Bytes header_;
    RecordOptions options_;
    uint64_t min_free_ = 0;
    std::vector<std::string> told_;
    stream::Registry registry_;
    std::unique_ptr<RecordService> service_;
};

// ---- who may ----

TEST_F(RecordProcessesTest, TheProcessesOfOneServerHaveTheFolderTogether) {
    const auto first = open(seat(0));
    const auto second = open(seat(1));
    RecordFolder again(place_, seat(1));
    EXPECT_EQ(again.open().error().code(), ErrorCode::kBusy) << "by another spelling of its name";
    for (const io::FolderSeat& other : {seat(2, 4, "another server"), io::FolderSeat()}) {
        RecordFolder theirs(place_, other);
        EXPECT_EQ(theirs.open().error().code(), ErrorCode::kBusy) << other.server;
    }
}

TEST_F(RecordProcessesTest, TheLockStaysAsLongAsOneProcessIsThere) {
    auto first = open(seat(0));
    const auto second = open(seat(1));
    first.reset();  // it has died
    RecordFolder other(place_, io::FolderSeat{});
    EXPECT_EQ(other.open().error().code(), ErrorCode::kBusy);
    first = open(seat(0));
}

TEST_F(RecordProcessesTest, TheNextServerGetsTheFolder) {
    (void)open(seat(0));
    (void)open(seat(0, 2, "another server"));
    (void)open(io::FolderSeat{});
    const auto third = open(seat(1, 2, "a third one"));
    RecordFolder earlier(place_, seat(0));
    EXPECT_FALSE(earlier.open().ok());
}

TEST_F(RecordProcessesTest, AServerOfOneProcessKeepsThoseOfManyOut) {
    const auto alone = open(io::FolderSeat{});
    RecordFolder many(place_, seat(1));
    EXPECT_EQ(many.open().error().code(), ErrorCode::kBusy);
}

// ---- whose files ----

TEST_F(RecordProcessesTest, AProcessRepairsItsOwnFilesOnly) {
    auto first = open(seat(0));
    auto second = open(seat(1));
    (void)grow(*first, "live/a");  // dies
    const auto living = grow(*second, "live/b");
    first.reset();
    const uint64_t before = size_of("live/b.mp4.part");
    RecordFolder again(place_, seat(0));
    const auto found = again.open();
    ASSERT_TRUE(found.ok());
    ASSERT_EQ(found->size(), 1U);
    EXPECT_EQ(found->front().file, "live/a.mp4");
    EXPECT_TRUE(found->front().repaired);
    EXPECT_EQ(size_of("live/b.mp4.part"), before);
    const auto done = living->finish("unpublish", 0);
    ASSERT_TRUE(done.ok());
    EXPECT_EQ(done->frames, 2U);
}

TEST_F(RecordProcessesTest, TheSameNameIsNumberedOverAllProcesses) {
    const auto first = open(seat(0));
    const auto second = open(seat(1));
    auto a = grow(*first);
    auto b = grow(*second);
    EXPECT_EQ(b->name(), "live/cam-2.mp4.part");
    ASSERT_TRUE(a->finish("unpublish", 0).ok());
    EXPECT_EQ(grow(*second)->name(), "live/cam-3.mp4.part");
    ASSERT_TRUE(b->finish("unpublish", 0).ok());
    EXPECT_TRUE(has("live/cam.mp4") && has("live/cam-2.mp4"));
}

TEST_F(RecordProcessesTest, FewerProcessesTakeOverWhatTheOthersHad) {
    {
        const auto first = open(seat(0, 3));
        const auto second = open(seat(1, 3));
        const auto third = open(seat(2, 3));
        finish(*first, "live/a");
        finish(*third, "live/c");
        (void)grow(*second, "live/b");
        (void)grow(*third, "live/d");
    }
    {
        RecordFolder second(place_, seat(1));
        EXPECT_EQ(second.open()->size(), 1U) << "its own";
        RecordFolder first(place_, seat(0));
        EXPECT_EQ(first.open()->size(), 3U) << "its own, and those of the third";
        EXPECT_FALSE(has(journal_name(2)));
    }
    RecordFolder alone(place_);
    EXPECT_EQ(alone.open()->size(), 4U);
    EXPECT_FALSE(has(journal_name(1)));
    EXPECT_EQ(alone.open()->size(), 4U) << "they are in its journal now";
}

TEST_F(RecordProcessesTest, AFolderThatAnotherProcessRemovesIsMadeAgain) {
    const auto first = open(seat(0));
    const auto second = open(seat(1));
    const auto come_and_go = [this](RecordFolder& folder, const std::string& name) {
        for (int i = 0; i < 300; i++) {
            const auto done = grow(folder, name)->finish("unpublish", 0);
            ASSERT_TRUE(done.ok()) << done.error().message();
            ASSERT_FALSE(folder.remove(done->file));
        }
    };
    std::thread other([&] { come_and_go(*second, "live/cam/b"); });
    come_and_go(*first, "live/cam/a");
    other.join();
    EXPECT_FALSE(has("live"));
}

// ---- what each knows of the others ----

TEST_F(RecordProcessesTest, FilesOfOthersAreFoundAndPlayedWhileTheyGrowAndAfterwards) {
    const auto other = open(seat(1));
    finish(*other, "live/before");
    RecordService& service = serve(seat(0));
    EXPECT_NE(service.find_file_named("live/before.mp4"), nullptr);

    auto growing = grow(*other);
    EXPECT_TRUE(is_news_due(find_vod_file(service, "live/cam.mp4")));
    look_around();
    auto piece = find_vod_file(service, "live/cam.mp4");
    ASSERT_TRUE(piece && piece->grows);
    EXPECT_EQ(read_vod_index(*piece)->spans.size(), 2U);
    EXPECT_TRUE(vod_file_grows(service, piece->file));
    EXPECT_EQ(find_vod_span(service, {"v", "live", "cam"}, {})->size(), 2U);

    ASSERT_TRUE(growing->finish("unpublish", 0).ok());
    EXPECT_TRUE(read_vod_index(*piece).ok()) << "by its new name, before it is known";
    look_around();
    piece = find_vod_file(service, "live/cam.mp4");
    ASSERT_TRUE(piece && !piece->grows);
    EXPECT_FALSE(vod_file_grows(service, piece->file));
    EXPECT_EQ(piece->file.frames, 2U);
    EXPECT_EQ(piece->file.elsewhere, 1U);

    ASSERT_FALSE(other->remove("live/cam.mp4"));
    look_around();
    EXPECT_FALSE(find_vod_file(service, "live/cam.mp4"));
}

TEST_F(RecordProcessesTest, OnlyTheProcessThatRecordedAFileListsAndRemovesIt) {
    const auto other = open(seat(1));
    finish(*other, "live/cam");
    RecordService& service = serve(seat(0));
    const RecordedFile* const file = service.find_file_named("live/cam.mp4");
    ASSERT_NE(file, nullptr);
    const std::string id = RecordService::file_id(*file);
    EXPECT_EQ(service.find_file(id), nullptr);
    EXPECT_EQ(service.remove(id).code(), ErrorCode::kNotFound);
    EXPECT_EQ(store().own_files(), 0U);
    EXPECT_TRUE(has("live/cam.mp4"));
    EXPECT_TRUE(told_.empty());
}

TEST_F(RecordProcessesTest, AProcessThatBeganAnewSaysAllAgain) {
    auto other = open(seat(1));
    finish(*other, "live/a");
    finish(*other, "live/b");
    (void)grow(*other, "live/c");
    RecordService& service = serve(seat(0));
    EXPECT_EQ(store().files().size(), 2U);
    EXPECT_EQ(store().growing_elsewhere().size(), 1U);
    other.reset();
    fs::remove(fs::path(place_) / "live/a.mp4");
    other = open(seat(1));
    look_around();
    EXPECT_EQ(service.find_file_named("live/a.mp4"), nullptr);
    ASSERT_NE(service.find_file_named("live/c.mp4"), nullptr);
    EXPECT_TRUE(service.find_file_named("live/c.mp4")->repaired);
    EXPECT_TRUE(store().growing_elsewhere().empty());
}

TEST_F(RecordProcessesTest, AJournalIsReadInPieces) {
    {
        std::ofstream journal(fs::path(place_) / journal_name(1));
        for (int i = 0; i < 20'000; i++) {
            journal << "begin\tlive/" << i << ".mp4\tv\tlive\tcam\tmp4\tv\t1\n"
                    << "end\tlive/" << i << ".mp4\t" << i + 2 << "\t40\t100\t1\t0\tunpublish\n";
        }
        journal << "begin\tlive/half";
    }
    serve(seat(0));
    EXPECT_EQ(store().files().size(), 20'000U);
    EXPECT_TRUE(store().growing_elsewhere().empty());
    std::ofstream(fs::path(place_) / journal_name(1), std::ios::app)
        << ".mp4\tv\tlive\tcam\tmp4\tv\t1\n";
    look_around();
    EXPECT_TRUE(store().growing_elsewhere().contains("live/half.mp4"));
}

TEST_F(RecordProcessesTest, AJournalOfGarbageHarmsNothing) {
    std::ofstream(fs::path(place_) / journal_name(1))
        << std::string(RecordSiblings::kBytesAtOnce + 10, 'x')
        << "\nend\tnone\t1\t2\t3\t4\t0\twhy\n"
        << "gone\tnone\n\n\t\nbegin\tlive/a.mp4\tv\tlive\tcam\tmp4\tv\t1\n";
    serve(seat(0));
    EXPECT_TRUE(store().files().empty());
    EXPECT_EQ(store().growing_elsewhere().size(), 1U);
}

// ---- what has to go ----

class RecordProcessesKeepTest : public RecordProcessesTest {
  protected:
    // The odd ones are of the process that serves, the others of another one.
    void have_files() {
        {
            const auto own = open(seat(0));
            const auto other = open(seat(1));
            for (int i = 0; i < 6; i++) {
                finish(i % 2 == 1 ? *own : *other, "live/" + std::to_string(i));
            }
        }
        other_ = open(seat(1));
        size_ = size_of("live/0.mp4");
    }

    std::vector<std::string> left() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(fs::path(place_) / "live")) {
            names.push_back(entry.path().stem().string());
        }
        std::ranges::sort(names);
        return names;
    }

    std::unique_ptr<RecordFolder> other_;
    uint64_t size_ = 0;
};

TEST_F(RecordProcessesKeepTest, TheOldestOfAllProcessesGoEachByItsOwn) {
    have_files();
    options_.keep_bytes = 3 * size_;  // 0, 1 and 2 are too much
    RecordService& service = serve(seat(0));
    service.tick();
    wait_until([&] { return service.stats().removed == 1; });
    service.tick();
    look_around();
    EXPECT_THAT(left(), testing::ElementsAre("0", "2", "3", "4", "5"));
    // The other one does the same.
    service_.reset();
    other_.reset();
    RecordService& theirs = serve(seat(1));
    theirs.tick();
    wait_until([&] { return theirs.stats().removed == 2; });
    EXPECT_THAT(left(), testing::ElementsAre("3", "4", "5"));
}

TEST_F(RecordProcessesKeepTest, NothingOfOneGoesWhereTheOthersAreOlder) {
    have_files();
    options_.keep_bytes = 5 * size_;
    RecordService& service = serve(seat(0));
    for (int i = 0; i < 3; i++) {
        service.tick();
        look_around();
        wait_until([&] { return store().free_bytes() > 0; });
    }
    EXPECT_EQ(service.stats().removed, 0U);
    EXPECT_EQ(left().size(), 6U);
}

TEST_F(RecordProcessesKeepTest, WhereTheDiskIsFullAllGoAndNoFileThatGrows) {
    have_files();
    const auto growing = grow(*other_, "live/x");
    min_free_ = UINT64_MAX / 2;
    RecordService& service = serve(seat(0));
    service.tick();
    wait_until([&] { return service.stats().removed == 3 && store().is_short_of_space(); });
    EXPECT_THAT(left(), testing::ElementsAre("0", "2", "4", "x.mp4"));
}

// ---- by the API ----

TEST_F(RecordProcessesTest, AnOrderIsNotedWhereAnotherProcessHasTheStream) {
    RecordService& service = serve(seat(0));
    EXPECT_FALSE(service.start({"v", "live", "cam"}));
    EXPECT_EQ(service.recording(), 0U);
    EXPECT_FALSE(service.stop_recording(stream::StreamKey{"v", "live", "cam"}));
}

}  // namespace
}  // namespace weir::session
