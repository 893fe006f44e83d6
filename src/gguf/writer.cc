#include "gguf/writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "base/bytes.h"
#include "base/printable.h"
#include "gguf/parse.h"

namespace minfer::gguf {
namespace {

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_string(std::string& out, std::string_view text) {
  append<std::uint64_t>(out, text.size());
  out.append(text);
}

template <class T>
std::string scalar_payload(ValueType type, T value) {
  std::string payload;
  append(payload, static_cast<std::uint32_t>(type));
  append(payload, value);
  return payload;
}

std::string array_head(ValueType element_type, std::size_t size) {
  std::string payload;
  append(payload, static_cast<std::uint32_t>(ValueType::kArray));
  append(payload, static_cast<std::uint32_t>(element_type));
  append<std::uint64_t>(payload, size);
  return payload;
}

template <class T>
std::string array_payload(ValueType element_type, std::span<const T> values) {
  std::string payload = array_head(element_type, values.size());
  payload.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  return payload;
}

template <class Strings>
std::string strings_payload(const Strings& values) {
  std::string payload = array_head(ValueType::kString, values.size());
  for (const auto& value : values) append_string(payload, value);
  return payload;
}

Status system_error(const std::string& path, const char* verb, int error) {
  return io_error(
      fmt::format("[gguf] {}: cannot {}: {}", path, verb, std::generic_category().message(error)));
}

// A new file beside the one that is wanted, removed again unless it was published.
class PendingFile {
 public:
  explicit PendingFile(std::string path) : path_(std::move(path)) {}
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile() {
    if (fd_ >= 0) ::close(fd_);
    if (created_) ::unlink(temporary_.c_str());
  }

  Status create() {
    static std::atomic<unsigned> counter{0};
    temporary_ = fmt::format("{}.{}.{}.part", path_, ::getpid(), counter.fetch_add(1));
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0) return system_error(temporary_, "create", errno);
    created_ = true;
    return ok_status();
  }

  Status append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return system_error(path_, "write", errno);
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return ok_status();
  }

  Status publish(bool overwrite) {
    // A full disk may show itself only here.
    if (::close(std::exchange(fd_, -1)) != 0) return system_error(path_, "write", errno);
    if (overwrite) {
      if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
        return system_error(path_, "write", errno);
      }
      created_ = false;
      return ok_status();
    }
    if (::link(temporary_.c_str(), path_.c_str()) == 0) return ok_status();
    if (errno != EEXIST) return system_error(path_, "write", errno);
    return invalid_argument(fmt::format("[gguf] {}: is there already", path_));
  }

 private:
  std::string path_;
  std::string temporary_;
  int fd_ = -1;
  bool created_ = false;
};

}  // namespace

Writer::Writer(std::uint32_t alignment) : alignment_(alignment) {
  MINFER_CHECK(alignment != 0 && alignment <= kMaxAlignment && (alignment & (alignment - 1)) == 0);
  if (alignment != kDefaultAlignment) add_u32("general.alignment", alignment);
}

void Writer::add_item(std::string key, std::string payload) {
  items_.push_back({std::move(key), std::move(payload)});
}

void Writer::add_u8(std::string key, std::uint8_t value) {
  add_item(std::move(key), scalar_payload(ValueType::kU8, value));
}
void Writer::add_i8(std::string key, std::int8_t value) {
  add_item(std::move(key), scalar_payload(ValueType::kI8, value));
}
void Writer::add_u16(std::string key, std::uint16_t value) {
  add_item(std::move(key), scalar_payload(ValueType::kU16, value));
}
void Writer::add_i16(std::string key, std::int16_t value) {
  add_item(std::move(key), scalar_payload(ValueType::kI16, value));
}
void Writer::add_u32(std::string key, std::uint32_t value) {
  add_item(std::move(key), scalar_payload(ValueType::kU32, value));
}
void Writer::add_i32(std::string key, std::int32_t value) {
  add_item(std::move(key), scalar_payload(ValueType::kI32, value));
}
void Writer::add_u64(std::string key, std::uint64_t value) {
  add_item(std::move(key), scalar_payload(ValueType::kU64, value));
}
void Writer::add_i64(std::string key, std::int64_t value) {
  add_item(std::move(key), scalar_payload(ValueType::kI64, value));
}
void Writer::add_f32(std::string key, float value) {
  add_item(std::move(key), scalar_payload(ValueType::kF32, value));
}
void Writer::add_f64(std::string key, double value) {
  add_item(std::move(key), scalar_payload(ValueType::kF64, value));
}
void Writer::add_bool(std::string key, bool value) {
  const auto byte = static_cast<std::uint8_t>(value ? 1 : 0);
  add_item(std::move(key), scalar_payload(ValueType::kBool, byte));
}
void Writer::add_string(std::string key, std::string_view value) {
  std::string payload;
  append(payload, static_cast<std::uint32_t>(ValueType::kString));
  append_string(payload, value);
  add_item(std::move(key), std::move(payload));
}

void Writer::add_u8_array(std::string key, std::span<const std::uint8_t> values) {
  add_item(std::move(key), array_payload(ValueType::kU8, values));
}
void Writer::add_i32_array(std::string key, std::span<const std::int32_t> values) {
  add_item(std::move(key), array_payload(ValueType::kI32, values));
}
void Writer::add_u32_array(std::string key, std::span<const std::uint32_t> values) {
  add_item(std::move(key), array_payload(ValueType::kU32, values));
}
void Writer::add_i64_array(std::string key, std::span<const std::int64_t> values) {
  add_item(std::move(key), array_payload(ValueType::kI64, values));
}
void Writer::add_u64_array(std::string key, std::span<const std::uint64_t> values) {
  add_item(std::move(key), array_payload(ValueType::kU64, values));
}
void Writer::add_f32_array(std::string key, std::span<const float> values) {
  add_item(std::move(key), array_payload(ValueType::kF32, values));
}
void Writer::add_f64_array(std::string key, std::span<const double> values) {
  add_item(std::move(key), array_payload(ValueType::kF64, values));
}
void Writer::add_bool_array(std::string key, const std::vector<bool>& values) {
  std::string payload = array_head(ValueType::kBool, values.size());
  for (const bool value : values) payload += value ? '\1' : '\0';
  add_item(std::move(key), std::move(payload));
}
void Writer::add_string_array(std::string key, std::span<const std::string> values) {
  add_item(std::move(key), strings_payload(values));
}
void Writer::add_string_array(std::string key, std::span<const std::string_view> values) {
  add_item(std::move(key), strings_payload(values));
}

void Writer::add_value(std::string key, const Value& value) {
  std::string payload;
  if (value.is_array()) {
    payload = array_head(value.element_type(), value.size());
  } else {
    append(payload, static_cast<std::uint32_t>(value.type()));
    if (value.type() == ValueType::kString) append<std::uint64_t>(payload, value.bytes().size());
  }
  payload.append(as_text(value.bytes()));
  add_item(std::move(key), std::move(payload));
}

void Writer::add_tensor(std::string name, DType dtype, Shape shape,
                        std::span<const std::byte> data) {
  add_tensor(std::move(name), dtype, shape, [data](const Sink& sink) { return sink(data); });
}

void Writer::add_tensor(std::string name, DType dtype, Shape shape, Producer producer) {
  tensors_.push_back({std::move(name), dtype, shape, std::move(producer)});
}

namespace {

Status check_shape(const std::string& name, DType dtype, const Shape& shape) {
  const auto refuse = [&](std::string_view text) {
    return invalid_argument(fmt::format("[gguf] tensor \"{}\" of shape {} {}", printable(name),
                                        shape.to_string(), text));
  };
  const DTypeInfo& info = dtype_info(dtype);
  if (info.block_bytes == 0) return refuse("has a type that no file can hold");
  if (shape.rank() == 0) return refuse("has no dimension");
  std::int64_t elements = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto product = checked_mul(elements, shape[axis]);
    if (shape[axis] < 1 || !product) return refuse("is empty or too large");
    elements = *product;
  }
  if (shape.inner() % info.block_elements != 0) {
    return refuse(fmt::format("has rows that are no multiple of the {} elements of a block of {}",
                              info.block_elements, info.name));
  }
  const std::int64_t blocks = elements / info.block_elements;
  if (!checked_mul(blocks, static_cast<std::int64_t>(info.block_bytes))) {
    return refuse("is too large");
  }
  return ok_status();
}

Status check_name(std::string_view kind, const std::string& name, std::uint64_t max_bytes) {
  if (!name.empty() && name.size() <= max_bytes && name.find('\0') == std::string::npos) {
    return ok_status();
  }
  return invalid_argument(fmt::format("[gguf] {} \"{}\": a name has 1 to {} bytes and no NUL", kind,
                                      printable(name), max_bytes));
}

}  // namespace

Status Writer::validate() const {
  std::unordered_set<std::string_view> seen;
  for (const Item& item : items_) {
    MINFER_RETURN_IF_ERROR(check_name("key", item.key, kMaxKeyBytes));
    if (!seen.insert(item.key).second) {
      return invalid_argument(fmt::format("[gguf] key \"{}\" is added twice", printable(item.key)));
    }
  }
  if (items_.size() > kMaxKeys || tensors_.size() > kMaxTensors) {
    return invalid_argument(fmt::format("[gguf] {} keys and {} tensors are more than a file holds",
                                        items_.size(), tensors_.size()));
  }
  seen.clear();
  for (const Tensor& tensor : tensors_) {
    MINFER_RETURN_IF_ERROR(check_name("tensor", tensor.name, kMaxTensorNameBytes));
    MINFER_RETURN_IF_ERROR(check_shape(tensor.name, tensor.dtype, tensor.shape));
    if (!seen.insert(tensor.name).second) {
      return invalid_argument(
          fmt::format("[gguf] tensor \"{}\" is added twice", printable(tensor.name)));
    }
  }
  return ok_status();
}

namespace {

std::uint64_t aligned(std::uint64_t size, std::uint64_t alignment) {
  return (size + alignment - 1) & ~(alignment - 1);
}

std::uint64_t tensor_size(DType dtype, const Shape& shape) {
  return row_size_bytes(dtype, static_cast<std::uint64_t>(shape.elements()));
}

}  // namespace

std::string Writer::header() const {
  std::string out = "GGUF";
  append<std::uint32_t>(out, 3);
  append<std::uint64_t>(out, tensors_.size());
  append<std::uint64_t>(out, items_.size());
  for (const Item& item : items_) {
    append_string(out, item.key);
    out += item.payload;
  }
  std::uint64_t offset = 0;
  for (const Tensor& tensor : tensors_) {
    append_string(out, tensor.name);
    append(out, static_cast<std::uint32_t>(tensor.shape.rank()));
    for (int axis = tensor.shape.rank(); axis-- > 0;) append(out, tensor.shape[axis]);
    append(out, static_cast<std::uint32_t>(tensor.dtype));
    append(out, offset);
    offset = aligned(offset + tensor_size(tensor.dtype, tensor.shape), alignment_);
  }
  out.resize(aligned(out.size(), alignment_), '\0');
  return out;
}

Status Writer::emit(const Sink& sink) const {
  MINFER_RETURN_IF_ERROR(validate());
  MINFER_RETURN_IF_ERROR(sink(as_bytes(header())));
  const std::string padding(alignment_, '\0');
  for (const Tensor& tensor : tensors_) {
    const std::uint64_t wanted = tensor_size(tensor.dtype, tensor.shape);
    std::uint64_t given = 0;
    MINFER_RETURN_IF_ERROR(tensor.producer([&](std::span<const std::byte> bytes) {
      given += bytes.size();
      return given > wanted ? ok_status() : sink(bytes);
    }));
    if (given != wanted) {
      return invalid_argument(fmt::format(
          "[gguf] tensor \"{}\": {} bytes were given, {} {} has {}", printable(tensor.name),
          grouped(given), dtype_name(tensor.dtype), tensor.shape.to_string(), grouped(wanted)));
    }
    const std::uint64_t rest = aligned(wanted, alignment_) - wanted;
    MINFER_RETURN_IF_ERROR(sink(as_bytes(std::string_view(padding).substr(0, rest))));
  }
  return ok_status();
}

Status Writer::write(const std::string& path, WriteOptions options) const {
  MINFER_RETURN_IF_ERROR(validate());
  PendingFile file(path);
  MINFER_RETURN_IF_ERROR(file.create());
  MINFER_RETURN_IF_ERROR(
      emit([&](std::span<const std::byte> bytes) { return file.append(bytes); }));
  return file.publish(options.overwrite);
}

Result<std::vector<std::byte>> Writer::to_bytes() const {
  std::vector<std::byte> out;
  MINFER_RETURN_IF_ERROR(emit([&](std::span<const std::byte> bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
    return ok_status();
  }));
  return out;
}

}  // namespace minfer::gguf
