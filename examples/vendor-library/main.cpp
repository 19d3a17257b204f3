// vendor-library: tensors in the hands of the vendor's own library. A product of two matrices by cuBLAS or hipBLAS, between ops of Wick's,
// without a copy and without waiting: the library queues its work on the device's stream, behind the ops before and before those after.
#include <dlfcn.h>

#include <cstdio>
#include <stdexcept>
#include <string>

#include "vendor.h"

using namespace wick;

namespace {

constexpr double kTolerance = 1e-3;  // of sums of a thousand products of numbers around 1, in f32

// The vendor's library, opened now: the program starts where it is not installed.
class Products {
 public:
  Products(const Vendor& vendor, const Device& device) : vendor_(vendor) {
    // The library works on the device that the thread's last call of the driver was for: here any of Wick's sees to that.
    device.synchronize();
    std::string failures;
    for (const char* file : vendor.files) {
      if (handle_ == nullptr && !open(file)) failures += std::string("; ") + failure_;
    }
    if (handle_ == nullptr) throw std::runtime_error(std::string(vendor.library) + " cannot be used" + failures);
    check(function<int(void*, void*)>(vendor.set_stream)(handle_, vendor.stream(device)), vendor.set_stream);
  }
  ~Products() {
    if (handle_ != nullptr) function<int(void*)>(vendor_.destroy)(handle_);
  }
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  // c [m, n] = a [m, k] · b [k, n] of row-major f32. The library's matrices lie by columns, where the same bytes are the transposed ones:
  // cᵀ = bᵀ · aᵀ.
  void multiply(const Tensor& a, const Tensor& b, const Tensor& c) const {
    const int m = static_cast<int>(a.dim(0)), k = static_cast<int>(a.dim(1)), n = static_cast<int>(b.dim(1));
    const float one = 1, zero = 0;
    const int as_it_is = vendor_.not_transposed;
    const auto call =
        function<int(void*, int, int, int, int, int, const float*, const float*, int, const float*, int, const float*, float*, int)>(
            vendor_.multiply);
    check(call(handle_, as_it_is, as_it_is, n, m, k, &one, vendor_.memory(b), n, vendor_.memory(a), k, &zero, vendor_.memory(c), n),
          vendor_.multiply);
  }

 private:
  // One that is newer than the driver opens and does not start.
  bool open(const char* file) {
    library_ = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
      failure_ = dlerror();
      return false;
    }
    const int status = function<int(void**)>(vendor_.create)(&handle_);
    if (status == 0) return true;
    failure_ = std::string(file) + ": " + vendor_.create + " failed with status " + std::to_string(status);
    handle_ = nullptr;
    return false;
  }
  template <class Function>
  [[nodiscard]] Function* function(const char* name) const {
    auto* const address = reinterpret_cast<Function*>(dlsym(library_, name));
    if (address == nullptr) throw std::runtime_error(std::string(vendor_.library) + " has no " + name);
    return address;
  }
  void check(int status, const char* call) const {
    if (status != 0) throw std::runtime_error(std::string(vendor_.library) + ": " + call + " failed with status " + std::to_string(status));
  }

  const Vendor& vendor_;
  void* library_ = nullptr;
  void* handle_ = nullptr;
  std::string failure_;
};

// Whether the product is right.
bool run_on(const Vendor& vendor, int64_t size) {
  const Device device = Device::open({vendor.kind, 0});
  device.set_seed(1);
  const Products products(vendor, device);
  const Tensor a = Tensor::randn({size, size + 32}, DType::f32, device), b = Tensor::randn({size + 32, size + 64}, DType::f32, device);
  const Tensor doubled = a + a;  // queued; nobody waits for it
  const Tensor c = Tensor::empty({size, size + 64}, DType::f32, device);
  products.multiply(doubled, b, c);
  const double difference = (c - a.matmul(b) * 2).abs().max_all().item();
  std::printf("%s: %s and Wick differ by at most %.1e (%s)\n", device.location().to_string().c_str(), vendor.library, difference,
              device.caps().name.c_str());
  return difference < kTolerance;
}

}  // namespace

int main(int argc, char** argv) try {
  const int64_t size = argc > 1 ? std::stoll(argv[1]) : 1024;
  int ran = 0;
  bool right = true;
  if (vendors().empty())
    throw std::runtime_error("this program holds neither cuda nor rocm; build Wick with -DWICK_CUDA=ON or -DWICK_ROCM=ON");
  for (const Vendor* vendor : vendors()) {
    try {
      right = run_on(*vendor, size) && right;
      ++ran;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "vendor-library: %s\n", error.what());
    }
  }
  if (ran == 0) return 2;
  return right ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "vendor-library: %s\n", error.what());
  return 2;
}
