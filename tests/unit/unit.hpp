// SPDX-License-Identifier: GPL-2.0-or-later
//
// Table-driven unit tests on Check: one row is one rule, and the rule's words are the row's name.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <check.h>
#undef fail  // Check's old macro; this project has a function of that name

namespace unit {

// A named rule and the code that shows it.
struct Rule {
    std::string words;
    std::function<void()> show;
};

inline std::vector<Rule>& rules() {
    static std::vector<Rule> all;
    return all;
}

// Fails the running rule, saying which one and where.
inline void expect(bool ok, const std::string& what, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
    if (!ok) ck_abort_msg("%s:%d: %s", file, line, what.c_str());
}

template <class A, class B>
void expect_equal(const A& got, const B& wanted, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
    if (!(got == wanted))
        ck_abort_msg("%s:%d: got '%s', wanted '%s'", file, line, fmt::format("{}", got).c_str(),
                     fmt::format("{}", wanted).c_str());
}

inline void expect_contains(const std::string& text, const std::string& piece,
                            const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (text.find(piece) == std::string::npos)
        ck_abort_msg("%s:%d: '%s' is not in: %s", file, line, piece.c_str(), text.c_str());
}

inline void run_rule(int index) {
    rules()[static_cast<std::size_t>(index)].show();
}

START_TEST(one_rule) {
    run_rule(_i);
}
END_TEST

// Runs all rules (each in its own process) and returns main()'s exit code.
inline int run(const char* suite_name, std::vector<Rule> all) {
    rules() = std::move(all);
    Suite* suite = suite_create(suite_name);
    TCase* tcase = tcase_create(suite_name);
    tcase_set_timeout(tcase, 600);  // against what hangs; a busy machine is no failure
    tcase_add_loop_test(tcase, one_rule, 0, static_cast<int>(rules().size()));
    suite_add_tcase(suite, tcase);
    SRunner* runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace unit
