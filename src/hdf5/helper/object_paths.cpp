#include "hdf5/helper/object_paths.h"

#include <algorithm>
#include <vector>

#include "hdf5/helper/walk.h"

namespace peel::hdf5 {

const std::string* ObjectPaths::path_of(std::uint64_t address) {
  if (!std::exchange(gathered_, true)) gather();
  const auto found = paths_.find(address);
  return found == paths_.end() ? nullptr : &found->second;
}

bool ObjectPaths::add(std::uint64_t address, const std::string& path) {
  if (paths_.contains(address)) return false;
  bytes_ += path.size();
  if (paths_.size() >= objects_max || bytes_ > paths_bytes_max) {
    complete_ = false;
    return false;
  }
  paths_.emplace(address, path);
  return true;
}

void ObjectPaths::gather() {
  const auto root = open_root(file_);
  if (!root) return;
  const std::uint64_t root_address = address_of(root->get());
  std::vector<std::pair<std::uint64_t, std::string>> groups{{root_address, "/"}};
  add(root_address, "/");
  while (!groups.empty() && complete_ && budget_.go_on("the targets of references")) {
    const auto [address, path] = std::move(groups.back());
    groups.pop_back();
    const auto group = open_object(file_, address);
    if (!group || kind_of(group->get()) != ObjectKind::group) continue;
    const auto links = links_of(group->get());
    if (!links) continue;
    const std::size_t first_new = groups.size();
    for (const Link& link : *links) {
      if (!link.hard) continue;
      std::string child = child_path(path, link.name);
      if (add(link.address, child)) groups.emplace_back(link.address, std::move(child));
    }
    std::reverse(groups.begin() + static_cast<std::ptrdiff_t>(first_new), groups.end());  // the first name comes first
  }
}

}  // namespace peel::hdf5
