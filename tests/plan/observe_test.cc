// The observation switches: what they show, and that they change nothing.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/plan/rig.h"

namespace minfer::tests {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<float> floats(const fs::path& path) {
  const std::string bytes = slurp(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

/// A folder that goes with the test.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "minfer_plan_XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

TEST(Observe, graph_trace_is_one_line_set_a_forward) {
  PlanRig rig({.trace_graph = true});
  const auto id = rig.open();
  const auto tokens = random_tokens(5, 1);
  testing::internal::CaptureStderr();
  ASSERT_TRUE(rig.run(rig.rows(id, tokens)).ok());
  ASSERT_TRUE(rig.run(rig.rows(id, {tokens.data(), 1})).ok());
  ASSERT_TRUE(rig.run(rig.rows(id, {tokens.data(), 1})).ok());
  const auto lines = lines_of(testing::internal::GetCapturedStderr());
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0], "graph uid=1 prefill rows=5 out=1 splits=1");
  EXPECT_EQ(lines[1],
            "  split 0 ref nodes=36 staged=0: mat_mul 15 rms_norm 5 add 4 rope 4 attention 2 glu 2 "
            "kv_store 2 embed 1 gather_rows 1");
  EXPECT_EQ(lines[2], "graph uid=2 decode rows=1 out=1 splits=1");
  EXPECT_EQ(lines[4], lines[2]);
  EXPECT_EQ(lines[5], lines[3]);
  EXPECT_EQ(lines[3].find("gather_rows"), std::string::npos);
}

TEST(Observe, rebuild_trace_names_the_field_that_missed) {
  PlanRigOptions options;
  options.cache.trace_rebuilds = true;
  PlanRig rig(options);
  const auto id = rig.open();
  testing::internal::CaptureStderr();
  ASSERT_TRUE(rig.run(rig.rows(id, random_tokens(5, 1))).ok());
  ASSERT_TRUE(rig.run(rig.rows(id, random_tokens(1, 1))).ok());
  ASSERT_TRUE(rig.run(rig.rows(id, random_tokens(1, 1))).ok());
  const auto lines = lines_of(testing::internal::GetCapturedStderr());
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].find("rebuild uid=1 n_tokens=5 n_out=1 (the first graph): build "), 0U);
  EXPECT_EQ(lines[1].find("rebuild uid=2 n_tokens=1 n_out=1 (n_tokens 5 -> 1): build "), 0U);
  for (const char* stage : {"assign", "fuse", "plan", "compile"}) {
    EXPECT_NE(lines[1].find(stage), std::string::npos);
  }
}

TEST(Observe, nothing_is_printed_when_off) {
  PlanRig rig;
  testing::internal::CaptureStderr();
  ASSERT_TRUE(rig.run(rig.rows(rig.open(), random_tokens(5, 1))).ok());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Observe, dump_grows_by_one_row_a_step) {
  const Folder folder;
  const fs::path dir = folder.path / "deep" / "dump";
  const auto tokens = random_tokens(9, 2);
  PlanRig plain;
  const auto p = plain.open();
  PlanRig rig({.dump_dir = dir.string()});
  const auto id = rig.open();
  constexpr std::size_t kRow = 2 * TinyTransformer::kHeadsKv * TinyTransformer::kHeadDim;

  const auto expected = plain.run(plain.rows(p, {tokens.data(), 6})).value();
  EXPECT_EQ(rig.run(rig.rows(id, {tokens.data(), 6})).value(), expected);
  EXPECT_EQ(floats(dir / "logits_prefill.f32"), expected);
  std::vector<float> before = floats(dir / "kv1_prefill.f32");
  EXPECT_EQ(before.size(), 6 * kRow);
  for (std::size_t i = 6; i < 9; ++i) {
    const auto logits = plain.run(plain.rows(p, {tokens.data() + i, 1})).value();
    EXPECT_EQ(rig.run(rig.rows(id, {tokens.data() + i, 1})).value(), logits);
    EXPECT_EQ(floats(dir / "logits_decode.f32"), logits);
    const auto now = floats(dir / "kv1_decode.f32");
    ASSERT_EQ(now.size(), before.size() + kRow);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), now.begin()));
    before = now;
  }
  EXPECT_EQ(floats(dir / "kv0_prefill.f32").size(), 6 * kRow);
  EXPECT_EQ(
      slurp(dir / "index.json"),
      R"({"prefill":{"uid":1,"n_rows":6,"n_out":1,"n_vocab":37,"sequence":0,"n_valid":6,)"
      R"("files":[{"name":"logits_prefill.f32","shape":[1,37]},)"
      R"({"name":"kv0_prefill.f32","shape":[6,2,6]},{"name":"kv1_prefill.f32","shape":[6,2,6]}]},)"
      R"("decode":{"uid":2,"n_rows":1,"n_out":1,"n_vocab":37,"sequence":0,"n_valid":9,)"
      R"("files":[{"name":"logits_decode.f32","shape":[1,37]},)"
      R"({"name":"kv0_decode.f32","shape":[9,2,6]},{"name":"kv1_decode.f32","shape":[9,2,6]}]}})"
      "\n");
  for (const auto& entry : fs::directory_iterator(dir)) {
    const fs::path kind = entry.path().extension();
    EXPECT_TRUE(kind == ".f32" || kind == ".json") << "left behind: " << entry.path();
  }
}

TEST(Observe, a_dump_that_cannot_be_written_is_an_error) {
  const Folder folder;
  const fs::path file = folder.path / "file";
  std::ofstream(file) << "x";
  PlanRig rig({.dump_dir = file.string()});
  const auto result = rig.run(rig.rows(rig.open(), random_tokens(2, 1)));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kIo);
  EXPECT_NE(result.status().message().find(file.string()), std::string::npos);
}

}  // namespace
}  // namespace minfer::tests
