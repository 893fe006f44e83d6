// Writer: makes a GGUF v3 file from metadata and tensors.
//
// Owns: copies of keys, values and names; of tensor data only what its caller hands over as bytes
// to be kept (no copy is made: the bytes must live until write()).
// Invariants: entries and tensors are written in the order of their add calls. A file appears under
// its name only when whole: it is written beside it and renamed.
// Thread-safety: none; one writer, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "gguf/value.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace minfer::gguf {

struct WriteOptions {
  bool overwrite = true;  // false: kInvalidArgument where the file exists
};

class Writer {
 public:
  /// Takes bytes in order; may be called any number of times.
  using Sink = std::function<Status(std::span<const std::byte>)>;
  /// Gives one tensor's bytes, exactly as many as its type and shape say, to the sink.
  using Producer = std::function<Status(const Sink&)>;

  /// `alignment`: of tensor data in bytes, a power of two; other than 32 it is written as
  /// `general.alignment`.
  explicit Writer(std::uint32_t alignment = 32);

  void add_u8(std::string key, std::uint8_t value);
  void add_i8(std::string key, std::int8_t value);
  void add_u16(std::string key, std::uint16_t value);
  void add_i16(std::string key, std::int16_t value);
  void add_u32(std::string key, std::uint32_t value);
  void add_i32(std::string key, std::int32_t value);
  void add_u64(std::string key, std::uint64_t value);
  void add_i64(std::string key, std::int64_t value);
  void add_f32(std::string key, float value);
  void add_f64(std::string key, double value);
  void add_bool(std::string key, bool value);
  void add_string(std::string key, std::string_view value);

  void add_u8_array(std::string key, std::span<const std::uint8_t> values);
  void add_i32_array(std::string key, std::span<const std::int32_t> values);
  void add_u32_array(std::string key, std::span<const std::uint32_t> values);
  void add_i64_array(std::string key, std::span<const std::int64_t> values);
  void add_u64_array(std::string key, std::span<const std::uint64_t> values);
  void add_f32_array(std::string key, std::span<const float> values);
  void add_f64_array(std::string key, std::span<const double> values);
  void add_bool_array(std::string key, const std::vector<bool>& values);
  void add_string_array(std::string key, std::span<const std::string> values);
  void add_string_array(std::string key, std::span<const std::string_view> values);

  /// Any value of another file, as it is there.
  void add_value(std::string key, const Value& value);

  /// A tensor of `shape` (row-major, outermost first; its inner extent a multiple of the block of
  /// `dtype`). `data`: row_size_bytes(dtype, elements) bytes that live until write().
  void add_tensor(std::string name, DType dtype, Shape shape, std::span<const std::byte> data);
  /// The same, with its bytes asked for while the file is written.
  void add_tensor(std::string name, DType dtype, Shape shape, Producer producer);

  /// Writes the file. kInvalidArgument for a key, name, shape or amount of data that no reader
  /// would take (duplicates too; the message names it), kIo for what the system refuses; on any
  /// error nothing is left behind, and what stood under `path` before stays.
  [[nodiscard]] Status write(const std::string& path, WriteOptions options = {}) const;
  /// The file's bytes, for tests and small files.
  [[nodiscard]] Result<std::vector<std::byte>> to_bytes() const;

 private:
  struct Item {
    std::string key;
    std::string payload;  // type (of an array: with element type and count) and value as written
  };
  struct Tensor {
    std::string name;
    DType dtype;
    Shape shape;
    Producer producer;
  };

  void add_item(std::string key, std::string payload);
  [[nodiscard]] Status validate() const;
  [[nodiscard]] std::string header() const;
  [[nodiscard]] Status emit(const Sink& sink) const;

  std::uint32_t alignment_;
  std::vector<Item> items_;
  std::vector<Tensor> tensors_;
};

}  // namespace minfer::gguf
