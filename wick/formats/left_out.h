// What a file holds and a reader does not give out.
#pragma once

#include <string>

namespace [[gnu::visibility("default")]] wick {

struct LeftOut {
  std::string name;
  std::string what;  // a tensor: why; else the class
};

}  // namespace wick
