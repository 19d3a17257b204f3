// Which metadata keys of an architecture change what its model computes, and which values of them Wick can honour.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>

namespace wick {

class Checkpoint;

// The role of a key "<architecture>.<name>" for the model that reads it.
enum class KeyUse {
  read,        // the configuration reads the key and honours every value that it accepts
  harmless,    // no value changes a logit
  only_value,  // any value but the neutral ones changes the logits, and Wick does not compute that
};

// An absent second or third neutral value.
inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

struct KeyRule {
  std::string_view name;
  KeyUse use = KeyUse::read;
  // Values at which the key has no effect; booleans count as 0 and 1.
  std::array<double, 2> neutral = {kNoValue, kNoValue};
};

// Checks every key "<architecture>.…" of the checkpoint by the architecture's own rules, then those of encoders, if it is one, then the
// shared ones. Unlisted keys
// under "attention." and "rope." are refused like the listed ones, because those groups always describe arithmetic; other unlisted keys are
// named in a warning. Errors: unsupported, naming file, key and value.
void check_metadata_keys(const Checkpoint& checkpoint, std::string_view architecture, std::span<const KeyRule> own, bool encoder);

}  // namespace wick
