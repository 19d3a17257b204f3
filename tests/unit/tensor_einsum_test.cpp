// einsum against the loops that its definition states, over whole numbers, so that every result is exact.
#include "wick/tensor/indexer.h"
#include "wick/tensor/ops/einsum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "unit/cpu_tensors.h"
#include "unit/linear_function.h"
#include "wick/base/error.h"

namespace wick {
namespace {

using testing::HasSubstr;

using Values = std::vector<double>;

// For every combination of all letters: result[output's letters] += product of operands[their letters]. No ellipsis, no stretching.
Tensor by_definition(const std::string& equation, const std::vector<Tensor>& operands) {
  const std::string output = equation.substr(equation.find("->") + 2);
  std::vector<std::string> terms(1);
  for (const char character : equation.substr(0, equation.find("->"))) {
    if (character == ',') {
      terms.emplace_back();
    } else {
      terms.back() += character;
    }
  }
  std::map<char, int64_t> extents;
  for (size_t at = 0; at < terms.size(); ++at) {
    for (size_t dim = 0; dim < terms[at].size(); ++dim) extents[terms[at][dim]] = operands[at].shape()[static_cast<int>(dim)];
  }
  const auto offset = [&](const std::string& letters, std::map<char, int64_t>& place) {
    int64_t index = 0;
    for (const char letter : letters) index = index * extents[letter] + place[letter];
    return static_cast<size_t>(index);
  };
  std::vector<int64_t> dims;
  for (const char letter : output) dims.push_back(extents[letter]);
  const Shape shape{std::span<const int64_t>(dims)};
  Values result(static_cast<size_t>(shape.elements()));
  std::vector<Values> values;
  for (const Tensor& operand : operands) values.push_back(values_of(operand));
  int64_t combinations = 1;
  for (const auto& [letter, extent] : extents) combinations *= extent;
  for (int64_t at = 0; at < combinations; ++at) {
    std::map<char, int64_t> place;
    int64_t rest = at;
    for (const auto& [letter, extent] : extents) {
      place[letter] = rest % extent;
      rest /= extent;
    }
    double product = 1;
    for (size_t term = 0; term < terms.size(); ++term) product *= values[term][offset(terms[term], place)];
    result[offset(output, place)] += product;
  }
  return Tensor::from_vector(result, shape, kCpu);
}

struct EinsumCase {
  const char* equation;
  std::vector<Shape> shapes;
  const char* definition = nullptr;  // the same with neither ellipsis nor implicit output
};

const std::vector<EinsumCase> kCases = {
    {"ij,jk->ik", {{3, 4}, {4, 5}}},
    {"bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}},
    {"ij,kj->ki", {{3, 4}, {5, 4}}},
    {"ij,ij->", {{3, 4}, {3, 4}}},
    {"ij,ji->", {{3, 4}, {4, 3}}},
    {"i,j->ij", {{3}, {4}}},
    {"i,i->i", {{3}, {3}}},
    {"i,i->", {{3}, {3}}},
    {",->", {{}, {}}},
    {",ij->ji", {{}, {2, 3}}},
    {"ij->ji", {{3, 4}}},
    {"ij->i", {{3, 4}}},
    {"ij->", {{3, 4}}},
    {"ii->i", {{4, 4}}},
    {"ii->", {{4, 4}}},
    {"iji->j", {{3, 2, 3}}},
    {"iii->i", {{3, 3, 3}}},
    {"iijj->ij", {{3, 3, 2, 2}}},
    {"iijj->", {{3, 3, 2, 2}}},
    {"ii,ij->j", {{3, 3}, {3, 2}}},
    {"ijk,k->ij", {{2, 3, 4}, {4}}},
    {"abc,abd,acd->bcd", {{2, 3, 4}, {2, 3, 5}, {2, 4, 5}}},
    {"ab,bc,cd,de->ae", {{2, 3}, {3, 4}, {4, 2}, {2, 3}}},
    {"a,b,c->abc", {{2}, {3}, {4}}},
    {"ab,ab,ab->b", {{2, 3}, {2, 3}, {2, 3}}},
    {"abc,bd->acd", {{2, 3, 4}, {3, 5}}},
    {"bhqd,bhkd->bhqk", {{2, 3, 4, 5}, {2, 3, 6, 5}}},
    {"Ab,bA->A", {{2, 3}, {3, 2}}},
    {"ij,k->i", {{3, 4}, {5}}},
    {"ij,jk->k", {{3, 4}, {4, 5}}},
    {"iab,ibc,icd->iad", {{2, 3, 4}, {2, 4, 3}, {2, 3, 2}}},
    {"ij,jk->ik", {{3, 0}, {0, 5}}},
    {"ij,jk->ik", {{0, 3}, {3, 5}}},
    {"abcdefgh->hgfedcba", {{2, 1, 2, 1, 2, 1, 2, 1}}},
    {"abcdefgh,h->abcdefg", {{2, 1, 2, 1, 2, 1, 2, 2}, {2}}},
    {"ij,jk", {{3, 4}, {4, 5}}, "ij,jk->ik"},
    {"ji", {{3, 4}}, "ji->ij"},
    {"ii", {{3, 3}}, "ii->"},
    {"bA", {{3, 2}}, "bA->Ab"},
    {"i,i", {{3}, {3}}, "i,i->"},
    {" i j , j k -> i k ", {{3, 4}, {4, 5}}, "ij,jk->ik"},
    {"...ij,...jk->...ik", {{2, 3, 4, 5}, {2, 3, 5, 2}}, "xyij,xyjk->xyik"},
    {"...ij,jk->...ik", {{2, 3, 4, 5}, {5, 2}}, "xyij,jk->xyik"},
    {"ij,...jk->...ik", {{4, 5}, {2, 5, 3}}, "ij,xjk->xik"},
    {"...ij,...jk->...ik", {{3, 4, 5}, {2, 3, 5, 2}}, "yij,xyjk->xyik"},
    {"i...,i...->...", {{2, 3, 4}, {2, 3, 4}}, "ixy,ixy->xy"},
    {"...->...", {{2, 3}}, "xy->xy"},
    {"...,...", {{2, 3}, {3}}, "xy,y->xy"},
    {"i...j->ji...", {{2, 3, 4, 5}}, "ixyj->jixy"},
    {"...i->i", {{2, 3, 4}}, "xyi->i"},
    {"...i,...i", {{2, 4}, {2, 4}}, "xi,xi->x"},
    {"...ii->...i", {{2, 3, 3}}, "xii->xi"},
};

std::vector<Tensor> operands_of(const EinsumCase& one) {
  std::vector<Tensor> operands;
  for (size_t at = 0; at < one.shapes.size(); ++at) operands.push_back(uneven(one.shapes[at]) + static_cast<double>(at));
  return operands;
}

TEST(Einsum, EveryEquationSumsTheProductsOfItsDefinition) {
  for (const EinsumCase& one : kCases) {
    SCOPED_TRACE(one.equation);
    const std::vector<Tensor> operands = operands_of(one);
    const Tensor expected = by_definition(one.definition == nullptr ? one.equation : one.definition, operands);
    const Tensor result = einsum(one.equation, operands);
    EXPECT_EQ(result.shape(), expected.shape());
    EXPECT_EQ(values_of(result), values_of(expected));
  }
}

TEST(Einsum, AnyDtypeAndAnyStridesGiveTheSame) {
  for (const EinsumCase& one : kCases) {
    SCOPED_TRACE(one.equation);
    const std::vector<Tensor> operands = operands_of(one);
    const Values expected = values_of(einsum(one.equation, operands));
    for (const DType dtype : {DType::i64, DType::i32, DType::f32}) {
      std::vector<Tensor> others;
      for (const Tensor& operand : operands) {
        // The same elements, from the last to the first in memory, every second place.
        Tensor turned = operand.to_dtype(dtype);
        for (int dim = 0; dim < turned.rank(); ++dim) turned = turned.flip(dim).contiguous().flip(dim);
        if (turned.rank() > 0 && turned.rank() < 8) turned = Tensor::stack({turned, turned.zeros_like()}, -1).i(ellipsis, 0);
        others.push_back(turned);
      }
      const Tensor result = einsum(one.equation, others);
      EXPECT_EQ(result.dtype(), dtype);
      EXPECT_EQ(values_of(result), expected) << to_string(dtype);
    }
  }
}

TEST(Einsum, ExtentsOfOneStretch) {
  const Tensor x = uneven({3, 1});
  const Tensor y = uneven({4, 5});
  EXPECT_EQ(values_of(einsum("ij,jk->ik", {x, y})), values_of(einsum("ij,jk->ik", {x.broadcast_to({3, 4}), y})));
  EXPECT_EQ(values_of(einsum("ij,ij->ij", {uneven({1, 4}), uneven({3, 1})})), values_of(uneven({1, 4}) * uneven({3, 1})));
  EXPECT_EQ(values_of(einsum("...i,...i->...", {uneven({1, 4}), uneven({3, 4})})), values_of((uneven({1, 4}) * uneven({3, 4})).sum(1)));
}

TEST(Einsum, WhatNeedsNoArithmeticIsAView) {
  const Tensor x = uneven({3, 3});
  EXPECT_EQ(einsum("ij->ji", {x}).storage(), x.storage());
  EXPECT_EQ(einsum("ii->i", {x}).storage(), x.storage());
}

TEST(Einsum, GradientsAreTheAdjointsOfEveryOperand) {
  for (const EinsumCase& one : kCases) {
    SCOPED_TRACE(one.equation);
    const std::vector<Tensor> operands = operands_of(one);
    for (size_t at = 0; at < operands.size(); ++at) {
      expect_adjoint(operands[at].shape(), [&](const Tensor& x) {
        std::vector<Tensor> replaced = operands;
        replaced[at] = x;
        return einsum(one.equation, replaced);
      });
    }
  }
}

std::string einsum_message(ErrorCode code, const std::string& equation, const std::vector<Tensor>& operands) {
  try {
    (void)einsum(equation, operands);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << equation << ": nothing was thrown";
  return {};
}

TEST(Einsum, ErrorsNameTheTermAndTheLetter) {
  const Tensor x = uneven({2, 3});
  EXPECT_THAT(einsum_message(ErrorCode::shape_mismatch, "ij,jk->ik", {x, x}), HasSubstr("'j' is 3 in the term 'ij' and 2 in 'jk'"));
  EXPECT_THAT(einsum_message(ErrorCode::shape_mismatch, "ijk->i", {x}), HasSubstr("'ijk' has 3 letters for Tensor[[2, 3], f64]"));
  EXPECT_THAT(einsum_message(ErrorCode::shape_mismatch, "i->i", {x}), HasSubstr("'i' has 1 letters"));
  EXPECT_THAT(einsum_message(ErrorCode::shape_mismatch, "i...jk->i", {x}), HasSubstr("'i...jk'"));
  EXPECT_THAT(einsum_message(ErrorCode::shape_mismatch, "ii->i", {x}), HasSubstr("'i' in the term 'ii' is 2 and 3"));
  EXPECT_THAT(einsum_message(ErrorCode::invalid_argument, "ij->ik", {x}), HasSubstr("'k' does not appear in any input"));
  EXPECT_THAT(einsum_message(ErrorCode::invalid_argument, "ij->ii", {x}), HasSubstr("'i' appears twice"));
  EXPECT_THAT(einsum_message(ErrorCode::invalid_argument, "i?->i", {x}), HasSubstr("'?' in the term 'i?'"));
  EXPECT_THAT(einsum_message(ErrorCode::invalid_argument, "......->", {x}), HasSubstr("'.'"));
  EXPECT_THAT(einsum_message(ErrorCode::invalid_argument, "ij,jk->ik", {x}), HasSubstr("2 terms for 1 operands"));
  EXPECT_THAT(einsum_message(ErrorCode::invalid_argument, "", {}), HasSubstr("0 operands"));
  EXPECT_THAT(einsum_message(ErrorCode::dtype_mismatch, "ij,ij->", {x, x.to_dtype(DType::f32)}), HasSubstr("f32"));
  EXPECT_THAT(einsum_message(ErrorCode::invalid_argument, "i->j->k", {x}), HasSubstr("'-'"));
}

}  // namespace
}  // namespace wick
