// A KvPool under random operations, against a list of texts.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <span>
#include <vector>

#include "unit/kv_pool_texts.h"
#include "wick/base/error.h"

namespace wick {
namespace {

struct Trial {
  const char* name;
  KvLayout layout;
  bool keep_prefixes;
};

class RandomOperations {
 public:
  RandomOperations(const Trial& trial, unsigned seed)
      : random_(seed), pool_(Device::cpu(), trial.layout, options_for(trial.layout, kContext, 3, 4, trial.keep_prefixes)) {}

  // Returns how many tokens of prompts were found in the pool.
  int64_t run(int operations) {
    for (int index = 0; index < operations && !testing::Test::HasFatalFailure(); ++index) {
      SCOPED_TRACE(testing::Message() << "operation " << index);
      one();
      check();
    }
    for (const auto& [handle, text] : live_) pool_.free(handle);
    for (int64_t group = 0; group < pool_.groups(); ++group) EXPECT_EQ(pool_.usage(group).used, 0);
    pool_.forget_prefixes();
    for (int64_t group = 0; group < pool_.groups(); ++group) EXPECT_EQ(pool_.usage(group).kept, 0);
    if (!pool_.layout().states.empty()) {
      EXPECT_EQ(pool_.state_usage().used, 1);
    }
    EXPECT_EQ(pool_.live_sequences(), 0);
    EXPECT_GT(full_, 0);
    return pool_.prefix_tokens_found();
  }

 private:
  static constexpr int64_t kContext = 48;
  struct Live {
    SequenceHandle handle;
    std::vector<int32_t> text;
  };

  size_t below(size_t count) { return random_() % count; }
  std::vector<int32_t> some_tokens(size_t most) {
    std::vector<int32_t> tokens(1 + below(most));
    // Few different ones, so that texts begin alike.
    for (int32_t& token : tokens) token = below(8) == 0 ? 1 : 0;
    return tokens;
  }

  void one() {
    const size_t choice = below(20);
    if (live_.empty() || choice == 0) return live_.push_back({pool_.create(), {}});
    if (choice == 1) return from_prefix();
    if (choice == 2) return live_.push_back({pool_.fork(some().handle), some_text_});
    if (choice <= 4) return release();
    if (choice <= 6) return truncate();
    if (choice == 7) return save_and_restore();
    if (choice == 8) return misuse();
    step();
  }

  Live& some() {
    Live& one = live_[below(live_.size())];
    some_text_ = one.text;
    return one;
  }

  void from_prefix() {
    const std::vector<int32_t> prompt = some_tokens(30);
    const SequenceHandle handle = pool_.create_from_prefix(prompt);
    const int64_t found = pool_.length(handle);
    ASSERT_LE(found, std::ssize(prompt));
    if (!pool_.layout().states.empty()) {
      ASSERT_EQ(found % 4, 0);
    }
    live_.push_back({handle, {prompt.begin(), prompt.begin() + found}});
  }

  void release() {
    const size_t index = below(live_.size());
    freed_ = live_[index].handle;
    pool_.free(*freed_);
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  void truncate() {
    Live& one = some();
    const auto length = static_cast<int64_t>(below(one.text.size() + 1));
    const int64_t restored = pool_.truncate(one.handle, length);
    ASSERT_GE(restored, 0);
    ASSERT_LE(restored, length);
    const bool all_kept = pool_.groups() == 1 && pool_.layout().states.empty();
    if (all_kept || length == std::ssize(one.text)) {
      ASSERT_EQ(restored, length);
    }
    one.text.resize(static_cast<size_t>(restored));
  }

  void save_and_restore() {
    const Live& one = some();
    try {
      live_.push_back({pool_.restore(pool_.save(one.handle)), some_text_});
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::out_of_memory);
    }
  }

  // A batch with one mistake in it.
  void misuse() {
    Batch batch;
    const Live& one = some();
    batch.add(one.handle, std::ssize(one.text), numbered(1), Batch::Results::last);
    const size_t mistake = below(4);
    if (mistake == 0) batch.add(one.handle, std::ssize(one.text), numbered(1), Batch::Results::last);
    if (mistake == 1) batch.positions[0] += 1 + static_cast<int32_t>(below(3));
    if (mistake == 2) batch.add(freed_.value_or(SequenceHandle{1U << 31, 0, 0}), 0, numbered(1), Batch::Results::last);
    if (mistake == 3) batch.add({}, 0, numbered(kContext + 1), Batch::Results::last);
    EXPECT_THROW((void)pool_.begin(batch), Error);
  }

  void step() {
    Batch batch;
    std::vector<std::vector<int32_t>> texts;
    std::vector<Live*> in;
    for (Live& one : live_) {
      if (below(2) == 0) continue;
      const std::vector<int32_t> more = some_tokens(below(4) == 0 ? 12 : 2);
      if (std::ssize(one.text) + std::ssize(more) > kContext) continue;
      batch.add(one.handle, std::ssize(one.text), more, Batch::Results::last);
      texts.push_back(one.text);
      texts.back().insert(texts.back().end(), more.begin(), more.end());
      in.push_back(&one);
    }
    if (below(6) == 0) {
      texts.push_back(some_tokens(9));
      batch.add({}, 0, texts.back(), Batch::Results::all);
    }
    if (batch.sequences.empty()) return;
    const auto most = static_cast<int64_t>(1 + below(20));
    const int give_up = below(4) == 0 ? static_cast<int>(below(3)) : -1;
    const auto parts = static_cast<int>((batch.rows() + most - 1) / most);
    const bool is_tentative = below(3) == 0;
    for (SequenceSlice& slice : batch.sequences) slice.is_tentative = is_tentative;
    try {
      append(pool_, batch, texts, most, give_up);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::out_of_memory) << error.what();
      ++full_;
      expect_no_trace(in, most < batch.rows());
      if (below(2) == 0 && !live_.empty()) release();
      return;
    }
    if (give_up >= 0 && give_up < parts) return expect_no_trace(in, true);
    for (size_t index = 0; index < in.size(); ++index) {
      const int64_t before = std::ssize(in[index]->text);
      in[index]->text = texts[index];
      if (is_tentative && below(4) > 0) decide(*in[index], before);
    }
  }

  // Some of the rows that came after `before` are wrong, or none.
  void decide(Live& one, int64_t before) {
    const int64_t rows = std::ssize(one.text) - before;
    const int64_t length = before + (below(2) == 0 ? rows : static_cast<int64_t>(below(static_cast<size_t>(rows) + 1)));
    const int64_t restored = pool_.truncate(one.handle, length);
    ASSERT_LE(restored, length);
    // Windows may have passed what they were in need of room for.
    const bool all_kept = pool_.groups() == 1;
    if (all_kept || length == std::ssize(one.text)) {
      ASSERT_GE(restored, pool_.layout().states.empty() ? length : before);
    }
    one.text.resize(static_cast<size_t>(restored));
  }

  // After a step that was given up. In several parts it may have needed the room of what a window passed: then the sequence is empty.
  void expect_no_trace(std::span<Live* const> in, bool in_parts) {
    for (Live* one : in) {
      const bool is_lost = pool_.length(one->handle) == 0 && in_parts && pool_.groups() > 1;
      if (is_lost) one->text.clear();
    }
  }

  void check() {
    ASSERT_EQ(pool_.live_sequences(), std::ssize(live_));
    for (const Live& one : live_) expect_contents(pool_, one.handle, one.text);
    for (int64_t group = 0; group < pool_.groups(); ++group) {
      const KvPool::Usage usage = pool_.usage(group);
      int64_t most = 0;
      for (const Live& one : live_) most += (std::ssize(one.text) + 3) / 4;
      ASSERT_LE(usage.used, most);
      ASSERT_LE(usage.used + usage.kept, usage.blocks);
    }
  }

  std::mt19937 random_;
  KvPool pool_;
  std::vector<Live> live_;
  std::vector<int32_t> some_text_;
  std::optional<SequenceHandle> freed_;
  int full_ = 0;
};

TEST(KvPool, RandomOperationsLeaveEachSequenceItsOwnTextAndLeakNothing) {
  const KvLayout mixed{
      .model = "m", .layers = {layer(kFull, 2), layer(window(5), 1, 2, 1), layer(kFull, 1, 3, 0), layer(chunk(6))}, .states = {}};
  KvLayout recurrent = mixed;
  recurrent.states = {2};
  KvLayout plain_recurrent = kPlain;
  plain_recurrent.states = {2};
  const Trial trials[] = {{"plain recurrent", plain_recurrent, false},
                          {"plain recurrent, kept", plain_recurrent, true},
                          {"plain", kPlain, false},
                          {"plain, kept", kPlain, true},
                          {"mixed", mixed, false},
                          {"mixed, kept", mixed, true},
                          {"recurrent", recurrent, false},
                          {"recurrent, kept", recurrent, true}};
  for (const Trial& trial : trials) {
    int64_t found = 0;
    for (const unsigned seed : {1U, 2U, 3U}) {
      SCOPED_TRACE(testing::Message() << trial.name << " seed " << seed);
      found += RandomOperations(trial, seed).run(400);
      if (HasFatalFailure()) return;
    }
    EXPECT_EQ(found > 0, trial.keep_prefixes) << trial.name;
  }
}

}  // namespace
}  // namespace wick
