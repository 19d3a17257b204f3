// Loads a language model, streams a text, then samples a few tokens by hand from the model's logits.
//
//   story MODEL.gguf [PROMPT]
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "wick/llm.h"

namespace {

void tell(const std::string& path, const std::string& prompt) {
  const wick::Llm model = wick::Llm::load(path);
  const wick::GenerationParams params{.sampling = {.temperature = 0.7F, .seed = 1}, .max_tokens = 60};
  std::cout << prompt << std::flush;
  const wick::GenerationResult result = model.generate(prompt, params, [](std::string_view piece) {
    std::cout << piece << std::flush;
    return true;  // false stops
  });
  std::cout << "\n(" << result.tokens.size() << " tokens, " << to_string(result.stop_reason) << ")\n\n";

  // The same by hand: the logits of the last position, one token, and again.
  std::vector<wick::TokenId> ids = model.tokenize(prompt);
  wick::Sampler sampler({.temperature = 0});
  for (int i = 0; i < 8; ++i) {
    const wick::Tensor logits = model.logits(ids);
    ids.push_back(sampler.sample(logits.get(logits.dim(0) - 1).to_vector<float>()));
  }
  std::cout << "greedy: " << model.detokenize(ids) << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: story MODEL.gguf [PROMPT]\n", stderr);
    return 2;
  }
  try {
    tell(argv[1], argc > 2 ? argv[2] : "Once upon a time");
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 2;
  }
}
