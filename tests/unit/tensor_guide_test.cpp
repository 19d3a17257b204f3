// The snippets of docs/tensors.md, run, and the page itself: its lines of code are these lines.
#include <fmt/format.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <wick/wick.h>

#include <fstream>
#include <sstream>

#include "source_root.h"
#include "unit/temporary_folder.h"

namespace {

using namespace wick;

TEST(Guide, SnippetsDoWhatTheySay) {
  // clang-format off: as they are printed
  const Device device = Device::cpu();  // or Device::best(), Device::parse("cuda:0")
  const Tensor x = Tensor::of<float>({{1, 2, 3}, {4, 5, 6}}, device);
  const Tensor zeros = Tensor::zeros({2, 3}, DType::bf16, device);
  const Tensor steps = Tensor::arange(0, 1, 0.25, DType::f64, device);
  const Tensor owned = Tensor::from_owned(std::vector<int64_t>{1, 2, 3, 4}, {2, 2}, device);  // no copy
  const std::string text = to_string(x * 0.5);  // also std::cout << x
  // [[0.5000, 1.0000, 1.5000],
  //  [2.0000, 2.5000, 3.0000]]
  // Tensor[[2, 3], f32]
  EXPECT_EQ(text, "[[0.5000, 1.0000, 1.5000],\n [2.0000, 2.5000, 3.0000]]\nTensor[[2, 3], f32]");
  EXPECT_EQ(zeros.dtype(), DType::bf16);
  EXPECT_EQ(steps.to_vector<double>(), (std::vector<double>{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(owned.i(1, 0).item(), 3);

  const Tensor turned = x.t();              // [3, 2]
  const Tensor columns = x.narrow(1, 0, 2); // [2, 2]
  const Tensor flat = x.reshape({-1});      // -1: inferred from the number of elements
  const Tensor last = x.i(-1);              // [4, 5, 6]
  const Tensor part = x.i(all(), range(1, 3));
  const Tensor corner = x.i(ellipsis, 0);   // [1, 4]
  const Tensor chosen = x.i(0, Tensor::of<uint32_t>({2, 0}, device));  // [3, 1], a copy
  const Tensor changed = x.slice_assign({0, from(1)}, Tensor::of<float>(0, device));  // [[1, 0, 0], [4, 5, 6]], a copy
  EXPECT_EQ(turned.shape(), (Shape{3, 2}));
  EXPECT_EQ(columns.shape(), (Shape{2, 2}));
  EXPECT_EQ(flat.shape(), (Shape{6}));
  EXPECT_EQ(last.to_vector<float>(), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(part.to_vector<float>(), (std::vector<float>{2, 3, 5, 6}));
  EXPECT_EQ(corner.to_vector<float>(), (std::vector<float>{1, 4}));
  EXPECT_EQ(chosen.to_vector<float>(), (std::vector<float>{3, 1}));
  EXPECT_EQ(changed.to_vector<float>(), (std::vector<float>{1, 0, 0, 4, 5, 6}));

  const Tensor sum = (x + 1.0) * x.exp() / 2.0;
  const Tensor centred = x - x.mean_keepdim(1);
  const Tensor mask = x.gt(2.5);  // u8
  const Tensor clipped = mask.where_cond(x, x.zeros_like());
  const Tensor filled = x.masked_fill(mask, 9);
  const Tensor large = x.masked_select(mask);  // [3, 4, 5, 6]: waits for the device, as nonzero and unique do
  const Tensor spread = x.std(1) + x.prod(1).log1p();
  const Tensor product = x.matmul(x.t());  // [[14, 32], [32, 77]]
  const Tensor same = einsum("ij,kj->ik", {x, x});
  EXPECT_NEAR(sum.i(0, 0).item(), std::exp(1.0), 1e-6);
  EXPECT_EQ(centred.to_vector<float>(), (std::vector<float>{-1, 0, 1, -1, 0, 1}));
  EXPECT_EQ(clipped.to_vector<float>(), (std::vector<float>{0, 0, 3, 4, 5, 6}));
  EXPECT_EQ(filled.to_vector<float>(), (std::vector<float>{1, 2, 9, 9, 9, 9}));
  EXPECT_EQ(large.to_vec1<float>(), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_NEAR(spread.i(1).item(), 1 + std::log(121.0), 1e-5);
  EXPECT_EQ(product.to_vector<float>(), (std::vector<float>{14, 32, 32, 77}));
  EXPECT_EQ(same.to_vector<float>(), product.to_vector<float>());

  const Var weight = Var::of<float>({{1, 0, -1}}, device);
  for (int step = 0; step < 200; ++step) {
    const Tensor error = x.matmul(weight->t()) - Tensor::of<float>({{4}, {10}}, device);
    const GradStore gradients = backward(error.sqr().mean_all());
    weight.set(weight.as_detached_tensor() - gradients[weight] * 0.02);
  }
  const NoGradScope no_grad;  // until it ends, its thread tracks nothing
  EXPECT_NEAR(x.matmul(weight->t()).i(0, 0).item(), 4, 0.1);
  EXPECT_NEAR(x.matmul(weight->t()).i(1, 0).item(), 10, 0.1);

  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "x.safetensors";
  const std::vector<float> values = x.to_vector<float>();  // row-major, converted
  const std::vector<std::vector<double>> rows = x.to_vec2<double>();
  const double only = x.sum_all().item();
  save_safetensors({{"x", x}}, path);
  const Tensor loaded = load_safetensors(path, device).at("x");
  EXPECT_EQ(rows[1], (std::vector<double>{4, 5, 6}));
  EXPECT_EQ(only, 21);
  EXPECT_EQ(loaded.to_vector<float>(), values);

  std::string message;
  try {
    (void)x.matmul(x);
  } catch (const Error& error) {
    message = error.what();  // matmul: lhs [2, 3] and rhs [2, 3]: inner dimensions 3 and 2 differ
  }
  EXPECT_EQ(message, "matmul: lhs [2, 3] and rhs [2, 3]: inner dimensions 3 and 2 differ");
  // clang-format on
}

// The lines of a file without the spaces before them, empty ones left out.
std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(source_root().string() + path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    const size_t begin = line.find_first_not_of(' ');
    if (begin != std::string::npos) lines.push_back(line.substr(begin));
  }
  return lines;
}

TEST(Guide, ThePageShowsTheLinesThatRun) {
  const std::vector<std::string> page = lines_of("/docs/tensors.md");
  const std::vector<std::string> source = lines_of("/tests/unit/tensor_guide_test.cpp");
  int blocks = 0;
  for (auto at = page.begin(); at != page.end(); ++at) {
    if (*at != "```cpp") continue;
    const auto end = std::find(at, page.end(), "```");
    auto first = at + 1;
    if (first->starts_with("#include")) first = std::find(first, end, "using namespace wick;");
    EXPECT_NE(std::search(source.begin(), source.end(), first, end), source.end()) << "this block is not run: " << *first;
    ++blocks;
  }
  EXPECT_EQ(blocks, 7);
}

}  // namespace
