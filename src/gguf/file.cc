#include "gguf/file.h"

#include <fmt/format.h>

#include <cstring>
#include <new>
#include <utility>

#include "base/mapped_file.h"
#include "base/printable.h"
#include "gguf/parse.h"
#include "gguf/split.h"

namespace minfer::gguf {
namespace {

constexpr std::size_t kDataAlignment = 32;

struct AlignedDelete {
  void operator()(std::byte* data) const {
    ::operator delete[](data, std::align_val_t{kDataAlignment});
  }
};
using AlignedBytes = std::unique_ptr<std::byte[], AlignedDelete>;

bool is_aligned(const std::byte* data) {
  return reinterpret_cast<std::uintptr_t>(data) % kDataAlignment == 0;
}

}  // namespace

struct File::Impl {
  std::vector<MappedFile> mappings;
  std::vector<AlignedBytes> copies;
  std::vector<Part> parts;
  std::vector<Entry> metadata;
  NameIndex keys;
  std::vector<TensorInfo> tensors;
  NameIndex names;
  std::uint64_t tensor_bytes = 0;

  Status align(TensorInfo& tensor);
  Status append(ParsedPart part);
};

// general.alignment below 32 is legal and rare; kernels should not have to know.
Status File::Impl::align(TensorInfo& tensor) {
  if (is_aligned(tensor.data.data())) return ok_status();
  void* memory =
      ::operator new[](tensor.data.size(), std::align_val_t{kDataAlignment}, std::nothrow);
  if (memory == nullptr) {
    return out_of_memory(fmt::format("[gguf] {}: no memory for the {} bytes of tensor \"{}\"",
                                     parts.back().path, grouped(tensor.data.size()),
                                     printable(tensor.name)));
  }
  copies.emplace_back(static_cast<std::byte*>(memory));
  std::memcpy(memory, tensor.data.data(), tensor.data.size());
  tensor.data = {copies.back().get(), tensor.data.size()};
  return ok_status();
}

Status File::Impl::append(ParsedPart part) {
  if (parts.empty()) {
    metadata = std::move(part.metadata);
    keys = std::move(part.keys);
  }
  parts.push_back(std::move(part.info));
  for (TensorInfo& tensor : part.tensors) {
    tensor.part = parts.size() - 1;
    MINFER_RETURN_IF_ERROR(align(tensor));
    tensor_bytes += tensor.size_bytes;
    tensors.push_back(tensor);
  }
  return ok_status();
}

File::File(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
File::File(File&&) noexcept = default;
File& File::operator=(File&&) noexcept = default;
File::~File() = default;

namespace {

struct OpenedPart {
  MappedFile mapping;
  ParsedPart parsed;
  SplitKeys split;
};

Result<OpenedPart> open_part(const std::string& path, OpenOptions options) {
  OpenedPart part;
  Result<MappedFile> mapping =
      MappedFile::open(path, {.will_need = options.will_need, .copy = options.copy});
  if (!mapping.ok()) {
    return Status(mapping.status().code(), "[gguf] " + mapping.status().message());
  }
  part.mapping = std::move(mapping).value();
  MINFER_ASSIGN_OR_RETURN(part.parsed, parse_part(part.mapping.bytes(), path));
  MINFER_ASSIGN_OR_RETURN(part.split, read_split_keys(part.parsed));
  return part;
}

Status check_member(const SplitKeys& split, const std::string& path, std::uint64_t no,
                    std::uint64_t count) {
  if (split.no == no && split.count == count) return ok_status();
  return file_error(path, fmt::format("says that it is part {} of {} (keys split.no and "
                                      "split.count), its name says {} of {}",
                                      split.no + 1, split.count, no + 1, count));
}

Result<OpenedPart> open_sibling(const std::string& path, const std::string& named,
                                OpenOptions options) {
  Result<OpenedPart> part = open_part(path, options);
  if (part.ok() || part.status().code() != StatusCode::kNotFound) return part;
  return not_found(fmt::format(
      "[gguf] {}: is one part of a split model, and another is missing: {}", named, path));
}

Status check_total(const SplitKeys& split, const std::string& path, std::uint64_t n_tensors) {
  if (split.count == 1 || !split.has_n_tensors || split.n_tensors == n_tensors) return ok_status();
  return file_error(path, fmt::format("the {} parts hold {} tensors, key \"split.tensors.count\" "
                                      "says {}",
                                      split.count, n_tensors, split.n_tensors));
}

}  // namespace

Result<File> File::open(const std::string& path, OpenOptions options) {
  auto impl = std::make_unique<Impl>();
  MINFER_ASSIGN_OR_RETURN(OpenedPart named, open_part(path, options));
  const SplitKeys split = named.split;
  SplitKeys first = split;
  for (std::uint64_t no = 0; no < split.count; ++no) {
    const bool have = no == split.no;
    OpenedPart part;
    if (have) part = std::move(named);
    if (split.count > 1) {
      MINFER_ASSIGN_OR_RETURN(const std::string part_path, split_path(path, split, no));
      if (!have) {
        MINFER_ASSIGN_OR_RETURN(part, open_sibling(part_path, path, options));
      }
      MINFER_RETURN_IF_ERROR(check_member(part.split, part_path, no, split.count));
    }
    if (no == 0) first = part.split;
    impl->mappings.push_back(std::move(part.mapping));
    MINFER_RETURN_IF_ERROR(impl->append(std::move(part.parsed)));
  }
  MINFER_RETURN_IF_ERROR(check_total(first, path, impl->tensors.size()));
  return assemble(std::move(impl));
}

Result<File> File::from_bytes(std::span<const std::byte> bytes, std::string name) {
  MINFER_ASSIGN_OR_RETURN(ParsedPart parsed, parse_part(bytes, name));
  MINFER_ASSIGN_OR_RETURN(const SplitKeys split, read_split_keys(parsed));
  if (split.count > 1) return file_error(name, "is one part of a split model; open it by its path");
  auto impl = std::make_unique<Impl>();
  MINFER_RETURN_IF_ERROR(impl->append(std::move(parsed)));
  return assemble(std::move(impl));
}

Result<File> File::assemble(std::unique_ptr<Impl> impl) {
  for (const TensorInfo& tensor : impl->tensors) impl->names.add(tensor.name);
  if (const auto twin = impl->names.build()) {
    return file_error(impl->parts.front().path,
                      fmt::format("tensor \"{}\" is in two parts", printable(*twin)));
  }
  return File(std::move(impl));
}

const std::string& File::path() const { return impl_->parts.front().path; }
std::span<const Part> File::parts() const { return impl_->parts; }
std::uint64_t File::tensor_bytes() const { return impl_->tensor_bytes; }
std::span<const Entry> File::metadata() const { return impl_->metadata; }
std::span<const TensorInfo> File::tensors() const { return impl_->tensors; }

const Value* File::find_value(std::string_view key) const {
  const auto at = impl_->keys.find(key);
  return at ? &impl_->metadata[*at].value : nullptr;
}

const TensorInfo* File::find_tensor(std::string_view name) const {
  const auto at = impl_->names.find(name);
  return at ? &impl_->tensors[*at] : nullptr;
}

Result<const TensorInfo*> File::tensor(std::string_view name) const {
  if (const TensorInfo* found = find_tensor(name)) return found;
  return not_found(fmt::format("[gguf] {}: tensor \"{}\" is missing", path(), name));
}

namespace {

// get(value) with file and key put before its error.
template <class Get>
auto typed(const File& file, std::string_view key, Get get)
    -> decltype(get(std::declval<const Value&>())) {
  const Value* value = file.find_value(key);
  if (value == nullptr) {
    return not_found(fmt::format("[gguf] {}: key \"{}\" is missing", file.path(), key));
  }
  auto result = get(*value);
  if (result.ok()) return result;
  return file_error(file.path(), fmt::format("key \"{}\" {}", key, result.status().message()));
}

}  // namespace

Result<std::uint64_t> File::u64(std::string_view key) const {
  return typed(*this, key, [](const Value& value) { return value.as_u64(); });
}
Result<std::int64_t> File::i64(std::string_view key) const {
  return typed(*this, key, [](const Value& value) { return value.as_i64(); });
}
Result<double> File::f64(std::string_view key) const {
  return typed(*this, key, [](const Value& value) { return value.as_f64(); });
}
Result<bool> File::boolean(std::string_view key) const {
  return typed(*this, key, [](const Value& value) { return value.as_bool(); });
}
Result<std::string_view> File::string(std::string_view key) const {
  return typed(*this, key, [](const Value& value) { return value.as_string(); });
}
Result<StringArray> File::strings(std::string_view key) const {
  return typed(*this, key, [](const Value& value) { return value.as_strings(); });
}
template <class T>
Result<std::vector<T>> File::numbers(std::string_view key) const {
  return typed(*this, key, [](const Value& value) { return value.as_numbers<T>(); });
}

template Result<std::vector<std::int32_t>> File::numbers(std::string_view) const;
template Result<std::vector<std::uint32_t>> File::numbers(std::string_view) const;
template Result<std::vector<std::int64_t>> File::numbers(std::string_view) const;
template Result<std::vector<std::uint64_t>> File::numbers(std::string_view) const;
template Result<std::vector<float>> File::numbers(std::string_view) const;
template Result<std::vector<double>> File::numbers(std::string_view) const;

Result<std::uint64_t> File::u64_or(std::string_view key, std::uint64_t fallback) const {
  return has(key) ? u64(key) : fallback;
}
Result<std::int64_t> File::i64_or(std::string_view key, std::int64_t fallback) const {
  return has(key) ? i64(key) : fallback;
}
Result<double> File::f64_or(std::string_view key, double fallback) const {
  return has(key) ? f64(key) : fallback;
}
Result<bool> File::boolean_or(std::string_view key, bool fallback) const {
  return has(key) ? boolean(key) : fallback;
}
Result<std::string_view> File::string_or(std::string_view key, std::string_view fallback) const {
  return has(key) ? string(key) : fallback;
}

}  // namespace minfer::gguf
