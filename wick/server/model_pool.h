// A ModelPool serves several models from one process: a model is loaded when a request names it, and unloaded when it was not used for a
// while, or when its memory is needed for another one.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/server/router.h"
#include "wick/server/worker.h"

namespace wick::server {

struct PooledModel {
  std::string name = {};
  std::vector<std::string> aliases = {};      // further names of the model
  std::vector<std::string> adapters = {};     // names of its adapters, which requests use as names of models
  bool only_embeds = false;                   // answers no request that generates text
  bool is_preloaded = false;                  // loaded at start, and not at its first request
  uint64_t bytes = 0;                         // of its files, and of its draft's
  std::chrono::milliseconds unload_after{0};  // without requests; 0: never
  // Errors: any. out_of_memory: another model is unloaded, and it is called again.
  std::function<std::shared_ptr<Service>(const Progress& progress)> load = {};
};

struct PoolOptions {
  std::vector<PooledModel> models = {};        // names are unique; the first is the one of requests that name none
  int64_t max_loaded = 0;                      // models in memory at once; 0: as many as it holds
  uint64_t memory_bytes = 0;                   // of all models that are loaded, weights and KV caches; 0: no limit
  std::chrono::milliseconds patience{60'000};  // how long a request waits until models in use make room for its own
  size_t queue = 256;                          // requests that wait for one model to be loaded
};

// Any number of threads may use it; models are loaded and unloaded by the one that calls run().
class ModelPool {
 public:
  using AddRoutes = std::function<void(Router& router, Worker& worker)>;
  // Gets what happens to models: "model_loaded", and its details.
  using Log = std::function<void(std::string_view level, std::string_view event, const Json& details)>;

  // `worker`: of the options of each model's Worker; its model_ref is set here. `access` must outlive the pool.
  ModelPool(PoolOptions options, const WorkerOptions& worker, Access& access, const AddRoutes& add_routes, Log log);
  ~ModelPool();
  ModelPool(const ModelPool&) = delete;
  ModelPool& operator=(const ModelPool&) = delete;

  // Loads and unloads until stop().
  void run();
  // Refuses what waits for a model, and ends run(). Where a model is loading, its Progress throws what `stopped` throws.
  void stop();

  // Adds the routes of all models to a router; their handler is the model's that the request names.
  void add_model_routes(Router& router);
  // Answers {"success": true} once the model is loaded, or unloaded, before which its requests under way end. Errors: ApiError: 404 for an
  // unknown model; 409 for one that is loading, or whose requests do not end in PoolOptions::patience.
  void load(std::string_view name, const Exchange& exchange);
  void unload(std::string_view name, const Exchange& exchange);

  enum class State { unloaded, loading, loaded, unloading };
  struct Row {
    const PooledModel& model;
    State state = State::unloaded;
    std::string failure = {};  // of the last attempt to load it
    std::shared_ptr<Service> service = {};
    const Worker& worker;
  };
  // All models in the order of the options.
  [[nodiscard]] std::vector<Row> rows() const;
  // The worker of the model of that name, alias or adapter; empty: of the first model. Errors: ApiError with status 404.
  [[nodiscard]] Worker& worker(std::string_view name);

 private:
  struct Entry;
  // A request that waits for its model; without a request, who asked for no more than the loading.
  struct Waiting {
    std::optional<HttpRequest> request = {};
    Exchange exchange = {};
  };
  struct Unloading {
    Entry* entry = nullptr;
    Exchange exchange = {};
  };
  using Lock = std::unique_lock<std::mutex>;

  [[nodiscard]] Entry& find(std::string_view name) const;
  void handle(HttpRequest& request, const Exchange& exchange);
  void wait_for(Entry& entry, Waiting waiting);
  void unload_wanted(const Unloading& next, Lock& lock);
  void load_wanted(Entry& entry, Lock& lock);
  [[nodiscard]] std::shared_ptr<Service> load_service(Entry& entry, Lock& lock);
  void make_room(const Entry& entry, Lock& lock);
  [[nodiscard]] bool has_room(const Entry& entry) const;
  // The loaded model that was used longest ago, one that is idle if there is one.
  [[nodiscard]] Entry* oldest() const;
  // Gives no more requests to a model, and waits until those under way have ended; false if they have not in time.
  [[nodiscard]] bool drain(Entry& entry, std::chrono::steady_clock::time_point end, Lock& lock);
  void unload(Entry& entry, std::string_view reason, Lock& lock);
  void unload_idle(Lock& lock);
  void answer(Entry& entry, const std::optional<ApiError>& error, Lock& lock);

  PoolOptions options_;
  Log log_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::map<std::string, Entry*, std::less<>> names_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry*> wanted_;
  std::deque<Unloading> unloads_;
  std::atomic<bool> stops_ = false;
};

[[nodiscard]] std::string_view to_string(ModelPool::State state) noexcept;

}  // namespace wick::server
