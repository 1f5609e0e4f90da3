// Branches and tags: made, renamed, deleted, and what is refused.
#include "scratch.h"

namespace peel::workspace::test {
namespace {

TEST(Refs, BranchesAndTags) {
  const Scratch dir;
  const Paths paths = dir.paths();
  commit_text(paths, "one");
  auto onion = open_onion(paths, Access::write);
  ASSERT_OK(onion);
  ASSERT_OK(create_branch(*onion, "side", ""));
  EXPECT_FAILS(create_branch(*onion, "side", ""), ErrorKind::exists);
  EXPECT_FAILS(create_branch(*onion, "other", "@9"), ErrorKind::not_found);
  ASSERT_OK(rename_branch(*onion, "main", "trunk"));
  EXPECT_EQ(onion->current_branch(), "trunk");
  EXPECT_FALSE(onion->ref(RefKind::branch, "main"));
  EXPECT_FAILS(rename_branch(*onion, "trunk", "side"), ErrorKind::exists);
  EXPECT_FAILS(delete_branch(*onion, "trunk"), ErrorKind::refused);
  ASSERT_OK(delete_branch(*onion, "side"));
  EXPECT_FAILS(delete_branch(*onion, "side"), ErrorKind::not_found);
  ASSERT_OK(create_tag(*onion, "v1", "trunk", "good"));
  EXPECT_EQ(onion->ref(RefKind::tag, "v1")->value, "good");
  EXPECT_FAILS(create_tag(*onion, "v1", "", ""), ErrorKind::exists);
  ASSERT_OK(delete_tag(*onion, "v1"));
  EXPECT_FAILS(delete_tag(*onion, "v1"), ErrorKind::not_found);
}

}  // namespace
}  // namespace peel::workspace::test
