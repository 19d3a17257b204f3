// An ImportanceCollector adds up the squares of what goes into each weight of a model, column by column and, of a stack of matrices, matrix
// by matrix.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "wick/formats/importance_matrix.h"
#include "wick/model/language_model.h"

namespace wick {

class ImportanceCollector {
 public:
  // See LoadOptions::observe. Errors: invalid_argument if a number is not finite.
  void add(const WeightInput& input);

  // Sums since the start.
  [[nodiscard]] std::map<std::string, ImportanceEntry, std::less<>> entries() const;

 private:
  struct Sums {
    std::vector<double> squares;   // those of one matrix after another
    std::vector<uint64_t> counts;  // of each matrix: the rows that it was multiplied by
  };
  std::map<std::string, Sums, std::less<>> sums_;
};

}  // namespace wick
