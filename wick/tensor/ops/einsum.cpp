#include "wick/tensor/ops/einsum.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"

namespace wick {
namespace {

// A dimension's name: a letter, or kEllipsis + n for the n-th dimension from the end of an ellipsis.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kEllipsis = 256;

bool has(const Labels& labels, Label label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

std::string name_of(Label label) { return label < kEllipsis ? std::string(1, static_cast<char>(label)) : "..."; }

struct Term {
  std::string text;
  Labels labels;  // kEllipsis is the whole ellipsis
};

struct Equation {
  std::vector<Term> inputs;
  std::optional<Term> output;
};

// A tensor with a name for each dimension, no name twice.
struct Part {
  Tensor tensor;
  Labels labels;
};

Term parse_term(std::string_view equation, std::string_view text) {
  Term term;
  for (const char character : text) {
    if (character != ' ') term.text += character;
  }
  for (size_t at = 0; at < term.text.size(); ++at) {
    const char character = term.text[at];
    const bool letter = (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
    if (letter) {
      term.labels.push_back(character);
    } else if (term.text.compare(at, 3, "...") == 0 && !has(term.labels, kEllipsis)) {
      term.labels.push_back(kEllipsis);
      at += 2;
    } else {
      fail(ErrorCode::invalid_argument, "einsum '{}': '{}' in the term '{}' is neither a letter nor its one ellipsis", equation, character,
           term.text);
    }
  }
  return term;
}

Equation parse(std::string_view equation) {
  Equation parsed;
  const size_t arrow = equation.find("->");
  std::string_view inputs = equation.substr(0, arrow);
  while (true) {
    const size_t comma = inputs.find(',');
    parsed.inputs.push_back(parse_term(equation, inputs.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    inputs.remove_prefix(comma + 1);
  }
  if (arrow == std::string_view::npos) return parsed;
  parsed.output = parse_term(equation, equation.substr(arrow + 2));
  for (const Label label : parsed.output->labels) {
    if (std::count(parsed.output->labels.begin(), parsed.output->labels.end(), label) > 1) {
      fail(ErrorCode::invalid_argument, "einsum '{}': output subscript '{}' appears twice", equation, name_of(label));
    }
    const bool known = std::any_of(parsed.inputs.begin(), parsed.inputs.end(), [&](const Term& term) { return has(term.labels, label); });
    if (!known && label != kEllipsis) {
      fail(ErrorCode::invalid_argument, "einsum '{}': output subscript '{}' does not appear in any input", equation, name_of(label));
    }
  }
  return parsed;
}

// An ellipsis as the names of `dims` dimensions.
Labels expand(const Labels& labels, int dims) {
  Labels expanded;
  for (const Label label : labels) {
    if (label != kEllipsis) {
      expanded.push_back(label);
      continue;
    }
    for (int from_end = dims - 1; from_end >= 0; --from_end) expanded.push_back(kEllipsis + from_end);
  }
  return expanded;
}

Labels implicit_output(const std::vector<Term>& terms) {
  std::map<Label, int> uses;
  for (const Term& term : terms) {
    for (const Label label : term.labels) ++uses[label];
  }
  Labels output;
  if (uses.contains(kEllipsis)) output.push_back(kEllipsis);
  for (const auto& [label, count] : uses) {
    if (label != kEllipsis && count == 1) output.push_back(label);
  }
  return output;
}

void take_diagonals(Part& part, std::string_view equation, const Term& term) {
  for (size_t first = 0; first < part.labels.size(); ++first) {
    const Label label = part.labels[first];
    const auto second = static_cast<size_t>(std::find(part.labels.begin() + static_cast<int64_t>(first) + 1, part.labels.end(), label) -
                                            part.labels.begin());
    if (second == part.labels.size()) continue;
    const int64_t left = part.tensor.shape()[static_cast<int>(first)];
    const int64_t right = part.tensor.shape()[static_cast<int>(second)];
    if (left != right) {
      fail(ErrorCode::shape_mismatch, "einsum '{}': '{}' in the term '{}' is {} and {} in {}", equation, name_of(label), term.text, left,
           right, part.tensor.describe());
    }
    part.tensor = part.tensor.diagonal(0, static_cast<int>(first), static_cast<int>(second));
    part.labels.erase(part.labels.begin() + static_cast<int64_t>(second));
    part.labels.erase(part.labels.begin() + static_cast<int64_t>(first));
    part.labels.push_back(label);
    first = static_cast<size_t>(-1);  // places have moved: once more from the start
  }
}

class Contraction {
 public:
  Contraction(std::string_view equation, std::span<const Tensor> operands) : equation_(equation) {
    const Equation parsed = parse(equation);
    if (operands.size() != parsed.inputs.size() || operands.empty()) {
      fail(ErrorCode::invalid_argument, "einsum '{}': {} terms for {} operands", equation, parsed.inputs.size(), operands.size());
    }
    int ellipsis_dims = 0;
    for (size_t at = 0; at < operands.size(); ++at) {
      const Term& term = parsed.inputs[at];
      ellipsis_dims = std::max(ellipsis_dims, add_part(term, operands[at]));
      if (operands[at].dtype() != operands[0].dtype()) {
        fail(ErrorCode::dtype_mismatch, "einsum '{}': {} for the term '{}' beside {}; convert one", equation, operands[at].describe(),
             term.text, operands[0].describe());
      }
    }
    for (Part& part : parts_) drop_stretched(part);
    output_ = expand(parsed.output ? parsed.output->labels : implicit_output(parsed.inputs), ellipsis_dims);
  }

  [[nodiscard]] Tensor run() {
    while (parts_.size() > 1) contract_cheapest();
    const Part& last = parts_.front();
    std::vector<int> order;
    const Part summed = without(last, output_);
    for (const Label label : output_) {
      const auto at = std::find(summed.labels.begin(), summed.labels.end(), label) - summed.labels.begin();
      order.push_back(static_cast<int>(at));
    }
    return std::is_sorted(order.begin(), order.end()) ? summed.tensor : summed.tensor.permute(order);
  }

 private:
  // Returns how many dimensions the term's ellipsis covers.
  int add_part(const Term& term, const Tensor& operand) {
    const bool ellipsis = has(term.labels, kEllipsis);
    const int letters = static_cast<int>(term.labels.size()) - (ellipsis ? 1 : 0);
    const int rest = operand.rank() - letters;
    if (rest < 0 || (rest > 0 && !ellipsis)) {
      fail(ErrorCode::shape_mismatch, "einsum '{}': the term '{}' has {} letters for {}", equation_, term.text, letters,
           operand.describe());
    }
    Part part{operand, expand(term.labels, rest)};
    take_diagonals(part, equation_, term);
    for (size_t dim = 0; dim < part.labels.size(); ++dim) {
      const int64_t extent = part.tensor.shape()[static_cast<int>(dim)];
      auto& [known, source] = extents_.try_emplace(part.labels[dim], 1, term.text).first->second;
      if (known == 1) {
        known = extent;
        source = term.text;
      } else if (extent != 1 && extent != known) {
        fail(ErrorCode::shape_mismatch, "einsum '{}': '{}' is {} in the term '{}' and {} in '{}'", equation_, name_of(part.labels[dim]),
             known, source, extent, term.text);
      }
    }
    parts_.push_back(std::move(part));
    return rest;
  }

  [[nodiscard]] int64_t extent(Label label) const { return extents_.at(label).first; }

  [[nodiscard]] int64_t size_of(const Labels& labels) const {
    int64_t size = 1;
    for (const Label label : labels) size *= extent(label);
    return size;
  }

  // A dimension of extent 1 that other operands stretch is the same factor everywhere.
  void drop_stretched(Part& part) const {
    for (int dim = part.tensor.rank() - 1; dim >= 0; --dim) {
      if (part.tensor.shape()[dim] == extent(part.labels[static_cast<size_t>(dim)])) continue;
      part.tensor = part.tensor.squeeze(dim);
      part.labels.erase(part.labels.begin() + dim);
    }
  }

  // Summed up over the dimensions that nobody needs any more.
  [[nodiscard]] static Part without(const Part& part, const Labels& needed) {
    std::vector<int> absent;
    Labels kept;
    for (size_t dim = 0; dim < part.labels.size(); ++dim) {
      if (has(needed, part.labels[dim])) {
        kept.push_back(part.labels[dim]);
      } else {
        absent.push_back(static_cast<int>(dim));
      }
    }
    return absent.empty() ? part : Part{part.tensor.sum(Dims(absent)), kept};
  }

  // What the result and the parts but these two still ask for.
  [[nodiscard]] Labels needed_after(size_t first, size_t second) const {
    Labels needed = output_;
    for (size_t at = 0; at < parts_.size(); ++at) {
      if (at != first && at != second) needed.insert(needed.end(), parts_[at].labels.begin(), parts_[at].labels.end());
    }
    return needed;
  }

  void contract_cheapest() {
    size_t first = 0;
    size_t second = 1;
    double least = -1;
    for (size_t left = 0; left < parts_.size() && parts_.size() > 2; ++left) {
      for (size_t right = left + 1; right < parts_.size(); ++right) {
        const Labels needed = needed_after(left, right);
        double size = 1;
        for (const auto& [label, known] : extents_) {
          const bool in_pair = has(parts_[left].labels, label) || has(parts_[right].labels, label);
          if (in_pair && has(needed, label)) size *= static_cast<double>(known.first);
        }
        if (least >= 0 && size >= least) continue;
        least = size;
        first = left;
        second = right;
      }
    }
    Part product = contract(parts_[first], parts_[second], needed_after(first, second));
    parts_.erase(parts_.begin() + static_cast<int64_t>(second));
    parts_[first] = std::move(product);
  }

  // The part's dimensions in the order of the groups, each group as one.
  [[nodiscard]] Tensor grouped(const Part& part, std::initializer_list<const Labels*> groups) const {
    std::vector<int> order;
    std::vector<int64_t> sizes;
    for (const Labels* group : groups) {
      sizes.push_back(size_of(*group));
      for (const Label label : *group) {
        const auto at = std::find(part.labels.begin(), part.labels.end(), label) - part.labels.begin();
        order.push_back(static_cast<int>(at));
      }
    }
    return part.tensor.permute(order).reshape(Shape(std::span<const int64_t>(sizes)));
  }

  [[nodiscard]] Part contract(const Part& lhs, const Part& rhs, const Labels& needed) const {
    Labels wanted_left = needed;
    Labels wanted_right = needed;
    wanted_left.insert(wanted_left.end(), rhs.labels.begin(), rhs.labels.end());
    wanted_right.insert(wanted_right.end(), lhs.labels.begin(), lhs.labels.end());
    const Part left = without(lhs, wanted_left);
    const Part right = without(rhs, wanted_right);
    Labels batch;
    Labels rows;
    Labels columns;
    Labels inner;
    for (const Label label : left.labels) (!has(right.labels, label) ? rows : has(needed, label) ? batch : inner).push_back(label);
    for (const Label label : right.labels) {
      if (!has(left.labels, label)) columns.push_back(label);
    }
    const Tensor product = multiply(grouped(left, {&batch, &rows, &inner}), grouped(right, {&batch, &inner, &columns}), inner.empty());
    Labels labels = batch;
    labels.insert(labels.end(), rows.begin(), rows.end());
    labels.insert(labels.end(), columns.begin(), columns.end());
    std::vector<int64_t> extents;
    for (const Label label : labels) extents.push_back(extent(label));
    return {product.reshape(Shape(std::span<const int64_t>(extents))), labels};
  }

  // [b, m, k] · [b, k, n]
  [[nodiscard]] static Tensor multiply(const Tensor& lhs, const Tensor& rhs, bool outer) {
    if (outer) return lhs.mul(rhs);  // k is 1
    if (is_float(lhs.dtype())) return lhs.matmul(rhs);
    return lhs.unsqueeze(2).mul(rhs.t().unsqueeze(1)).sum(-1);
  }

  std::string_view equation_;
  std::vector<Part> parts_;
  std::map<Label, std::pair<int64_t, std::string>> extents_;  // and the term that says so
  Labels output_;
};

}  // namespace

Tensor einsum(std::string_view equation, std::span<const Tensor> operands) {
  check_assigned("einsum", operands);
  return Contraction(equation, operands).run();
}

}  // namespace wick
