// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/openstack/yaml_tree.hpp"

#include <sstream>

#include <fmt/core.h>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "common/text.hpp"
#include "common/yaml_null.hpp"

namespace cohort::openstack {
namespace {

constexpr std::size_t max_nodes = 100000;
constexpr int max_depth = 64;

// Thrown and caught in this file only: where the tree is no tree that we take.
struct Refused {
    std::string why;
    YAML::Mark mark;
};

class Reader {
  public:
    YamlTree read(const YAML::Node& node, int depth) {
        if (++nodes_ > max_nodes) throw Refused{"it is too large", node.Mark()};
        if (depth > max_depth) throw Refused{"it is nested too deeply", node.Mark()};
        YamlTree tree;
        const std::string tag = node.Tag();
        if (tag.starts_with('!') && tag.size() > 1) tree.tag = tag;
        switch (node.Type()) {
            case YAML::NodeType::Scalar:
                tree.kind = YamlTree::Kind::scalar;
                tree.scalar = node.Scalar();
                // A plain "null" or "~" is nothing, a quoted one is a word.
                if (tag == "?" && is_yaml_null(tree.scalar)) tree.kind = YamlTree::Kind::null;
                break;
            case YAML::NodeType::Sequence:
                tree.kind = YamlTree::Kind::list;
                for (const auto& item : node) tree.list.push_back(read(item, depth + 1));
                break;
            case YAML::NodeType::Map:
                read_map(node, tree, depth);
                break;
            default:
                break;
        }
        return tree;
    }

  private:
    void read_map(const YAML::Node& node, YamlTree& tree, int depth) {
        tree.kind = YamlTree::Kind::map;
        std::vector<YamlTree> merged;
        for (const auto& member : node) {
            if (!member.first.IsScalar()) throw Refused{"a key is no word", member.first.Mark()};
            const std::string key = member.first.Scalar();
            YamlTree value = read(member.second, depth + 1);
            if (key == "<<" && value.is_map()) {
                merged.push_back(std::move(value));
            } else if (key == "<<" && value.kind == YamlTree::Kind::list) {
                for (auto& one : value.list) merged.push_back(std::move(one));
            } else if (!tree.map.emplace(key, std::move(value)).second) {
                throw Refused{fmt::format("key {} is there twice", text::one_line(key, 60)),
                              member.first.Mark()};
            }
        }
        // What the mapping says itself wins over what it merges in; of those the first wins.
        for (auto& one : merged) tree.map.merge(one.map);
    }

    std::size_t nodes_ = 0;
};

class Nothing final : public YAML::EventHandler {
  public:
    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
    void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
    void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  const std::string&) override {}
    void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                         YAML::EmitterStyle::value) override {}
    void OnSequenceEnd() override {}
    void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                    YAML::EmitterStyle::value) override {}
    void OnMapEnd() override {}
};

// At most two steps: YAML::LoadAll() of yaml-cpp 0.7 never ends on a text that begins with ','.
bool has_second_document(const std::string& text) {
    std::istringstream input(text);
    YAML::Parser parser(input);
    Nothing handler;
    return parser.HandleNextDocument(handler) && parser.HandleNextDocument(handler);
}

std::string place(const YAML::Mark& mark) {
    return mark.is_null() ? std::string()
                          : fmt::format(" at line {}, column {}", mark.line + 1, mark.column + 1);
}

}  // namespace

const YamlTree* YamlTree::find(const std::string& key) const {
    const auto it = map.find(key);
    return it == map.end() || it->second.kind == Kind::null ? nullptr : &it->second;
}

Result<YamlTree> parse_yaml(std::string_view text, const std::string& file) {
    try {
        const std::string whole(text);
        if (has_second_document(whole))
            return fail(Errc::invalid, fmt::format("{} holds more than one YAML document", file));
        return Reader().read(YAML::Load(whole), 0);
    } catch (const YAML::Exception& e) {
        return fail(Errc::invalid, fmt::format("{}: not valid YAML{}", file, place(e.mark)));
    } catch (const Refused& e) {
        return fail(Errc::invalid, fmt::format("{}: {}{}", file, e.why, place(e.mark)));
    } catch (const std::exception&) {
        return fail(Errc::invalid, fmt::format("{}: not valid YAML", file));
    }
}

void normalise_keys(YamlTree& tree) {
    for (auto& item : tree.list) normalise_keys(item);
    std::map<std::string, YamlTree> clean;
    for (auto& [key, value] : tree.map) {
        normalise_keys(value);
        if (key.find('-') == std::string::npos) clean[key] = std::move(value);
    }
    for (auto& [key, value] : tree.map) {
        if (key.find('-') == std::string::npos) continue;
        std::string name = key;
        for (char& c : name)
            if (c == '-') c = '_';
        clean.emplace(std::move(name), std::move(value));
    }
    tree.map = std::move(clean);
}

void lay_over(YamlTree& base, const YamlTree& over) {
    if (over.kind == YamlTree::Kind::null) return;
    if (!base.is_map() || !over.is_map()) {
        base = over;
        return;
    }
    for (const auto& [key, value] : over.map) lay_over(base.map[key], value);
}

}  // namespace cohort::openstack
