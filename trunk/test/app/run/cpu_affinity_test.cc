#include "app/run/cpu_affinity.h"

#include <thread>

#include <gtest/gtest.h>

namespace weir::app {
namespace {

config::Config config_of(std::string_view text) {
    config::ParseOutcome outcome = config::parse_config(text, "c/f");
    EXPECT_TRUE(outcome.ok()) << to_string(outcome.errors);
    return outcome.ok() ? *outcome.config : config::Config{};
}

// On a thread of its own: what it does to its cores ends with it.
template <typename Body>
void on_a_thread(Body body) {
    std::thread(body).join();
}

TEST(CpuAffinityTest, WritesCoresAsOneDoes) {
    EXPECT_EQ(core_list_text({}), "none");
    EXPECT_EQ(core_list_text({3}), "3");
    EXPECT_EQ(core_list_text({0, 1}), "0-1");
    EXPECT_EQ(core_list_text({0, 1, 2, 4, 6, 7}), "0-2,4,6-7");
}

TEST(CpuAffinityTest, NamesEachWordWithACoreThatIsNotThere) {
    config::Config config = config_of("cpu_affinity 0 2-9;\nworker_cpu_affinity 1 7 1-2;\n");
    EXPECT_EQ(to_string(missing_cores(config, {0, 1, 2})),
              "c/f:1:16: found core 3, which is not there for this process; expected cores of "
              "0-2\n"
              "c/f:2:23: found core 7, which is not there for this process; expected cores of "
              "0-2\n");
    EXPECT_TRUE(missing_cores(config, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}).empty());
}

TEST(CpuAffinityTest, AsksForNothingWithoutTheDirectives) {
    EXPECT_TRUE(missing_cores(config_of(""), {}).empty());
    EXPECT_TRUE(missing_cores(config_of("")).empty());
}

TEST(CpuAffinityTest, LookingForCoresLeavesTheThreadWhereItWas) {
    on_a_thread([] {
        const CoreNumbers all = available_cores();
        ASSERT_FALSE(all.empty());
        ASSERT_FALSE(run_on_cores({all.back()}));
        EXPECT_EQ(available_cores(), all);
        EXPECT_EQ(current_cores(), CoreNumbers{all.back()});
    });
}

TEST(CpuAffinityTest, AThreadStartsWithTheCoresOfItsMaker) {
    on_a_thread([] {
        const CoreNumbers all = available_cores();
        ASSERT_FALSE(all.empty());
        ASSERT_FALSE(run_on_cores({all.front()}));
        CoreNumbers of_child;
        std::thread([&] { of_child = current_cores(); }).join();
        EXPECT_EQ(of_child, CoreNumbers{all.front()});
    });
}

TEST(CpuAffinityTest, AThreadCanBePutBackOnItsCores) {
    on_a_thread([] {
        const CoreNumbers before = current_cores();
        const Result<cpu_set_t> mask = core_mask();
        ASSERT_TRUE(mask.ok());
        ASSERT_FALSE(run_on_cores({before.front()}));
        EXPECT_FALSE(put_back(*mask));
        EXPECT_EQ(current_cores(), before);
    });
}

TEST(CpuAffinityTest, ACoreThatIsNotThereIsRefused) {
    on_a_thread([] {
        const CoreNumbers before = current_cores();
        Error error = run_on_cores({config::kMaxCore});
        if (available_cores().back() != config::kMaxCore) {
            EXPECT_EQ(error.code(), ErrorCode::kSystem);
            EXPECT_EQ(current_cores(), before);
        }
    });
}

TEST(CpuAffinityTest, AnEmptyListChangesNothing) {
    on_a_thread([] {
        const CoreNumbers before = current_cores();
        EXPECT_FALSE(run_on_cores({}));
        EXPECT_EQ(current_cores(), before);
    });
}

}  // namespace
}  // namespace weir::app
