// RawFile: GGUF bytes put together by hand, so that a test can write what no writer would.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "gguf/value.h"

namespace minfer::gguf {

class RawFile {
 public:
  template <class T>
  RawFile& put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  RawFile& text(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  RawFile& string(std::string_view value) { return put<std::uint64_t>(value.size()).text(value); }
  RawFile& header(std::uint64_t n_tensors, std::uint64_t n_keys, std::uint32_t version = 3) {
    return text("GGUF").put(version).put(n_tensors).put(n_keys);
  }
  RawFile& key(std::string_view name, ValueType type) {
    return string(name).put(static_cast<std::uint32_t>(type));
  }
  template <class T>
  RawFile& scalar(std::string_view name, ValueType type, T value) {
    return key(name, type).put(value);
  }
  RawFile& array(std::string_view name, ValueType element_type, std::uint64_t size) {
    return key(name, ValueType::kArray).put(static_cast<std::uint32_t>(element_type)).put(size);
  }
  RawFile& tensor(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                  std::uint64_t offset) {
    string(name).put(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t extent : dims) put(extent);
    return put(type).put(offset);
  }
  /// Zero bytes up to a multiple of `alignment`, then `size` more.
  RawFile& data(std::size_t size, std::size_t alignment = 32) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment + size, '\0');
    return *this;
  }

  [[nodiscard]] std::span<const std::byte> bytes() const { return as_bytes(bytes_); }
  [[nodiscard]] std::string& mutable_text() { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace minfer::gguf
