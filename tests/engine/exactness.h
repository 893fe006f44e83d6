// The exactness contract as checks over one model: each compares logits with ==.
#pragma once

#include <string>

#include "backend/backend.h"

namespace minfer::tests {

struct ExactnessCase {
  std::string path;
  std::size_t n_tokens = 150;  // past two pages
  backend::KvFormat kv_format = backend::KvFormat::kF16;
  bool all_isas = true;
};

/// Runs every claim of docs/arithmetic.md that one process can show, and fails the test at the
/// first bit that moves, naming the claim.
void expect_exact(const ExactnessCase& test);

}  // namespace minfer::tests
