#include "tensor/dtype.h"

#include <array>

#include "base/status.h"

namespace minfer {
namespace {

constexpr DTypeInfo kActivationInfo = {"Q8A", 32, 0};

constexpr std::array<DTypeInfo, 256> make_table() {
  std::array<DTypeInfo, 256> table{};
#define MINFER_DTYPE(enumerator, id, name, block, bytes) table[id] = {name, block, bytes};
#include "tensor/dtype.def"
#undef MINFER_DTYPE
  table[static_cast<std::size_t>(DType::kQ8A)] = kActivationInfo;
  return table;
}

constexpr std::array<DTypeInfo, 256> kTable = make_table();

}  // namespace

const DTypeInfo& dtype_info(DType type) {
  const DTypeInfo& info = kTable[static_cast<std::size_t>(type)];
  MINFER_CHECK(info.block_elements != 0);
  return info;
}

std::optional<DType> dtype_from_file_id(std::uint32_t id) {
  if (id >= static_cast<std::uint32_t>(DType::kQ8A) || kTable[id].block_elements == 0) return {};
  return static_cast<DType>(id);
}

std::string_view removed_dtype_name(std::uint32_t id) {
  switch (id) {
    case 4:
      return "Q4_2";
    case 5:
      return "Q4_3";
    case 31:
      return "Q4_0_4_4";
    case 32:
      return "Q4_0_4_8";
    case 33:
      return "Q4_0_8_8";
    case 36:
      return "IQ4_NL_4_4";
    case 37:
      return "IQ4_NL_4_8";
    case 38:
      return "IQ4_NL_8_8";
    default:
      return {};
  }
}

}  // namespace minfer
