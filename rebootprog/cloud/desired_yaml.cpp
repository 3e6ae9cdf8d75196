// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/cloud/desired_yaml.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/core.h>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "common/yaml_null.hpp"

namespace cohort {
namespace {

bool is_null_word(const std::string& tag, const std::string& value) {
    return tag == "?" && is_yaml_null(value);
}

// Follows the depth; at depth 1 keys and values of the top mapping alternate.
class Picker final : public YAML::EventHandler {
  public:
    explicit Picker(std::vector<std::string> keys) : keys_(std::move(keys)), values_(keys_.size()) {
        for (auto& value : values_) value.count = 0;
    }
    std::vector<RawValue> take() { return std::move(values_); }
    bool top_is_map() const { return top_is_map_; }

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark&, YAML::anchor_t) override { scalar("?", "null"); }
    void OnAlias(const YAML::Mark&, YAML::anchor_t) override {
        // What it stands for was not kept: a wanted key must be written out.
        if (RawValue* value = begin_value()) value->present = true;
        end_value();
    }
    void OnScalar(const YAML::Mark&, const std::string& tag, YAML::anchor_t,
                  const std::string& value) override {
        scalar(tag, value);
    }
    void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                         YAML::EmitterStyle::value) override {
        list_ = begin_value();
        if (list_) list_->list = true;
        open(false);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                    YAML::EmitterStyle::value) override {
        open(true);
    }
    void OnMapEnd() override { close(); }

  private:
    // The wanted value that begins here, if it is one.
    RawValue* begin_value() {
        if (depth_ != 1 || !expect_value_ || wanted_ < 0) return nullptr;
        return &values_[static_cast<std::size_t>(wanted_)];
    }
    void end_value() {
        if (depth_ != 1) return;
        if (expect_value_) wanted_ = -1;
        expect_value_ = !expect_value_;
    }
    void open(bool map) {
        if (depth_ == 0) top_is_map_ = map;
        if (RawValue* value = begin_value()) {
            value->present = true;
            wrapper_ = map ? value : nullptr;
        }
        ++depth_;
        wrapper_key_.clear();
    }
    void close() {
        --depth_;
        if (depth_ == 1) wrapper_ = list_ = nullptr;
        end_value();
    }
    void scalar(const std::string& tag, const std::string& text) {
        if (depth_ == 1 && !expect_value_) {
            const auto at = std::find(keys_.begin(), keys_.end(), text);
            wanted_ = at == keys_.end() ? -1 : static_cast<int>(at - keys_.begin());
            if (wanted_ >= 0) ++values_[static_cast<std::size_t>(wanted_)].count;
        } else if (RawValue* value = begin_value()) {
            value->vaulted = tag == "!vault";
            value->present = !is_null_word(tag, text);
            value->plain = true;
            if (!value->vaulted) value->text = text;
        } else if (depth_ == 2 && list_) {
            list_->items.push_back(text);
        } else if (depth_ == 2 && wrapper_) {
            inside_wrapper(text);
        }
        end_value();
    }
    void inside_wrapper(const std::string& text) {
        if (wrapper_key_ == "__ansible_unsafe") {
            wrapper_->plain = true;
            wrapper_->text = text;
        }
        if (text == "__ansible_vault") wrapper_->vaulted = true;
        wrapper_key_ = wrapper_key_.empty() ? text : std::string();
    }

    const std::vector<std::string> keys_;
    std::vector<RawValue> values_;
    RawValue* wrapper_ = nullptr;  // the wanted value whose mapping is open
    RawValue* list_ = nullptr;     // the wanted value whose sequence is open
    std::string wrapper_key_;
    int depth_ = 0;
    int wanted_ = -1;
    bool expect_value_ = false;
    bool top_is_map_ = false;
};

}  // namespace

Result<std::vector<RawValue>> read_yaml_values(std::string_view text, const std::string& file,
                                               const std::vector<std::string>& keys) {
    try {
        std::istringstream input{std::string(text)};
        YAML::Parser parser(input);
        Picker picker(keys);
        if (!parser.HandleNextDocument(picker))
            return fail(Errc::invalid, fmt::format("{} is empty", file));
        if (!picker.top_is_map())
            return fail(Errc::invalid, fmt::format("{}: the top must be a mapping", file));
        Picker rest({});
        if (parser.HandleNextDocument(rest))
            return fail(Errc::invalid, fmt::format("{} holds more than one YAML document", file));
        return picker.take();
    } catch (const YAML::Exception& e) {
        return fail(Errc::invalid,
                    fmt::format("{}: not valid YAML at line {}", file, e.mark.line + 1));
    } catch (const std::exception&) {
        return fail(Errc::invalid, fmt::format("{}: not valid YAML", file));
    }
}

}  // namespace cohort
