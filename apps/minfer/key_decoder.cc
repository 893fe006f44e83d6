#include "key_decoder.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"

namespace minfer::app {
namespace {

constexpr char kEsc = '\x1b';
constexpr char kDel = '\x7f';
constexpr std::string_view kPasteEnd = "\x1b[201~";
constexpr std::size_t kMaxSequence = 64;
constexpr std::size_t kMaxString = 4096;

KeyEvent plain(Key key) { return {key, {}, 0}; }

/// The line ends of a terminal are '\r'; of a paste they may be anything.
std::string with_newlines(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      result += text[i];
    } else {
      result += '\n';
      if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
    }
  }
  return replace_invalid_utf8(result);
}

struct Sequence {
  char final;
  int number;  // in front of '~'
  Key key;
};
constexpr Sequence kSequences[] = {
    {'A', 0, Key::kUp},   {'B', 0, Key::kDown}, {'C', 0, Key::kRight}, {'D', 0, Key::kLeft},
    {'H', 0, Key::kHome}, {'F', 0, Key::kEnd},  {'M', 0, Key::kEnter}, {'~', 1, Key::kHome},
    {'~', 7, Key::kHome}, {'~', 4, Key::kEnd},  {'~', 8, Key::kEnd},   {'~', 3, Key::kDelete},
};

/// The parameters of a sequence, missing ones 0; at most three count.
std::array<int, 3> parameters(std::string_view text) {
  std::array<int, 3> numbers{};
  std::size_t at = 0;
  for (const char c : text) {
    if (c == ';') {
      if (++at == numbers.size()) break;
    } else if (c >= '0' && c <= '9') {
      numbers[at] = std::min(numbers[at] * 10 + (c - '0'), 9999);
    }
  }
  return numbers;
}

}  // namespace

void KeyDecoder::feed(std::string_view bytes, std::vector<KeyEvent>& keys) {
  while (!bytes.empty()) {
    if (state_ == State::kPaste) {
      bytes = paste(bytes, keys);
      continue;
    }
    if (state_ == State::kGround) {
      const auto end = std::find_if(bytes.begin(), bytes.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == kDel;
      });
      const auto length = static_cast<std::size_t>(end - bytes.begin());
      if (length > 0) {
        add_text(bytes.substr(0, length), keys);
        bytes.remove_prefix(length);
        continue;
      }
    }
    const char byte = bytes.front();
    bytes.remove_prefix(1);
    switch (state_) {
      case State::kGround:
        ground(byte, keys);
        break;
      case State::kEscape:
        escape(byte, keys);
        break;
      case State::kControlSequence:
        control_sequence(byte, keys);
        break;
      case State::kString:
        string(byte);
        break;
      case State::kSkipOne:
      case State::kPaste:
        state_ = State::kGround;
        break;
    }
  }
}

void KeyDecoder::give_up(std::vector<KeyEvent>& keys) {
  if (!waiting()) return;
  if (state_ == State::kEscape) keys.push_back(plain(Key::kEscape));
  state_ = State::kGround;
}

void KeyDecoder::add_text(std::string_view bytes, std::vector<KeyEvent>& keys) {
  std::string text = std::exchange(partial_, {}) + std::string(bytes);
  const std::size_t tail = incomplete_tail(text);
  partial_ = text.substr(text.size() - tail);
  text.resize(text.size() - tail);
  if (!text.empty()) keys.push_back({Key::kText, replace_invalid_utf8(text), 0});
}

void KeyDecoder::flush_text(std::vector<KeyEvent>& keys) {
  if (partial_.empty()) return;
  keys.push_back({Key::kText, replace_invalid_utf8(std::exchange(partial_, {})), 0});
}

void KeyDecoder::ground(char byte, std::vector<KeyEvent>& keys) {
  flush_text(keys);
  switch (byte) {
    case kEsc:
      state_ = State::kEscape;
      alt_ = false;
      return;
    case '\r':
      return keys.push_back(plain(Key::kEnter));
    case '\n':
      return keys.push_back(plain(Key::kNewLine));
    case '\t':
      return keys.push_back(plain(Key::kTab));
    case '\b':
    case kDel:
      return keys.push_back(plain(Key::kBackspace));
    default: {
      const char letter = static_cast<char>(byte + '@');
      keys.push_back({Key::kControl,
                      {},
                      letter >= 'A' && letter <= 'Z' ? static_cast<char>(byte + '`') : letter});
    }
  }
}

void KeyDecoder::escape(char byte, std::vector<KeyEvent>& keys) {
  switch (byte) {
    case kEsc:
      alt_ = true;
      return;
    case '[':
    case 'O':
      state_ = State::kControlSequence;
      single_ = byte == 'O';
      sequence_.clear();
      return;
    case ']':
    case 'P':
    case 'X':
    case '^':
    case '_':
      state_ = State::kString;
      skipped_ = 0;
      return;
    default:
      break;
  }
  state_ = State::kGround;
  if (byte == '\r' || byte == '\n') {
    keys.push_back(plain(Key::kNewLine));
  } else if (byte == '\b') {
    keys.push_back({Key::kAlt, {}, kDel});
  } else if (static_cast<unsigned char>(byte) >= 0x80) {
    add_text({&byte, 1}, keys);
  } else if (byte >= 0x20) {
    const bool upper = byte >= 'A' && byte <= 'Z';
    keys.push_back({Key::kAlt, {}, upper ? static_cast<char>(byte + 0x20) : byte});
  }
}

void KeyDecoder::control_sequence(char byte, std::vector<KeyEvent>& keys) {
  const auto code = static_cast<unsigned char>(byte);
  if (code == 0x1B) {  // the rest was lost, another begins
    state_ = State::kEscape;
    alt_ = false;
  } else if (code == '[' && sequence_.empty() && !single_) {
    state_ = State::kSkipOne;  // function keys of the Linux console
  } else if (code >= 0x40 && code <= 0x7E) {
    state_ = State::kGround;
    end_sequence(byte, keys);
  } else if (code < 0x20 || code >= 0x7F || sequence_.size() >= kMaxSequence) {
    state_ = State::kGround;
  } else {
    sequence_ += byte;
  }
}

void KeyDecoder::string(char byte) {
  // Ends with BEL or ESC \; the backslash is dropped as the rest of a sequence.
  if (byte == '\a' || ++skipped_ > kMaxString) {
    state_ = State::kGround;
  } else if (byte == kEsc) {
    state_ = State::kSkipOne;
  }
}

void KeyDecoder::end_sequence(char final, std::vector<KeyEvent>& keys) {
  const auto [number, modifier, code] = parameters(sequence_);
  if (!sequence_.empty() && sequence_.front() >= '<') return;  // private: answers and mouse
  if (final == '~' && number == 200) {
    state_ = State::kPaste;
    paste_.clear();
    return;
  }
  // Enter with a modifier, as CSI 13;2u or CSI 27;2;13~.
  const bool enter = (final == 'u' && number == 13) || (final == '~' && number == 27 && code == 13);
  if (enter) return keys.push_back(plain(modifier > 1 ? Key::kNewLine : Key::kEnter));
  if (final == 'M' && !single_) return;  // a mouse's report
  for (const Sequence& row : kSequences) {
    if (row.final != final || (final == '~' && row.number != number)) continue;
    const bool by_word = modifier > 1 || alt_;
    Key key = row.key;
    if (by_word && key == Key::kLeft) key = Key::kWordLeft;
    if (by_word && key == Key::kRight) key = Key::kWordRight;
    return keys.push_back(plain(key));
  }
}

std::string_view KeyDecoder::paste(std::string_view bytes, std::vector<KeyEvent>& keys) {
  // The end may have begun in what came before.
  const std::size_t from = paste_.size() - std::min(paste_.size(), kPasteEnd.size() - 1);
  const std::size_t before = paste_.size();
  paste_ += bytes;
  const std::size_t end = paste_.find(kPasteEnd, from);
  if (end == std::string::npos) return {};
  const std::size_t used = end + kPasteEnd.size() - before;
  keys.push_back({Key::kPaste, with_newlines(std::string_view(paste_).substr(0, end)), 0});
  paste_ = {};
  state_ = State::kGround;
  return bytes.substr(used);
}

}  // namespace minfer::app
