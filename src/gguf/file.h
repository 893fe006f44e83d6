// File: a GGUF model, whole or split, mapped and completely checked.
//
// Owns: the mapping of every part. Knows the format (github.com/ggml-org/ggml, docs/gguf.md), no
// model: which keys and tensors an architecture needs is the business of model/ and text/.
// Invariants, once open() has succeeded: every string, array and tensor lies inside its file;
// no two tensors overlap; names and keys are unique; every extent is at least 1; the product of a
// tensor's extents and its bytes fit 63 bits; the inner extent is a multiple of the type's block;
// tensor data starts on a 32-byte address.
// Thread-safety: immutable after open(); all views live as long as the File, moved or not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "gguf/value.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace minfer::gguf {

/// A key and its value, in the order of the file.
struct Entry {
  std::string_view key;
  Value value;
};

struct TensorInfo {
  std::string_view name;
  DType dtype = DType::kF32;
  int n_dims = 0;
  /// Extents as the file writes them, innermost first; 1 past n_dims.
  std::array<std::uint64_t, 4> dims{1, 1, 1, 1};
  /// The same extents row-major, outermost first: [n_out, n_in] for a weight matrix.
  Shape shape;
  /// From the start of the data section of the tensor's part, in bytes.
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
  /// size_bytes bytes on a 32-byte boundary.
  std::span<const std::byte> data;
  /// Index into File::parts().
  std::size_t part = 0;

  [[nodiscard]] TensorView view() const { return {data.data(), dtype, shape}; }
};

/// One file of the model.
struct Part {
  std::string path;
  std::uint32_t version = 0;    // 2 or 3
  std::uint32_t alignment = 0;  // general.alignment of this part, bytes
  std::uint64_t size_bytes = 0;
  std::uint64_t data_offset = 0;  // where the data section starts, bytes
  std::size_t n_tensors = 0;
};

struct OpenOptions {
  bool will_need = false;  // start reading all data at once
  bool copy = false;       // read into private memory, no mapping
};

class File {
 public:
  File(File&&) noexcept;
  File& operator=(File&&) noexcept;
  ~File();

  /// Opens `path`. Where it is one part of a split model (NAME-00001-of-00003.gguf, by its
  /// `split.count` key) all parts are opened, whichever was named; metadata is that of the first.
  /// Errors are one line, "[gguf] FILE: what is wrong where".
  static Result<File> open(const std::string& path, OpenOptions options = {});

  /// Reads a file that lies in memory; `bytes` must outlive the File, `name` stands in messages.
  /// A split model is refused.
  static Result<File> from_bytes(std::span<const std::byte> bytes, std::string name);

  /// The first part's path.
  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] std::span<const Part> parts() const;
  /// Bytes of all tensors.
  [[nodiscard]] std::uint64_t tensor_bytes() const;

  [[nodiscard]] std::span<const Entry> metadata() const;
  /// The value of `key`, or null.
  [[nodiscard]] const Value* find_value(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const { return find_value(key) != nullptr; }

  // Typed values. kNotFound where the key is missing, kCorrupt where its type or range is wrong;
  // the message names file, key, what is there and what should be. The *_or forms give `fallback`
  // for a missing key only.
  [[nodiscard]] Result<std::uint64_t> u64(std::string_view key) const;
  [[nodiscard]] Result<std::int64_t> i64(std::string_view key) const;
  [[nodiscard]] Result<double> f64(std::string_view key) const;
  [[nodiscard]] Result<bool> boolean(std::string_view key) const;
  [[nodiscard]] Result<std::string_view> string(std::string_view key) const;
  [[nodiscard]] Result<StringArray> strings(std::string_view key) const;
  template <class T>
  [[nodiscard]] Result<std::vector<T>> numbers(std::string_view key) const;

  [[nodiscard]] Result<std::uint64_t> u64_or(std::string_view key, std::uint64_t fallback) const;
  [[nodiscard]] Result<std::int64_t> i64_or(std::string_view key, std::int64_t fallback) const;
  [[nodiscard]] Result<double> f64_or(std::string_view key, double fallback) const;
  [[nodiscard]] Result<bool> boolean_or(std::string_view key, bool fallback) const;
  [[nodiscard]] Result<std::string_view> string_or(std::string_view key,
                                                   std::string_view fallback) const;

  /// All tensors, in the order of the parts and their files.
  [[nodiscard]] std::span<const TensorInfo> tensors() const;
  /// The tensor called `name`, or null.
  [[nodiscard]] const TensorInfo* find_tensor(std::string_view name) const;
  /// The same, or kNotFound that names file and tensor.
  [[nodiscard]] Result<const TensorInfo*> tensor(std::string_view name) const;

 private:
  struct Impl;
  explicit File(std::unique_ptr<Impl> impl);
  static Result<File> assemble(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace minfer::gguf
