// Value and its views: typed looks at one metadata value of a GGUF file.
//
// Invariants: a view points into the file's bytes and copies nothing; its whole extent was checked
// against the file when the file was opened. Numbers in a file have no alignment, so they are read
// by copy.
// Thread-safety: values; valid as long as the File (or the bytes) that they came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace minfer::gguf {

/// The type numbers of the GGUF format.
enum class ValueType : std::uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

/// "u8", "string", ...; "unknown" for a number that the format does not have.
std::string_view value_type_name(ValueType type);

/// Bytes of one number or bool of `type`; 0 for strings, arrays and unknown numbers.
std::size_t value_type_size(ValueType type);

/// An array of strings, walked front to back: `for (std::string_view piece : array) ...`.
class StringArray {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::string_view*;
    using reference = std::string_view;

    Iterator() = default;
    Iterator(const std::byte* at, const std::byte* end, std::size_t index)
        : at_(at), end_(end), index_(index) {}

    std::string_view operator*() const {
      return {reinterpret_cast<const char*>(at_) + sizeof(std::uint64_t), length()};
    }
    Iterator& operator++() {
      at_ += sizeof(std::uint64_t) + length();
      ++index_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.index_ == b.index_; }

   private:
    // Lengths were checked at open; the clamp keeps reads inside the array even if another process
    // writes to the file since.
    [[nodiscard]] std::size_t length() const {
      const auto left = static_cast<std::size_t>(end_ - at_);
      if (left < sizeof(std::uint64_t)) return 0;
      const auto length = load_le<std::uint64_t>(at_);
      return length <= left - sizeof(std::uint64_t) ? static_cast<std::size_t>(length) : 0;
    }

    const std::byte* at_ = nullptr;
    const std::byte* end_ = nullptr;
    std::size_t index_ = 0;
  };

  StringArray() = default;
  StringArray(std::span<const std::byte> bytes, std::size_t size) : bytes_(bytes), size_(size) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] Iterator begin() const { return {bytes_.data(), end_of_bytes(), 0}; }
  [[nodiscard]] Iterator end() const { return {end_of_bytes(), end_of_bytes(), size_}; }
  /// All strings, for random access; the characters stay in the file.
  [[nodiscard]] std::vector<std::string_view> to_vector() const { return {begin(), end()}; }

 private:
  [[nodiscard]] const std::byte* end_of_bytes() const { return bytes_.data() + bytes_.size(); }

  std::span<const std::byte> bytes_;
  std::size_t size_ = 0;
};

/// One metadata value. The as_* functions fail with kInvalidArgument and a message without file and
/// key ("is a string, not an integer"); File's getters add both.
class Value {
 public:
  Value() = default;
  /// A number, bool or string. `bytes`: the number's bytes, or the string's characters.
  Value(ValueType type, std::span<const std::byte> bytes) : type_(type), bytes_(bytes) {}
  /// An array of `size` elements of `element_type`; `bytes`: all elements as they lie in the file.
  Value(ValueType element_type, std::size_t size, std::span<const std::byte> bytes)
      : type_(ValueType::kArray), element_type_(element_type), size_(size), bytes_(bytes) {}

  [[nodiscard]] ValueType type() const { return type_; }
  [[nodiscard]] bool is_array() const { return type_ == ValueType::kArray; }
  /// Of an array; kU8 for everything else.
  [[nodiscard]] ValueType element_type() const { return element_type_; }
  /// Elements of an array; 0 for everything else.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// The bytes as given to the constructor.
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

  /// Any integer type whose value fits.
  [[nodiscard]] Result<std::uint64_t> as_u64() const;
  [[nodiscard]] Result<std::int64_t> as_i64() const;
  /// f32, f64 and every integer type. NaN and infinity pass: the reader of the key judges them.
  [[nodiscard]] Result<double> as_f64() const;
  [[nodiscard]] Result<bool> as_bool() const;
  /// The characters, unchecked: they may be no UTF-8 and hold NULs.
  [[nodiscard]] Result<std::string_view> as_string() const;
  [[nodiscard]] Result<StringArray> as_strings() const;
  /// An array of numbers as T (std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float or
  /// double). Integers convert where every element fits, floats to float or double; bools and
  /// integers may be read as integers.
  template <class T>
  [[nodiscard]] Result<std::vector<T>> as_numbers() const;

  /// For people: `576`, `"llama"`, `[string x 49152: "<|endoftext|>", ...]`; control characters
  /// escaped, at most about `max_chars` characters, one line.
  [[nodiscard]] std::string to_string(std::size_t max_chars = 120) const;

 private:
  ValueType type_ = ValueType::kU8;
  ValueType element_type_ = ValueType::kU8;
  std::size_t size_ = 0;
  std::span<const std::byte> bytes_;
};

}  // namespace minfer::gguf
