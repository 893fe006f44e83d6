// Vocab: a model's tokens as its file defines them, checked.
//
// Owns: the arrays of views, the piece index, the resolved special ids; the characters of pieces
// and merges stay in the mapped file, which must outlive the Vocab.
// Invariants, after create(): at least one piece unless kind is kNone; scores (SPM) and types have
// one entry a piece; every special id is -1 or inside the vocabulary; the pre-tokenizer is known.
// Thread-safety: immutable after create().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/piece_table.h"

namespace minfer::text {

/// `tokenizer.ggml.token_type`.
enum class TokenType : std::int32_t {
  kUndefined = 0,
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

/// What a file says about its tokenizer. Absent keys stay empty; nothing is checked yet. Views
/// point into the mapped file. Whoever reads the file fills it like this (a value of another type
/// than the one named is an error of the reader's):
///
///   model             tokenizer.ggml.model (string)
///   pre               tokenizer.ggml.pre (string)
///   pieces            tokenizer.ggml.tokens (array of strings)
///   scores            tokenizer.ggml.scores (array of f32)
///   types             tokenizer.ggml.token_type (array of i32)
///   merges            tokenizer.ggml.merges (array of strings)
///   bos, eos          tokenizer.ggml.bos_token_id, .eos_token_id (integers)
///   eot, eom          tokenizer.ggml.eot_token_id, .eom_token_id
///   unk, sep          tokenizer.ggml.unknown_token_id, .seperator_token_id (spelt like this)
///   pad, cls, mask    tokenizer.ggml.padding_token_id, .cls_token_id, .mask_token_id
///   add_bos, add_eos  tokenizer.ggml.add_bos_token, .add_eos_token (bool)
///   add_sep           tokenizer.ggml.add_sep_token
///   add_space_prefix  tokenizer.ggml.add_space_prefix
struct VocabSpec {
  std::optional<std::string_view> model;
  std::optional<std::string_view> pre;
  std::optional<std::vector<std::string_view>> pieces;
  std::optional<std::vector<float>> scores;
  std::optional<std::vector<std::int32_t>> types;
  std::optional<std::vector<std::string_view>> merges;

  std::optional<std::int64_t> bos;
  std::optional<std::int64_t> eos;
  std::optional<std::int64_t> eot;
  std::optional<std::int64_t> eom;
  std::optional<std::int64_t> unk;
  std::optional<std::int64_t> sep;
  std::optional<std::int64_t> pad;
  std::optional<std::int64_t> cls;
  std::optional<std::int64_t> mask;

  std::optional<bool> add_bos;
  std::optional<bool> add_eos;
  std::optional<bool> add_sep;
  std::optional<bool> add_space_prefix;
};

enum class VocabKind {
  kNone,       // "none", "no_vocab", "test": ids are given, there is no text
  kByteBpe,    // "gpt2"
  kSpm,        // "llama"
  kWordPiece,  // "bert"
};

/// Resolved special ids; -1 where the model has none.
struct SpecialIds {
  std::int32_t bos = -1;
  std::int32_t eos = -1;
  std::int32_t eot = -1;
  std::int32_t eom = -1;
  std::int32_t unk = -1;
  std::int32_t sep = -1;
  std::int32_t pad = -1;
  std::int32_t cls = -1;
  std::int32_t mask = -1;
};

struct PreTokenizerRow;

class Vocab {
 public:
  /// A piece longer than this is refused, as is a control or user-defined one past
  /// kMaxSpecialBytes: no model has any, and they would make encoding slow.
  static constexpr std::size_t kMaxPieceBytes = 65536;
  static constexpr std::size_t kMaxSpecialBytes = 1024;

  /// Checks `spec` against itself and builds the indexes. Errors name the metadata key and value:
  /// kUnsupported for a tokenizer or pre-tokenizer that minfer does not know, kCorrupt for the
  /// rest. Absent flags take the default of their kind: SPM adds BOS and a first blank, WordPiece
  /// its CLS and SEP, BPE what its pre-tokenizer's row says.
  static Result<std::unique_ptr<Vocab>> create(VocabSpec spec);

  [[nodiscard]] VocabKind kind() const { return kind_; }
  /// "gpt2", "llama", "bert", ...: as in the file.
  [[nodiscard]] std::string_view model() const { return *spec_.model; }
  /// The pre-tokenizer's name in the file; empty where it has none.
  [[nodiscard]] std::string_view pre() const { return spec_.pre.value_or(""); }

  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(pieces().size()); }
  [[nodiscard]] bool contains(std::int32_t id) const { return id >= 0 && id < size(); }
  /// All pieces as they stand in the file (byte-level pieces in their printable form).
  [[nodiscard]] std::span<const std::string_view> pieces() const { return *spec_.pieces; }
  [[nodiscard]] std::string_view piece(std::int32_t id) const {
    return pieces()[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] TokenType type(std::int32_t id) const {
    return spec_.types ? static_cast<TokenType>((*spec_.types)[static_cast<std::size_t>(id)])
                       : TokenType::kNormal;
  }
  [[nodiscard]] float score(std::int32_t id) const {
    return spec_.scores ? (*spec_.scores)[static_cast<std::size_t>(id)] : 0.0F;
  }
  /// The id of a piece as it stands in the file, or -1.
  [[nodiscard]] std::int32_t find(std::string_view piece) const { return index_.find(piece); }
  [[nodiscard]] const PieceTable& index() const { return index_; }
  [[nodiscard]] std::span<const std::string_view> merges() const {
    return spec_.merges ? std::span<const std::string_view>(*spec_.merges)
                        : std::span<const std::string_view>();
  }

  [[nodiscard]] const SpecialIds& special() const { return special_; }
  [[nodiscard]] bool add_bos() const { return add_bos_; }
  [[nodiscard]] bool add_eos() const { return add_eos_; }
  [[nodiscard]] bool add_space_prefix() const { return add_space_prefix_; }
  [[nodiscard]] bool is_control(std::int32_t id) const { return type(id) == TokenType::kControl; }

  /// The tokens that end a generation, ascending: the file's eos, eot and eom, and the names that
  /// the common model families use, where their type is control. (The peer also takes such names
  /// when they are ordinary text, for example an HTML tag `</s>`; minfer does not.)
  [[nodiscard]] std::span<const std::int32_t> end_of_generation() const { return eog_; }
  [[nodiscard]] bool is_eog(std::int32_t id) const;

  /// The row of pretokenizers.def; null unless kind is kByteBpe.
  [[nodiscard]] const PreTokenizerRow* pretokenizer() const { return pretokenizer_; }

  /// Oddities that do not stop the model from running, a line each.
  [[nodiscard]] std::span<const std::string> warnings() const { return warnings_; }

 private:
  Vocab() = default;

  Status resolve_kind();
  Status resolve_pretokenizer();
  Status check_arrays();
  Status check_pieces();
  Status resolve_special_ids();
  void resolve_flags();
  void find_end_of_generation();

  VocabSpec spec_;
  VocabKind kind_ = VocabKind::kNone;
  PieceTable index_;
  SpecialIds special_;
  const PreTokenizerRow* pretokenizer_ = nullptr;
  bool add_bos_ = false;
  bool add_eos_ = false;
  bool add_space_prefix_ = false;
  std::vector<std::int32_t> eog_;
  std::vector<std::string> warnings_;
};

}  // namespace minfer::text
