// The GGUF reader on arbitrary bytes: it may refuse them, it may not crash, hang or read outside.
// Whatever it accepts is read in full, and must come back the same from the writer.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "gguf/file.h"
#include "gguf/writer.h"

namespace minfer::gguf {
namespace {

// The sums keep the compiler from dropping the reads.
volatile std::size_t sink;

void read_value(const Value& value) {
  std::size_t sum = value.to_string(1000).size();
  if (const auto number = value.as_f64(); number.ok()) sum += number.value() > 0 ? 1 : 0;
  if (const auto number = value.as_i64(); number.ok()) sum += number.value() > 0 ? 1 : 0;
  if (const auto number = value.as_u64(); number.ok()) sum += number.value() > 0 ? 1 : 0;
  if (const auto flag = value.as_bool(); flag.ok()) sum += flag.value() ? 1 : 0;
  if (const auto text = value.as_string(); text.ok()) {
    for (const char c : text.value()) sum += static_cast<unsigned char>(c);
  }
  if (const auto strings = value.as_strings(); strings.ok()) {
    std::size_t n = 0;
    for (const std::string_view text : strings.value()) {
      for (const char c : text) sum += static_cast<unsigned char>(c);
      ++n;
    }
    MINFER_CHECK(n == strings.value().size());
  }
  if (const auto numbers = value.as_numbers<std::int32_t>(); numbers.ok()) {
    MINFER_CHECK(numbers.value().size() == value.size());
  }
  if (const auto numbers = value.as_numbers<float>(); numbers.ok()) {
    MINFER_CHECK(numbers.value().size() == value.size());
  }
  sink = sink + sum;
}

void read_tensor(const File& file, const TensorInfo& tensor) {
  MINFER_CHECK(file.find_tensor(tensor.name) == &tensor);
  MINFER_CHECK(tensor.data.size() == tensor.size_bytes);
  MINFER_CHECK(reinterpret_cast<std::uintptr_t>(tensor.data.data()) % 32 == 0);
  MINFER_CHECK(tensor.shape.elements() > 0);
  std::size_t sum = 0;
  for (const std::byte byte : tensor.data) sum += std::to_integer<std::size_t>(byte);
  sink = sink + sum;
}

void write_and_compare(const File& file) {
  Writer writer(file.parts()[0].alignment);
  for (const Entry& entry : file.metadata()) {
    if (entry.key != "general.alignment") writer.add_value(std::string(entry.key), entry.value);
  }
  for (const TensorInfo& tensor : file.tensors()) {
    writer.add_tensor(std::string(tensor.name), tensor.dtype, tensor.shape, tensor.data);
  }
  const Result<std::vector<std::byte>> bytes = writer.to_bytes();
  MINFER_CHECK(bytes.ok() || file.metadata().size() > 65530);
  if (!bytes.ok()) return;
  const Result<File> again = File::from_bytes(bytes.value(), "again");
  MINFER_CHECK(again.ok());
  MINFER_CHECK(again->tensors().size() == file.tensors().size());
  for (const Entry& entry : file.metadata()) {
    const Value* value = again->find_value(entry.key);
    const bool is_default = entry.key == "general.alignment" && value == nullptr;
    MINFER_CHECK(is_default || value->to_string() == entry.value.to_string());
  }
}

}  // namespace
}  // namespace minfer::gguf

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace minfer::gguf;
  const auto file = File::from_bytes(std::as_bytes(std::span(data, size)), "fuzz");
  if (!file.ok()) {
    MINFER_CHECK(file.status().message().find('\n') == std::string::npos);
    return 0;
  }
  for (const Entry& entry : file->metadata()) read_value(entry.value);
  for (const TensorInfo& tensor : file->tensors()) read_tensor(*file, tensor);
  write_and_compare(*file);
  return 0;
}
