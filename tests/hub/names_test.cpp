// Names that try to leave the root, asked by a client that keeps no rules of its own.
#include <sys/stat.h>

#include "hub/beneath.h"
#include "link/tcp.h"
#include "sync/pump.h"
#include "tests/hub/served.h"

namespace peel::hub::test {
namespace {

// What the server answers to one raw request.
template <class Request>
ErrorKind answer_to(const Served& hub, const Request& request) {
  const auto now = std::chrono::steady_clock::now();
  auto channel = must(link::tcp_connect("127.0.0.1", hub.port(), now + std::chrono::seconds(5), nullptr));
  proto::SessionOptions options;
  proto::HistorySession session(options, now);
  sync::Pump pump(session, *channel, {});
  request(session);
  while (true) {
    auto event = pump.next();
    if (!event) return event.error().kind();
    if (std::holds_alternative<proto::StateArrived>(*event)) return ErrorKind::partial;  // it let us in
  }
}

struct Names : ::testing::Test {
  Machine server;
  HubOptions open_to_all() const {
    HubOptions options;
    options.insecure = options.insecure_write = options.create = true;
    return options;
  }
};

TEST_F(Names, NoneLeavesTheRoot) {
  Served hub(server, open_to_all());
  { make_history(server.folder / "outside.onion", 1, 1000); }
  { make_history(hub.path("inside"), 1, 1000); }
  const std::string zero("a\0b", 3);
  for (const std::string& name :
       {std::string("../outside"), std::string("x/../../outside"), std::string("/etc/passwd"), std::string(""),
        std::string("."), std::string(".."), std::string("a//b"), std::string(".hidden"), std::string("-rf"),
        std::string("a/"), zero, std::string(300, 'a'), std::string(4000, '/'), server.folder / "outside"}) {
    EXPECT_EQ(answer_to(hub, [&](auto& s) { s.fetch({name, true}, {}, {}); }), ErrorKind::refused) << name;
    EXPECT_EQ(answer_to(hub, [&](auto& s) { s.push({name, true, {}}); }), ErrorKind::refused) << name;
    EXPECT_EQ(answer_to(hub, [&](auto& s) { s.repair(name); }), ErrorKind::refused) << name;
  }
  EXPECT_EQ(answer_to(hub, [](auto& s) { s.fetch({"inside", true}, {}, {}); }), ErrorKind::partial);
  EXPECT_EQ(answer_to(hub, [](auto& s) { s.fetch({"nothing", true}, {}, {}); }), ErrorKind::not_found);
}

TEST_F(Names, NoLinkIsFollowed) {
  Served hub(server, open_to_all());
  const std::string root = server.folder / "root";
  std::filesystem::create_directory(server.folder / "elsewhere");
  { make_history(server.folder / "elsewhere/x.onion", 1, 1000); }
  std::filesystem::create_directory_symlink(server.folder / "elsewhere", root + "/folder");
  std::filesystem::create_symlink(server.folder / "elsewhere/x.onion", root + "/file.onion");
  for (const std::string name : {"folder/x", "file", "folder/new"}) {
    EXPECT_EQ(answer_to(hub, [&](auto& s) { s.fetch({name, true}, {}, {}); }), ErrorKind::refused) << name;
    EXPECT_EQ(answer_to(hub, [&](auto& s) { s.push({name, true, {}}); }), ErrorKind::refused) << name;
  }
  EXPECT_EQ(names_in(server.folder / "elsewhere"), std::set<std::string>{"x.onion"});
  sync::ConnectOptions insecure;
  insecure.insecure = true;
  EXPECT_TRUE(must(sync::ls(hub.url(""), insecure)).empty());
}

TEST_F(Names, AFifoDoesNotHangTheServer) {
  Served hub(server, open_to_all());
  ASSERT_EQ(::mkfifo((server.folder / "root/pipe.onion").c_str(), 0600), 0);
  std::filesystem::create_directory(server.folder / "root/folder.onion");
  for (const std::string name : {"pipe", "folder"}) {
    EXPECT_EQ(answer_to(hub, [&](auto& s) { s.fetch({name, true}, {}, {}); }), ErrorKind::refused) << name;
    EXPECT_EQ(answer_to(hub, [&](auto& s) { s.push({name, true, {}}); }), ErrorKind::refused) << name;
  }
}

TEST(Beneath, EachCallStaysBelow) {
  Folder folder;
  std::filesystem::create_directory(folder / "root");
  std::filesystem::create_directory_symlink("/", folder / "root/up");
  auto files = must(BeneathFileSystem::open(folder / "root"));
  for (const std::string path : {"../x", "a/../../x", "/x", "up/x", ""}) {
    EXPECT_EQ(files->open(path, OpenMode::create_new).error().kind(), ErrorKind::refused) << path;
    EXPECT_EQ(files->identify(path).error().kind(), ErrorKind::refused) << path;
    EXPECT_EQ(files->remove(path).error().kind(), ErrorKind::refused) << path;
    EXPECT_EQ(files->sync_directory_of(path).error().kind(), ErrorKind::refused) << path;
    EXPECT_EQ(files->make_folders_of(path).error().kind(), ErrorKind::refused) << path;
  }
  must(files->make_folders_of("a/b/c"));
  must(must(files->open("a/b/c", OpenMode::create_new))->write_at(0, as_bytes("x")));
  EXPECT_EQ(files->open("a/b/c", OpenMode::create_new).error().kind(), ErrorKind::exists);
  EXPECT_EQ(files->rename("a/b/c", "../c", true).error().kind(), ErrorKind::refused);
  must(files->rename("a/b/c", "a/d", false));
  must(must(files->open("e", OpenMode::create_new))->sync_data());
  EXPECT_EQ(files->rename("e", "a/d", false).error().kind(), ErrorKind::exists);
  EXPECT_EQ(files->open("nothing/x", OpenMode::read).error().kind(), ErrorKind::not_found);
  EXPECT_EQ(must(files->list("")).size(), 2u);  // "a" and "e", not the link
}

}  // namespace
}  // namespace peel::hub::test
