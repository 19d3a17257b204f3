#include "conformance/answers.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace wick::conformance {
namespace {

std::vector<std::byte> bytes_of(OpId op, const void* params) {
  const size_t size = params == nullptr ? 0 : info(op).param_bytes;
  const auto* first = static_cast<const std::byte*>(params);
  return {first, first + size};
}

bool same_kind(const ReferenceTensor& a, const ReferenceTensor& b) { return a.shape == b.shape && a.dtype == b.dtype; }

// Bit by bit: a NaN is the same as itself, and -0 is not 0.
bool same(const ReferenceTensor& a, const ReferenceTensor& b) {
  return same_kind(a, b) && a.values.size() == b.values.size() &&
         (a.values.empty() || std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(double)) == 0);
}

}  // namespace

const Answer& Answers::find(OpId op, const void* params, Tensors inputs, Tensors results, const Allowed& allowed) {
  Question question{op, bytes_of(op, params), std::move(inputs)};
  const auto known = std::ranges::find_if(entries_, [&](const Entry& entry) {
    const Question& asked = entry.question;
    return asked.op == op && asked.params == question.params && std::ranges::equal(asked.inputs, question.inputs, same) &&
           std::ranges::equal(entry.answer.expected, results, same_kind);
  });
  if (known != entries_.end()) return known->answer;
  for (ReferenceTensor& result : results) result.values.assign(static_cast<size_t>(result.shape.elements()), 0);
  rule(op).reference(params, question.inputs, results);
  std::vector<std::vector<double>> errors = allowed(question.inputs, results);
  return entries_.emplace_back(Entry{std::move(question), {std::move(results), std::move(errors)}}).answer;
}

}  // namespace wick::conformance
