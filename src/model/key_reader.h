// KeyReader: the hyper-parameters of one architecture, read from a file's metadata with range
// checks.
//
// Invariants: the first fault sticks and status() gives it; a faulty or missing value then reads as
// the lower end of its range, so that whoever reads on stays safe. Keys are named without the
// architecture ("embedding_length" for "llama.embedding_length").
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "gguf/file.h"

namespace minfer::model {

/// "[model] FILE: TEXT" as kCorrupt.
Status model_error(const gguf::File& file, std::string_view text);

class KeyReader {
 public:
  /// Both ends belong to the range.
  struct Range {
    std::int64_t least = 0;
    std::int64_t most = 0;
  };

  KeyReader(const gguf::File& file, std::string_view arch) : file_(file), arch_(arch) {}

  [[nodiscard]] const gguf::File& file() const { return file_; }
  [[nodiscard]] std::string full_key(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return file_.has(full_key(name)); }
  [[nodiscard]] bool is_array(std::string_view name) const;

  /// Any integer; a missing key is a fault and reads as 0.
  std::int64_t integer(std::string_view name);
  /// An integer in `range`; a missing key is a fault unless there is a fallback.
  std::int32_t count(std::string_view name, Range range, std::optional<std::int64_t> fallback = {});
  /// One integer for all layers, or an array with one a layer.
  std::vector<std::int32_t> per_layer(std::string_view name, std::int32_t n_layer, Range range,
                                      std::optional<std::int64_t> fallback = {});
  /// A finite number with above < value <= most.
  float real(std::string_view name, double above, double most, std::optional<float> fallback = {});
  bool boolean(std::string_view name, bool fallback);
  std::string_view string(std::string_view name, std::string_view fallback);

  /// Records "key "llama.x" is VALUE, but expected EXPECTED".
  void fail(std::string_view name, std::string_view value, std::string_view expected);
  /// Records a fault that is no fault of the file: kUnsupported, with the same text.
  void fail_unsupported(std::string_view name, std::string_view value, std::string_view expected);
  void fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  [[nodiscard]] const Status& status() const { return status_; }

 private:
  template <class T>
  std::optional<T> take(Result<T> result);
  std::int32_t in_range(std::string_view name, std::int64_t value, Range range);

  const gguf::File& file_;
  std::string arch_;
  Status status_;
};

}  // namespace minfer::model
