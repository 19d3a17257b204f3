// What other fake libraries of a vendor's need of its fake driver.
#pragma once

#include <functional>

#include "fake_gpu.h"

extern "C" {
fake_gpu::State* fake_gpu_state();
// Queues work on a stream of the driver's; it runs when somebody waits, and gives a status.
int fake_gpu_push(void* stream, const std::function<int()>& work);
}
