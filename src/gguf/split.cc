#include "gguf/split.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

namespace minfer::gguf {
namespace {

// Five digits in the name bound the number of parts.
constexpr std::uint64_t kMaxParts = 99999;

Result<std::optional<std::uint64_t>> read_key(const ParsedPart& part, std::string_view key) {
  const auto at = part.keys.find(key);
  if (!at) return std::optional<std::uint64_t>();
  const Result<std::uint64_t> value = part.metadata[*at].value.as_u64();
  if (!value.ok()) {
    return file_error(part.info.path, fmt::format("key \"{}\" {}", key, value.status().message()));
  }
  return std::optional<std::uint64_t>(*value);
}

std::string suffix(std::uint64_t no, std::uint64_t count) {
  return fmt::format("-{:05}-of-{:05}.gguf", no + 1, count);
}

}  // namespace

Result<SplitKeys> read_split_keys(const ParsedPart& part) {
  MINFER_ASSIGN_OR_RETURN(const auto no, read_key(part, "split.no"));
  MINFER_ASSIGN_OR_RETURN(const auto count, read_key(part, "split.count"));
  MINFER_ASSIGN_OR_RETURN(const auto n_tensors, read_key(part, "split.tensors.count"));
  SplitKeys keys;
  keys.has_n_tensors = n_tensors.has_value();
  keys.n_tensors = n_tensors.value_or(0);
  keys.no = no.value_or(0);
  // Some tools write 0 for a model in one piece.
  keys.count = count.value_or(1) == 0 ? 1 : count.value_or(1);
  if (keys.count > kMaxParts) {
    return file_error(part.info.path, fmt::format("key \"split.count\" is {}, should be at most {}",
                                                  keys.count, kMaxParts));
  }
  if (keys.no >= keys.count) {
    return file_error(part.info.path,
                      fmt::format("key \"split.no\" is {}, should be below split.count ({})",
                                  keys.no, keys.count));
  }
  return keys;
}

Result<std::string> split_path(const std::string& path, const SplitKeys& keys, std::uint64_t no) {
  const std::string own = suffix(keys.no, keys.count);
  if (!std::string_view(path).ends_with(own)) {
    return file_error(path, fmt::format("is part {} of {} of a split model (keys split.no and "
                                        "split.count), so its name should end in \"{}\", beside "
                                        "the other parts",
                                        keys.no + 1, keys.count, own));
  }
  return path.substr(0, path.size() - own.size()) + suffix(no, keys.count);
}

}  // namespace minfer::gguf
