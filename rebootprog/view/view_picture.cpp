// SPDX-License-Identifier: GPL-2.0-or-later
//
// The picture of `scohort watch`: sentences, a bar, one cell for each node, the nodes that matter
// most, the latest events. Plain text first; colour and Unicode are laid over it.
#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "rebootprog/view/view_render.hpp"

namespace cohort {
namespace {

// What a cell looks like; the order is that of attention: a cell that stands for several nodes, and
// the table, begin with the first.
struct Look {
    const char* word;
    char letter;
    const char* colour;  // SGR
};
constexpr Look looks[] = {
    {"failed", 'x', "1;97;41"}, {"rebuilding", 'r', "30;46"}, {"booting", 'b', "30;44"},
    {"waits", 'w', "30;43"},    {"starts", 's', "30;43"},     {"held", 'h', "37;100"},
    {"planned", '.', "37;100"}, {"cancelled", '-', "2"},      {"done", '+', "30;42"}};

constexpr std::size_t word_width = 10, most_state_width = 24;

std::size_t rank_of(const ViewNode& node) {
    const std::string word = word_of(node);
    for (std::size_t i = 0; i < std::size(looks); ++i)
        if (word == looks[i].word) return i;
    return std::size(looks) - 1;
}

std::string painted(const Screen& screen, std::string_view text, std::string_view colour) {
    if (!screen.colour || text.empty()) return std::string(text);
    return fmt::format("\033[{}m{}\033[0m", colour, text);
}

// Columns of a UTF-8 text (node names and reasons hold no wide characters).
std::size_t columns_of(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string cut(std::string_view text, std::size_t width) {
    if (columns_of(text) <= width) return std::string(text);
    std::string out;
    std::size_t used = 0;
    for (const char c : text) {
        if ((static_cast<unsigned char>(c) & 0xc0) != 0x80 && used++ + 1 >= width) break;
        out += c;
    }
    return out + "~";
}

// A request id in full leaves no room for what went wrong; its beginning is enough to find it.
std::string short_requests(std::string text) {
    constexpr std::string_view mark = "req-";
    constexpr std::size_t uuid = 36, kept = 8;
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1))
        if (text.size() - at >= mark.size() + uuid && text[at + mark.size() + kept] == '-')
            text.erase(at + mark.size() + kept, uuid - kept);
    return text;
}

std::vector<std::string> wrapped(const std::string& sentence, std::size_t width) {
    std::vector<std::string> lines;
    std::string rest = wrap_words(sentence, width);
    while (true) {
        const auto end = rest.find('\n');
        lines.push_back(cut(rest.substr(0, end), width));
        if (end == std::string::npos) return lines;
        rest.erase(0, end + 1);
    }
}

std::string bar_of(const Progress& progress, const Screen& screen) {
    const std::string percent = fmt::format(" {:3} %", progress.permille() / 10);
    const std::size_t width =
        screen.width > percent.size() + 10 ? screen.width - percent.size() : 10;
    const auto part = [&](Step step) {
        return progress.total == 0 ? 0 : width * progress.of(step) / progress.total;
    };
    const std::size_t done = part(Step::done), failed = part(Step::failed),
                      busy = part(Step::rebuilding);
    const auto cells = [&](std::size_t count, const char* unicode, char plain) {
        std::string text;
        for (std::size_t i = 0; i < count; ++i)
            text += screen.unicode ? std::string(unicode) : std::string(1, plain);
        return text;
    };
    return painted(screen, cells(done, "█", '#'), "32") +
           painted(screen, cells(failed, "█", 'x'), "31") +
           painted(screen, cells(busy, "▒", '='), "36") +
           painted(screen, cells(width - done - failed - busy, "░", '.'), "90") + percent;
}

class Cells {
  public:
    Cells(const View& view, const Screen& screen, std::size_t most_lines) : screen_(screen) {
        const std::size_t room =
            std::max<std::size_t>(1, screen.width * std::max<std::size_t>(1, most_lines));
        per_cell_ = std::max<std::size_t>(1, (view.nodes.size() + room - 1) / room);
        for (std::size_t i = 0; i < view.nodes.size(); i += per_cell_) {
            std::size_t worst = std::size(looks) - 1;
            for (std::size_t j = i; j < std::min(i + per_cell_, view.nodes.size()); ++j)
                worst = std::min(worst, rank_of(view.nodes[j]));
            cells_.push_back(worst);
        }
    }

    std::vector<std::string> lines() const {
        std::vector<std::string> lines;
        for (std::size_t i = 0; i < cells_.size(); i += screen_.width) {
            std::string line;
            for (std::size_t j = i; j < std::min(i + screen_.width, cells_.size()); ++j) {
                const Look& look = looks[cells_[j]];
                line += painted(screen_, std::string(1, look.letter), look.colour);
            }
            lines.push_back(std::move(line));
        }
        return lines;
    }

    std::size_t per_cell() const { return per_cell_; }

  private:
    const Screen& screen_;
    std::size_t per_cell_ = 1;
    std::vector<std::size_t> cells_;
};

std::string legend_of(const View& view, const Screen& screen, std::size_t per_cell) {
    std::map<std::size_t, std::size_t> counts;
    for (const auto& node : view.nodes) ++counts[rank_of(node)];
    std::string line;
    std::size_t used = 0;
    for (const auto& [rank, count] : counts) {
        const Look& look = looks[rank];
        const std::string text = fmt::format(" {} {}  ", count, look.word);
        if (used + text.size() + 1 > screen.width) break;
        used += text.size() + 1;
        line += painted(screen, std::string(1, look.letter), look.colour) + text;
    }
    const std::string note = fmt::format("(a cell is {} nodes)", per_cell);
    if (per_cell > 1 && used + note.size() <= screen.width) line += note;
    return line;
}

// Those that matter most, in the rollout's order among equals.
std::vector<const ViewNode*> by_attention(const View& view) {
    std::vector<const ViewNode*> nodes;
    for (const auto& node : view.nodes) nodes.push_back(&node);
    for (const auto& node : view.others) nodes.push_back(&node);
    std::ranges::stable_sort(
        nodes, [](const ViewNode* a, const ViewNode* b) { return rank_of(*a) < rank_of(*b); });
    return nodes;
}

std::vector<std::string> rows_of(const View& view, const Screen& screen, std::size_t room) {
    std::vector<std::string> lines;
    const auto nodes = by_attention(view);
    if (room < 2 || nodes.empty()) return lines;
    const std::size_t shown = nodes.size() <= room - 1 ? nodes.size() : room - 2;
    std::size_t name = 4, state = 5;
    for (std::size_t i = 0; i < shown; ++i) {
        name = std::max(name, nodes[i]->row.node.size());
        state = std::max(state, nodes[i]->state.size());
    }
    state = std::min(state, most_state_width);
    lines.push_back(painted(screen,
                            cut(fmt::format("{:<{}} {:<10} {:>8} {:<{}} {}", "NODE", name, "STEP",
                                            "FOR", "STATE", state, "WHAT"),
                                screen.width),
                            "2"));
    for (std::size_t i = 0; i < shown; ++i) {
        const auto& node = *nodes[i];
        const std::int64_t since = since_of(node);
        std::string line =
            cut(fmt::format("{:<{}} {:<10} {:>8} {:<{}} {}", node.row.node, name, word_of(node),
                            since == 0 ? "" : span_of(view.now - since), cut(node.state, state),
                            state, short_requests(what_of(node, view.now))),
                screen.width);
        if (line.size() > name + 1 + word_width)
            line.replace(
                name + 1, word_width,
                painted(screen, line.substr(name + 1, word_width), looks[rank_of(node)].colour));
        lines.push_back(std::move(line));
    }
    if (shown < nodes.size())
        lines.push_back(
            painted(screen,
                    cut(fmt::format("... and {} more nodes: scohort status", nodes.size() - shown),
                        screen.width),
                    "2"));
    return lines;
}

}  // namespace

std::string picture_of(const View& view, const Screen& screen,
                       const std::vector<std::string>& news) {
    const Progress progress = progress_of(view);
    std::vector<std::string> lines;
    const auto add = [&](std::string line) {
        if (lines.size() < screen.height) lines.push_back(std::move(line));
    };
    const auto headline = headline_of(view, progress);
    for (std::size_t i = 0; i < headline.size(); ++i)
        for (auto& line : wrapped(headline[i], screen.width))
            add(painted(screen, line, view.breaker && i == 0 ? "1;31" : i == 0 ? "1" : "0"));
    if (view.rollout) {
        add(bar_of(progress, screen));
        const Cells cells(view, screen, std::max<std::size_t>(1, screen.height / 4));
        // A table that has room for all nodes says more than cells.
        if (view.nodes.size() + lines.size() + 6 > screen.height) {
            for (auto& line : cells.lines()) add(std::move(line));
        }
        add(legend_of(view, screen, cells.per_cell()));
    }
    const std::size_t left = screen.height - std::min(lines.size(), screen.height);
    const std::size_t for_news = std::min<std::size_t>({news.size(), 4, left / 3});
    for (auto& line : rows_of(view, screen, left - for_news)) add(std::move(line));
    for (std::size_t i = news.size() - for_news; i < news.size(); ++i)
        add(painted(screen, cut(news[i], screen.width), "2"));
    std::string text;
    for (const auto& line : lines) text += (text.empty() ? "" : "\n") + line;
    return text;
}

}  // namespace cohort
