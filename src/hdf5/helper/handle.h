// hdf5/helper/handle.h - owns one libhdf5 identifier; and what libhdf5 says went wrong.
//
// Threads    One thread: the helper has no other.
#pragma once

#include <hdf5.h>

#include <string>
#include <utility>

namespace peel::hdf5 {

class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) H5Idec_ref(id_);  // closes whatever kind of thing it is
  }

  hid_t get() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }

 private:
  hid_t id_ = -1;
};

// The innermost reason on libhdf5's error stack, which is emptied; never longer than one line of 200 bytes.
std::string take_library_error();

}  // namespace peel::hdf5
