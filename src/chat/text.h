// Text: a string of a template's world, each byte of which knows who wrote it.
//
// Invariants: `runs` cover the bytes in order, neighbours differ. Every operation copies bytes
// together with their provenance; there is no way to make request text into template text.
// Thread-safety: a value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace minfer::chat {

/// Who wrote a byte: the template's source, the request (and whatever was computed from it), or the
/// content of one of the request's messages (message_origin).
enum class Origin : std::int32_t { kTemplate = -2, kRequest = -1 };

/// The content of message `index`.
constexpr Origin message_origin(std::size_t index) { return static_cast<Origin>(index); }
/// The message whose content it is; -1 for none.
constexpr std::int32_t message_of(Origin origin) {
  return std::max(static_cast<std::int32_t>(origin), std::int32_t{-1});
}

class Text {
 public:
  struct Run {
    std::size_t end;
    Origin origin;
    bool operator==(const Run&) const = default;
  };

  /// Marked `|safe` or escaped: joined to other text by +, it has that text escaped.
  bool markup = false;

  Text() = default;
  Text(std::string bytes, Origin origin);

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }

  void append(std::string_view bytes, Origin origin);
  void append(const Text& other) { append(other, 0, other.size()); }
  /// Bytes [begin, end) of another text.
  void append(const Text& other, std::size_t begin, std::size_t end);
  void append_times(const Text& other, std::size_t times);
  /// Bytes [begin, end).
  [[nodiscard]] Text sub(std::size_t begin, std::size_t end) const;
  /// Who wrote the byte at `at` < size().
  [[nodiscard]] Origin origin_at(std::size_t at) const;

 private:
  std::string bytes_;
  std::vector<Run> runs_;
};

/// Start of every character, and the size at the end: Python's positions as bytes.
std::vector<std::size_t> char_starts(std::string_view bytes);

/// Where `text` is cut by str.strip(chars); empty `chars` means white space.
struct Stripped {
  std::size_t begin;
  std::size_t end;
};
Stripped strip(std::string_view text, const std::string* chars, bool left, bool right);

/// Python's str.isspace for one character.
bool is_space(char32_t code);

}  // namespace minfer::chat
