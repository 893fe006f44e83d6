// KeyDecoder: the bytes that a terminal sends, as keys.
//
// Owns: what has been read of an escape sequence, a character or a paste that is not complete.
// Invariants: the keys do not depend on how the bytes were cut into reads; an unknown sequence
// gives nothing, and none of its bytes appear as text. Text is well-formed UTF-8.
// Thread-safety: none; one per terminal.
// Sequences: ECMA-48 (control sequences), xterm's ctlseqs (modifiers, bracketed paste).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace minfer::app {

enum class Key : std::uint8_t {
  kText,     // one or more characters, in `text`
  kPaste,    // the same, pasted; its line ends are '\n'
  kControl,  // Ctrl and `letter`, 'a'..'z' or one of @ [ \ ] ^ _
  kAlt,      // Alt and `letter`; Alt+Backspace has 0x7F
  kEnter,
  kNewLine,  // Alt+Enter, Ctrl+J, and Shift+Enter where the terminal tells it apart
  kTab,
  kBackspace,
  kDelete,
  kUp,
  kDown,
  kLeft,
  kRight,
  kWordLeft,
  kWordRight,
  kHome,
  kEnd,
  kEscape,
};

struct KeyEvent {
  Key key = Key::kText;
  std::string text;
  char letter = 0;

  bool operator==(const KeyEvent&) const = default;
};

class KeyDecoder {
 public:
  /// Appends the keys that `bytes` complete to `keys`.
  void feed(std::string_view bytes, std::vector<KeyEvent>& keys);

  /// True while an escape sequence waits for its rest: if nothing comes for a moment, call
  /// give_up(). A paste or a character waits as long as it takes.
  [[nodiscard]] bool waiting() const { return state_ != State::kGround && state_ != State::kPaste; }

  /// The rest does not come: a lone ESC is the Escape key, half a sequence is dropped.
  void give_up(std::vector<KeyEvent>& keys);

 private:
  enum class State : std::uint8_t { kGround, kEscape, kControlSequence, kSkipOne, kString, kPaste };

  void ground(char byte, std::vector<KeyEvent>& keys);
  void escape(char byte, std::vector<KeyEvent>& keys);
  void control_sequence(char byte, std::vector<KeyEvent>& keys);
  void string(char byte);
  std::string_view paste(std::string_view bytes, std::vector<KeyEvent>& keys);
  void end_sequence(char final, std::vector<KeyEvent>& keys);
  void add_text(std::string_view bytes, std::vector<KeyEvent>& keys);
  void flush_text(std::vector<KeyEvent>& keys);

  State state_ = State::kGround;
  bool alt_ = false;         // the sequence came behind an ESC of its own
  bool single_ = false;      // an SS3 sequence, which has no parameters
  std::string sequence_;     // parameters of the control sequence
  std::size_t skipped_ = 0;  // bytes of a string
  std::string partial_;      // the start of a character
  std::string paste_;
};

}  // namespace minfer::app
