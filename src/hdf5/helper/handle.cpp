#include "hdf5/helper/handle.h"

namespace peel::hdf5 {

std::string take_library_error() {
  std::string innermost;
  const auto note = [](unsigned, const H5E_error2_t* entry, void* out) -> herr_t {
    auto& text = *static_cast<std::string*>(out);
    if (text.empty() && entry->desc) text = entry->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, note, &innermost);
  H5Eclear2(H5E_DEFAULT);
  if (innermost.empty()) innermost = "libhdf5 gives no reason";
  for (char& c : innermost) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return innermost.substr(0, 200);
}

}  // namespace peel::hdf5
