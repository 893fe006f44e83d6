// Writing bytes to descriptors and whole files.
//
// Invariants: a file that write_file_whole() makes or replaces is there in full or not at all.
// Thread-safety: no state, but for the process's file mode mask, which is read.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace minfer {

/// Writes all of `bytes`, past interruptions and short writes. 0, or the errno of the write that
/// failed.
int write_all(int fd, std::string_view bytes);

/// Writes `bytes` to PATH so that it appears only when whole; links are followed, a device or pipe
/// is written to as it is.
Status write_file_whole(const std::string& path, std::string_view bytes);

}  // namespace minfer
