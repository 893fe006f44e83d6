#include "tests/engine/exactness.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "cpu/isa.h"
#include "tests/engine/rig.h"

namespace minfer::tests {
namespace {

/// One model and the logits that everything else is compared with.
class Checker {
 public:
  explicit Checker(const ExactnessCase& test) : test_(test) {
    options_.kv_format = test.kv_format;
    options_.max_sequences = 6;
    options_.n_ctx = static_cast<std::int32_t>(test.n_tokens) + 64;
    rig_ = Rig::load(test.path, options_);
    if (rig_ == nullptr) return;
    ids_ = test_ids(test.n_tokens, rig_->n_vocab());
    expected_ = rig_->run_fresh(ids_, ids_.size());
  }
  [[nodiscard]] bool ready() const { return rig_ != nullptr && !expected_.empty(); }

  void check(std::string_view claim, std::span<const float> actual) {
    EXPECT_EQ(first_difference(expected_, actual, rig_->n_vocab()), "") << claim;
  }

  void chunks() {
    for (const std::size_t chunk : {std::size_t{1}, std::size_t{7}, std::size_t{64}}) {
      check(fmt::format("chunks of {}", chunk), rig_->run_fresh(ids_, chunk));
    }
  }

  void reuse_and_rebuild() {
    check("graph reused", rig_->run_fresh(ids_, ids_.size()));
    rig_->rebuild();
    check("graph and KV rebuilt", rig_->run_fresh(ids_, ids_.size()));
  }

  void rollback() {
    const plan::SequenceId sequence = rig_->open();
    const auto other = test_ids(ids_.size() - 40, rig_->n_vocab(), 99);
    rig_->run(sequence, std::span(ids_).first(40), 40);
    rig_->run(sequence, other, 33);  // leaves stale rows behind
    ASSERT_TRUE(rig_->forward().kv().truncate(sequence, 40).ok());
    const auto tail = rig_->run(sequence, std::span(ids_).subspan(40), 50);
    check_tail("after a rollback", tail, 40);
    rig_->forward().kv().close(sequence);
  }

  void shared_prefix() {
    for (const std::int32_t n : {64, 75}) {  // a whole page, and into the middle of one
      const plan::SequenceId first = rig_->open();
      rig_->run(first, ids_, ids_.size());
      const auto second = rig_->forward().kv().fork(first, n);
      ASSERT_TRUE(second.ok()) << second.status().message();
      check_tail("shared prefix",
                 rig_->run(*second, std::span(ids_).subspan(static_cast<std::size_t>(n)), 29),
                 static_cast<std::size_t>(n));
      rig_->forward().kv().close(*second);
      rig_->forward().kv().close(first);
    }
  }

  /// The same tokens step by step in a batch with three other sequences, in two orders.
  void batch_mates() {
    for (const bool reversed : {false, true}) {
      std::array<plan::SequenceId, 4> sequences{};
      std::array<std::vector<std::int32_t>, 4> tokens;
      for (std::size_t s = 0; s < 4; ++s) {
        sequences[s] = rig_->open();
        tokens[s] = s == 1 ? ids_ : test_ids(ids_.size(), rig_->n_vocab(), 7 + unsigned(s));
      }
      std::vector<float> logits;
      std::int32_t begin = 0;
      for (std::int32_t n = 1; begin < std::ssize(ids_); ++n) {
        const auto end = std::min<std::int32_t>(begin + n, static_cast<std::int32_t>(ids_.size()));
        std::vector<plan::Row> rows;
        for (std::size_t i = 0; i < 4; ++i) {
          const std::size_t s = reversed ? 3 - i : i;
          for (std::int32_t p = begin; p < end; ++p) {
            rows.push_back({tokens[s][static_cast<std::size_t>(p)], p, sequences[s], s == 1});
          }
        }
        const auto view = rig_->forward().run(rows);
        ASSERT_TRUE(view.ok()) << view.status().message();
        logits.insert(logits.end(), view->data, view->data + view->n_rows * view->n_vocab);
        begin = end;
      }
      check(reversed ? "in a batch of four, reversed" : "in a batch of four", logits);
      for (const plan::SequenceId sequence : sequences) rig_->forward().kv().close(sequence);
    }
  }

  /// One engine at a time: real models are large.
  void other_settings() {
    rig_.reset();
    const auto variant = [&](std::string_view claim, auto&& change) {
      RigOptions options = options_;
      change(options);
      rig_ = Rig::load(test_.path, options);
      ASSERT_NE(rig_, nullptr);
      check(claim, rig_->run_fresh(ids_, ids_.size()));
      check(std::string(claim) + ", in chunks of 13", rig_->run_fresh(ids_, 13));
      rig_.reset();
    };
    variant("1 thread", [](RigOptions& o) { o.n_threads = 1; });
    variant("3 threads", [](RigOptions& o) { o.n_threads = 3; });
    variant("QKV unfused", [](RigOptions& o) { o.fuse_qkv = false; });
    variant("FFN unfused", [](RigOptions& o) { o.fuse_ffn = false; });
    variant("unfused", [](RigOptions& o) { o.fuse_qkv = o.fuse_ffn = false; });
    for (const cpu::Isa isa : cpu::all_isas()) {
      if (!test_.all_isas || !cpu::choose_isa(cpu::isa_name(isa)).ok()) continue;
      variant(cpu::isa_title(isa), [isa](RigOptions& o) { o.isa = cpu::isa_name(isa); });
      if (isa == cpu::Isa::kScalar) continue;  // has no other order
      variant(std::string(cpu::isa_title(isa)) + ", weights as in the file", [isa](RigOptions& o) {
        o.isa = cpu::isa_name(isa);
        o.repack = false;
      });
    }
    variant("weights as in the file", [](RigOptions& o) { o.repack = false; });
  }

 private:
  void check_tail(std::string_view claim, std::span<const float> tail, std::size_t from) {
    const auto skip = from * static_cast<std::size_t>(rig_->n_vocab());
    EXPECT_EQ(first_difference(std::span(expected_).subspan(skip), tail, rig_->n_vocab()), "")
        << claim;
  }

  ExactnessCase test_;
  RigOptions options_;
  std::unique_ptr<Rig> rig_;
  std::vector<std::int32_t> ids_;
  std::vector<float> expected_;
};

}  // namespace

void expect_exact(const ExactnessCase& test) {
  SCOPED_TRACE(test.path);
  Checker checker(test);
  ASSERT_TRUE(checker.ready());
  checker.chunks();
  checker.reuse_and_rebuild();
  checker.rollback();
  checker.shared_prefix();
  checker.batch_mates();
  checker.other_settings();
}

}  // namespace minfer::tests
