// Wick for C, and for every language that can call C: models, text, conversations, embeddings, sampling, tensors by DLPack.
//
// A function that can fail returns a wick_status; wick_last_error() is then the message, one line. What a function makes through a
// pointer to a pointer belongs to the caller, who frees it by the function of its type; freeing NULL does nothing. Texts that are passed in
// are UTF-8 and end with a 0; those that come out belong to the object that they were asked of. Any thread may call anything, but one
// object other than a wick_model is used by one thread at a time. Nothing here throws; callbacks must not either.
//
//   wick_model* model = NULL;
//   if (wick_model_load("model.gguf", NULL, &model) != WICK_OK) { puts(wick_last_error()); return 1; }
//   wick_answer* answer = NULL;
//   if (wick_generate(model, "Once upon a time", NULL, NULL, NULL, &answer) == WICK_OK) puts(wick_answer_text(answer));
//   wick_answer_free(answer);
//   wick_model_free(model);
//
// This interface only grows: a program that was built for WICK_C_VERSION n runs with every library whose wick_c_version() is n or more.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WICK_C_VERSION 2
#define WICK_C_API __attribute__((visibility("default")))

typedef enum wick_status {
  WICK_OK = 0,
  WICK_INVALID_ARGUMENT = 1,     // a parameter or text that cannot be
  WICK_NOT_FOUND = 2,            // a file, tensor, key or token that is not there
  WICK_IO = 3,                   // the operating system refused a read, write or map
  WICK_CORRUPT_FILE = 4,         // a file whose bytes contradict its format
  WICK_UNSUPPORTED = 5,          // well-formed, but nothing that this build can do
  WICK_SHAPE_MISMATCH = 6,       // shapes that do not fit together
  WICK_DTYPE_MISMATCH = 7,       // dtypes that do not fit together
  WICK_DEVICE_MISMATCH = 8,      // operands on different devices
  WICK_INDEX_OUT_OF_RANGE = 9,   // an index or a token outside its range
  WICK_BACKEND_NOT_LINKED = 10,  // the library was built without this backend
  WICK_NO_DEVICE = 11,           // the backend is there, the device is not
  WICK_DEVICE_LOST = 12,         // the device failed while it worked
  WICK_OUT_OF_MEMORY = 13,       // an allocation that the machine refused
  WICK_CONTEXT_FULL = 14,        // more tokens than the model's context holds
  WICK_INTERNAL = 100            // a fault of Wick's own
} wick_status;

typedef struct wick_options wick_options;
typedef struct wick_model wick_model;
typedef struct wick_answer wick_answer;
typedef struct wick_sampler wick_sampler;
typedef struct wick_tensor wick_tensor;

// The version of this interface that the library has, and the library's own version ("0.1.0").
WICK_C_API int32_t wick_c_version(void);
WICK_C_API const char* wick_version(void);
// Message of the last failed function on this thread; "" if none has failed. Valid until another one fails.
WICK_C_API const char* wick_last_error(void);
// "corrupt_file"
WICK_C_API const char* wick_status_name(wick_status status);
// The backends that the library holds: "cpu,cuda".
WICK_C_API const char* wick_backends(void);

// Sets the seed of the process: of wick_tensor_rand and _randn, and of texts and samplers that are given none. Without it the seed is
// random in each process. (Version 2.)
WICK_C_API void wick_manual_seed(uint64_t seed);

// --- Options: values by name. NULL stands for none anywhere. ---

WICK_C_API wick_options* wick_options_new(void);
WICK_C_API void wick_options_free(wick_options* options);
// Errors, here or where the options are used: WICK_INVALID_ARGUMENT, naming the option.
WICK_C_API wick_status wick_options_set_number(wick_options* options, const char* name, double value);
// Lists ("stop", "choices") get one more entry with each call.
WICK_C_API wick_status wick_options_set_text(wick_options* options, const char* name, const char* value);

// --- Models ---

// A GGUF file, or a Hugging Face folder. Options: device ("cuda:0"; the best one without), context, sequences, precise, fast,
// deterministic, kv_dtype, chat_template; gpu_layers (the last so many layers are the device's, the others the CPU's) and
// cpu_expert_layers (the CPU has the experts of the first so many).
WICK_C_API wick_status wick_model_load(const char* path, const wick_options* options, wick_model** model);
// Not while a call with it is under way.
WICK_C_API void wick_model_free(wick_model* model);
// Numbers: context, model_context, vocab_size, width, layers, parameters, file_bytes.
WICK_C_API wick_status wick_model_number(const wick_model* model, const char* name, int64_t* value);
// Texts: name, architecture, device, which last as long as the model. NULL for another name.
WICK_C_API const char* wick_model_text(const wick_model* model, const char* name);

// The tokens of a text, with the BOS that the model wants first. *count becomes their number; at most `capacity` are written.
// parse_special: control tokens spelled out in the text are taken for those tokens.
WICK_C_API wick_status wick_tokenize(const wick_model* model, const char* text, int32_t parse_special, int32_t* tokens, size_t capacity,
                                     size_t* count);
// The text of tokens, without control tokens: *length bytes, of which at most capacity - 1 are written, and a 0 behind them.
WICK_C_API wick_status wick_detokenize(const wick_model* model, const int32_t* tokens, size_t count, char* text, size_t capacity,
                                       size_t* length);

// --- Text ---

typedef enum wick_piece_kind {
  WICK_CONTENT = 0,
  WICK_REASONING = 1,
  WICK_CALL_BEGIN = 2,      // the name of a tool that is called
  WICK_CALL_ARGUMENTS = 3,  // more of its arguments
  WICK_CALL_END = 4
} wick_piece_kind;

// Takes a piece of text as it is written, on the thread of the call; returns 0 to stop.
typedef int32_t (*wick_on_piece)(void* user, wick_piece_kind kind, const char* text);

// Continues a prompt. Options of sampling are by default as the model's files say, else as in brackets.
// Options: max_tokens (256), temperature (0.8), top_k (40), top_p (0.95), min_p (0.05) and the other parameters in the table of
// docs/sampling.md, seed, ignore_eos, parse_special; the texts samplers ("top_k;temperature"), logit_bias ("15043+1.5,29871-100"),
// dry_sequence_breakers (a list), stop (a list); and json_schema, regex, grammar, choices (a list), of which one says what the text must
// look like. on_piece and user may be NULL.
WICK_C_API wick_status wick_generate(wick_model* model, const char* prompt, const wick_options* options, wick_on_piece on_piece, void* user,
                                     wick_answer** answer);
// Answers a conversation by the model's chat template. messages: JSON, [{"role":"user","content":"Hello"}]; tools: JSON in OpenAI's form,
// or NULL. Options: wick_generate's.
WICK_C_API wick_status wick_chat(wick_model* model, const char* messages, const char* tools, const wick_options* options,
                                 wick_on_piece on_piece, void* user, wick_answer** answer);

WICK_C_API void wick_answer_free(wick_answer* answer);
WICK_C_API const char* wick_answer_text(const wick_answer* answer);
WICK_C_API const char* wick_answer_reasoning(const wick_answer* answer);
// "EOS", "MAX_TOKENS", "STOP_SEQUENCE", "CANCELLED", "CONTEXT_FULL".
WICK_C_API const char* wick_answer_stop_reason(const wick_answer* answer);
// The generated tokens; *count becomes their number.
WICK_C_API const int32_t* wick_answer_tokens(const wick_answer* answer, size_t* count);
// prompt_tokens, cached_tokens, completion_tokens, seed, and in seconds prefill, decode. NaN for another name.
WICK_C_API double wick_answer_number(const wick_answer* answer, const char* name);
// The calls of tools: their number, and of each the name and the arguments, JSON. NULL for an index that is none.
WICK_C_API size_t wick_answer_calls(const wick_answer* answer);
WICK_C_API const char* wick_answer_call_name(const wick_answer* answer, size_t index);
WICK_C_API const char* wick_answer_call_arguments(const wick_answer* answer, size_t index);

// Scores of `count` documents by a query, with a reranker, in their order. WICK_INVALID_ARGUMENT for another model.
WICK_C_API wick_status wick_rerank(wick_model* model, const char* query, const char* const* documents, size_t count, float* scores);
// The mean of a text's hidden states, not normalized: *count numbers (the model's width), of which at most `capacity` are written.
WICK_C_API wick_status wick_embed(wick_model* model, const char* text, float* embedding, size_t capacity, size_t* count);

// --- Sampling: the next token of logits that the caller has ---

// Options: wick_generate's that choose tokens, but for dry_sequence_breakers: there is no vocabulary.
WICK_C_API wick_status wick_sampler_new(const wick_options* options, wick_sampler** sampler);
WICK_C_API void wick_sampler_free(wick_sampler* sampler);
// Tells of a token that stands in the text: each of the prompt, then each that was chosen.
WICK_C_API wick_status wick_sampler_accept(wick_sampler* sampler, int32_t token);
WICK_C_API wick_status wick_sampler_sample(wick_sampler* sampler, const float* logits, size_t count, int32_t* token);

// --- Tensors, shared by DLPack 1: `managed` is a DLManagedTensorVersioned ---

// Takes the memory; its deleter is called when the tensor is freed, also by a failure here. Read-only memory is copied.
WICK_C_API wick_status wick_tensor_from_dlpack(void* managed, wick_tensor** tensor);
// The same memory for another library, which calls the deleter.
WICK_C_API wick_status wick_tensor_to_dlpack(const wick_tensor* tensor, void** managed);
WICK_C_API void wick_tensor_free(wick_tensor* tensor);
WICK_C_API int32_t wick_tensor_rank(const wick_tensor* tensor);
// Extent of a dimension counted from 0; -1 if there is no such dimension.
WICK_C_API int64_t wick_tensor_extent(const wick_tensor* tensor, int32_t dimension);
// "f32"
WICK_C_API const char* wick_tensor_dtype(const wick_tensor* tensor);
// The tensors of a safetensors file, npz or PyTorch file, by name.
WICK_C_API wick_status wick_tensor_load(const char* path, const char* name, wick_tensor** tensor);
// Random f32 numbers on the CPU: uniform in [0, 1), and normal of mean 0 and deviation 1. shape: `rank` extents, NULL where rank is 0.
// (Version 2.)
WICK_C_API wick_status wick_tensor_rand(const int64_t* shape, int32_t rank, wick_tensor** tensor);
WICK_C_API wick_status wick_tensor_randn(const int64_t* shape, int32_t rank, wick_tensor** tensor);
// [..., m, k] · [..., k, n]
WICK_C_API wick_status wick_tensor_matmul(const wick_tensor* lhs, const wick_tensor* rhs, wick_tensor** product);

#ifdef __cplusplus
}
#endif
