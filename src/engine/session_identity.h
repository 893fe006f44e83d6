// SessionIdentity: what must be the same for saved rows of KV to be of use.
//
// Invariants: two runs with equal identities compute the same bits for the same tokens. The size of
// the context is no part of it. Thread-safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "base/status.h"

namespace minfer::engine {

class Engine;

struct SessionIdentity {
  /// Names and values, both without control characters: "KV type", "f16".
  struct Line {
    std::string name, value;
    bool operator==(const Line&) const = default;
  };
  std::vector<Line> lines;
  std::uint64_t row_bytes = 0;  // of KV a position, packed (plan/kv_rows.h)
  std::int32_t n_vocab = 0;     // ids outside are refused
};

/// Arithmetic version, model, backend, KV type, geometry, RoPE and LoRA options of a run.
Result<SessionIdentity> session_identity(const Engine& engine, backend::KvFormat format);

/// A line of text each, and back. kCorrupt: no such text.
std::string identity_text(const SessionIdentity& identity);
Result<std::vector<SessionIdentity::Line>> parse_identity(std::string_view text);

/// Why rows of `saved` cannot be used: "it was made with another KV type: f32, this is f16". Empty:
/// they can.
std::string identity_difference(const std::vector<SessionIdentity::Line>& saved,
                                const SessionIdentity& wanted);

}  // namespace minfer::engine
