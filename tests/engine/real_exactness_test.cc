// The exactness contract on the three small real models, where the set-up step has brought them.
#include <gtest/gtest.h>

#include "tests/engine/exactness.h"
#include "tests/engine/rig.h"

namespace minfer::tests {
namespace {

void check(char letter, bool all_isas) {
  const std::string path = real_model(letter);
  if (path.empty()) GTEST_SKIP() << "model " << letter << " is not there: run scripts/get_models";
  expect_exact({.path = path, .n_tokens = 80, .all_isas = all_isas});
}

TEST(RealExactness, S) { check('S', true); }
// The scalar kernels take minutes on these two.
TEST(RealExactness, Q) { check('Q', false); }
TEST(RealExactness, G) { check('G', false); }

}  // namespace
}  // namespace minfer::tests
