#include <gmock/gmock.h>

#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "nn_values.h"
#include "wick/base/error.h"
#include "wick/nn/batch_norm.h"
#include "wick/nn/dropout.h"
#include "wick/nn/gradient_clipping.h"
#include "wick/nn/init.h"
#include "wick/nn/linear.h"
#include "wick/nn/loss.h"
#include "wick/nn/optimizer.h"
#include "wick/nn/schedule.h"
#include "wick/nn/var_builder.h"
#include "wick/nn/var_map.h"
#include "wick/tensor/checkpoint.h"

namespace wick::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

void expect_rates(const Schedule& schedule, const char* name) {
  const auto expected = nn_values()["schedules"][name].get<std::vector<double>>();
  for (size_t step = 0; step < expected.size(); ++step) EXPECT_NEAR(schedule(static_cast<int64_t>(step)), expected[step], 1e-12) << step;
}

TEST(Schedule, RatesAreThoseOfPyTorch) {
  expect_rates(schedule::step(0.5, 3, 0.25), "step");
  expect_rates(schedule::exponential(0.5, 0.8), "exponential");
  expect_rates(schedule::cosine(0.5, 8, 0.05), "cosine");
  expect_rates(schedule::linear_warm_up(4, schedule::constant(0.5), 0.25), "warm_up");
  expect_rates(schedule::one_cycle(0.5, 20), "one_cycle");
  EXPECT_EQ(schedule::cosine(0.5, 8, 0.05)(100), 0.05);
}

TEST(GradientClipping, ByNormAgreesWithPyTorch) {
  const nlohmann::json& values = nn_values()["clipping"];
  const Var a = Var::of<double>({3, -4}, Device::cpu());
  const Var b = Var::of<double>({12}, Device::cpu());
  const std::vector<Var> vars = {a, b};
  GradStore gradients = backward(a->sqr().sum_all() + b->sqr().sum_all());
  EXPECT_NEAR(clip_gradients_by_norm(gradients, vars, 2), values["norm"].get<double>(), 1e-12);
  EXPECT_NEAR(gradients.get(a)->to_vector<double>()[1], values["a"][1].get<double>(), 1e-12);
  EXPECT_NEAR(gradients.get(b)->to_vector<double>()[0], values["b"][0].get<double>(), 1e-12);
}

TEST(GradientClipping, ByValueHoldsEachElement) {
  const Var a = Var::of<double>({3, -4, 0.25}, Device::cpu());
  GradStore gradients = backward(a->sqr().sum_all());
  clip_gradients_by_value(gradients, std::vector<Var>{a}, 1);
  EXPECT_THAT(gradients.get(a)->to_vector<double>(), ElementsAre(1, -1, 0.5));
}

TEST(Optimizer, RefusesWhatPyTorchRefuses) {
  EXPECT_THAT([] { Sgd({}, SgdConfig{.nesterov = true}); }, ThrowsMessage<Error>(HasSubstr("Nesterov")));
  EXPECT_THAT([] { Sgd({}, -1); }, ThrowsMessage<Error>(HasSubstr("learning rate is -1; allowed: 0 or more")));
  EXPECT_THAT([] { AdamW({}, AdamConfig{.beta1 = 1}); }, ThrowsMessage<Error>(HasSubstr("beta1 is 1; allowed: from 0 to below 1")));
}

// One step on the sum of squares of every variable.
void take_step(Optimizer& optimizer) {
  Tensor loss = Tensor::zeros({}, DType::f64, Device::cpu());
  for (const Var& var : optimizer.vars()) loss = loss + var->sqr().sum_all();
  optimizer.backward_step(loss);
}

template <class Made>
void expect_resumes(const Made& make) {
  const Var a = Var::of<double>({3, -4}, Device::cpu());
  const std::unique_ptr<Optimizer> first = make(a);
  for (int step = 0; step < 3; ++step) take_step(*first);
  const Var b = Var::from_tensor(a->copy());
  const std::unique_ptr<Optimizer> second = make(b);
  second->load_state(first->state());
  for (int step = 0; step < 3; ++step) {
    take_step(*first);
    take_step(*second);
  }
  EXPECT_EQ(a->to_vector<double>(), b->to_vector<double>());
}

TEST(Optimizer, ResumesFromItsState) {
  expect_resumes([](const Var& var) { return std::make_unique<Sgd>(std::vector{var}, SgdConfig{.learning_rate = 0.1, .momentum = 0.9}); });
  expect_resumes([](const Var& var) { return std::make_unique<Adam>(std::vector{var}, AdamConfig{.learning_rate = 0.1}); });
  expect_resumes([](const Var& var) { return std::make_unique<AdamW>(std::vector{var}, 0.1); });
}

TEST(Optimizer, GroupsHaveSettingsOfTheirOwn) {
  const Var a = Var::of<double>({1}, Device::cpu());
  const Var b = Var::of<double>({1}, Device::cpu());
  Sgd optimizer({a}, 0.25);
  EXPECT_EQ(optimizer.add_group({b}, SgdConfig{.learning_rate = 0.125, .weight_decay = 2}), 1U);
  take_step(optimizer);
  EXPECT_EQ(a->item(), 1 - 0.25 * 2);
  EXPECT_EQ(b->item(), 1 - 0.125 * (2 + 2));
  optimizer.set_learning_rate(1, 0);
  take_step(optimizer);
  EXPECT_EQ(a->item(), 0.25);
  EXPECT_EQ(b->item(), 0.5);
  EXPECT_THAT([&] { optimizer.add_group({a}, {}); }, ThrowsMessage<Error>(HasSubstr("variable 0 of the new group is in another group")));
  EXPECT_THAT([&] { optimizer.set_learning_rate(2, 0.1); }, ThrowsMessage<Error>(HasSubstr("group 2: there are 2")));
}

// Steps of 2⁻¹⁰ from 1 on, in bf16, which has no number between 1 and 1 - 2⁻⁸.
void take_small_step(Optimizer& optimizer) { optimizer.backward_step(optimizer.vars()[0]->to_dtype(DType::f32).sum_all()); }

TEST(Optimizer, MasterWeightsKeepStepsThatBf16CannotHold) {
  constexpr double kStep = 1.0 / 1024;
  const auto one = [] { return Var::from_tensor(Tensor::ones({1}, DType::bf16, Device::cpu())); };
  const Var rounded = one(), kept = one(), resumed = one();
  Sgd without({rounded}, kStep), with({kept}, kStep), second({resumed}, kStep);
  with.keep_master_weights();
  second.keep_master_weights();
  for (int step = 0; step < 16; ++step) take_small_step(without), take_small_step(with);
  EXPECT_EQ(rounded->to_dtype(DType::f32).item(), 1);
  EXPECT_EQ(kept->to_dtype(DType::f32).item(), 1 - 16 * kStep);
  take_small_step(with);  // 1 - 17 · 2⁻¹⁰ is no bf16
  const NamedTensors state = with.state();
  EXPECT_EQ(state.at("0.master").to_vector<float>()[0], 1 - 17 * kStep);

  resumed.set(kept->copy());
  second.load_state(state);
  for (int step = 0; step < 3; ++step) take_small_step(with), take_small_step(second);
  EXPECT_EQ(kept->to_dtype(DType::f32).item(), 1 - 20 * kStep);
  EXPECT_EQ(resumed->to_dtype(DType::f32).item(), 1 - 20 * kStep);

  // A variable that was set counts as it is.
  kept.set(Tensor::full({1}, 2, DType::bf16, Device::cpu()));
  take_small_step(with);
  EXPECT_EQ(with.state().at("0.master").to_vector<float>()[0], 2 - kStep);
}

TEST(Optimizer, RefusesAStateThatIsNotItsOwn) {
  const Var a = Var::of<double>({3, -4}, Device::cpu());
  Adam optimizer({a}, AdamConfig{});
  take_step(optimizer);
  const NamedTensors before = optimizer.state();
  NamedTensors state = before;
  state.erase("0.square");
  EXPECT_THAT([&] { optimizer.load_state(state); }, ThrowsMessage<Error>(HasSubstr("load_state: '0.square' is missing")));
  state.emplace("0.square", Tensor::zeros({3}, DType::f64, Device::cpu()));
  EXPECT_THAT([&] { optimizer.load_state(state); }, ThrowsMessage<Error>(HasSubstr("'0.square' is [3], not [2]")));
  EXPECT_THAT([&] { optimizer.load_state({{"1.mean", a->copy()}}); },
              ThrowsMessage<Error>(HasSubstr("'1.mean' is not of this optimizer, which has 1 variables")));
  EXPECT_EQ(optimizer.state().at("0.mean").to_vector<double>(), before.at("0.mean").to_vector<double>());
}

TEST(Checkpoint, GradientsAreThoseOfTheFunctionWhichRunsTwice) {
  const Var x = Var::of<double>({0.5, -1.25, 2}, Device::cpu());
  const Var w = Var::of<double>({3, 1, -2}, Device::cpu());
  int runs = 0;
  const auto function = [&](std::span<const Tensor> inputs) {
    ++runs;
    return (inputs[0] * w.tensor()).exp().sum_all();
  };
  const std::vector<Tensor> inputs{x.tensor()};
  const Tensor loss = checkpoint(function, inputs);
  EXPECT_EQ(runs, 1);
  const GradStore gradients = backward(loss);
  EXPECT_EQ(runs, 2);
  const GradStore expected = backward(function(inputs));
  EXPECT_EQ(loss.item(), function(inputs).item());
  for (const Var* var : {&x, &w}) EXPECT_EQ(gradients.get(*var)->to_vector<double>(), expected.get(*var)->to_vector<double>());
}

TEST(Checkpoint, DropsTheSameElementsInBothRuns) {
  const Var x = Var::from_tensor(Tensor::ones({4096}, DType::f32, Device::cpu()));
  const Tensor made = checkpoint([](std::span<const Tensor> inputs) { return dropout(inputs[0], 0.5); }, {x.tensor()});
  const std::vector<float> kept = made.to_vector<float>();  // 0 or 2, which is the gradient
  EXPECT_EQ(backward(made.sum_all()).get(x)->to_vector<float>(), kept);
  EXPECT_THAT(kept, testing::AllOf(testing::Contains(0), testing::Contains(2)));
}

TEST(Checkpoint, RefusesGradientsOfGradients) {
  const Var x = Var::of<double>({4}, Device::cpu());
  const Tensor made = checkpoint([](std::span<const Tensor> inputs) { return inputs[0].sqrt(); }, {x.tensor()});
  EXPECT_THAT([&] { (void)backward(made, {.create_graph = true}); }, ThrowsMessage<Error>(HasSubstr("create_graph")));
}

TEST(Loss, BinaryCrossEntropyIsExactForLargeLogits) {
  const Tensor logits = Tensor::of<float>({100, -100, 0}, Device::cpu());
  const Tensor targets = Tensor::of<float>({1, 0, 0.5}, Device::cpu());
  EXPECT_NEAR(binary_cross_entropy_with_logits(logits, targets).item(), std::log(2.0) / 3, 1e-7);
}

TEST(Loss, ShapesThatWouldBroadcastAreRefused) {
  const Tensor x = Tensor::zeros({3, 1}, DType::f32, Device::cpu());
  EXPECT_THAT([&] { (void)mse(x, Tensor::zeros({3}, DType::f32, Device::cpu())); }, ThrowsMessage<Error>(HasSubstr("must have one shape")));
}

TEST(VarMap, OneNameIsOneVariable) {
  const VarMap map;
  const VarBuilder builder = VarBuilder::from_var_map(map, DType::f32, Device::cpu());
  const Linear first = linear(3, 2, builder.pp("encoder").pp(0));
  const Linear second = linear(3, 2, builder.pp("encoder.0"));
  EXPECT_EQ(first.weight().storage(), second.weight().storage());
  map.set_one("encoder.0.bias", Tensor::of<double>({5, 6}, Device::cpu()));
  EXPECT_THAT(second.bias()->to_vector<float>(), ElementsAre(5, 6));
  EXPECT_THAT([&] { (void)linear(4, 2, builder.pp("encoder.0")); },
              ThrowsMessage<Error>(HasSubstr("variable 'encoder.0.weight' is Tensor[[2, 3], f32], not [2, 4]")));
}

TEST(VarMap, BuffersAreSavedAndNotTrained) {
  const VarMap map;
  const BatchNorm norm = batch_norm(4, {}, VarBuilder::from_var_map(map, DType::f32, Device::cpu()));
  EXPECT_EQ(map.all_vars().size(), 2U);
  EXPECT_EQ(map.data().size(), 4U);
  const Tensor x = Tensor::arange(0, 8, DType::f32, Device::cpu()).reshape({2, 4});
  (void)norm.forward_t(x, Mode::train);
  EXPECT_THAT(map.find("running_mean")->tensor().to_vector<double>(),
              testing::Pointwise(testing::DoubleNear(1e-6), {0.2, 0.3, 0.4, 0.5}));  // a tenth of the means 2, 3, 4, 5
}

TEST(VarMap, SetsNothingWhereOneShapeIsWrong) {
  const VarMap map;
  const Var a = map.get({2}, "a", init::Constant{1}, DType::f32, Device::cpu());
  (void)map.get({3}, "b", init::Constant{1}, DType::f32, Device::cpu());
  const Tensor two = Tensor::zeros({2}, DType::f32, Device::cpu());
  EXPECT_THROW(map.set({{"a", two}, {"b", two}}), Error);
  EXPECT_THAT(a.tensor().to_vector<float>(), ElementsAre(1, 1));
}

TEST(VarBuilder, AMissingTensorNamesWhatIsNearby) {
  const Tensor one = Tensor::zeros({1}, DType::f32, Device::cpu());
  const VarBuilder builder = VarBuilder::from_tensors({{"model.layers.0.k.weight", one}, {"model.layers.0.v.weight", one}, {"head", one}},
                                                      DType::f32, Device::cpu());
  EXPECT_THAT(
      [&] { (void)builder.pp("model.layers").pp(0).pp("q").get({1}, "weight"); },
      ThrowsMessage<Error>(HasSubstr("no tensor 'model.layers.0.q.weight'; nearby: 'model.layers.0.k.weight', 'model.layers.0.v.weight'")));
  EXPECT_THAT([&] { (void)builder.get({2}, "head"); }, ThrowsMessage<Error>(HasSubstr("tensor 'head' is Tensor[[1], f32], not [2]")));
}

TEST(VarBuilder, RenamesConvertsAndZeros) {
  const VarBuilder builder = VarBuilder::from_tensors({{"gamma", Tensor::of<float>({1.5, 2}, Device::cpu())}}, DType::f32, Device::cpu());
  const VarBuilder renamed = builder.rename([](std::string_view name) { return name == "norm.weight" ? "gamma" : std::string(name); });
  EXPECT_TRUE(renamed.pp("norm").contains_tensor("weight"));
  EXPECT_EQ(renamed.pp("norm").to_dtype(DType::f64).get({2}, "weight").dtype(), DType::f64);
  EXPECT_THAT(renamed.get_unchecked("norm.weight").to_vector<float>(), ElementsAre(1.5F, 2));
  EXPECT_THAT(VarBuilder::zeros(DType::f32, Device::cpu()).get({2}, "anything").to_vector<float>(), ElementsAre(0, 0));
}

TEST(Init, KaimingKeepsTheVariance) {
  const Shape shape{64, 32, 3, 3};
  EXPECT_EQ(fan_of(init::Fan::in, shape), 32 * 9);
  EXPECT_EQ(fan_of(init::Fan::out, shape), 64 * 9);
  const double deviation = std::sqrt(2.0 / (32 * 9));
  for (const init::Distribution distribution : {init::Distribution::uniform, init::Distribution::normal}) {
    const Tensor drawn = draw(init::Kaiming{.distribution = distribution}, shape, DType::f32, Device::cpu());
    EXPECT_NEAR(drawn.mean_all().item(), 0, deviation / 20);
    EXPECT_NEAR(std::sqrt(drawn.sqr().mean_all().item()), deviation, deviation / 20);
    if (distribution == init::Distribution::uniform) {
      EXPECT_LE(drawn.abs().max_all().item(), std::sqrt(3.0) * deviation * (1 + 1e-6));
    }
  }
}

}  // namespace
}  // namespace wick::nn
