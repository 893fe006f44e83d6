#include "model/file_type.h"

#include <map>
#include <string_view>
#include <utility>

namespace minfer::model {
namespace {

constexpr std::pair<std::uint64_t, std::string_view> kFileTypes[] = {
    {0, "F32"},      {1, "F16"},      {2, "Q4_0"},    {3, "Q4_1"},    {7, "Q8_0"},
    {8, "Q5_0"},     {9, "Q5_1"},     {10, "Q2_K"},   {11, "Q3_K_S"}, {12, "Q3_K_M"},
    {13, "Q3_K_L"},  {14, "Q4_K_S"},  {15, "Q4_K_M"}, {16, "Q5_K_S"}, {17, "Q5_K_M"},
    {18, "Q6_K"},    {19, "IQ2_XXS"}, {20, "IQ2_XS"}, {21, "Q2_K_S"}, {22, "IQ3_XS"},
    {23, "IQ3_XXS"}, {24, "IQ1_S"},   {25, "IQ4_NL"}, {26, "IQ3_S"},  {27, "IQ3_M"},
    {28, "IQ2_S"},   {29, "IQ2_M"},   {30, "IQ4_XS"}, {31, "IQ1_M"},  {32, "BF16"},
    {36, "TQ1_0"},   {37, "TQ2_0"},   {38, "MXFP4"},
};

}  // namespace

std::string file_type_name(const gguf::File& file, std::span<const backend::WeightSource> weights) {
  if (const auto number = file.u64("general.file_type"); number.ok()) {
    for (const auto& [id, name] : kFileTypes) {
      if (id == *number) return std::string(name);
    }
  }
  std::map<DType, std::uint64_t> bytes;
  DType most = DType::kF32;
  for (const backend::WeightSource& weight : weights) {
    const auto elements = static_cast<std::uint64_t>(weight.view.shape.elements());
    bytes[weight.view.dtype] += row_size_bytes(weight.view.dtype, elements);
    if (bytes[weight.view.dtype] > bytes[most]) most = weight.view.dtype;
  }
  return std::string(dtype_name(most));
}

}  // namespace minfer::model
