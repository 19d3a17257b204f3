// In which order requests run.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "unit/engine_samples.h"

namespace wick {
namespace {

using Sample = EngineSample;

class Order {
 public:
  explicit Order(const EngineOptions& options) { (void)sample.engine(options); }

  void submit(const std::string& name, int32_t priority, const std::string& user = {}, int64_t tokens = 3) {
    Request request = Sample::request({static_cast<TokenId>(names_.size()), 1}, tokens);
    request.priority = priority;
    request.user = user;
    names_.push_back(name);
    streams_.push_back(sample.running().submit(std::move(request)));
    answers_.emplace_back();
  }
  void step() {
    (void)sample.running().step();
    for (size_t index = 0; index < streams_.size(); ++index) {
      if (streams_[index].ended() || !answers_[index].take(streams_[index])) continue;
      order += names_[index];
    }
  }
  const std::string& run() {
    while (std::any_of(streams_.begin(), streams_.end(), [](const Stream& stream) { return !stream.ended(); })) step();
    return order;
  }

  Sample sample;
  std::string order;  // of the ends

 private:
  std::vector<std::string> names_;
  std::vector<Stream> streams_;
  std::vector<Answer> answers_;
};

TEST(Scheduler, HigherPrioritiesGoFirstThenWhoCameFirst) {
  Order order({.sequences = 1});
  for (const auto& [name, priority] : std::vector<std::pair<std::string, int32_t>>{{"a", 0}, {"b", 1}, {"c", 0}, {"d", 2}, {"e", 1}}) {
    order.submit(name, priority);
  }
  EXPECT_EQ(order.run(), "dbeac");
}

TEST(Scheduler, AHigherPriorityTakesThePlaceOfALowerOneThatGoesOnLater) {
  Order order({.sequences = 1});
  order.submit("a", 0, "", 5);
  order.step();
  order.submit("b", 1);
  order.submit("c", 0);
  EXPECT_EQ(order.run(), "bac");
  EXPECT_EQ(order.sample.running().metrics().preemptions, 1U);
}

TEST(Scheduler, UsersTakeTurns) {
  Order order({.sequences = 1});
  for (int count = 0; count < 3; ++count) order.submit("a", 0, "alice");
  order.submit("b", 0, "bob");
  order.submit("c", 0, "carol");
  order.submit("b", 0, "bob");
  EXPECT_EQ(order.run(), "abcaba");
}

TEST(Scheduler, WaitingRaisesAPriority) {
  Order order({.sequences = 1, .aging = std::chrono::milliseconds(5)});
  order.submit("a", 0, "", 3);
  order.step();
  order.submit("b", 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  order.submit("c", 1);
  // c may take a's place, whose own priority is lower; b has waited longer than that counts.
  order.submit("d", 0);
  EXPECT_LT(order.run().find('b'), order.order.find('c'));
}

}  // namespace
}  // namespace wick
