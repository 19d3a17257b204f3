/* wick/c.h used by a program in C99: each function, and what it does with mistakes. c_api_test MODEL TEMPLATE */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wick/c.h>

static int failures = 0;

static void check(int condition, const char* what, int line) {
  if (condition) return;
  ++failures;
  printf("line %d: %s (last error: %s)\n", line, what, wick_last_error());
}
#define CHECK(condition) check((condition) != 0, #condition, __LINE__)

typedef struct seen {
  char text[4096];
  int pieces;
  int calls;
  int stop_after;
} seen;

static int32_t on_piece(void* user, wick_piece_kind kind, const char* text) {
  seen* into = user;
  if (kind == WICK_CONTENT) strncat(into->text, text, sizeof into->text - strlen(into->text) - 1);
  if (kind == WICK_CALL_BEGIN) ++into->calls;
  ++into->pieces;
  return into->stop_after == 0 || into->pieces < into->stop_after;
}

static void test_names(void) {
  CHECK(wick_c_version() == WICK_C_VERSION);
  CHECK(strlen(wick_version()) > 0);
  CHECK(strstr(wick_backends(), "cpu") != NULL);
  CHECK(strcmp(wick_status_name(WICK_INVALID_ARGUMENT), "invalid_argument") == 0);
  CHECK(strcmp(wick_status_name(WICK_CORRUPT_FILE), "corrupt_file") == 0);
  CHECK(strcmp(wick_status_name(WICK_BACKEND_NOT_LINKED), "backend_not_linked") == 0);
  CHECK(strcmp(wick_status_name(WICK_CONTEXT_FULL), "context_full") == 0);
}

static void test_mistakes(void) {
  wick_model* model = NULL;
  CHECK(wick_model_load("/nowhere.gguf", NULL, &model) == WICK_NOT_FOUND && model == NULL);
  CHECK(strstr(wick_last_error(), "/nowhere.gguf") != NULL && strchr(wick_last_error(), '\n') == NULL);
  CHECK(wick_model_load(NULL, NULL, &model) == WICK_INVALID_ARGUMENT && strstr(wick_last_error(), "path") != NULL);
  CHECK(wick_generate(NULL, "x", NULL, NULL, NULL, NULL) == WICK_INVALID_ARGUMENT);
  CHECK(wick_options_set_number(NULL, "x", 1) == WICK_INVALID_ARGUMENT);
  wick_sampler* sampler = NULL;
  wick_options* options = wick_options_new();
  CHECK(wick_options_set_number(options, "temprature", 1) == WICK_OK);
  CHECK(wick_sampler_new(options, &sampler) == WICK_INVALID_ARGUMENT && strstr(wick_last_error(), "temprature") != NULL);
  wick_options_free(options);
  wick_model_free(NULL);
  wick_answer_free(NULL);
  wick_sampler_free(NULL);
  wick_tensor_free(NULL);
  wick_options_free(NULL);
  CHECK(wick_answer_text(NULL)[0] == '\0' && wick_answer_calls(NULL) == 0 && wick_tensor_extent(NULL, 0) == -1);
}

/* A DLManagedTensorVersioned, as far as is read of it here. */
typedef struct managed_tensor {
  uint32_t version[2];
  void* context;
  void (*deleter)(struct managed_tensor*);
  uint64_t flags;
  void* data;
} managed_tensor;

/* The first number of a tensor that is gone afterwards. */
static double draw(wick_status (*of)(const int64_t*, int32_t, wick_tensor**)) {
  const int64_t shape[1] = {1};
  wick_tensor* tensor = NULL;
  CHECK(of(shape, 1, &tensor) == WICK_OK && strcmp(wick_tensor_dtype(tensor), "f32") == 0 && wick_tensor_extent(tensor, 0) == 1);
  void* lent = NULL;
  CHECK(wick_tensor_to_dlpack(tensor, &lent) == WICK_OK);
  managed_tensor* const managed = lent;
  const double value = *(const float*)managed->data;
  managed->deleter(managed);
  wick_tensor_free(tensor);
  return value;
}

static void test_random_numbers(void) {
  wick_tensor* tensor = NULL;
  double draws[6];
  for (int i = 0; i < 6; ++i) {
    draws[i] = draw(i % 2 == 0 ? wick_tensor_rand : wick_tensor_randn);
    for (int j = 0; j < i; ++j) CHECK(draws[i] != draws[j]);
  }
  wick_manual_seed(42);
  /* The first word of the stream of seed 42, of which uniform numbers take the upper 24 bits. */
  CHECK(draw(wick_tensor_rand) == 10283760 / 16777216.0);
  const double second = draw(wick_tensor_randn);
  wick_manual_seed(43);
  CHECK(draw(wick_tensor_rand) != 10283760 / 16777216.0);
  wick_manual_seed(42);
  CHECK(draw(wick_tensor_rand) == 10283760 / 16777216.0 && draw(wick_tensor_randn) == second);
  const float logits[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  int32_t tokens[2][8];
  for (int round = 0; round < 2; ++round) {
    wick_sampler* sampler = NULL;
    wick_manual_seed(7);
    CHECK(wick_sampler_new(NULL, &sampler) == WICK_OK);
    for (int i = 0; i < 8; ++i) CHECK(wick_sampler_sample(sampler, logits, 8, &tokens[round][i]) == WICK_OK);
    wick_sampler_free(sampler);
  }
  CHECK(memcmp(tokens[0], tokens[1], sizeof tokens[0]) == 0);
  const int64_t bad[2] = {2, -1};
  CHECK(wick_tensor_rand(bad, 2, &tensor) == WICK_SHAPE_MISMATCH && strstr(wick_last_error(), "-1") != NULL);
  CHECK(wick_tensor_randn(NULL, 1, &tensor) == WICK_INVALID_ARGUMENT && wick_tensor_rand(bad, -1, &tensor) == WICK_INVALID_ARGUMENT);
  CHECK(wick_tensor_rand(NULL, 0, &tensor) == WICK_OK && wick_tensor_rank(tensor) == 0);
  wick_tensor_free(tensor);
}

static void test_text(wick_model* model) {
  int32_t tokens[64];
  char text[256];
  size_t count = 0, length = 0;
  const char* const names[3] = {"name", "architecture", "device"};
  const char* texts[3];
  char copies[3][64];
  for (int i = 0; i < 3; ++i) {
    texts[i] = wick_model_text(model, names[i]);
    snprintf(copies[i], sizeof copies[i], "%s", texts[i]);
  }
  CHECK(wick_tokenize(model, "The sea was calm.", 0, tokens, 64, &count) == WICK_OK && count > 2 && count < 20);
  size_t needed = 0;
  CHECK(wick_tokenize(model, "The sea was calm.", 0, NULL, 0, &needed) == WICK_OK && needed == count);
  CHECK(wick_detokenize(model, tokens, count, text, sizeof text, &length) == WICK_OK && strstr(text, "The sea was calm.") != NULL);
  CHECK(wick_detokenize(model, tokens, count, text, 4, &needed) == WICK_OK && needed == length && strlen(text) == 3);
  tokens[0] = 1 << 30;
  CHECK(wick_detokenize(model, tokens, 1, text, sizeof text, &length) == WICK_INDEX_OUT_OF_RANGE);
  int64_t value = 0;
  CHECK(wick_model_number(model, "vocab_size", &value) == WICK_OK && value > 1000);
  CHECK(wick_model_number(model, "colour", &value) == WICK_INVALID_ARGUMENT);
  CHECK(strcmp(wick_model_text(model, "architecture"), "llama") == 0 && wick_model_text(model, "colour") == NULL);
  /* They last as long as the model. */
  for (int i = 0; i < 3; ++i) CHECK(strcmp(texts[i], copies[i]) == 0 && texts[i] == wick_model_text(model, names[i]));
}

static void test_generate(wick_model* model) {
  wick_options* options = wick_options_new();
  wick_options_set_number(options, "temperature", 0);
  wick_options_set_number(options, "max_tokens", 12);
  seen pieces = {{0}, 0, 0, 0};
  wick_answer* answer = NULL;
  wick_answer* again = NULL;
  CHECK(wick_generate(model, "The sea", options, on_piece, &pieces, &answer) == WICK_OK);
  CHECK(wick_generate(model, "The sea", options, NULL, NULL, &again) == WICK_OK);
  CHECK(strlen(wick_answer_text(answer)) > 5 && strcmp(wick_answer_text(answer), pieces.text) == 0);
  CHECK(strcmp(wick_answer_text(answer), wick_answer_text(again)) == 0);
  size_t count = 0;
  CHECK(wick_answer_tokens(answer, &count) != NULL && count == 12 && wick_answer_number(answer, "completion_tokens") == 12);
  CHECK(strcmp(wick_answer_stop_reason(answer), "MAX_TOKENS") == 0 && isnan(wick_answer_number(answer, "colour")));
  wick_answer_free(answer);
  wick_answer_free(again);
  seen stopped = {{0}, 0, 0, 2};
  CHECK(wick_generate(model, "The sea", options, on_piece, &stopped, &answer) == WICK_OK);
  CHECK(strcmp(wick_answer_stop_reason(answer), "CANCELLED") == 0 && stopped.pieces == 2);
  wick_answer_free(answer);
  wick_options_set_text(options, "regex", "[0-9]{4}");
  CHECK(wick_generate(model, "Year: ", options, NULL, NULL, &answer) == WICK_OK && strlen(wick_answer_text(answer)) == 4);
  wick_answer_free(answer);
  wick_options_set_text(options, "choices", "a");
  CHECK(wick_generate(model, "x", options, NULL, NULL, &answer) == WICK_INVALID_ARGUMENT);
  wick_options_free(options);
}

static void test_chat(wick_model* model) {
  const char* messages = "[{\"role\":\"user\",\"content\":\"Hello\"}]";
  const char* tools = "[{\"type\":\"function\",\"function\":{\"name\":\"weather\",\"parameters\":{}}}]";
  wick_options* options = wick_options_new();
  wick_options_set_number(options, "max_tokens", 200);
  wick_options_set_text(options, "choices", "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Bath\"}}\n</tool_call>");
  seen pieces = {{0}, 0, 0, 0};
  wick_answer* answer = NULL;
  CHECK(wick_chat(model, messages, tools, options, on_piece, &pieces, &answer) == WICK_OK);
  CHECK(wick_answer_calls(answer) == 1 && pieces.calls == 1);
  CHECK(strcmp(wick_answer_call_name(answer, 0), "weather") == 0 && strstr(wick_answer_call_arguments(answer, 0), "Bath") != NULL);
  CHECK(wick_answer_call_name(answer, 1) == NULL && strcmp(wick_answer_text(answer), "") == 0);
  wick_answer_free(answer);
  CHECK(wick_chat(model, "no JSON", NULL, options, NULL, NULL, &answer) == WICK_INVALID_ARGUMENT);
  wick_options_free(options);
}

static void test_embed_and_sample(wick_model* model) {
  int64_t width = 0;
  size_t count = 0;
  CHECK(wick_model_number(model, "width", &width) == WICK_OK);
  float* embedding = calloc((size_t)width, sizeof *embedding);
  CHECK(wick_embed(model, "The sea", embedding, (size_t)width, &count) == WICK_OK && count == (size_t)width && embedding[0] != 0);
  free(embedding);
  const char* documents[1] = {"The ocean"};
  float score = 0;
  CHECK(wick_rerank(model, "The sea", documents, 1, &score) == WICK_INVALID_ARGUMENT);
  CHECK(wick_rerank(model, "The sea", NULL, 1, &score) == WICK_INVALID_ARGUMENT);
  const float logits[4] = {0, 3, 1, 2};
  wick_sampler* sampler = NULL;
  wick_options* options = wick_options_new();
  wick_options_set_number(options, "temperature", 0);
  int32_t token = -1;
  CHECK(wick_sampler_new(options, &sampler) == WICK_OK && wick_sampler_accept(sampler, 0) == WICK_OK);
  CHECK(wick_sampler_sample(sampler, logits, 4, &token) == WICK_OK && token == 1);
  CHECK(wick_sampler_sample(sampler, logits, 0, &token) == WICK_INVALID_ARGUMENT);
  wick_sampler_free(sampler);
  wick_options_free(options);
}

int main(int argument_count, char** arguments) {
  if (argument_count != 3) return 2;
  test_names();
  test_mistakes();
  test_random_numbers();
  wick_options* options = wick_options_new();
  wick_options_set_text(options, "device", "cpu");
  wick_options_set_text(options, "chat_template", arguments[2]);
  wick_model* model = NULL;
  CHECK(wick_model_load(arguments[1], options, &model) == WICK_OK);
  wick_options_free(options);
  if (model != NULL) {
    test_text(model);
    test_generate(model);
    test_chat(model);
    test_embed_and_sample(model);
  }
  wick_model_free(model);
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
