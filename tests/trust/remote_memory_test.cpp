#include "trust/remote_memory.h"

#include <thread>

#include "tests/trust/scratch_config.h"

namespace peel::trust::test {
namespace {

using RemoteMemoryTest = ScratchConfig;

const RemoteHeads sample{{"main", key_of(1)}, {"odd \n branch\\ ", key_of(2)}};

TEST_F(RemoteMemoryTest, RemembersEachOnionOfEachPeer) {
  const RemoteMemory memory(directory());
  const std::string name = "lab/run 7\n.h5";
  EXPECT_TRUE(memory.load(key_of(1), name)->empty());
  ASSERT_TRUE(memory.save(key_of(1), name, sample));
  EXPECT_EQ(*memory.load(key_of(1), name), sample);
  EXPECT_TRUE(memory.load(key_of(2), name)->empty());
  EXPECT_TRUE(memory.load(key_of(1), "lab/run")->empty());
  ASSERT_TRUE(memory.save(key_of(1), name, {{"main", key_of(9)}}));
  EXPECT_EQ(*memory.load(key_of(1), name), (RemoteHeads{{"main", key_of(9)}}));
  EXPECT_FALSE(memory.save(key_of(1), name, {{"", key_of(9)}}));
  ASSERT_TRUE(memory.forget(key_of(1), name));
  EXPECT_TRUE(memory.load(key_of(1), name)->empty());
}

TEST_F(RemoteMemoryTest, UpdatesOfManyThreadsAllCount) {
  const RemoteMemory memory(directory());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&memory, t] {
      for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(memory.update(key_of(1), "x", [&](RemoteHeads& heads) -> Status {
          heads["b" + std::to_string(t) + "." + std::to_string(i)] = key_of(1);
          return {};
        }));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(memory.load(key_of(1), "x")->size(), 40u);
  EXPECT_FALSE(memory.update(key_of(1), "x", [](RemoteHeads& heads) -> Status {
    heads.clear();
    return fail(ErrorKind::refused, "backwards");
  }));
  EXPECT_EQ(memory.load(key_of(1), "x")->size(), 40u);
}

TEST(RemoteHeadsText, RoundTripTruncationAndFlips) {
  const std::string text = encode_remote_heads(identity_of(1).public_key, "lab/x.h5", sample);
  EXPECT_EQ(*decode_remote_heads("lab/x.h5", text), sample);
  EXPECT_FALSE(decode_remote_heads("lab/y.h5", text));
  for (std::size_t n = 0; n + 1 < text.size(); ++n)
    EXPECT_FALSE(decode_remote_heads("lab/x.h5", text.substr(0, n))) << n;
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    const auto decoded = decode_remote_heads("lab/x.h5", flipped);
    EXPECT_TRUE(!decoded || *decoded == sample) << bit;  // the last line end may become another blank
  }
}

TEST(RemoteHeadsText, Golden) {
  EXPECT_EQ(encode_remote_heads(key_of(0), "a b", {{"main", key_of(0xab)}}),
            "peel-heads 1\npeer peel1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaanepb7\nonion a b\nhead "
            "abababababababababababababababababababababababababababababababab main\nend d6db6c10096d01f4\n");
}

TEST_F(RemoteMemoryTest, ADamagedFileNamesItself) {
  const RemoteMemory memory(directory());
  ASSERT_TRUE(memory.save(key_of(1), "x", sample));
  std::string file;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path() + "/heads"))
    if (entry.is_regular_file()) file = entry.path();
  EXPECT_EQ(mode_of(file), 0600u);
  std::filesystem::resize_file(file, 40);
  const auto loaded = memory.load(key_of(1), "x");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind(), ErrorKind::corrupt);
  EXPECT_NE(loaded.error().message().find(file), std::string::npos);
}

}  // namespace
}  // namespace peel::trust::test
