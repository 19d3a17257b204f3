#include "wick/cli/line_editor.h"

#include <cstdio>
#include <iostream>
#include <string_view>

#include "wick/base/dynlib.h"
#include "wick/base/fail.h"

namespace wick {
namespace {

constexpr const char* kPrompt = "> ";

// The part of editline(3)'s binary interface that is used here; it has been the same since libedit.so.2.
struct EditLine;
struct History;
struct HistEvent {
  int number;
  const char* text;
};
constexpr int kSetPrompt = 0;       // EL_PROMPT
constexpr int kSetEditor = 2;       // EL_EDITOR
constexpr int kSetSignal = 3;       // EL_SIGNAL
constexpr int kSetHistory = 10;     // EL_HIST
constexpr int kHistorySize = 1;     // H_SETSIZE
constexpr int kHistoryEnter = 10;   // H_ENTER
constexpr int kHistoryUnique = 20;  // H_SETUNIQUE
constexpr int kRememberedLines = 500;

const char* prompt_of(EditLine* /*editor*/) { return kPrompt; }

}  // namespace

struct LineEditor::Libedit {
  Libedit() : library("libedit.so.2") {
    init = library.function<EditLine*(const char*, FILE*, FILE*, FILE*)>("el_init");
    set = library.function<int(EditLine*, int, ...)>("el_set");
    gets = library.function<const char*(EditLine*, int*)>("el_gets");
    end = library.function<void(EditLine*)>("el_end");
    new_history = library.function<History*()>("history_init");
    call_history = library.function<int(History*, HistEvent*, int, ...)>("history");
    end_history = library.function<void(History*)>("history_end");
    const bool whole = init && set && gets && end && new_history && call_history && end_history;
    if (!whole) fail(ErrorCode::not_found, "{}: a function is missing", library.name());
    // What is edited is shown on standard error: standard output is for the text.
    editor = init("wick", stdin, stderr, stderr);
    history = new_history();
    if (editor == nullptr || history == nullptr) fail(ErrorCode::unsupported, "{}: cannot edit on this terminal", library.name());
    HistEvent event{};
    call_history(history, &event, kHistorySize, kRememberedLines);
    call_history(history, &event, kHistoryUnique, 1);
    set(editor, kSetPrompt, prompt_of);
    set(editor, kSetEditor, "emacs");
    set(editor, kSetSignal, 1);  // the terminal is as before when a signal ends the program
    set(editor, kSetHistory, call_history, history);
  }
  ~Libedit() {
    if (history != nullptr) end_history(history);
    if (editor != nullptr) end(editor);
  }
  Libedit(const Libedit&) = delete;
  Libedit& operator=(const Libedit&) = delete;

  DynamicLibrary library;
  EditLine* (*init)(const char*, FILE*, FILE*, FILE*);
  int (*set)(EditLine*, int, ...);
  const char* (*gets)(EditLine*, int*);
  void (*end)(EditLine*);
  History* (*new_history)();
  int (*call_history)(History*, HistEvent*, int, ...);
  void (*end_history)(History*);
  EditLine* editor = nullptr;
  History* history = nullptr;
};

LineEditor::LineEditor(const Console& console) : console_(console) {
  const bool can_edit = &console.in == &std::cin && console.input_is_terminal && console.errors_are_terminal && !console.plain_terminal;
  if (!can_edit) return;
  try {
    libedit_ = std::make_unique<Libedit>();
  } catch (const Error& error) {
    console.detail(fmt::format("lines cannot be edited: {}; install libedit2", error.what()));
  }
}

LineEditor::~LineEditor() = default;

std::optional<std::string> LineEditor::read() {
  std::string line;
  if (libedit_ == nullptr) {
    console_.err << kPrompt << std::flush;
    if (!std::getline(console_.in, line)) return std::nullopt;
    return line;
  }
  int count = 0;
  const char* text = libedit_->gets(libedit_->editor, &count);
  if (text == nullptr || count <= 0) return std::nullopt;
  line.assign(text, static_cast<size_t>(count));
  if (line.find_first_not_of(" \t\r\n") != std::string::npos) {
    HistEvent event{};
    libedit_->call_history(libedit_->history, &event, kHistoryEnter, line.c_str());
  }
  if (line.ends_with('\n')) line.pop_back();
  return line;
}

}  // namespace wick
