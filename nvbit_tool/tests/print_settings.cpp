// Prints the table of the settings as JSON:  print_settings,  or what the collector says of values:  print_settings NAME=VALUE…
#include <cstdio>
#include <cstring>

#include "settings/options.h"
#include "trace/json.h"

using namespace snoopie;

namespace {

constexpr const char* kKinds[] = {"flag", "number", "choice", "text"};

std::string setting_json(const Setting& setting) {
    const Rule& rule = setting.rule;
    JsonWriter json;
    json.begin_object().member("variable", setting.variable).member("option", setting.option).member("recorded", setting.recorded);
    json.member("meaning", setting.meaning).member("default", rule.show(rule, Options{})).member("allowed", rule.allowed());
    json.member("kind", kKinds[static_cast<size_t>(rule.kind)]);
    if (rule.kind == Kind::flag || rule.kind == Kind::choice) json.member("words", rule.words);
    if (rule.kind == Kind::number) json.member("least", rule.least).member("most", rule.most);
    if (rule.kind == Kind::text) json.member("pattern", rule.pattern);
    return json.end_object().text();
}

void print_table() {
    std::puts("{\n\"generated\": \"from nvbit_tool/src/settings/settings.h, by: make -C nvbit_tool settings\",");
    const char* before = "\"settings\": [\n ";
    for (const Setting& setting : kSettings) {
        std::printf("%s%s", before, setting_json(setting).c_str());
        before = ",\n ";
    }
    before = "\n],\n\"launchers\": [\n ";
    for (const Launcher& launcher : kLaunchers) {
        JsonWriter json;
        json.begin_object().member("name", launcher.name).member("variable", launcher.variable).member("also", launcher.also);
        json.member("never", launcher.never).end_object();
        std::printf("%s%s", before, json.text().c_str());
        before = ",\n ";
    }
    std::puts("\n]\n}");
}

// A line for each: the collector's sentence, or an empty one.
void print_answers(char** given) {
    for (; *given; ++given) {
        const char* value = std::strchr(*given, '=');
        const std::string named(*given, value ? value - *given : std::strlen(*given));
        const auto options = read_options([&](const char* name) { return value && name == named ? value + 1 : nullptr; });
        const auto* error = std::get_if<OptionError>(&options);
        std::puts(error ? error->sentence.c_str() : "");
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1)
        print_answers(argv + 1);
    else
        print_table();
}
