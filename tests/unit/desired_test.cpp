// SPDX-License-Identifier: GPL-2.0-or-later
// What a node is to run: reboot_vars and whole hostvars dumps.
#include "rebootprog/cloud/desired.hpp"
#include "rebootprog/cloud/desired_server.hpp"

#include <fstream>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/unit.hpp"

using namespace cohort;

namespace {

constexpr const char* server = "0e12087a-7c87-476a-8f84-7398e991cecc";
constexpr const char* image = "70a599e0-31e7-49b7-b260-868f441e862b";

std::string yaml(const std::string& more = "") {
    return fmt::format("instance_id: {}\nimage_id: {}\n", server, image) + more;
}

void good(const std::string& text, const std::string& file = "n1.yml",
          const std::string& wanted = image) {
    const auto d = parse_desired(text, file);
    unit::expect(d.has_value(), d ? "" : d.error().message);
    unit::expect_equal(d->instance_id, server);
    unit::expect_equal(d->image_id, wanted);
}

void bad(const std::string& text, const std::string& words, const std::string& file = "n1.yml") {
    const auto d = parse_desired(text, file);
    unit::expect(!d, "is refused");
    unit::expect_contains(d.error().message, words);
    unit::expect_contains(d.error().message, file);
    unit::expect(d.error().message.find("hush") == std::string::npos,
                 "shows nothing else of the file");
}

std::string json(const std::string& image_value, const std::string& more = "") {
    return fmt::format(R"({{"instance_id":"{}","image_id":{}{}}})", server, image_value, more);
}

std::string quoted(const std::string& s) {
    return "\"" + s + "\"";
}

std::vector<unit::Rule> form_rules() {
    return {
        {"reboot_vars as YAML, with and without a document start",
         [] {
             good(yaml());
             good("---\n" + yaml() + "...\n", "n1.yaml");
         }},
        {"JSON, and JSON inside .yml",
         [] {
             good(json(quoted(image)), "n1.json");
             good(json(quoted(image)), "n1.yml");
         }},
        {"YAML's flow style begins like JSON and is read",
         [] { good(fmt::format("{{instance_id: {}, image_id: {}}}", server, image)); }},
        {"a whole hostvars dump: only the two keys count",
         [] {
             good("ansible_facts: {a: [1, {image_id: no}]}\n" +
                  yaml("vars:\n  image_id: other\npassword: hush\n'1': x\n2: y\n"));
             good(json(quoted(image), R"(,"hostvars":{"image_id":"other"},"n":1,"z":null)"),
                  "n1.json");
         }},
        {"!unsafe and __ansible_unsafe are read through",
         [] {
             good(fmt::format("instance_id: {}\nimage_id: !unsafe \"{}\"\n", server, image));
             good(fmt::format("instance_id: {}\nimage_id: {{__ansible_unsafe: {}}}\n", server,
                              image));
             good(json(fmt::format(R"({{"__ansible_unsafe":"{}"}})", image)), "n1.json");
         }},
        {"a vaulted wanted key is refused by name, its text not shown",
         [] {
             bad("instance_id: " + std::string(server) +
                     "\nimage_id: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  hush\n",
                 "image_id is vaulted");
             bad(json(R"({"__ansible_vault":"hush"})"), "image_id is vaulted", "n1.json");
             bad("image_id: {__ansible_vault: hush}\n", "image_id is vaulted");
         }},
        {"tags and secrets elsewhere do not matter",
         [] {
             good(
                 yaml("secret: !vault |\n  $ANSIBLE_VAULT;hush\nother: !mytag {a: "
                      "!!python/object:x.y {}}\n"));
         }},
        {"anchors elsewhere are fine, a wanted key must be written out",
         [] {
             good(yaml("a: &x [1]\nb: *x\nc: *x\n"));
             bad("a: &x 1\nimage_id: *x\n", "image_id must be a plain value");
         }},
        {"an image may be a name",
         [] {
             good(fmt::format("instance_id: {}\nimage_id: openhpc-RL9\n", server), "n1.yml",
                  "openhpc-RL9");
             good(json("7"), "n1.json", "7");
         }},
        {"without instance_id the server is found by name",
         [] {
             const auto d = parse_desired(fmt::format("image_id: {}\n", image), "n1.yml");
             unit::expect_equal(d->instance_id, "");
         }},
        {"spaces and CRLF around a value are no part of it",
         [] { good(fmt::format("instance_id: ' {} '\r\nimage_id: {}\r\n", server, image)); }},
    };
}

std::vector<unit::Rule> refusal_rules() {
    return {
        {"an empty file, white space, only comments",
         [] {
             bad("", "empty");
             bad(" \n\t\n", "empty");
             bad("# nothing\n", "n1.yml");
         }},
        {"image_id missing, empty, null",
         [] {
             bad(fmt::format("instance_id: {}\n", server), "image_id is missing");
             bad("image_id: ''\n", "image_id is empty");
             bad("image_id:\n", "image_id is missing");
             bad("image_id: ~\n", "image_id is missing");
             bad(json("null"), "image_id is missing", "n1.json");
         }},
        {"an unrendered template",
         [] {
             bad("image_id: \"{{ cluster_image_id }}\"\n", "image_id is an unrendered template");
             bad(json(R"("{{ hush }}")"), "image_id is an unrendered template", "n1.json");
             bad("image_id: '{% if x %}hush{% endif %}'\n", "template");
         }},
        {"an unquoted template is a mapping in YAML and refused",
         [] { bad("image_id: {{ hush }}\n", "n1.yml"); }},
        {"a wanted key that is there twice",
         [] {
             bad(yaml(fmt::format("instance_id: {}\n", server)), "instance_id is there twice");
             bad(json(quoted(image), R"(,"image_id":"hush")"), "not valid JSON", "n1.json");
         }},
        {"a list, a mapping, a boolean",
         [] {
             bad("image_id: [hush]\n", "image_id must be a plain value");
             bad("image_id: {a: hush}\n", "image_id must be a plain value");
             bad(json("true"), "image_id must be a plain value", "n1.json");
             bad(json("[]"), "image_id must be a plain value", "n1.json");
         }},
        {"truncated JSON, also in .yml",
         [] {
             const auto whole = json(quoted(image));
             for (std::size_t cut = 1; cut < whole.size(); ++cut)
                 for (const char* file : {"n1.json", "n1.yml"})
                     unit::expect(!parse_desired(whole.substr(0, cut), file), whole.substr(0, cut));
         }},
        {"a YAML file that breaks off within instance_id",
         [] { bad("image_id: v2\ninstance_id: 0e12087a-7c8", "instance_id is no UUID"); }},
        {"broken YAML, two documents, a list at the top",
         [] {
             bad("image_id: [", "not valid YAML");
             bad("image_id: a\n---\nimage_id: b\n", "more than one");
             bad("- image_id: a\n", "top must be a mapping");
             bad("[1]", "top must be a mapping", "n1.json");
             bad("hush", "top must be a mapping");
         }},
        {"control characters and monstrous values",
         [] {
             bad("image_id: \"a\\nb\"\n", "control character");
             bad("image_id: " + std::string(300, 'a') + "\n", "too long");
             bad(std::string(3000, '['), "n1.yml");
         }},
    };
}

struct Folder {
    std::string path = fmt::format("/tmp/cohort-desired.{}", ::getpid());
    Folder() { ::mkdir(path.c_str(), 0700); }
    std::string put(const std::string& name, const std::string& text, mode_t mode = 0600) const {
        const std::string file = path + "/" + name;
        std::ofstream(file) << text;
        ::chmod(file.c_str(), mode);
        return file;
    }
    Settings settings() const {
        Settings set;
        set.desired_dir = path;
        return set;
    }
    ~Folder() { (void)!std::system(("rm -rf " + path).c_str()); }
};

void refused(const Folder& f, const std::string& node, const std::string& words) {
    const auto d = read_desired(f.settings(), node);
    unit::expect(!d, "is refused");
    unit::expect_contains(d.error().message, words);
}

std::vector<unit::Rule> file_rules() {
    return {
        {".yml, .yaml or .json, and the file is named",
         [] {
             for (const char* name : {"n1.yml", "n1.yaml"}) {
                 const Folder f;
                 const auto file = f.put(name, yaml());
                 unit::expect_equal(read_desired(f.settings(), "n1")->file, file);
             }
         }},
        {"no file for the node",
         [] {
             const Folder f;
             f.put("n10.yml", yaml());
             unit::expect(read_desired(f.settings(), "n1").error().code == Errc::not_found,
                          "not found");
         }},
        {"instance_id is a UUID with nova, any word with a command",
         [] {
             const Folder f;
             f.put("n1.yml", "instance_id: 17\nimage_id: golden\n");
             refused(f, "n1", "no UUID");
             Settings exec = f.settings();
             exec.backend = BackendKind::exec;
             unit::expect_equal(read_desired(exec, "n1")->instance_id, std::string("17"));
         }},
        {"what a server is made of: the node's file over the template, lists in three forms",
         [] {
             const Folder f;
             Settings s = f.settings();
             s.server_template = f.put("template.yaml",
                                       "image_id: v1\nflavor_id: small\nkey_name: ops\n"
                                       "security_groups: [a, b]\nconfig_drive: yes\n");
             f.put("n1.yml", "image_id: v2\nflavor_id: 7\nnetwork_ids: auto\n");
             f.put("n2.json",
                   "{\"image_id\": \"v2\", \"security_groups\": [\"c\"], "
                   "\"config_drive\": false}");
             const auto one = read_server_keys(s, "n1"), two = read_server_keys(s, "n2");
             unit::expect(one && two, "read");
             unit::expect_equal(one->flavor_id + one->key_name + one->networks.at(0),
                                std::string("7opsauto"));
             unit::expect(one->security_groups.size() == 2 && one->config_drive, "of the template");
             unit::expect(two->security_groups.at(0) == "c" && !two->config_drive, "its own");
             unit::expect_equal(read_server_keys(s, "n3")->flavor_id, std::string("small"));
             unit::expect_equal(read_desired(s, "n3")->image_id, std::string("v1"));
             unit::expect_equal(read_desired(s, "n1")->image_id, std::string("v2"));
         }},
        {"a template names no machine",
         [] {
             const Folder f;
             Settings s = f.settings();
             s.server_template = f.put("t.yml", yaml());
             unit::expect(read_desired(s, "n9")->instance_id.empty(), "none");
         }},
        {"bad keys of a server are refused with file and key",
         [] {
             const std::pair<const char*, const char*> table[] = {
                 {"network_ids: [net1]", "network_ids: 'net1'"},
                 {"config_drive: maybe", "config_drive is neither"},
                 {"user_data_file: here", "absolute path"},
                 {"user_data_file: /nonexistent/x", "/nonexistent/x"},
                 {"flavor_id: \"{{ flavor }}\"", "unrendered template"},
                 {"flavor_id: !vault x", "vaulted"},
                 {"key_name: {a: b}", "must be a plain value"}};
             for (const auto& [line, words] : table) {
                 const Folder f;
                 f.put("n1.yml", std::string("image_id: v2\n") + line + "\n");
                 const auto keys = read_server_keys(f.settings(), "n1");
                 unit::expect(!keys, line);
                 unit::expect_contains(keys.error().message, words);
             }
         }},
        {"two files for one node are refused with both names",
         [] {
             const Folder f;
             f.put("n1.yml", yaml());
             f.put("n1.json", json(quoted(image)));
             refused(f, "n1", "n1.yml and");
         }},
        {"a node name cannot leave the folder",
         [] {
             const Folder f;
             for (const char* node : {"", ".", "..", "../n1", "a/b", ".hidden"})
                 refused(f, node, "is no node name");
         }},
        {"a FIFO, a directory, a dangling link, a loop of links: an error, never a hang",
         [] {
             const Folder f;
             ::mkfifo((f.path + "/n1.yml").c_str(), 0600);
             refused(f, "n1", "not a regular file");
             ::mkdir((f.path + "/n2.yml").c_str(), 0700);
             refused(f, "n2", "not a regular file");
             unit::expect_equal(::symlink("nowhere", (f.path + "/n3.yml").c_str()), 0);
             refused(f, "n3", "n3.yml");
             unit::expect_equal(::symlink("n4.yml", (f.path + "/n4.yml").c_str()), 0);
             refused(f, "n4", "n4.yml");
         }},
        {"a file that everybody can write",
         [] {
             const Folder f;
             f.put("n1.yml", yaml(), 0666);
             refused(f, "n1", "chmod o-w");
         }},
        {"5 MB are too much",
         [] {
             const Folder f;
             f.put("n1.yml", yaml(std::string(5 << 20, '#')));
             refused(f, "n1", "larger than");
         }},
        {"a dump of 3 MB is read",
         [] {
             const Folder f;
             std::string dump = yaml();
             for (int i = 0; i < 60000; ++i)
                 dump += fmt::format("fact_{}: {{a: [1, 2], b: 'some text'}}\n", i);
             f.put("n1.yml", dump);
             const auto d = read_desired(f.settings(), "n1");
             unit::expect(d.has_value(), d ? "" : d.error().message);
         }},
        {"replaced again and again while it is read: the old or the new, never a mixture",
         [] {
             const Folder f;
             const auto file = f.put("n1.yml", yaml());
             std::atomic<bool> stop{false};
             std::thread writer([&] {
                 for (int i = 0; !stop; ++i) {
                     const auto draft = f.put(
                         "draft",
                         fmt::format("image_id: v{}\n#{}\n", i,
                                     std::string(static_cast<std::size_t>(i % 50) * 1000, 'x')));
                     ::rename(draft.c_str(), file.c_str());
                 }
             });
             int read = 0;
             for (int i = 0; i < 200; ++i) {
                 const auto d = read_desired(f.settings(), "n1");
                 if (d)
                     ++read;
                 else
                     unit::expect(d.error().code == Errc::busy, d.error().message);
             }
             stop = true;
             writer.join();
             unit::expect(read > 0, "some were read");
         }},
    };
}

}  // namespace

int main() {
    auto all = form_rules();
    for (auto* more : {refusal_rules, file_rules})
        for (auto& rule : more()) all.push_back(std::move(rule));
    return unit::run("desired", std::move(all));
}
