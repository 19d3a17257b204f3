// `Tensor t;` in every kind of call: method, operator, function, layer, loss, file. Each throws; none crashes, or takes it for a tensor.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "unit/message_of.h"
#include "unit/temporary_folder.h"
#include "wick/nn.h"
#include "wick/tensor.h"

namespace wick {
namespace {

struct Use {
  const char* what;
  std::function<void()> call;
};

#define USE(expression)                      \
  Use {                                      \
    #expression, [&] { (void)(expression); } \
  }

void expect_each_throws(const std::vector<Use>& uses) {
  for (const Use& use : uses) {
    const std::string message = message_of(ErrorCode::invalid_argument, use.call);
    EXPECT_NE(message.find(" is empty: it was never assigned"), std::string::npos) << use.what << ": " << message;
  }
}

TEST(EmptyTensor, ThrowsInMethodsAndOperators) {
  Tensor t;
  Tensor x = Tensor::ones({2, 3});
  const Tensor chosen = x > 0.5;
  EXPECT_FALSE(t.defined());
  expect_each_throws({
      USE(t + 1),
      USE(t + x),
      USE(x + t),
      USE(1.0 - t),
      USE(x / t),
      USE(t += 1),
      USE(t += x),
      USE(x *= t),
      USE(-t),
      USE(t > 0.5),
      USE(t > x),
      USE(x <= t),
      USE(t.sum()),
      USE(t.sum(0)),
      USE(t.softmax(-1)),
      USE(t.exp()),
      USE(t.describe()),
      USE(t.shape()),
      USE(t.dtype()),
      USE(t.device()),
      USE(t.rank()),
      USE(t.elements()),
      USE(t.layout()),
      USE(t.is_contiguous()),
      USE(t.is_fortran_contiguous()),
      USE(t.dims2()),
      USE(t.detach()),
      USE(t.copy()),
      USE(t.contiguous()),
      USE(t.to_device(Device::cpu())),
      USE(t.to_dtype(DType::f64)),
      USE(t.to_bytes()),
      USE(t.to_vector<float>()),
      USE(t.item()),
      USE(t.reshape({1})),
      USE(t.reshape(Shape{1})),
      USE(t.broadcast_to({1})),
      USE(t.flatten_all()),
      USE(t.squeeze(0)),
      USE(t.get(0)),
      USE(t.i(0)),
      USE(t.i(all())),
      USE(x.i(t)),
      USE(x.index_select(t, 0)),
      USE(x.gather(t, 0)),
      USE(x.masked_fill(t, 0)),
      USE(t.masked_fill(x, 0)),
      USE(chosen.where_cond(t, x)),
      USE(chosen.where_cond(x, t)),
      USE(t.chunk(1, 0)),
      USE(t.split(1, 0)),
      USE(t.unique()),
      USE(t.nonzero()),
      USE(t.conv2d(x, 0, 1, 1, 1)),
      USE(x.matmul(t)),
      USE(t.matmul(x)),
      USE(t.const_set(1)),
      USE(x.slice_set(t, 0, 0)),
      USE(t.slice_set(x, 0, 0)),
      USE(t.zeros_like()),
      USE(to_string(t)),
      USE(to_debug_string(t)),
  });
  t = x;
  EXPECT_EQ(t.sum().item(), 6);
}

TEST(EmptyTensor, ThrowsInFunctionsAndOnTheTape) {
  const Tensor t, x = Tensor::ones({2, 3});
  const Var var = Var::ones({2});
  GradStore store;
  expect_each_throws({
      USE(Tensor::cat({x, t}, 0)),
      USE(Tensor::cat({t, t}, 0)),
      USE(Tensor::stack({t}, 0)),
      USE(einsum("ij,jk->ik", {x, t})),
      USE(einsum("ij->ji", {t})),
      USE(Tensor::meshgrid(std::vector<Tensor>{t}, true)),
      USE(rms_norm(t, x, 1e-5F)),
      USE(rms_norm(x, t, 1e-5F)),
      USE(linear(x, t)),
      USE(linear(t, x)),
      USE(attention(t, t, t, {1, 0, true})),
      USE(rope(t, t, RopeStyle{})),
      USE(Var::from_tensor(t)),
      USE(var.set(t)),
      USE(backward(t)),
      USE(backward(var->sum(), {.gradient = t})),
      USE(store.get(t)),
      USE(store[t]),
      USE(store.insert(t, x)),
      USE(store.insert(var, t)),
  });
}

TEST(EmptyTensor, ThrowsInLayersLossesAndFiles) {
  const TemporaryFolder folder;
  const Tensor t, x = Tensor::ones({2, 3});
  const nn::Linear linear(2, 3);
  expect_each_throws({
      USE(nn::Linear{t}),
      USE(linear.forward(t)),
      USE(nn::Conv2d(1, 1, 3).forward(t)),
      USE(nn::Embedding(2, 2).forward(t)),
      USE(nn::BatchNorm(3).forward(t)),
      USE(nn::LayerNorm(t, t, 1e-5)),
      USE(nn::PReLU(t)),
      USE(nn::Dropout(0.5).forward(t)),
      USE(nn::Dropout(0.5).forward_t(t, nn::Mode::train)),
      USE(nn::Sequential().forward(t)),
      USE(nn::Activation(nn::ActivationKind::relu).forward(t)),
      USE(nn::cross_entropy(t, x)),
      USE(nn::mse(x, t)),
      USE(nn::Dataset(t, x)),
      USE(nn::Dataset(x, t)),
      USE(nn::one_hot(t, 3)),
      USE(linear.load_state_dict({{"weight", t}, {"bias", t}})),
      USE(nn::VarBuilder::from_tensors({{"a", t}}).get({2}, "a")),
      USE(save_safetensors({{"a", t}}, folder / "a.safetensors")),
      USE(write_npy(t, folder / "a.npy")),
      USE(write_npz({{"a", t}}, folder / "a.npz")),
  });
  EXPECT_FALSE(std::filesystem::exists(folder / "a.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(folder / "a.npy"));
}

}  // namespace
}  // namespace wick
