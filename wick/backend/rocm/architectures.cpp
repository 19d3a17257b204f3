#include "wick/backend/rocm/architectures.h"

#include <algorithm>
#include <array>

namespace wick::rocm {
namespace {

constexpr ByteDot kNoDot = ByteDot::none, kSigned = ByteDot::signed_bytes, kMixed = ByteDot::mixed_bytes;
constexpr MatrixUnits kNoMatrices = MatrixUnits::none, kMfma = MatrixUnits::mfma, kWmma = MatrixUnits::wmma, kWmma12 = MatrixUnits::wmma12;
constexpr std::string_view kOld = "hiprtc 5.2, clang 19", kClang = "clang 19", kNobody = "none";

// Instructions: LLVM, "User Guide for AMDGPU Backend", and the instruction set guides of CDNA 3, RDNA 2, 3 and 4. Versions: where AMD's
// release notes say nothing, the first release that supports such a GPU.
constexpr std::array kArchitectures{
    Architecture{"gfx906", 64, kSigned, kNoMatrices, false, 50'200'000, kOld},
    Architecture{"gfx908", 64, kSigned, kMfma, true, 50'200'000, kOld},
    Architecture{"gfx90a", 64, kSigned, kMfma, true, 50'200'000, kOld},
    Architecture{"gfx942", 64, kSigned, kMfma, true, 60'000'000, kClang},
    Architecture{"gfx950", 64, kSigned, kMfma, true, 70'000'000, kNobody},
    Architecture{"gfx1010", 32, kNoDot, kNoMatrices, false, 50'200'000, kOld},
    Architecture{"gfx1030", 32, kSigned, kNoMatrices, false, 50'200'000, kOld},
    Architecture{"gfx1031", 32, kSigned, kNoMatrices, false, 50'200'000, kOld},
    Architecture{"gfx1032", 32, kSigned, kNoMatrices, false, 50'200'000, kOld},
    Architecture{"gfx1100", 32, kMixed, kWmma, true, 50'500'000, kClang},
    Architecture{"gfx1101", 32, kMixed, kWmma, true, 50'500'000, kClang},
    Architecture{"gfx1102", 32, kMixed, kWmma, true, 50'500'000, kClang},
    Architecture{"gfx1103", 32, kMixed, kWmma, true, 60'000'000, kClang},
    Architecture{"gfx1150", 32, kMixed, kWmma, true, 60'300'000, kClang},
    Architecture{"gfx1151", 32, kMixed, kWmma, true, 60'300'000, kClang},
    Architecture{"gfx1152", 32, kMixed, kWmma, true, 60'400'000, kClang},
    Architecture{"gfx1200", 32, kMixed, kWmma12, true, 60'400'000, kClang},
    Architecture{"gfx1201", 32, kMixed, kWmma12, true, 60'400'000, kClang},
};

}  // namespace

std::span<const Architecture> architectures() noexcept { return kArchitectures; }

std::string_view processor_of(std::string_view target) noexcept { return target.substr(0, target.find(':')); }

const Architecture* find_architecture(std::string_view processor) noexcept {
  const auto* const found =
      std::find_if(kArchitectures.begin(), kArchitectures.end(), [&](const Architecture& a) { return a.name == processor; });
  return found == kArchitectures.end() ? nullptr : found;
}

std::vector<std::string> instruction_options(const Architecture& architecture) {
  std::vector<std::string> options;
  switch (architecture.dot) {
    case ByteDot::none: break;
    case ByteDot::signed_bytes: options.emplace_back("-DWICK_SDOT4=1"); break;
    case ByteDot::mixed_bytes: options.emplace_back("-DWICK_SUDOT4=1"); break;
  }
  switch (architecture.matrices) {
    case MatrixUnits::none: break;
    case MatrixUnits::mfma: options.emplace_back("-DWICK_MFMA=1"); break;
    case MatrixUnits::wmma: options.emplace_back("-DWICK_WMMA11=1"); break;
    case MatrixUnits::wmma12: options.emplace_back("-DWICK_WMMA12=1"); break;
  }
  return options;
}

}  // namespace wick::rocm
