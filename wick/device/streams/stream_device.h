// A StreamDevice is one device as a stream driver describes it.
#pragma once

#include <string>
#include <vector>

#include "wick/device/streams/stream_api.h"
#include "wick/op/device_caps.h"

namespace wick {

struct StreamDevice {
  int id = 0;  // the driver's number
  DeviceCaps caps;
  int score = 0;
  std::string target;           // what the compiler is told to compile for
  bool early_launches = false;  // whether the library's own kernels wait for the work before them, so that they can be launched early
  std::string refusal;          // why it cannot be used; empty: it can
};

// A number that the driver tells of a device. Errors: those of the driver.
[[nodiscard]] int device_number(const StreamApi& api, int device, int attribute);
// "0000:41:00.0", in small letters. Errors: those of the driver.
[[nodiscard]] std::string bus_id_of(const StreamApi& api, int device);
// Every device of the driver, in its order: number, name, limits and score, as all vendors tell them; refused where by its limits nothing
// could be launched. Errors: those of the driver.
[[nodiscard]] std::vector<StreamDevice> find_stream_devices(const StreamApi& api);

}  // namespace wick
