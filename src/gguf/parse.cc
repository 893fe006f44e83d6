#include "gguf/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/printable.h"

namespace minfer::gguf {
namespace {

constexpr std::uint32_t kMagic = 0x46554747;         // "GGUF"
constexpr std::uint32_t kMagicSwapped = 0x47475546;  // "FUGG"
constexpr std::uint64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();

// Walks the bytes of one file front to back. Every take_* fails with what was being read.
class Parser {
 public:
  Parser(std::span<const std::byte> bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  Result<ParsedPart> run() {
    part_.info.path = path_;
    part_.info.size_bytes = bytes_.size();
    MINFER_RETURN_IF_ERROR(read_header());
    MINFER_RETURN_IF_ERROR(read_metadata());
    MINFER_RETURN_IF_ERROR(read_alignment());
    MINFER_RETURN_IF_ERROR(read_tensors());
    MINFER_RETURN_IF_ERROR(place_tensors());
    MINFER_RETURN_IF_ERROR(check_overlap());
    return std::move(part_);
  }

 private:
  Status fail(std::string_view text) const { return file_error(path_, text); }

  Status cut_short(std::string_view what) const {
    return fail(
        fmt::format("the file ends at byte {} inside {}: it is cut short or damaged, "
                    "download it again",
                    grouped(bytes_.size()), what));
  }

  [[nodiscard]] std::uint64_t left() const { return bytes_.size() - at_; }

  template <class T>
  Result<T> take(std::string_view what) {
    if (left() < sizeof(T)) return cut_short(what);
    const T value = load_le<T>(bytes_.data() + at_);
    at_ += sizeof(T);
    return value;
  }

  Result<std::span<const std::byte>> take_bytes(std::uint64_t size, std::string_view what) {
    if (left() < size) {
      return fail(fmt::format("{} claims {} bytes, but only {} are left in the file", what,
                              grouped(size), grouped(left())));
    }
    const auto taken = bytes_.subspan(at_, static_cast<std::size_t>(size));
    at_ += taken.size();
    return taken;
  }

  Result<std::span<const std::byte>> take_string(std::string_view what) {
    MINFER_ASSIGN_OR_RETURN(const std::uint64_t length, take<std::uint64_t>(what));
    return take_bytes(length, what);
  }

  Status read_header() {
    if (bytes_.size() < 4) {
      return fail(fmt::format("is no GGUF file: it has only {} bytes", bytes_.size()));
    }
    MINFER_ASSIGN_OR_RETURN(const std::uint32_t magic, take<std::uint32_t>("the magic"));
    if (magic == kMagicSwapped) return big_endian();
    if (magic != kMagic) {
      return fail(fmt::format("is no GGUF file: it starts with \"{}\", not \"GGUF\"",
                              printable(as_text(bytes_.first(4)))));
    }
    MINFER_ASSIGN_OR_RETURN(const std::uint32_t version, take<std::uint32_t>("the version"));
    if (version != 0 && (version & 0xffffu) == 0) return big_endian();
    if (version != 2 && version != 3) {
      return Status(StatusCode::kUnsupported,
                    fmt::format("[gguf] {}: has GGUF version {}, minfer reads versions 2 and 3",
                                path_, version));
    }
    part_.info.version = version;
    MINFER_ASSIGN_OR_RETURN(n_tensors_, take<std::uint64_t>("the tensor count"));
    MINFER_ASSIGN_OR_RETURN(n_keys_, take<std::uint64_t>("the key count"));
    // The smallest entries: a key of one byte with a bool, a tensor name of one byte, one extent.
    constexpr std::uint64_t kMinKeyBytes = 8 + 1 + 4 + 1;
    constexpr std::uint64_t kMinTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;
    MINFER_RETURN_IF_ERROR(check_count(n_tensors_, kMinTensorBytes, kMaxTensors, "tensors"));
    return check_count(n_keys_, kMinKeyBytes, kMaxKeys, "metadata keys");
  }

  Status big_endian() const {
    return Status(StatusCode::kUnsupported,
                  fmt::format("[gguf] {}: is a big-endian GGUF file, minfer reads little-endian "
                              "ones: convert it",
                              path_));
  }

  Status check_count(std::uint64_t count, std::uint64_t min_bytes, std::uint64_t limit,
                     std::string_view what) const {
    const std::uint64_t most = std::min(limit, left() / min_bytes);
    if (count <= most) return ok_status();
    return fail(
        fmt::format("the header claims {} {}, more than the {} that a file of {} bytes can "
                    "hold: it is cut short or damaged, download it again",
                    grouped(count), what, grouped(most), grouped(bytes_.size())));
  }

  Status read_metadata() {
    for (std::uint64_t i = 0; i < n_keys_; ++i) {
      const std::string what = fmt::format("metadata key {} of {}", i + 1, n_keys_);
      MINFER_ASSIGN_OR_RETURN(const auto bytes, take_string(what));
      const std::string_view key = as_text(bytes);
      if (key.empty()) return fail(what + " is empty");
      if (key.size() > kMaxKeyBytes) {
        return fail(fmt::format("{} is {} bytes long, the format allows {}", what,
                                grouped(key.size()), grouped(kMaxKeyBytes)));
      }
      const std::string named = fmt::format("key \"{}\"", printable(key));
      if (key.find('\0') != std::string_view::npos) return fail(named + " holds a NUL byte");
      MINFER_ASSIGN_OR_RETURN(const auto type, take<std::uint32_t>(named));
      MINFER_ASSIGN_OR_RETURN(const Value value, read_value(type, named));
      part_.metadata.push_back({key, value});
      part_.keys.add(key);
    }
    if (const auto twin = part_.keys.build()) {
      return fail(fmt::format("key \"{}\" is there twice", printable(*twin)));
    }
    return ok_status();
  }

  Result<Value> read_value(std::uint32_t type_id, const std::string& what) {
    const auto type = static_cast<ValueType>(type_id);
    if (type == ValueType::kString) {
      MINFER_ASSIGN_OR_RETURN(const auto bytes, take_string("the string of " + what));
      return Value(type, bytes);
    }
    if (type == ValueType::kArray) return read_array(what);
    const std::size_t size = value_type_size(type);
    if (size == 0) return fail(fmt::format("{} has the unknown value type {}", what, type_id));
    if (left() < size) return cut_short(what);
    const auto bytes = bytes_.subspan(at_, size);
    at_ += size;
    MINFER_RETURN_IF_ERROR(check_bools(type, bytes, what));
    return Value(type, bytes);
  }

  Result<Value> read_array(const std::string& what) {
    MINFER_ASSIGN_OR_RETURN(const auto type_id, take<std::uint32_t>(what));
    MINFER_ASSIGN_OR_RETURN(const auto size, take<std::uint64_t>(what));
    const auto type = static_cast<ValueType>(type_id);
    if (type == ValueType::kArray) {
      return fail(what + " is an array of arrays, which minfer does not read");
    }
    const bool strings = type == ValueType::kString;
    const std::uint64_t element_bytes = strings ? sizeof(std::uint64_t) : value_type_size(type);
    if (element_bytes == 0) {
      return fail(fmt::format("{} is an array of the unknown value type {}", what, type_id));
    }
    if (size > left() / element_bytes) {
      return fail(fmt::format("{} claims {} elements, but only {} bytes are left in the file", what,
                              grouped(size), grouped(left())));
    }
    const std::size_t begin = at_;
    if (strings) {
      MINFER_RETURN_IF_ERROR(skip_strings(size, what));
    } else {
      at_ += static_cast<std::size_t>(size * element_bytes);
    }
    const auto bytes = bytes_.subspan(begin, at_ - begin);
    MINFER_RETURN_IF_ERROR(check_bools(type, bytes, what));
    return Value(type, static_cast<std::size_t>(size), bytes);
  }

  // Vocabularies hold a quarter of a million strings: no message is made up before it is needed.
  Status skip_strings(std::uint64_t count, const std::string& what) {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (left() < sizeof(std::uint64_t)) {
        return cut_short(fmt::format("element {} of {}", i, what));
      }
      const auto length = load_le<std::uint64_t>(bytes_.data() + at_);
      at_ += sizeof(std::uint64_t);
      if (length > left()) {
        return fail(
            fmt::format("element {} of {} claims {} bytes, but only {} are left in the "
                        "file",
                        i, what, grouped(length), grouped(left())));
      }
      at_ += static_cast<std::size_t>(length);
    }
    return ok_status();
  }

  Status check_bools(ValueType type, std::span<const std::byte> bytes,
                     const std::string& what) const {
    if (type != ValueType::kBool) return ok_status();
    for (const std::byte byte : bytes) {
      if (std::to_integer<unsigned>(byte) > 1) {
        return fail(fmt::format("{} is a bool with the value {}, should be 0 or 1", what,
                                std::to_integer<unsigned>(byte)));
      }
    }
    return ok_status();
  }

  Status read_alignment() {
    part_.info.alignment = kDefaultAlignment;
    const auto at = part_.keys.find("general.alignment");
    if (!at) return ok_status();
    const Value& value = part_.metadata[*at].value;
    if (value.type() != ValueType::kU32) {
      return fail(fmt::format("key \"general.alignment\" has type {}, should be u32",
                              value_type_name(value.type())));
    }
    const auto alignment = load_le<std::uint32_t>(value.bytes().data());
    if (alignment == 0 || alignment > kMaxAlignment || (alignment & (alignment - 1)) != 0) {
      return fail(
          fmt::format("key \"general.alignment\" is {}, should be a power of two from 1 "
                      "to {}",
                      alignment, kMaxAlignment));
    }
    part_.info.alignment = alignment;
    return ok_status();
  }

  Status read_tensors() {
    NameIndex names;
    for (std::uint64_t i = 0; i < n_tensors_; ++i) {
      MINFER_ASSIGN_OR_RETURN(const TensorInfo tensor, read_tensor(i));
      part_.tensors.push_back(tensor);
      names.add(tensor.name);
    }
    if (const auto twin = names.build()) {
      return fail(fmt::format("tensor \"{}\" is there twice", printable(*twin)));
    }
    return ok_status();
  }

  Result<TensorInfo> read_tensor(std::uint64_t index) {
    const std::string numbered = fmt::format("the name of tensor {} of {}", index + 1, n_tensors_);
    MINFER_ASSIGN_OR_RETURN(const auto name_bytes, take_string(numbered));
    TensorInfo tensor;
    tensor.name = as_text(name_bytes);
    if (tensor.name.empty()) return fail(numbered + " is empty");
    const std::string what = fmt::format("tensor \"{}\"", printable(tensor.name));
    if (tensor.name.size() > kMaxTensorNameBytes) {
      return fail(fmt::format("{}: the name is {} bytes long, the format allows {}", what,
                              grouped(tensor.name.size()), kMaxTensorNameBytes));
    }
    if (tensor.name.find('\0') != std::string_view::npos) {
      return fail(what + ": the name holds a NUL byte");
    }
    MINFER_RETURN_IF_ERROR(read_dims(what, tensor));
    MINFER_ASSIGN_OR_RETURN(const auto type_id, take<std::uint32_t>(what));
    MINFER_RETURN_IF_ERROR(set_type(what, type_id, tensor));
    MINFER_ASSIGN_OR_RETURN(tensor.offset, take<std::uint64_t>(what));
    return tensor;
  }

  Status read_dims(const std::string& what, TensorInfo& tensor) {
    MINFER_ASSIGN_OR_RETURN(const auto n_dims, take<std::uint32_t>(what));
    if (n_dims < 1 || n_dims > tensor.dims.size()) {
      return fail(fmt::format("{} has {} dimensions, should have 1 to 4", what, n_dims));
    }
    tensor.n_dims = static_cast<int>(n_dims);
    std::uint64_t elements = 1;
    for (std::uint32_t axis = 0; axis < n_dims; ++axis) {
      MINFER_ASSIGN_OR_RETURN(const auto extent, take<std::uint64_t>(what));
      if (extent == 0) return fail(fmt::format("{}: dimension {} is 0", what, axis));
      const auto product = checked_mul(elements, extent);
      if (extent > kMaxInt64 || !product || *product > kMaxInt64) {
        return fail(fmt::format("{}: its dimensions are too large (dimension {} is {})", what, axis,
                                grouped(extent)));
      }
      elements = *product;
      tensor.dims[axis] = extent;
    }
    for (std::uint32_t axis = n_dims; axis-- > 0;) {
      tensor.shape.push_back(static_cast<std::int64_t>(tensor.dims[axis]));
    }
    return ok_status();
  }

  Status set_type(const std::string& what, std::uint32_t type_id, TensorInfo& tensor) const {
    const std::optional<DType> dtype = dtype_from_file_id(type_id);
    if (!dtype) {
      const std::string_view removed = removed_dtype_name(type_id);
      return Status(StatusCode::kUnsupported,
                    removed.empty()
                        ? fmt::format("[gguf] {}: {} has the unknown type {}", path_, what, type_id)
                        : fmt::format("[gguf] {}: {} has type {} ({}), which was removed from the "
                                      "format: convert the model again",
                                      path_, what, removed, type_id));
    }
    const DTypeInfo& info = dtype_info(*dtype);
    if (tensor.dims[0] % info.block_elements != 0) {
      return fail(fmt::format("{}: a row of {} elements is no multiple of the {} of a block of {}",
                              what, tensor.dims[0], info.block_elements, info.name));
    }
    tensor.dtype = *dtype;
    const auto elements = static_cast<std::uint64_t>(tensor.shape.elements());
    const auto size = checked_mul<std::uint64_t>(elements / info.block_elements, info.block_bytes);
    if (!size || *size > kMaxInt64) {
      return fail(fmt::format("{}: {} elements of {} have too many bytes", what, grouped(elements),
                              info.name));
    }
    tensor.size_bytes = *size;
    return ok_status();
  }

  // Offsets count from the end of the tensor list, rounded up to the alignment.
  Status place_tensors() {
    const auto data_offset = checked_align_up(at_, part_.info.alignment);
    if (!data_offset) return fail("the header is too large");
    part_.info.data_offset = *data_offset;
    part_.info.n_tensors = part_.tensors.size();
    for (TensorInfo& tensor : part_.tensors) {
      const auto located = [&](std::string_view text) {
        return fail(fmt::format("tensor \"{}\": offset {:#x} {}", printable(tensor.name),
                                tensor.offset, text));
      };
      if (tensor.offset % part_.info.alignment != 0) {
        return located(fmt::format("is no multiple of the alignment {}", part_.info.alignment));
      }
      const auto begin = checked_add(*data_offset, tensor.offset);
      if (!begin || *begin >= bytes_.size()) {
        return located(
            fmt::format("is past the end of the file ({} bytes): it is cut short or "
                        "damaged, download it again",
                        grouped(bytes_.size())));
      }
      if (tensor.size_bytes > bytes_.size() - *begin) {
        return located(
            fmt::format("plus its {} bytes is past the end of the file ({} bytes): it "
                        "is cut short or damaged, download it again",
                        grouped(tensor.size_bytes), grouped(bytes_.size())));
      }
      tensor.data = bytes_.subspan(static_cast<std::size_t>(*begin),
                                   static_cast<std::size_t>(tensor.size_bytes));
    }
    return ok_status();
  }

  Status check_overlap() const {
    std::vector<const TensorInfo*> order;
    order.reserve(part_.tensors.size());
    for (const TensorInfo& tensor : part_.tensors) order.push_back(&tensor);
    std::sort(order.begin(), order.end(),
              [](const auto* a, const auto* b) { return a->offset < b->offset; });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const TensorInfo& before = *order[i - 1];
      const TensorInfo& after = *order[i];
      if (before.offset + before.size_bytes > after.offset) {
        return fail(
            fmt::format("tensor \"{}\" at offset {:#x} overlaps tensor \"{}\" at offset "
                        "{:#x} ({} bytes)",
                        printable(after.name), after.offset, printable(before.name), before.offset,
                        grouped(before.size_bytes)));
      }
    }
    return ok_status();
  }

  std::span<const std::byte> bytes_;
  const std::string& path_;
  std::size_t at_ = 0;
  std::uint64_t n_tensors_ = 0;
  std::uint64_t n_keys_ = 0;
  ParsedPart part_;
};

}  // namespace

Status file_error(std::string_view path, std::string_view text) {
  return corrupt(fmt::format("[gguf] {}: {}", path, text));
}

Result<ParsedPart> parse_part(std::span<const std::byte> bytes, const std::string& path) {
  return Parser(bytes, path).run();
}

}  // namespace minfer::gguf
