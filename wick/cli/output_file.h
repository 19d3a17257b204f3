// Checks of a file that is about to be written.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string_view>

#include "wick/formats/gguf.h"
#include "wick/model/checkpoint/checkpoint.h"

namespace wick {

// Errors: invalid_argument if the output is the file that is read, by whatever name: a link, another spelling.
void refuse_to_overwrite_file(const std::filesystem::path& input, const std::filesystem::path& output);
// Errors: invalid_argument if the output is the model that is read, or one of its parts, by whatever name.
void refuse_to_overwrite(const GgufFile& input, const std::filesystem::path& output);
void refuse_to_overwrite(const Checkpoint& input, const std::filesystem::path& output);

// To be called before long work whose result goes there. Errors: invalid_argument if it is one of the files that are read, by whatever
// name; those of AtomicFile: a folder that is absent or may not be written to.
void check_writable(const std::filesystem::path& output, std::initializer_list<std::filesystem::path> inputs = {});
// The same for a folder in which files are written while a program runs. Errors: invalid_argument, naming the flag, for one that is absent
// or may not be written to.
void check_writable_folder(std::string_view flag, const std::filesystem::path& folder);

}  // namespace wick
