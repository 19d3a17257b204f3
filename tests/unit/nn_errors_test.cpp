// What the mistakes of a user of layers, losses and optimizers are answered with; tensor_errors_test.cpp has those of tensors.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "unit/message_of.h"
#include "wick/nn.h"

namespace wick {
namespace {

TEST(NnErrors, OfLayersNameTheLayerAndWhatItTakes) {
  const nn::Linear linear(Tensor::zeros({4, 3}), Tensor::zeros({4}));
  const nn::Conv2d conv(Tensor::zeros({8, 3, 3, 3}), std::nullopt, {});
  const nn::Embedding embedding(Tensor::zeros({5, 2}));
  expect_messages({
      {"Linear: x Tensor[[2, 5], f32] must be [..., 3] for the weight Tensor[[4, 3], f32]",
       [&] { (void)linear.forward(Tensor::zeros({2, 5})); }},
      {"Linear: x Tensor[[2, 3], f64] and the weight Tensor[[4, 3], f32] differ in dtype; convert one",
       [&] { (void)linear.forward(Tensor::zeros({2, 3}, DType::f64)); }},
      {"Linear: the bias Tensor[[3], f32] must be [4] for the weight Tensor[[4, 3], f32]",
       [] { (void)nn::Linear(Tensor::zeros({4, 3}), Tensor::zeros({3})); }},
      {"Linear: size 0 must be 1 or more", [] { (void)nn::Linear(0, 10); }},
      {"Conv2d: conv2d: x Tensor[[1, 1, 8, 8], f32] has 1 channels; kernel Tensor[[8, 3, 3, 3], f32] takes 3",
       [&] { (void)conv.forward(Tensor::zeros({1, 1, 8, 8})); }},
      {"Embedding: index_select: id 9 at [1] is out of range for dimension 0 of 5 elements; allowed: 0 to 4",
       [&] { (void)embedding.forward(Tensor::of<uint32_t>({0, 9})); }},
      {"PReLU: x Tensor[[1, 2], f32] must have 3 channels in dimension 1, one for each slope",
       [] { (void)nn::PReLU(Tensor::zeros({3})).forward(Tensor::zeros({1, 2})); }},
      {"dropout: the probability is 1.5; allowed: from 0 to below 1", [] { (void)nn::Dropout(1.5); }},
      {"one_hot: id 3 is out of range for depth 3; allowed: -1 to 2", [] { (void)nn::one_hot(Tensor::of<uint32_t>({3}), 3); }},
  });
}

TEST(NnErrors, OfLossesSayWhichTargetIsWrong) {
  const Tensor logits = Tensor::zeros({2, 3});
  expect_messages({
      {"cross_entropy: target 7 at [1] is out of range for the 3 classes of x Tensor[[2, 3], f32]; allowed: 0 to 2",
       [&] { (void)nn::cross_entropy(logits, Tensor::of<uint32_t>({0, 7})); }},
      {"nll: target -2 at [0] is out of range for the 3 classes of x Tensor[[2, 3], f32]; allowed: 0 to 2",
       [&] { (void)nn::nll(logits, Tensor::of<int64_t>({-2, 1})); }},
      {"cross_entropy: target Tensor[[2], f32] must hold class numbers, of an integer dtype",
       [&] { (void)nn::cross_entropy(logits, Tensor::zeros({2})); }},
      {"cross_entropy: x Tensor[[2, 3], u8] must be of a float dtype",
       [&] { (void)nn::cross_entropy(logits.to_dtype(DType::u8), Tensor::of<uint32_t>({0, 1})); }},
      {"cross_entropy: x Tensor[[2, 3], f32] must be [batch, classes] and target Tensor[[3], u32] [batch]",
       [&] { (void)nn::cross_entropy(logits, Tensor::zeros({3}, DType::u32)); }},
      {"mse: x Tensor[[2, 3], f32] and target Tensor[[2], f32] must have one shape", [&] { (void)nn::mse(logits, Tensor::zeros({2})); }},
      {"huber: delta is 0; allowed: above 0", [&] { (void)nn::huber(logits, logits, 0); }},
  });
}

TEST(NnErrors, OfSettingsSayWhatIsAllowed) {
  expect_messages({
      {"Sgd: momentum is -1; allowed: 0 or more", [] { (void)nn::Sgd({}, nn::SgdConfig{.learning_rate = 0.1, .momentum = -1}); }},
      {"schedule::linear_warm_up: steps is -1; allowed: 0 or more",
       [] { (void)nn::schedule::linear_warm_up(-1, nn::schedule::constant(1)); }},
      {"schedule::cosine: steps is 0; allowed: 1 or more", [] { (void)nn::schedule::cosine(1, 0); }},
      {"schedule::step: every is 0; allowed: 1 or more", [] { (void)nn::schedule::step(1, 0, 0.5); }},
      {"DataLoader: batch_size 0 must be 1 or more",
       [] { (void)nn::DataLoader(nn::Dataset(Tensor::zeros({2, 1}), Tensor::zeros({2})), {.batch_size = 0}); }},
      {"clip_gradients_by_value: largest is -1; allowed: 0 or more",
       [] {
         GradStore none;
         nn::clip_gradients_by_value(none, {}, -1);
       }},
  });
}

TEST(NnErrors, OfATensorThatWasNeverAssignedNameLayerOrLoss) {
  const Tensor t, x = Tensor::ones({2, 3});
  const nn::Linear linear(3, 2);
  const std::string behind = " is empty: it was never assigned, or was moved from; assign another to it first";
  EXPECT_EQ(message_of(ErrorCode::invalid_argument, [&] { (void)linear.forward(t); }), "Linear: x" + behind);
  EXPECT_EQ(message_of(ErrorCode::invalid_argument, [&] { (void)nn::Conv2d(1, 1, 3).forward(t); }), "Conv2d: x" + behind);
  EXPECT_EQ(message_of(ErrorCode::invalid_argument, [&] { (void)nn::cross_entropy(x, t); }), "cross_entropy: target" + behind);
  EXPECT_EQ(message_of(ErrorCode::invalid_argument, [&] { (void)nn::mse(t, x); }), "mse: x" + behind);
}

// Also where a layer or a loss adds its name to the message of a function that it calls.
TEST(NnErrors, AreShownToTheHookOnce) {
  int seen = 0;
  set_error_hook([&](const Error&) { ++seen; });
  const nn::Conv2d conv(3, 1, 3);
  const Tensor x = Tensor::ones({2, 3}), classes = Tensor::of<uint32_t>({0, 9});
  EXPECT_THROW((void)conv.forward(Tensor::ones({1, 2, 4, 4})), Error);
  EXPECT_EQ(seen, 1);
  seen = 0;
  EXPECT_THROW((void)nn::cross_entropy(x, classes), Error);
  EXPECT_EQ(seen, 1);
  set_error_hook({});
}

}  // namespace
}  // namespace wick
