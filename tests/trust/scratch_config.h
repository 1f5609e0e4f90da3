// A configuration directory of its own for each test, gone afterwards.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "trust/config_directory.h"
#include "trust/identity.h"

namespace peel::trust::test {

class ScratchConfig : public ::testing::Test {
protected:
  ScratchConfig() {
    std::string pattern = ::testing::TempDir() + "peel-trust-XXXXXX";
    root_ = ::mkdtemp(pattern.data());
  }
  ~ScratchConfig() override { std::filesystem::remove_all(root_); }

  std::string path() const { return root_ + "/config"; }
  ConfigDirectory directory() const {
    auto opened = ConfigDirectory::open_at(path());
    if (!opened) std::abort();
    return *opened;
  }
  std::string text_of(const std::string& name) const {
    std::ifstream in(path() + "/" + name, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  void put_text(const std::string& name, const std::string& text) const {
    std::filesystem::remove(path() + "/" + name);  // rewriting in place would wait for the disk
    std::ofstream(path() + "/" + name, std::ios::binary) << text;
  }
  static unsigned mode_of(const std::string& path) {
    struct stat st {};
    return ::stat(path.c_str(), &st) == 0 ? st.st_mode & 07777 : 0;
  }

  std::string root_;
};

// Not a real point of the curve, which the store does not care about.
inline PublicKey key_of(unsigned char fill) {
  PublicKey key;
  key.bytes.fill(static_cast<std::byte>(fill));
  return key;
}

inline Identity identity_of(unsigned char fill) {
  std::array<std::byte, 32> seed;
  seed.fill(static_cast<std::byte>(fill));
  return identity_from_seed(seed);
}

}  // namespace peel::trust::test
