// Shape rules of the operations that builder_test does not reach: the fused ones, which only passes
// make, and the checks on attributes.
#include <gtest/gtest.h>

#include "tests/ir/test_graphs.h"

namespace minfer::ir_test {
namespace {

using namespace ir;  // NOLINT: the whole test is about it

/// A table of values to hand to rules; the graph has no nodes.
class Rules : public ::testing::Test {
 protected:
  ValueId value(ValueKind kind, DType dtype, Shape shape, RowDomain rows) {
    Value v;
    v.kind = kind;
    v.dtype = dtype;
    v.shape = shape;
    v.rows = rows;
    return graph.add_value(v);
  }
  ValueId rows(std::int64_t n, DType dtype = DType::kF32, RowDomain domain = RowDomain::kTokens) {
    return value(ValueKind::kTransient, dtype, {4, n}, domain);
  }
  ValueId weight(Shape shape) {
    return value(ValueKind::kWeight, DType::kF32, shape, RowDomain::kFixed);
  }
  ValueId index() { return value(ValueKind::kInput, DType::kI32, {4}, RowDomain::kTokens); }
  ValueId pages() {
    const ValueId id = value(ValueKind::kInput, DType::kI32, {4, 2}, RowDomain::kTokens);
    graph.mutable_value(id).input = InputKind::kKvPages;
    return id;
  }
  OutputSpecs specs(OpKind op, const Attrs& attrs, const ValueList& inputs) {
    const Result<OutputSpecs> result = shape_rule(op)(graph, attrs, inputs);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? *result : OutputSpecs{};
  }
  std::string error(OpKind op, const Attrs& attrs, const ValueList& inputs) {
    const Result<OutputSpecs> result = shape_rule(op)(graph, attrs, inputs);
    return result.ok() ? "" : result.status().message();
  }

  Graph graph;
};

TEST_F(Rules, fused_norm) {
  const ValueId x = rows(48);
  const OutputSpecs both =
      specs(OpKind::kFusedNorm, FusedNormAttrs{1e-5F, true, true}, {x, rows(48), weight({48})});
  ASSERT_EQ(both.count, 2);
  EXPECT_EQ(both.spec[0].dtype, DType::kF32);
  EXPECT_EQ(both.spec[1].dtype, DType::kQ8A);
  EXPECT_EQ(both.spec[1].shape, (Shape{4, 48}));
  const OutputSpecs plain =
      specs(OpKind::kFusedNorm, FusedNormAttrs{1e-5F, false, true}, {x, weight({48})});
  EXPECT_EQ(plain.count, 1);
  EXPECT_EQ(error(OpKind::kFusedNorm, FusedNormAttrs{1e-5F, false, true}, {x, weight({16})}),
            "input \"weight\" must be a weight [48], but is F32 [16]");
  EXPECT_EQ(
      error(OpKind::kFusedNorm, FusedNormAttrs{1e-5F, true, true}, {x, rows(47), weight({48})}),
      "input \"y\" must be F32 with 4 of tokens rows of 48, but is F32 [4, 47] of tokens");
  EXPECT_EQ(error(OpKind::kFusedNorm, FusedNormAttrs{-1.0F, false, false}, {x, weight({48})}),
            "eps must not be negative");
}

TEST_F(Rules, fused_gate_up) {
  const ValueId x = rows(48, DType::kQ8A);
  const FusedGateUpAttrs plain{Activation::kSilu, false, false, false};
  const OutputSpecs out =
      specs(OpKind::kFusedGateUp, plain, {x, weight({96, 48}), weight({96, 48})});
  EXPECT_EQ(out.spec[0].shape, (Shape{4, 96}));
  EXPECT_EQ(out.spec[0].dtype, DType::kF32);
  EXPECT_EQ(error(OpKind::kFusedGateUp, plain, {x, weight({96, 48}), weight({95, 48})}),
            "Wgate and Wup must yield equal rows");
  const FusedGateUpAttrs biased{Activation::kSilu, false, true, false};
  EXPECT_EQ(error(OpKind::kFusedGateUp, biased, {x, weight({96, 48}), weight({96, 48})}),
            "input \"bup\" is missing");
}

TEST_F(Rules, fused_qkv) {
  FusedQkvAttrs a;
  a.rope = {4, 16, 16};
  a.n_head_kv = 2;
  a.layer = 5;
  const ValueId x = rows(48, DType::kQ8A);
  const ValueId positions = index(), sequence = index(), tables = pages();
  const auto inputs = [&](std::int64_t q, std::int64_t k, std::int64_t v) {
    return ValueList{x,         weight({q, 48}), weight({k, 48}), weight({v, 48}),
                     positions, sequence,        tables};
  };
  const OutputSpecs out = specs(OpKind::kFusedQkv, a, inputs(64, 32, 32));
  ASSERT_EQ(out.count, 2);
  EXPECT_EQ(out.spec[0].shape, (Shape{4, 64}));
  EXPECT_EQ(out.spec[1].kind, ValueKind::kKvToken);
  EXPECT_EQ(out.spec[1].layer, 5);
  EXPECT_EQ(error(OpKind::kFusedQkv, a, inputs(32, 32, 32)),
            "Wq must yield n_head * head_dim elements");
  const std::string kv = "Wk and Wv must yield n_head_kv * head_dim elements";
  EXPECT_EQ(error(OpKind::kFusedQkv, a, inputs(64, 64, 32)), kv);
  EXPECT_EQ(error(OpKind::kFusedQkv, a, inputs(64, 32, 64)), kv);
  a.layer = -1;
  EXPECT_EQ(error(OpKind::kFusedQkv, a, inputs(64, 32, 32)), "the layer must not be negative");
}

TEST_F(Rules, gather_rows_needs_a_row_a_token) {
  const ValueId out_rows = value(ValueKind::kInput, DType::kI32, {2}, RowDomain::kOut);
  const OutputSpecs out = specs(OpKind::kGatherRows, NoAttrs{}, {rows(8), out_rows});
  EXPECT_EQ(out.spec[0].shape, (Shape{2, 8}));
  EXPECT_EQ(out.spec[0].rows, RowDomain::kOut);
  EXPECT_EQ(
      error(OpKind::kGatherRows, NoAttrs{}, {rows(8, DType::kF32, RowDomain::kOut), out_rows}),
      "x must have a row a token");
}

TEST_F(Rules, experts) {
  const ValueId ids = value(ValueKind::kTransient, DType::kI32, {4, 2}, RowDomain::kTokens);
  EXPECT_EQ(error(OpKind::kMoeRoute, MoeRouteAttrs{8, 2, false}, {rows(7)}),
            "the logits must be n_expert elements");
  EXPECT_EQ(error(OpKind::kMoeRoute, MoeRouteAttrs{8, 9, false}, {rows(8)}),
            "n_used must be in 1 to n_expert");
  EXPECT_EQ(error(OpKind::kMoeMatMul, MoeMatMulAttrs{2, true}, {rows(8), ids, weight({1, 4, 8})}),
            "n_used must be at most n_expert");
  EXPECT_EQ(error(OpKind::kMoeCombine, MoeCombineAttrs{2}, {rows(9), rows(2)}),
            "the row of y must be n_used rows");
  EXPECT_EQ(error(OpKind::kMoeCombine, MoeCombineAttrs{0}, {rows(9), rows(2)}),
            "n_used must be positive");
}

TEST_F(Rules, quantised_rows_go_only_where_they_are_understood) {
  const ValueId q8 = rows(32, DType::kQ8A);
  EXPECT_EQ(specs(OpKind::kMatMul, NoAttrs{}, {q8, weight({8, 32})}).spec[0].dtype, DType::kF32);
  EXPECT_EQ(specs(OpKind::kQuantizeRows, NoAttrs{}, {rows(32)}).spec[0].dtype, DType::kQ8A);
  const std::string wanted = "input \"x\" must be F32 [R, n], but is Q8A [4, 32] of tokens";
  EXPECT_EQ(error(OpKind::kQuantizeRows, NoAttrs{}, {q8}), wanted);
  EXPECT_EQ(error(OpKind::kScale, ScaleAttrs{}, {q8}), wanted);
  EXPECT_EQ(error(OpKind::kRmsNorm, NormAttrs{1e-5F, 32}, {q8, weight({32})}), wanted);
}

TEST_F(Rules, every_op_names_a_missing_first_input) {
  const Attrs attrs[] = {
#define MINFER_OP(enumerator, name, attributes, in_place) attributes{},
#include "ir/ops.def"
#undef MINFER_OP
  };
  for (std::size_t i = 0; i < std::size(attrs); ++i) {
    const auto op = static_cast<OpKind>(i);
    EXPECT_TRUE(attrs_match(op, attrs[i])) << op_name(op);
    EXPECT_NE(error(op, attrs[i], {}), "") << op_name(op);
    EXPECT_LT(in_place_input(op), 1) << op_name(op);
  }
  EXPECT_FALSE(attrs_match(OpKind::kGlu, ScaleAttrs{}));
}

}  // namespace
}  // namespace minfer::ir_test
