// The name of a kernel from the symbol table of the program or library that holds it.

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/simt/host/scheduler.h"

namespace lulab::simt::host {

namespace {

/// "void ns::kernel<double>(int, double*)" -> "ns::kernel<double>"
std::string demangled(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, Free> text(abi::__cxa_demangle(symbol, nullptr, nullptr, &status));
  if (status != 0) return symbol;
  std::string name = text.get();
  const std::string anonymous = "(anonymous namespace)::";
  for (auto at = name.find(anonymous); at != std::string::npos; at = name.find(anonymous))
    name.erase(at, anonymous.size());
  int depth = 0;
  std::size_t end = name.size();
  for (std::size_t i = 0; i < name.size(); ++i) {
    depth += (name[i] == '<') - (name[i] == '>');
    if (name[i] == '(' && depth == 0) {
      end = i;
      break;
    }
  }
  name.resize(end);
  if (name.starts_with("void ")) name.erase(0, 5);
  return name;
}

std::string from_symbol_table(const void* address) {
  Dl_info info{};
  link_map* map = nullptr;
  if (!dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) || !map) return {};
  std::ifstream file(map->l_name && *map->l_name ? map->l_name : "/proc/self/exe", std::ios::binary);
  const auto read = [&file](std::uint64_t at, void* to, std::size_t bytes) {
    file.seekg(static_cast<std::streamoff>(at));
    return static_cast<bool>(file.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes)));
  };
  Elf64_Ehdr header;
  if (!read(0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr))
    return {};
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (!read(header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr))) return {};
  const std::uint64_t wanted = reinterpret_cast<std::uintptr_t>(address) - map->l_addr;
  for (const Elf64_Shdr& table : sections) {
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= sections.size()) continue;
    std::vector<Elf64_Sym> symbols(table.sh_size / sizeof(Elf64_Sym));
    std::vector<char> names(sections[table.sh_link].sh_size + 1, '\0');
    if (!read(table.sh_offset, symbols.data(), symbols.size() * sizeof(Elf64_Sym)) ||
        !read(sections[table.sh_link].sh_offset, names.data(), names.size() - 1))
      return {};
    for (const Elf64_Sym& symbol : symbols)
      if (symbol.st_value == wanted && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_name < names.size())
        return demangled(&names[symbol.st_name]);
  }
  return {};
}

// Made before threads, as in device.cpp.
std::mutex known_mutex;
std::map<const void*, std::string> known;

}  // namespace

std::string kernel_name(const void* address) {
  const std::lock_guard lock(known_mutex);
  const auto [it, fresh] = known.try_emplace(address);
  if (fresh) {
    it->second = from_symbol_table(address);
    if (it->second.empty()) it->second = fmt::format("at {}", address);
  }
  return it->second;
}

}  // namespace lulab::simt::host
