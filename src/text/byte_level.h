// ByteLevel: the byte <-> printable character map of byte-level BPE vocabularies.
//
// Every byte stands as one character in such a vocabulary's pieces: bytes that print in Latin-1
// (0x21-0x7E, 0xA1-0xAC, 0xAE-0xFF) as themselves, the other 68 in order as U+0100, U+0101, ...
// (published with GPT-2; a blank is U+0120).
// Invariants: one to one, every image is at most two bytes of UTF-8.
// Thread-safety: pure functions over constant tables.
#pragma once

#include <string>
#include <string_view>

namespace minfer::text {

/// The byte's character as UTF-8, 1 or 2 bytes.
std::string_view byte_to_piece(unsigned char byte);

/// Appends the images of all bytes of `bytes`.
void append_byte_level(std::string& out, std::string_view bytes);

/// Appends the bytes that `piece` stands for. A character that is no byte's image (as in pieces
/// that were added by hand) is appended as it is.
void append_bytes_of_piece(std::string& out, std::string_view piece);

}  // namespace minfer::text
