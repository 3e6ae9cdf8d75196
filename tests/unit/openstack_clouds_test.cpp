// SPDX-License-Identifier: GPL-2.0-or-later
// clouds.yaml, signing in and the catalog.
#include "common/openstack/clouds.hpp"

#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include "common/openstack/keystone.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;
using namespace cohort::openstack;

namespace {

// One cloud "a" with an application credential and MORE below it.
std::string cloud_a(const std::string& more, const std::string& auth_more = "") {
    return "clouds:\n  a:\n    auth_type: v3applicationcredential\n    auth:\n"
           "      auth_url: https://k:5000/v3\n      application_credential_id: id\n"
           "      application_credential_secret: hush\n" +
           auth_more + more;
}

std::string password_cloud(const std::string& auth_more, const std::string& more = "") {
    return "clouds:\n  a:\n    auth:\n      auth_url: https://k:5000/v3\n      username: u\n"
           "      password: hush\n" +
           auth_more + more;
}

Result<CloudConfig> parse(const std::string& clouds, const std::string& name = "",
                          const std::string& secure = "", const std::string& vendors = "") {
    CloudTexts texts;
    texts.clouds = clouds;
    texts.secure = secure;
    texts.vendors = vendors;
    texts.home = "/root";
    return parse_cloud(texts, name);
}

CloudConfig good(const std::string& clouds, const std::string& name = "",
                 const std::string& secure = "", const std::string& vendors = "") {
    auto config = parse(clouds, name, secure, vendors);
    unit::expect(config.has_value(), config ? "" : config.error().message);
    return *config;
}

// Refused with WORDS in the message, the file named, and no secret.
void bad(const std::string& clouds, const std::string& words, const std::string& name = "") {
    const auto config = parse(clouds, name);
    unit::expect(!config, "is refused");
    unit::expect_contains(config.error().message, words);
    unit::expect_contains(config.error().message, "clouds.yaml");
    unit::expect(config.error().message.find("hush") == std::string::npos, "no secret");
}

std::string catalog_error(const CloudConfig& c, const std::vector<Endpoint>& catalog) {
    const auto url = choose_endpoint(c, catalog, "compute");
    unit::expect(!url, "is refused");
    return url.error().message;
}

std::vector<unit::Rule> choice_rules() {
    return {
        {"the only cloud of the file needs no name",
         [] { unit::expect_equal(good(cloud_a("")).name, "a"); }},
        {"two clouds and none named: refused with their names",
         [] { bad(cloud_a("") + "  b: {}\n", "a, b"); }},
        {"an unknown name is refused with those that exist",
         [] { bad(cloud_a(""), "only a", "x"); }},
        {"`cloud:` for `clouds:` is noticed",
         [] { bad("cloud:\n  a: {}\n", "did you mean 'clouds'"); }},
        {"empty, broken, a list, two documents, a repeated key: each refused",
         [] {
             bad("", "empty");
             bad("clouds: [", "not valid YAML");
             bad("- a\n", "must be a mapping");
             bad("clouds: 7\n", "must be a mapping");
             bad("clouds: {}\n---\nclouds: {}\n", "more than one");
             bad("clouds:\n  a: {}\n  a: {}\n", "twice");
             bad("clouds: {}\n", "clouds is empty");
         }},
        {"an alias bomb is refused, not expanded",
         [] {
             std::string text = "x0: &x0 [a,a,a,a,a,a,a,a,a,a]\n";
             for (int i = 1; i < 9; ++i)
                 text += fmt::format(
                     "x{0}: &x{0} [*x{1},*x{1},*x{1},*x{1},*x{1},*x{1},*x{1},*x{1}]\n", i, i - 1);
             bad(text, "too large");
         }},
        {"deep nesting is refused",
         [] { bad("clouds: " + std::string(5000, '['), "clouds.yaml"); }},
        {"anchors and merge keys work as in openstacksdk",
         [] {
             const auto c = good("x: &d {region_name: R9, interface: internal}\n" +
                                 cloud_a("    <<: *d\n    interface: admin\n"));
             unit::expect_equal(c.region, "R9");
             unit::expect_equal(c.interface, "admin");
         }},
        {"secure.yaml is laid over clouds.yaml, deeply",
         [] {
             const auto c =
                 good(cloud_a(""), "a",
                      "clouds:\n  a:\n    auth:\n      application_credential_secret: other\n");
             unit::expect_equal(c.application_credential_secret, "other");
             unit::expect_equal(c.application_credential_id, "id");
         }},
        {"a cloud that is in secure.yaml only",
         [] { unit::expect_equal(good("", "a", cloud_a("")).auth_url, "https://k:5000/v3"); }},
        {"a profile of clouds-public.yaml lies under the cloud, `cloud:` means the same",
         [] {
             const std::string vendors =
                 "public-clouds:\n  v: {auth: {auth_url: 'https://vendor/'}, region_name: VR, "
                 "interface: internal}\n";
             for (const char* word : {"profile", "cloud"}) {
                 const auto c = good(fmt::format("clouds:\n  a:\n    {}: v\n    interface: admin\n "
                                                 "   auth_type: v3token\n    auth: {{token: t}}\n",
                                                 word),
                                     "a", "", vendors);
                 unit::expect_equal(c.auth_url, "https://vendor/");
                 unit::expect_equal(c.region, "VR");
                 unit::expect_equal(c.interface, "admin");
             }
         }},
        {"secure.yaml over clouds.yaml over the profile, key by key",
         [] {
             const auto c = good(
                 "clouds: {a: {profile: v, region_name: C, interface: admin, auth: {username: c, "
                 "password: c, project_name: c}}}",
                 "a", "clouds: {a: {interface: internal, auth: {password: s, project_name: s}}}",
                 "public-clouds: {v: {region_name: V, interface: public, cacert: /v, auth: "
                 "{auth_url: 'https://v/', username: v, password: v, project_name: v}}}");
             unit::expect_equal(c.auth_url + " " + c.cacert, "https://v/ /v");
             unit::expect_equal(c.region + " " + c.username, "C c");
             unit::expect_equal(c.interface + " " + c.password + " " + c.project_name,
                                "internal s s");
         }},
        {"`profile:` wins over `cloud:`",
         [] {
             const std::string vendors =
                 "public-clouds: {v: {auth: {auth_url: 'https://v/'}}, w: {auth: {auth_url: "
                 "'https://w/'}}}";
             for (const char* both : {"profile: v, cloud: w", "cloud: w, profile: v"})
                 unit::expect_equal(good(fmt::format("clouds: {{a: {{{}, auth_type: token, auth: "
                                                     "{{token: t}}}}}}",
                                                     both),
                                         "a", "", vendors)
                                        .auth_url,
                                    "https://v/");
         }},
        {"an unknown profile is refused by name",
         [] { bad(cloud_a("    profile: rackspace\n"), "'rackspace'"); }},
    };
}

std::vector<unit::Rule> field_rules() {
    return {
        {"unsupported auth types are refused by name",
         [] {
             for (const char* type : {"v2password", "v3oidcpassword", "v3totp", "none",
                                      "http_basic", "admin_token", "v3kerberos"})
                 bad(fmt::format(
                         "clouds:\n  a:\n    auth_type: {}\n    auth: {{auth_url: 'http://k'}}\n",
                         type),
                     fmt::format("'{}'", type));
         }},
        {"auth_plugin is an older word for auth_type, which wins",
         [] {
             unit::expect(
                 good("clouds: {a: {auth_plugin: v3token, auth: {auth_url: 'http://k', token: t}}}")
                         .auth_type == AuthType::token,
                 "token");
             unit::expect(good("clouds: {a: {auth_plugin: v2password, auth_type: token, auth: "
                               "{auth_url: 'http://k', token: t}}}")
                                  .auth_type == AuthType::token,
                          "token");
         }},
        {"an application credential without its auth_type gets a hint",
         [] {
             bad("clouds: {a: {auth: {auth_url: 'http://k', application_credential_id: i, "
                 "application_credential_secret: hush}}}",
                 "v3applicationcredential");
         }},
        {"tenant_* mean project_*, which win",
         [] {
             unit::expect_equal(good(password_cloud("      tenant_name: old\n")).project_name,
                                "old");
             unit::expect_equal(
                 good(password_cloud("      tenant_id: old\n      project_id: new\n")).project_id,
                 "new");
         }},
        {"'-' and '_' in keys are the same",
         [] {
             unit::expect_equal(
                 good(password_cloud("      project-name: p\n", "    region-name: R\n")).region,
                 "R");
         }},
        {"ids that look like numbers stay as they are written",
         [] {
             unit::expect_equal(good(password_cloud("      project_id: 0123\n")).project_id,
                                "0123");
             unit::expect_equal(good(password_cloud("      project_id: 1e5\n")).project_id, "1e5");
         }},
        {"domain_name counts for user and project",
         [] {
             const auto c = good(password_cloud("      project_name: p\n      domain_name: d\n"));
             unit::expect_equal(c.user_domain_name, "d");
             unit::expect_equal(c.project_domain_name, "d");
         }},
        {"a default domain fills only what is missing",
         [] {
             const auto c =
                 good(password_cloud("      project_name: p\n      user_domain_name: u\n      "
                                     "default_domain_id: default\n"));
             unit::expect_equal(c.user_domain_name, "u");
             unit::expect_equal(c.user_domain_id, "");
             unit::expect_equal(c.project_domain_id, "default");
         }},
        {"values of the cloud's top level count, those of auth win",
         [] {
             unit::expect_equal(good(password_cloud("", "    project_name: top\n")).project_name,
                                "top");
             unit::expect_equal(
                 good(password_cloud("      project_name: in\n", "    project_name: top\n"))
                     .project_name,
                 "in");
         }},
        {"regions: the first, the named one, its values over all",
         [] {
             const std::string regions =
                 "    regions:\n      - name: R1\n        values: {auth: {auth_url: "
                 "'https://r1/'}}\n      - R2\n";
             unit::expect_equal(good(cloud_a(regions)).region, "R1");
             unit::expect_equal(good(cloud_a(regions)).auth_url, "https://r1/");
             unit::expect_equal(good(cloud_a(regions)).application_credential_id, "id");
             unit::expect_equal(good(cloud_a(regions + "    region_name: R2\n")).auth_url,
                                "https://k:5000/v3");
             bad(cloud_a(regions + "    region_name: R3\n"), "R1, R2");
             bad(cloud_a("    regions: [{values: {}}]\n"), "without a name");
             bad(cloud_a("    regions: {}\n"), "must be a list");
         }},
        {"interface: endpoint_type is its older word, publicURL its older value",
         [] {
             unit::expect_equal(good(cloud_a("    endpoint_type: internalURL\n")).interface,
                                "internal");
             unit::expect_equal(good(cloud_a("")).interface, "public");
             bad(cloud_a("    interface: outside\n"), "interface");
         }},
        {"per-service endpoint, region and interface",
         [] {
             const auto c =
                 good(cloud_a("    compute_endpoint_override: http://n:8774/v2.1\n    "
                              "image_region_name: R7\n    image_interface: admin\n"));
             unit::expect_equal(c.endpoint_override.at("compute"), "http://n:8774/v2.1");
             unit::expect_equal(c.service_region.at("image"), "R7");
             unit::expect_equal(c.service_interface.at("image"), "admin");
             bad(cloud_a("    compute_endpoint_override: nova\n"), "compute_endpoint_override");
         }},
        {"service versions that we cannot speak are refused",
         [] {
             good(
                 cloud_a("    image_api_version: 2\n    identity_api_version: '3'\n    "
                         "compute_api_version: 2.1\n"));
             bad(cloud_a("    image_api_version: 1\n"), "image_api_version");
             bad(cloud_a("    identity_api_version: '2.0'\n"), "identity_api_version");
         }},
        {"TLS: checked by default; verify and insecure, also as strings; insecure wins",
         [] {
             unit::expect(good(cloud_a("")).verify, "on");
             unit::expect(!good(cloud_a("    verify: false\n")).verify, "off");
             unit::expect(!good(cloud_a("    verify: \"false\"\n")).verify, "off");
             unit::expect(!good(cloud_a("    verify: true\n    insecure: true\n")).verify, "off");
             unit::expect(good(cloud_a("    insecure: 'no'\n")).verify, "on");
             bad(cloud_a("    verify: maybe\n"), "verify");
         }},
        {"cacert, cert, key: ~ is the home directory, another user's is refused",
         [] {
             const auto c = good(cloud_a("    cacert: ~/ca.pem\n    cert: /c\n    key: ~/k\n"));
             unit::expect_equal(c.cacert, "/root/ca.pem");
             unit::expect_equal(c.key, "/root/k");
             bad(cloud_a("    cacert: ~bob/ca.pem\n"), "cacert");
         }},
        {"api_timeout in seconds",
         [] {
             unit::expect_equal(good(cloud_a("    api_timeout: '7'\n")).api_timeout->count(), 7);
             for (const char* wrong : {"0", "-1", "soon", "nan", "inf"})
                 bad(cloud_a(fmt::format("    api_timeout: {}\n", wrong)), "api_timeout");
         }},
        {"a null is as if the key were absent",
         [] {
             unit::expect_equal(good(cloud_a("    cacert: null\n    region_name: ~\n")).cacert, "");
         }},
        {"a vaulted value that is needed is refused by name, without its text",
         [] {
             bad("clouds:\n  a:\n    auth:\n      auth_url: http://k\n      username: u\n      "
                 "password: !vault |\n        $ANSIBLE_VAULT;hush\n",
                 "auth.password is vaulted");
         }},
        {"a list or a mapping where a word must be",
         [] { bad(cloud_a("    region_name: [a]\n"), "region_name"); }},
        {"auth_url: missing, no URL, with a password in it; {region_name} is filled in",
         [] {
             bad("clouds: {a: {auth: {username: u, password: hush}}}", "auth.auth_url is missing");
             bad("clouds: {a: {auth: {auth_url: 'keystone', password: hush, username: u}}}",
                 "auth.auth_url");
             bad("clouds: {a: {auth: {auth_url: 'http://u:hush@k/', token: hush}}}",
                 "auth.auth_url");
             unit::expect_equal(good("clouds: {a: {auth_type: token, region_name: R, auth: "
                                     "{auth_url: 'http://{region_name}.k/', token: t}}}")
                                    .auth_url,
                                "http://R.k/");
         }},
    };
}

void write(const std::string& path, const std::string& text, mode_t mode) {
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
}

// Run by root: somebody else for a while, whose the file is.
struct Stranger {
    static constexpr uid_t id = 65534;
    const bool was_root = ::geteuid() == 0;
    Stranger(const std::string& dir, const std::string& file) {
        if (!was_root) return;
        unit::expect(::chown(dir.c_str(), id, id) == 0 && ::chown(file.c_str(), id, id) == 0 &&
                         ::seteuid(id) == 0,
                     "is a stranger");
    }
    Stranger(const Stranger&) = delete;
    Stranger& operator=(const Stranger&) = delete;
    ~Stranger() {
        if (was_root) unit::expect(::seteuid(0) == 0, "is root again");
    }
};

std::vector<unit::Rule> file_rules() {
    const std::string dir = fmt::format("/tmp/cohort-clouds.{}", ::getpid());
    const std::string file = dir + "/clouds.yaml";
    const auto made = [=](const std::string& text, mode_t mode) {
        ::mkdir(dir.c_str(), 0700);
        for (const char* name : {"clouds.yaml", "secure.yaml", "secure.yml", "secure.json",
                                 "clouds-public.yaml", "clouds-public.yml", "clouds-public.json"})
            ::unlink((dir + "/" + name).c_str());
        write(file, text, mode);
    };
    const auto message = [=](Errc code) {
        const auto c = load_cloud(file, "");
        unit::expect(!c, "is refused");
        unit::expect(c.error().code == code, c.error().message);
        unit::expect_contains(c.error().message, dir);
        return c.error().message;
    };
    return {
        {"a file that only its owner and group read is taken",
         [=] {
             made(cloud_a(""), 0640);
             unit::expect(load_cloud(file, "").has_value(), "taken");
         }},
        {"a secret that everybody can read is refused",
         [=] {
             made(cloud_a(""), 0644);
             unit::expect_contains(message(Errc::denied), "chmod o-r");
         }},
        {"a file that others can write is refused",
         [=] {
             made(cloud_a(""), 0660);
             unit::expect_contains(message(Errc::denied), "chmod go-w");
         }},
        {"an open clouds.yaml with its secret in a closed secure.yaml beside it is taken",
         [=] {
             made(
                 "clouds:\n  a:\n    auth_type: v3applicationcredential\n    auth: {auth_url: "
                 "'http://k', application_credential_id: i}\n",
                 0644);
             write(dir + "/secure.yaml",
                   "clouds: {a: {auth: {application_credential_secret: hush}}}\n", 0600);
             unit::expect_equal(load_cloud(file, "")->application_credential_secret, "hush");
             ::chmod((dir + "/secure.yaml").c_str(), 0644);
             unit::expect_contains(message(Errc::denied), "secure.yaml");
         }},
        {"secure and clouds-public may be .yaml, .yml or .json; the first of them counts",
         [=] {
             const std::string clouds =
                 "clouds: {a: {profile: v, auth_type: token, region_name: R}}\n";
             made(clouds, 0600);
             for (const char* suffix : {".json", ".yml", ".yaml"}) {
                 write(
                     dir + "/secure" + suffix,
                     fmt::format(R"({{"clouds": {{"a": {{"auth": {{"token": "{}"}}}}}}}})", suffix),
                     0600);
                 write(dir + "/clouds-public" + suffix,
                       fmt::format(R"({{"public-clouds": {{"v": {{"auth": {{"auth_url":
                           "https://v/{}"}}}}}}}})",
                                   suffix),
                       0600);
                 const auto c = load_cloud(file, "");
                 unit::expect(c.has_value(), c ? "" : c.error().message);
                 unit::expect_equal(c->token, suffix);
                 unit::expect_equal(c->auth_url, fmt::format("https://v/{}", suffix));
             }
         }},
        {"secure.yaml in another folder than clouds.yaml does not count",
         [=] {
             made(
                 "clouds:\n  a:\n    auth_type: v3applicationcredential\n    auth: {auth_url: "
                 "'http://k', application_credential_id: i}\n",
                 0600);
             const std::string secret =
                 "clouds: {a: {auth: {application_credential_secret: hush}}}\n";
             const std::string other = dir + "/other";
             ::mkdir(other.c_str(), 0700);
             write(other + "/secure.yaml", secret, 0600);
             unit::expect(::chdir(other.c_str()) == 0, "there");  // nor in the current one
             unit::expect_equal(load_cloud(file, "")->application_credential_secret, "");
             write(dir + "/secure.yaml", secret, 0600);
             unit::expect_equal(load_cloud(file, "")->application_credential_secret, "hush");
         }},
        {"a file that the program may not read is named, with the reason",
         [=] {
             made(cloud_a(""), 0);
             const Stranger me(dir, file);
             unit::expect_contains(message(Errc::denied), "ermission denied");
         }},
        {"a file must belong to root or to who runs the program",
         [=] {
             if (::geteuid() != 0) return;  // only root has files of others
             made(cloud_a(""), 0640);
             unit::expect(::chown(file.c_str(), 65533, Stranger::id) == 0, "is given away");
             unit::expect(load_cloud(file, "").has_value(), "root reads what it is told to");
             ::chmod(file.c_str(), 0644);
             ::chmod(dir.c_str(), 0711);
             unit::expect(::seteuid(Stranger::id) == 0, "is a stranger");
             unit::expect_contains(message(Errc::denied), "belongs to uid 65533");
             unit::expect(::seteuid(0) == 0, "is root");
             // Its own file and root's are taken.
             for (const uid_t owner : {Stranger::id, uid_t{0}}) {
                 unit::expect(::chown(file.c_str(), owner, Stranger::id) == 0, "is given away");
                 ::chmod(file.c_str(), 0640);
                 unit::expect(::setegid(Stranger::id) == 0 && ::seteuid(Stranger::id) == 0,
                              "is a stranger");
                 const auto c = load_cloud(file, "");
                 unit::expect(c.has_value(), c ? "" : c.error().message);
                 unit::expect(::seteuid(0) == 0 && ::setegid(0) == 0, "is root");
             }
         }},
        {"a file that is not there, a directory",
         [=] {
             made("", 0600);
             ::unlink(file.c_str());
             message(Errc::not_found);
             ::mkdir(file.c_str(), 0700);
             message(Errc::invalid);
             ::rmdir(file.c_str());
         }},
        {"OS_* variables are not read",
         [=] {
             made(cloud_a("") + "  b: {}\n", 0600);
             ::setenv("OS_CLOUD", "a", 1);
             ::setenv("OS_PASSWORD", "x", 1);
             unit::expect_contains(message(Errc::invalid), "a, b");
         }},
    };
}

std::vector<unit::Rule> sign_in_rules() {
    return {
        {"the token URL keeps the path and has /v3 once",
         [] {
             const std::pair<const char*, const char*> forms[] = {
                 {"https://k:5000", "https://k:5000/v3/auth/tokens"},
                 {"https://k:5000/", "https://k:5000/v3/auth/tokens"},
                 {"https://k:5000/v3", "https://k:5000/v3/auth/tokens"},
                 {"https://k:5000/v3/", "https://k:5000/v3/auth/tokens"},
                 {"https://k/identity", "https://k/identity/v3/auth/tokens"},
                 {"https://k/identity/v3/", "https://k/identity/v3/auth/tokens"},
                 {"https://k:5000//v3", "https://k:5000/v3/auth/tokens"}};
             for (const auto& [url, wanted] : forms) unit::expect_equal(*tokens_url(url), wanted);
             unit::expect_contains(tokens_url("http://k:5000/v2.0").error().message, "v2.0");
         }},
        {"an application credential is sent without a scope",
         [] {
             const auto body = sign_in_body(good(cloud_a("")));
             unit::expect_equal(
                 *body,
                 R"({"auth":{"identity":{"methods":["application_credential"],"application_credential":{"id":"id","secret":"hush"}}}})");
         }},
        {"an application credential by name needs its user",
         [] {
             auto c = good(cloud_a(""));
             c.application_credential_id.clear();
             c.application_credential_name = "n";
             unit::expect_contains(sign_in_body(c).error().message, "username or user_id");
             c.user_id = "u";
             unit::expect_contains(*sign_in_body(c),
                                   R"("name":"n","secret":"hush","user":{"id":"u"})");
         }},
        {"a password is sent with domains and a project scope",
         [] {
             const auto body =
                 sign_in_body(good(password_cloud("      project_name: p\n      project_domain_id: "
                                                  "default\n      user_domain_name: Default\n")));
             unit::expect_equal(
                 *body,
                 R"({"auth":{"identity":{"methods":["password"],"password":{"user":{"name":"u","domain":{"name":"Default"},"password":"hush"}}},"scope":{"project":{"name":"p","domain":{"id":"default"}}}}})");
         }},
        {"what is missing is named",
         [] {
             const auto message = [](const std::string& more) {
                 return sign_in_body(good(password_cloud(more))).error().message;
             };
             unit::expect_contains(message("      project_id: p\n"), "user_domain_name");
             unit::expect_contains(message("      user_domain_id: d\n"),
                                   "project_name or project_id");
             unit::expect_contains(message("      user_domain_id: d\n      project_name: p\n"),
                                   "project_domain_name");
         }},
        {"a token's catalog, roles and end are read; an answer without them is not keystone's",
         [] {
             const auto t = parse_token(
                 R"({"token":{"expires_at":"1994-11-06T08:49:37.000000Z","roles":[{"name":"member"}],
                 "catalog":[{"type":"compute","endpoints":[{"region":"R","interface":"public","url":"http://n"}]}]}})",
                 "t1");
             unit::expect_equal(t->expires, 784111777);
             unit::expect_equal(t->roles.front(), "member");
             unit::expect_equal(t->catalog.front().region, "R");
             unit::expect(!parse_token("{}", "t1") && !parse_token("<html>", "t1"), "no token");
             unit::expect(!parse_token(R"({"token":{}})", ""), "no header");
         }},
    };
}

std::vector<unit::Rule> catalog_rules() {
    const std::vector<Endpoint> two = {{"compute", "R1", "public", "http://n1/v2.1"},
                                       {"compute", "R2", "public", "http://n2/v2.1"},
                                       {"compute", "R1", "internal", "http://i1/v2.1"},
                                       {"image", "R1", "public", "http://g1"}};
    CloudConfig any;
    any.file = "clouds.yaml";
    CloudConfig r2 = any;
    r2.region = "R2";
    return {
        {"type, interface and region choose",
         [=] { unit::expect_equal(*choose_endpoint(r2, two, "compute"), "http://n2/v2.1"); }},
        {"a service's own region and interface win over the cloud's",
         [=] {
             auto c = r2;
             c.service_region["compute"] = "R1";
             unit::expect_equal(*choose_endpoint(c, two, "compute"), "http://n1/v2.1");
             c.service_interface["compute"] = "internal";
             unit::expect_equal(*choose_endpoint(c, two, "compute"), "http://i1/v2.1");
             c.service_region["image"] = "R1";
             unit::expect_equal(*choose_endpoint(c, two, "image"), "http://g1");
             c.service_region["image"] = "R3";
             c.service_interface["image"] = "admin";
             const auto none = choose_endpoint(c, two, "image");
             unit::expect(!none, "is refused");
             unit::expect_contains(none.error().message, "interface admin, region R3");
         }},
        {"an override wins",
         [=] {
             auto c = r2;
             c.endpoint_override["compute"] = "http://o/v2.1";
             unit::expect_equal(*choose_endpoint(c, two, "compute"), "http://o/v2.1");
         }},
        {"two regions and no region_name: refused with the list",
         [=] {
             const auto message = catalog_error(any, two);
             unit::expect_contains(message, "http://n1/v2.1");
             unit::expect_contains(message, "http://n2/v2.1");
             unit::expect_contains(message, "region_name");
         }},
        {"region '*' is a name like any other",
         [=] {
             auto c = any;
             c.region = "*";
             unit::expect_contains(catalog_error(c, two), "region *");
         }},
        {"an interface that the service lacks",
         [=] {
             auto c = r2;
             c.interface = "internal";
             unit::expect_contains(catalog_error(c, two), "interface internal, region R2");
         }},
        {"the service is there twice, with different URLs",
         [=] {
             auto twice = two;
             twice.push_back({"compute", "R2", "public", "http://other/v2.1"});
             unit::expect_contains(catalog_error(r2, twice), "several");
             twice.back().url = "http://n2/v2.1";
             unit::expect(choose_endpoint(r2, twice, "compute").has_value(),
                          "the same twice is one");
         }},
        {"no catalog at all: the scope is suspected",
         [=] { unit::expect_contains(catalog_error(any, {}), "scoped to a project"); }},
        {"a service that is missing: those that are there",
         [=] {
             unit::expect_contains(catalog_error(any, {{"image", "R", "public", "http://g"}}),
                                   "only image");
         }},
    };
}

}  // namespace

int main() {
    auto all = choice_rules();
    for (auto* more : {field_rules, file_rules, sign_in_rules, catalog_rules})
        for (auto& rule : more()) all.push_back(std::move(rule));
    return unit::run("openstack clouds", std::move(all));
}
