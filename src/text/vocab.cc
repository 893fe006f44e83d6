#include "text/vocab.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "text/pretokenizer.h"
#include "text/unicode.h"

namespace minfer::text {
namespace {

// Names under which the common families end a turn or a document. The last seven separate files and
// repositories in code models: what follows them belongs to another file.
constexpr std::array<std::string_view, 27> kEndNames = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "</s>",
    "<eos>",
    "<end_of_utterance>",
    "<|end_of_turn|>",
    "<\xef\xbd\x9c"
    "end\xe2\x96\x81"
    "of\xe2\x96\x81"
    "sentence\xef\xbd\x9c>",
    "<|fim_pad|>",
    "<fim-pad>",
    "<fim_pad>",
    "<|repo_name|>",
    "<fim-repo>",
    "<reponame>",
    "<|file_sep|>",
};

// The names of kEndNames that stand for the end of a turn, tried in this order where the file names
// no eot.
constexpr std::array<std::string_view, 5> kTurnEndNames = {"<|eot_id|>", "<|im_end|>", "<|end|>",
                                                           "<end_of_turn>", "<|endoftext|>"};

// Names come from a file: they go into one line of text.
std::string quoted(std::string_view name) {
  std::string out = "\"";
  for (const char c : replace_invalid_utf8(name.substr(0, 60))) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out.push_back(c);
    }
  }
  return out + (name.size() > 60 ? "...\"" : "\"");
}

}  // namespace

Result<std::unique_ptr<Vocab>> Vocab::create(VocabSpec spec) {
  std::unique_ptr<Vocab> vocab(new Vocab());
  vocab->spec_ = std::move(spec);
  const auto build = [&]() -> Status {
    MINFER_RETURN_IF_ERROR(vocab->resolve_kind());
    if (vocab->kind_ == VocabKind::kNone) {
      if (!vocab->spec_.pieces) vocab->spec_.pieces.emplace();
      vocab->spec_.types.reset();
      vocab->spec_.scores.reset();
      return ok_status();
    }
    MINFER_RETURN_IF_ERROR(vocab->resolve_pretokenizer());
    MINFER_RETURN_IF_ERROR(vocab->check_arrays());
    MINFER_RETURN_IF_ERROR(vocab->check_pieces());
    MINFER_ASSIGN_OR_RETURN(vocab->index_, PieceTable::build(*vocab->spec_.pieces));
    if (const std::size_t n = vocab->index_.n_duplicates(); n > 0) {
      const std::int32_t id = vocab->index_.first_duplicate();
      vocab->warnings_.push_back(
          fmt::format("{} tokens repeat the piece of a lower id, the first is {} ({}); they are "
                      "never produced from text",
                      n, id, quoted(vocab->piece(id))));
    }
    MINFER_RETURN_IF_ERROR(vocab->resolve_special_ids());
    vocab->resolve_flags();
    vocab->find_end_of_generation();
    return ok_status();
  };
  if (Status status = build(); !status.ok()) return status.with_context("[tokenizer]");
  return vocab;
}

Status Vocab::resolve_kind() {
  if (!spec_.model) return corrupt("the file has no tokenizer.ggml.model");
  const std::string_view model = *spec_.model;
  if (model == "gpt2") {
    kind_ = VocabKind::kByteBpe;
  } else if (model == "llama") {
    kind_ = VocabKind::kSpm;
  } else if (model == "bert") {
    kind_ = VocabKind::kWordPiece;
  } else if (model == "none" || model == "no_vocab" || model == "test") {
    kind_ = VocabKind::kNone;
  } else {
    return unsupported(
        fmt::format("tokenizer.ggml.model {} is not supported (gpt2, llama, bert and none are)",
                    quoted(model)));
  }
  return ok_status();
}

Status Vocab::resolve_pretokenizer() {
  switch (kind_) {
    case VocabKind::kNone:
      return ok_status();
    case VocabKind::kByteBpe:
      if (!spec_.pre)
        return corrupt("the file has no tokenizer.ggml.pre: how to split its text is unknown");
      pretokenizer_ = find_pretokenizer(*spec_.pre);
      if (pretokenizer_ != nullptr) return ok_status();
      break;
    case VocabKind::kSpm:
      if (!spec_.pre || *spec_.pre == "default") return ok_status();
      break;
    case VocabKind::kWordPiece:
      if (!spec_.pre || *spec_.pre == "default" || *spec_.pre == "bert-bge") return ok_status();
      break;
  }
  return unsupported(fmt::format("tokenizer.ggml.pre {} is not supported for model {}",
                                 quoted(*spec_.pre), quoted(*spec_.model)));
}

Status Vocab::check_arrays() {
  if (!spec_.pieces) return corrupt("the file has no tokenizer.ggml.tokens");
  const std::size_t n = spec_.pieces->size();
  if (n == 0) return corrupt("tokenizer.ggml.tokens is empty");
  if (n > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) / 4)
    return corrupt(fmt::format("tokenizer.ggml.tokens has {} entries: too many", n));
  if (spec_.types) {
    if (spec_.types->size() != n)
      return corrupt(fmt::format("tokenizer.ggml.token_type has {} entries for {} tokens",
                                 spec_.types->size(), n));
    for (std::size_t i = 0; i < n; ++i) {
      const std::int32_t type = (*spec_.types)[i];
      if (type < 0 || type > static_cast<std::int32_t>(TokenType::kByte))
        return corrupt(fmt::format("tokenizer.ggml.token_type of token {} is {}", i, type));
    }
  }
  if (spec_.scores) {
    if (spec_.scores->size() != n)
      return corrupt(fmt::format("tokenizer.ggml.scores has {} entries for {} tokens",
                                 spec_.scores->size(), n));
    for (std::size_t i = 0; i < n; ++i)
      if (std::isnan((*spec_.scores)[i]))
        return corrupt(fmt::format("tokenizer.ggml.scores of token {} is not a number", i));
  } else if (kind_ == VocabKind::kSpm) {
    return corrupt("the file has no tokenizer.ggml.scores");
  }
  if (kind_ == VocabKind::kByteBpe) {
    if (!spec_.merges) return corrupt("the file has no tokenizer.ggml.merges");
    if (spec_.merges->size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      return corrupt("tokenizer.ggml.merges has too many entries");
  }
  return ok_status();
}

Status Vocab::check_pieces() {
  std::size_t n_invalid = 0;
  std::int32_t first_invalid = -1;
  for (std::int32_t id = 0; id < size(); ++id) {
    const std::string_view p = piece(id);
    if (p.size() > kMaxSpecialBytes) {
      const TokenType t = type(id);
      const bool matched_whole =
          t == TokenType::kControl || t == TokenType::kUserDefined || t == TokenType::kUnknown;
      if (p.size() > kMaxPieceBytes || matched_whole)
        return corrupt(fmt::format("token {} is {} bytes long", id, p.size()));
    }
    if (!is_valid_utf8(p) && n_invalid++ == 0) first_invalid = id;
  }
  if (n_invalid > 0)
    warnings_.push_back(fmt::format("{} tokens are not UTF-8, the first is {} ({})", n_invalid,
                                    first_invalid, quoted(piece(first_invalid))));
  return ok_status();
}

Status Vocab::resolve_special_ids() {
  struct Field {
    const char* key;
    const std::optional<std::int64_t>* value;
    std::int32_t* id;
    bool used;  // by encoding or decoding: a wrong one can't be let pass
  };
  const std::array<Field, 9> fields = {{
      {"bos_token_id", &spec_.bos, &special_.bos, true},
      {"eos_token_id", &spec_.eos, &special_.eos, true},
      {"eot_token_id", &spec_.eot, &special_.eot, true},
      {"eom_token_id", &spec_.eom, &special_.eom, true},
      {"unknown_token_id", &spec_.unk, &special_.unk, true},
      {"seperator_token_id", &spec_.sep, &special_.sep, true},
      {"cls_token_id", &spec_.cls, &special_.cls, true},
      {"padding_token_id", &spec_.pad, &special_.pad, false},
      {"mask_token_id", &spec_.mask, &special_.mask, false},
  }};
  for (const Field& field : fields) {
    if (!field.value->has_value()) continue;
    const std::int64_t id = field.value->value();
    if (id >= 0 && id < size()) {
      *field.id = static_cast<std::int32_t>(id);
      continue;
    }
    std::string message =
        fmt::format("tokenizer.ggml.{} is {}, but there are {} tokens", field.key, id, size());
    if (field.used) return corrupt(std::move(message));
    warnings_.push_back(std::move(message));
  }
  if (kind_ == VocabKind::kSpm) {
    // The ids that SentencePiece itself gives these three, where the file is silent.
    const auto fall_back = [&](bool given, std::int32_t& id, std::int32_t usual, TokenType wanted) {
      if (!given && usual < size() && type(usual) == wanted) id = usual;
    };
    fall_back(spec_.unk.has_value(), special_.unk, 0, TokenType::kUnknown);
    fall_back(spec_.bos.has_value(), special_.bos, 1, TokenType::kControl);
    fall_back(spec_.eos.has_value(), special_.eos, 2, TokenType::kControl);
  }
  if (kind_ == VocabKind::kWordPiece) {
    if (special_.cls < 0) special_.cls = special_.bos;
    if (special_.sep < 0) special_.sep = special_.eos;
    if (special_.unk < 0) return corrupt("the file has no tokenizer.ggml.unknown_token_id");
  }
  return ok_status();
}

void Vocab::resolve_flags() {
  switch (kind_) {
    case VocabKind::kNone:
      break;
    case VocabKind::kByteBpe:
      add_bos_ = spec_.add_bos.value_or(pretokenizer_->add_bos);
      add_eos_ = spec_.add_eos.value_or(false);
      break;
    case VocabKind::kSpm:
      add_bos_ = spec_.add_bos.value_or(true);
      add_eos_ = spec_.add_eos.value_or(false);
      add_space_prefix_ = spec_.add_space_prefix.value_or(true);
      break;
    case VocabKind::kWordPiece:
      add_bos_ = spec_.add_bos.value_or(true);
      add_eos_ = spec_.add_sep.value_or(spec_.add_eos.value_or(true));
      break;
  }
}

void Vocab::find_end_of_generation() {
  if (special_.eot < 0) {
    for (const std::string_view name : kTurnEndNames) {
      const std::int32_t id = find(name);
      if (id >= 0 && is_control(id)) {
        special_.eot = id;
        break;
      }
    }
  }
  for (const std::int32_t id : {special_.eos, special_.eot, special_.eom})
    if (id >= 0) eog_.push_back(id);
  for (const std::string_view name : kEndNames) {
    const std::int32_t id = find(name);
    if (id >= 0 && is_control(id)) eog_.push_back(id);
  }
  std::sort(eog_.begin(), eog_.end());
  eog_.erase(std::unique(eog_.begin(), eog_.end()), eog_.end());
}

bool Vocab::is_eog(std::int32_t id) const {
  return std::binary_search(eog_.begin(), eog_.end(), id);
}

}  // namespace minfer::text
