// Slots are what llama.cpp's clients keep a conversation in. Here the prefix cache keeps it: a slot is a name for the tokens that the last
// request with its number left there, so that they can be saved to a file and restored from it.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "wick/server/router.h"
#include "wick/server/worker.h"

namespace wick::server {

// Any number of threads may use it.
class Slots {
 public:
  // Keeps the tokens of a finished request: prompt and answer.
  void keep(int64_t slot, std::vector<TokenId> tokens);
  [[nodiscard]] std::vector<TokenId> tokens_of(int64_t slot) const;
  void forget_all();

 private:
  mutable std::mutex mutex_;
  std::map<int64_t, std::vector<TokenId>> tokens_;
};

// GET /slots, and POST /slots/{id}?action=save|restore|erase, with {"filename": …} in the folder of WorkerOptions.
void add_slot_routes(Router& router, Worker& worker, const std::shared_ptr<Slots>& slots);

}  // namespace wick::server
