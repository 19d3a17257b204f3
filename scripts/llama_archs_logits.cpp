// Writes the logits that llama.cpp computes after each token, with an f32 cache and without flash attention, for scripts/llama_archs_check:
//
//     llama_archs_logits MODEL.gguf 3,17,5 OUT.npy
//
// It is built beside a static build of llama.cpp (cmake -B build -DBUILD_SHARED_LIBS=OFF -DGGML_OPENMP=OFF), in its folder:
//
//     g++ -std=c++17 -I include -I ggml/include llama_archs_logits.cpp -o llama_archs_logits
//         -Wl,--start-group $(find build/src build/ggml -name '*.a') -Wl,--end-group -lpthread -ldl
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "llama.h"

namespace {

bool write_npy(const char* path, llama_context* context, size_t tokens, size_t vocabulary) {
  std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(tokens) + ", " + std::to_string(vocabulary) + "), }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::FILE* const file = std::fopen(path, "wb");
  if (file == nullptr) return false;
  const unsigned char magic[] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<unsigned char>(header.size() & 255), static_cast<unsigned char>(header.size() >> 8)};
  std::fwrite(magic, 1, sizeof magic, file);
  std::fwrite(header.data(), 1, header.size(), file);
  for (size_t at = 0; at < tokens; ++at) std::fwrite(llama_get_logits_ith(context, static_cast<int>(at)), sizeof(float), vocabulary, file);
  return std::fclose(file) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "llama_archs_logits MODEL.gguf TOKENS OUT.npy\n"), 2;
  const auto log = [](ggml_log_level level, const char* text, void*) {
    if (level >= GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
  };
  llama_log_set(log, nullptr);
  llama_model* const model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == nullptr) return 1;
  std::vector<llama_token> tokens;
  std::stringstream list(argv[2]);
  for (std::string word; std::getline(list, word, ',');) tokens.push_back(std::atoi(word.c_str()));
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 0;
  params.n_threads = params.n_threads_batch = 1;
  params.type_k = params.type_v = GGML_TYPE_F32;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  llama_context* const context = llama_init_from_model(model, params);
  if (context == nullptr) return 1;
  const int count = static_cast<int>(tokens.size());
  llama_batch batch = llama_batch_init(count, 0, 1);
  batch.n_tokens = count;
  for (int at = 0; at < count; ++at) {
    batch.token[at] = tokens[static_cast<size_t>(at)];
    batch.pos[at] = at;
    batch.n_seq_id[at] = 1;
    batch.seq_id[at][0] = 0;
    batch.logits[at] = 1;
  }
  if (llama_decode(context, batch) != 0) return 1;
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  return write_npy(argv[3], context, tokens.size(), static_cast<size_t>(vocabulary)) ? 0 : 1;
}
