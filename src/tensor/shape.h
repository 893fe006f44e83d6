// Shape and TensorView: the extents of a tensor and a non-owning look at its bytes.
//
// Invariants: a Shape has 1 to 4 extents, outermost first, as doc comments write them
// ([n_tokens, n_head, head_dim]); the last extent is contiguous in memory. (GGUF files write the
// innermost extent first; gguf/ turns them round.)
// Thread-safety: values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/status.h"
#include "tensor/dtype.h"

namespace minfer {

class Shape {
 public:
  static constexpr int kMaxRank = 4;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents) {
    MINFER_CHECK(extents.size() <= kMaxRank);
    for (std::int64_t extent : extents) extents_[static_cast<std::size_t>(rank_++)] = extent;
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] std::int64_t operator[](int axis) const {
    return extents_[static_cast<std::size_t>(axis)];
  }
  void set(int axis, std::int64_t extent) { extents_[static_cast<std::size_t>(axis)] = extent; }
  void push_back(std::int64_t extent) {
    MINFER_CHECK(rank_ < kMaxRank);
    extents_[static_cast<std::size_t>(rank_++)] = extent;
  }

  /// Elements of one row: the product of all extents but the first (the extent itself at rank 1).
  [[nodiscard]] std::int64_t row_elements() const {
    std::int64_t n = 1;
    for (int axis = rank_ > 1 ? 1 : 0; axis < rank_; ++axis) n *= (*this)[axis];
    return n;
  }
  /// Rows: the first extent (1 at rank 1).
  [[nodiscard]] std::int64_t rows() const { return rank_ > 1 ? extents_[0] : 1; }
  [[nodiscard]] std::int64_t elements() const { return rank_ == 0 ? 0 : rows() * row_elements(); }
  /// The last extent.
  [[nodiscard]] std::int64_t inner() const { return rank_ == 0 ? 0 : (*this)[rank_ - 1]; }

  /// "[512, 576]".
  [[nodiscard]] std::string to_string() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

/// A non-owning look at the bytes of a dense row-major tensor.
struct TensorView {
  const std::byte* data = nullptr;
  DType dtype = DType::kF32;
  Shape shape;
};

}  // namespace minfer
