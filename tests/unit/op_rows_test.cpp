// The tables of ops, kinds and dtypes, and what a program holds that links no backend with kernels and no interpreter: this one.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "wick/base/error.h"
#include "wick/device/linked_kernels.h"
#include "wick/op/op.h"
#include "wick/tensor/compiled_kernel.h"

namespace wick {
namespace {

TEST(Rows, NamesOfOpsKindsAndDTypesAreUnique) {
  std::set<std::string_view> ops, dtypes;
  for (const OpInfo& row : kOps) {
    EXPECT_TRUE(ops.insert(row.name).second) << row.name;
    EXPECT_EQ(to_string(row.id), row.name);
    std::set<std::string_view> kinds;
    for (int kind = 0; kind < row.kinds; ++kind) EXPECT_TRUE(kinds.insert(kind_name(row.id, kind)).second) << kind_name(row.id, kind);
  }
  for (const DTypeInfo& row : kDTypeRows) {
    EXPECT_TRUE(dtypes.insert(row.name).second) << row.name;
    EXPECT_EQ(parse_dtype(row.name), row.dtype);
  }
}

TEST(Rows, KindsAreReadFromTheParameters) {
  const UnaryParams unary{UnaryKind::clamp, 1, 2};
  const ReduceParams reduce{ReduceKind::argmax, 2};
  const SoftmaxParams softmax{true};
  EXPECT_EQ(kind_name(OpId::unary, kind_of(OpId::unary, &unary)), "clamp");
  EXPECT_EQ(kind_name(OpId::reduce, kind_of(OpId::reduce, &reduce)), "argmax");
  EXPECT_EQ(kind_of(OpId::softmax, &softmax), 0);
}

TEST(LinkedKernels, AProgramWithoutThemSaysWhichProgramRunsThem) {
  EXPECT_EQ(linked_launchers(), nullptr);
  EXPECT_EQ(linked_interpreter(), nullptr);
  ir::KernelBuilder k("nothing", {.group_size = 32});
  const ir::Memory out = k.output("out", ir::Element::f32);
  out[k.local_id()] = k.constant(1.0F);
  try {
    const CompiledKernel kernel(k.finish(), Device::cpu());
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("kernel nothing: this program cannot run custom kernels on the CPU"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("use wick, "), std::string::npos);
  }
}

}  // namespace
}  // namespace wick
