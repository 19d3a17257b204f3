#include "wick/cli/commands/line_editor.h"

#include <cstdio>
#include <cwchar>
#include <iostream>
#include <string_view>
#include <utility>

#include "wick/base/dynlib.h"
#include "wick/base/fail.h"

namespace wick {
namespace {

constexpr const char* kPrompt = "> ";
constexpr int kStandardInput = 0;

// The part of editline(3)'s binary interface that is used here; it has been the same since libedit.so.2.
struct EditLine;
struct History;
struct HistEvent {
  int number;
  const char* text;
};
constexpr int kSetPrompt = 0;    // EL_PROMPT
constexpr int kSetEditor = 2;    // EL_EDITOR
constexpr int kSetSignal = 3;    // EL_SIGNAL
constexpr int kSetHistory = 10;  // EL_HIST
constexpr int kSetReader = 13;   // EL_GETCFN
struct LineInfo {
  const char* buffer;
  const char* cursor;
  const char* last_character;
};
constexpr int kHistorySize = 1;     // H_SETSIZE
constexpr int kHistoryEnter = 10;   // H_ENTER
constexpr int kHistoryUnique = 20;  // H_SETUNIQUE
constexpr int kRememberedLines = 500;

const char* prompt_of(EditLine* /*editor*/) { return kPrompt; }

}  // namespace

struct LineEditor::Libedit {
  explicit Libedit(InterruptGuard& guard) : library("libedit.so.2"), interrupt(guard) {
    init = library.function<EditLine*(const char*, FILE*, FILE*, FILE*)>("el_init");
    set = library.function<int(EditLine*, int, ...)>("el_set");
    line = library.function<const LineInfo*(EditLine*)>("el_line");
    gets = library.function<const char*(EditLine*, int*)>("el_gets");
    end = library.function<void(EditLine*)>("el_end");
    new_history = library.function<History*()>("history_init");
    call_history = library.function<int(History*, HistEvent*, int, ...)>("history");
    end_history = library.function<void(History*)>("history_end");
    const bool whole = init && set && line && gets && end && new_history && call_history && end_history;
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
    set(editor, kSetReader, read_character);
  }
  ~Libedit() {
    if (history != nullptr) end_history(history);
    if (editor != nullptr) end(editor);
  }
  Libedit(const Libedit&) = delete;
  Libedit& operator=(const Libedit&) = delete;

  // libedit's own reader goes on where a signal comes. Returns 1, 0 at the end of the input, or -1, which ends the line.
  static int read_character(EditLine* editor, wchar_t* character) {
    Libedit& self = *reading;
    std::mbstate_t state = {};
    // Ctrl-D that came before libedit took the terminal, during the answer say, is kept by the terminal as a zero in place of the line's
    // end. A zero that is typed later is Ctrl-Space.
    const bool was_there = std::exchange(self.begins_line, false) && self.interrupt.has_input(kStandardInput);
    for (;;) {
      char byte = 0;
      int count = self.interrupt.read_byte(kStandardInput, byte);
      if (count > 0 && byte == 0 && was_there) count = 0;
      if (count <= 0) {
        const LineInfo* info = self.line(editor);
        self.thrown_away.assign(info->buffer, info->last_character);
        return count;
      }
      const size_t length = std::mbrtowc(character, &byte, 1, &state);
      if (length == static_cast<size_t>(-2)) continue;  // more bytes of the same character
      if (length == static_cast<size_t>(-1)) {
        state = {};
        continue;
      }
      return 1;
    }
  }

  // The one that calls libedit on this thread, for the reader, which libedit gives nothing of ours.
  static thread_local Libedit* reading;

  DynamicLibrary library;
  InterruptGuard& interrupt;
  std::string thrown_away = {};
  bool begins_line = true;  // nothing was read of it
  EditLine* (*init)(const char*, FILE*, FILE*, FILE*);
  int (*set)(EditLine*, int, ...);
  const LineInfo* (*line)(EditLine*);
  const char* (*gets)(EditLine*, int*);
  void (*end)(EditLine*);
  History* (*new_history)();
  int (*call_history)(History*, HistEvent*, int, ...);
  void (*end_history)(History*);
  EditLine* editor = nullptr;
  History* history = nullptr;
};

thread_local LineEditor::Libedit* LineEditor::Libedit::reading = nullptr;

LineEditor::LineEditor(const Console& console, InterruptGuard& interrupt) : console_(console), interrupt_(interrupt) {
  const bool can_edit = &console.in == &std::cin && console.input_is_terminal && console.errors_are_terminal && !console.plain_terminal;
  if (!can_edit) return;
  try {
    libedit_ = std::make_unique<Libedit>(interrupt);
  } catch (const Error& error) {
    console.detail(fmt::format("lines cannot be edited: {}; install libedit2", error.what()));
  }
}

LineEditor::~LineEditor() = default;

// A terminal's line, byte by byte: Ctrl-C between a wait and getline() would be lost until the line ends. The terminal throws a line away
// that Ctrl-C ends.
InputLine LineEditor::read_terminal_line() {
  std::string text;
  for (char byte = 0;;) {
    const int count = interrupt_.read_byte(kStandardInput, byte);
    if (count < 0) return {.kind = InputLine::Kind::interrupt};
    if (count == 0 && text.empty()) return {.kind = InputLine::Kind::end};
    if (count == 0 || byte == '\n') return {.kind = InputLine::Kind::text, .text = std::move(text)};
    text += byte;
  }
}

InputLine LineEditor::read_plain() {
  console_.err << kPrompt << std::flush;
  const bool waits = &console_.in == &std::cin && console_.in.rdbuf()->in_avail() <= 0;
  if (waits && console_.input_is_terminal) return read_terminal_line();
  if (waits && !interrupt_.wait_for_input(kStandardInput)) return {.kind = InputLine::Kind::interrupt};
  InputLine line{.kind = InputLine::Kind::text};
  if (!std::getline(console_.in, line.text)) line.kind = InputLine::Kind::end;
  return line;
}

InputLine LineEditor::read() {
  interrupt_.clear();
  if (libedit_ == nullptr) {
    InputLine line = read_plain();
    if (line.kind == InputLine::Kind::interrupt) interrupt_.clear();
    return line;
  }
  int count = 0;
  Libedit::reading = libedit_.get();
  libedit_->begins_line = true;
  const char* text = libedit_->gets(libedit_->editor, &count);
  Libedit::reading = nullptr;
  if (text == nullptr || count <= 0) {
    if (!interrupt_.requested()) return {.kind = InputLine::Kind::end};
    interrupt_.clear();
    return {.kind = InputLine::Kind::interrupt, .text = std::move(libedit_->thrown_away)};
  }
  InputLine line{.kind = InputLine::Kind::text, .text = std::string(text, static_cast<size_t>(count))};
  if (line.text.find_first_not_of(" \t\r\n") != std::string::npos) {
    HistEvent event{};
    libedit_->call_history(libedit_->history, &event, kHistoryEnter, line.text.c_str());
  }
  if (line.text.ends_with('\n')) line.text.pop_back();
  return line;
}

}  // namespace wick
