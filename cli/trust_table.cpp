// cli/trust_table.cpp - who may talk to whom, and the server.
#include "cli/command.h"
#include "cli/handlers.h"

namespace peel::cli {
namespace {

constexpr Option allow{"allow", 0, "LEVEL", "read, append, write or admin; each includes the ones before",
                       Completes::permission};
constexpr Option path{"path", 0, "PREFIX", "only for names below PREFIX; default: everything"};

constexpr Option id_options[] = {{"rotate", 0, nullptr, "make a new key, signed for by the present one"}};
constexpr JsonKey id_json[] = {
    {"fingerprint", "string", "peel1- and 56 characters"},
    {"config", "string", "the directory of identity, trust and settings"},
};
constexpr Example id_examples[] = {{"peel id", "read it to somebody; they type `peel trust FINGERPRINT --name YOU`"}};

constexpr Option invite_options[] = {
    {"allow", 0, "LEVEL", "read, append, write or admin; each includes the ones before; default: read",
     Completes::permission},
    path,
    {"expires", 0, "TIME", "how long it can be used: 90s, 15m, 12h, 7d; default 1h"},
    {"address", 0, "HOST:PORT", "where the server is reached; may be given again", Completes::nothing, 0, nullptr,
     true},
};
constexpr JsonKey invite_json[] = {
    {"invite", "string", "the line to hand over"},
    {"expires", "string", "UTC"},
};
constexpr Example invite_examples[] = {
    {"peel invite --address hub.example.org:7731 --allow write --path alice", "one line for one new peer"}};

constexpr Operand join_operands[] = {{"INVITE", "the line you were given; - reads it from standard input", true}};
constexpr Option join_options[] = {
    {"name", 0, "NAME", "your name for the server; default: from its address"},
};
constexpr Example join_examples[] = {{"peel join peel-invite-... --name lab", "from now on: peel clone lab:NAME"}};
constexpr ExitNote join_exits[] = {{6, "the server could not be reached"},
                                   {7, "the invite is used up, expired or unknown"}};

constexpr Operand trust_operands[] = {{"FINGERPRINT", "as the other machine's `peel id` prints it", true}};
constexpr Option trust_options[] = {
    {"name", 0, "NAME", "your name for the peer"},
    allow,
    path,
    {"address", 0, "HOST:PORT", "where it is reached; may be given again", Completes::nothing, 0, nullptr, true},
};
constexpr Example trust_examples[] = {
    {"peel trust peel1-abc... --name alice --allow append --path runs", "alice may add to what is below runs"}};

constexpr Operand untrust_operands[] = {{"NAME", "a peer", true}};
constexpr Option untrust_options[] = {
    {"forget", 0, nullptr, "remove the entry; otherwise the key stays known as revoked"}};
constexpr Example untrust_examples[] = {{"peel untrust alice", "cuts live sessions of a running server too"}};

constexpr JsonKey peers_json[] = {
    {"peers", "array", "by name"},
    {"peers[].name", "string", ""},
    {"peers[].fingerprint", "string", ""},
    {"peers[].revoked", "boolean", "no longer trusted"},
    {"peers[].grants", "array", "what the peer may do here"},
    {"peers[].grants[].allow", "string", "read, append, write or admin"},
    {"peers[].grants[].path", "string", "the prefix; empty: everything"},
    {"peers[].addresses", "array", "HOST:PORT it was reached at"},
    {"peers[].added", "string", "when, UTC"},
};
constexpr Example peers_examples[] = {{"peel peers", "who is trusted here, with what"}};

constexpr Operand serve_operands[] = {
    {"ROOT", "the directory that holds the histories", true, false, Completes::directory}};
constexpr Option serve_options[] = {
    {"listen", 0, "HOST:PORT", "where to listen; default 0.0.0.0:7731; port 0 picks a free one"},
    {"create", 0, nullptr, "peers trusted with write may make new histories, and ROOT itself is made"},
    {"quota", 0, "SIZE", "staged bytes of unfinished pushes, for each peer"},
    {"connections", 0, "N", "at most so many at once; default 256"},
    {"insecure", 0, nullptr, "no encryption and no keys: everybody who can connect may read"},
    {"insecure-write", 0, nullptr, "with --insecure: everybody may write too"},
};
constexpr Example serve_examples[] = {
    {"peel serve /srv/peel --create", "a hub for everybody trusted here; stop it with Ctrl-C or SIGTERM"},
    {"peel serve data --listen 127.0.0.1:0", "prints the port it got"},
};
constexpr ExitNote serve_exits[] = {{130, "ended by Ctrl-C or SIGTERM; sessions were ended in order"}};

// clang-format off: fields that belong together share a line
constexpr Command table[] = {
    {.name = "id",
     .group = Group::trust,
     .summary = "print this machine's fingerprint",
     .description = "One line. The key behind it is made at the first use and never leaves the machine.",
     .operands = {},
     .options = id_options,
     .json = id_json,
     .examples = id_examples,
     .exits = {},
     .run = run_id},
    {.name = "invite",
     .group = Group::trust,
     .summary = "make one line that lets one peer in",
     .description =
         "Whoever holds the line may join once, until it expires, with the rights given here. It needs no running "
         "server to be made; the server that runs with the same configuration honours it. Hand it over like a "
         "password.",
     .operands = {},
     .options = invite_options,
     .json = invite_json,
     .examples = invite_examples,
     .exits = {},
     .run = run_invite},
    {.name = "join",
     .group = Group::trust,
     .summary = "use an invite: both sides pin each other's key",
     .description = "Connects to the server the invite names, proves both keys, and remembers the server under NAME.",
     .operands = join_operands,
     .options = join_options,
     .json = {},
     .examples = join_examples,
     .exits = join_exits,
     .run = run_join},
    {.name = "trust",
     .group = Group::trust,
     .summary = "trust a key by its fingerprint",
     .description =
         "Without --allow the key is only known: you can connect to it, it can do nothing here. With --allow it may do "
         "so much with the histories served here. Done on both sides, it is all two machines need.",
     .operands = trust_operands,
     .options = trust_options,
     .json = {},
     .examples = trust_examples,
     .exits = {},
     .run = run_trust},
    {.name = "untrust",
     .group = Group::trust,
     .summary = "stop trusting a peer, at once",
     .description = "Revokes the key. A running server cuts its sessions.",
     .operands = untrust_operands,
     .options = untrust_options,
     .json = {},
     .examples = untrust_examples,
     .exits = {},
     .run = run_untrust},
    {.name = "peers",
     .group = Group::trust,
     .summary = "list the peers known here",
     .description = "Names, fingerprints, rights and addresses.",
     .operands = {},
     .options = {},
     .json = peers_json,
     .examples = peers_examples,
     .exits = {},
     .run = run_peers},
    {.name = "serve",
     .group = Group::server,
     .summary = "serve the histories below a directory",
     .description =
         "Listens for peers, checks their keys, and lets each do what `peel trust` or an invite allowed. Prints one "
         "line "
         "with the address and the fingerprint when it is ready. Names from peers never leave ROOT, and the server "
         "never looks inside HDF5 files.",
     .operands = serve_operands,
     .options = serve_options,
     .json = {},
     .examples = serve_examples,
     .exits = serve_exits,
     .run = run_serve},
};
// clang-format on

}  // namespace

std::span<const Command> trust_commands() { return table; }

}  // namespace peel::cli
