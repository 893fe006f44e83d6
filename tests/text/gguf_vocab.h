// Tokenizers out of GGUF files, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/file.h"
#include "text/vocab.h"

namespace minfer::text {

/// The tokenizer keys of `file`; keys that are missing or of the wrong type stay empty.
inline VocabSpec spec_of(const gguf::File& file) {
  const auto key = [](const char* name) { return std::string("tokenizer.ggml.") + name; };
  const auto read = [](auto result, auto& field) {
    if (result.ok()) field = *result;
  };
  const auto strings = [&](const char* name, auto& field) {
    auto array = file.strings(key(name));
    if (array.ok()) field = array->to_vector();
  };
  VocabSpec spec;
  read(file.string(key("model")), spec.model);
  read(file.string(key("pre")), spec.pre);
  strings("tokens", spec.pieces);
  strings("merges", spec.merges);
  read(file.numbers<float>(key("scores")), spec.scores);
  read(file.numbers<std::int32_t>(key("token_type")), spec.types);
  read(file.i64(key("bos_token_id")), spec.bos);
  read(file.i64(key("eos_token_id")), spec.eos);
  read(file.i64(key("unknown_token_id")), spec.unk);
  read(file.i64(key("seperator_token_id")), spec.sep);
  read(file.i64(key("padding_token_id")), spec.pad);
  read(file.i64(key("cls_token_id")), spec.cls);
  read(file.boolean(key("add_bos_token")), spec.add_bos);
  read(file.boolean(key("add_eos_token")), spec.add_eos);
  read(file.boolean(key("add_space_prefix")), spec.add_space_prefix);
  return spec;
}

}  // namespace minfer::text
