// Tensors as text against PyTorch's own (tests/data/display.txt, written by tests/goldens/make_display).
#include <fmt/format.h>

#include "wick/tensor/display.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "source_root.h"
#include "unit/cpu_tensors.h"
#include "wick/base/error.h"
#include "wick/quant/block_format.h"

namespace wick {
namespace {

struct DisplayCase {
  std::string header;
  std::string values;
  std::string text;
};

std::vector<DisplayCase> read_cases() {
  std::ifstream file(source_root() / "tests/data/display.txt");
  std::vector<DisplayCase> cases;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("@ ")) {
      cases.push_back({line.substr(2), "", ""});
      std::getline(file, cases.back().values);
    } else {
      cases.back().text += line + "\n";
    }
  }
  return cases;
}

Tensor tensor_of(std::istringstream& header, const std::string& text) {
  std::string dtype_name;
  std::string dims_text;
  header >> dtype_name >> dims_text;
  std::vector<int64_t> dims;
  std::istringstream dims_in(dims_text == "-" ? "" : dims_text);
  for (std::string extent; std::getline(dims_in, extent, ',');) dims.push_back(std::stoll(extent));
  const Shape shape{std::span<const int64_t>(dims)};
  const DType dtype = *parse_dtype(dtype_name);
  std::istringstream values_in(text);
  std::vector<int64_t> whole;
  std::vector<double> real;
  for (std::string value; values_in >> value;) {
    if (is_integer(dtype)) {
      whole.push_back(std::stoll(value));
    } else {
      real.push_back(std::stod(value));
    }
  }
  return (is_integer(dtype) ? Tensor::from_vector(whole, shape, kCpu) : Tensor::from_vector(real, shape, kCpu)).to_dtype(dtype);
}

TEST(Display, EveryCaseLooksAsPyTorchPrintsIt) {
  const std::vector<DisplayCase> cases = read_cases();
  ASSERT_GT(cases.size(), 80U);
  for (const DisplayCase& one : cases) {
    std::istringstream header(one.header);
    const Tensor tensor = tensor_of(header, one.values);
    PrinterOptions options;
    std::string mode;
    header >> options.precision >> options.threshold >> options.edge_items >> options.line_width >> mode;
    if (mode != "auto") options.sci_mode = mode == "on";
    EXPECT_EQ(to_string(tensor, options), one.text + tensor.describe()) << one.header;
  }
}

TEST(Display, FooterNamesShapeDtypeAndAnyDeviceButTheCpu) {
  EXPECT_EQ(to_string(Tensor::of<float>({{1, 2, 3}, {4, 5, 6}}, kCpu)), "[[1., 2., 3.],\n [4., 5., 6.]]\nTensor[[2, 3], f32]");
  EXPECT_EQ(to_string(Tensor::of<uint32_t>(1234, kCpu)), "[1234]\nTensor[[], u32]");
  const auto null = std::make_shared<Device>(Device::null());
  const Device second_cuda = Device::adopt({DeviceKind::cuda, 1}, std::shared_ptr<Runtime>(null, &null->runtime()));
  EXPECT_EQ(Tensor::empty({2}, DType::bf16, second_cuda).describe(), "Tensor[[2], bf16, cuda:1]");
}

TEST(Display, StreamsAsText) {
  const Tensor tensor = Tensor::of<double>({0.5, -2}, kCpu);
  std::ostringstream stream;
  stream << tensor;
  EXPECT_EQ(stream.str(), "[ 0.5000, -2.0000]\nTensor[[2], f64]");
}

TEST(Display, ViewsAndNarrowDtypesShowTheirValues) {
  const Tensor tensor = Tensor::of<float>({{1, 2, 3}, {4, 5, 6}}, kCpu);
  EXPECT_EQ(to_string(tensor.t().flip(0)), "[[3., 6.],\n [2., 5.],\n [1., 4.]]\nTensor[[3, 2], f32]");
  EXPECT_EQ(to_string(tensor.to_dtype(DType::f8e4m3).narrow(0, 1, 1)), "[[4., 5., 6.]]\nTensor[[1, 3], f8e4m3]");
}

TEST(Display, OfALargeTensorOnlyTheEdgesAreRead) {
  // 2^61 bytes: anything but the edges could not be copied.
  const Tensor tensor = Tensor::of<float>(1, kCpu).broadcast_to({1 << 20, 1 << 20, 1 << 19});
  EXPECT_THAT(to_string(tensor), testing::StartsWith("[[[1., 1., 1.,  ..., 1., 1., 1.],\n  [1., 1., 1.,  ..., 1., 1., 1.],"));
}

TEST(Display, QuantizedTensorsShowWhatTheirBlocksStandFor) {
  const std::vector<float> values(4096, 127);
  std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(DType::q8_0, 4096)));
  find_block_format(DType::q8_0)->pack(values, bytes.data());
  const Tensor tensor = Tensor::from_bytes(bytes, {32, 128}, DType::q8_0, kCpu);
  const std::string text = to_string(tensor, {.edge_items = 1});
  EXPECT_EQ(text, "[[127.,  ..., 127.],\n ...,\n [127.,  ..., 127.]]\nTensor[[32, 128], q8_0]");
}

TEST(Display, NegativeOptionsAreRefused) {
  const Tensor tensor = Tensor::of<float>(1, kCpu);
  EXPECT_THROW((void)to_string(tensor, {.precision = -1}), Error);
  EXPECT_THROW((void)to_string(tensor, {.edge_items = -1}), Error);
}

}  // namespace
}  // namespace wick
