"""Reads a library with LIEF and disassembles its code with Capstone. scripts/prebuild/check.js judges the result.

Usage: python read_library.py <machine> <file> <symbols>

<machine> is a name of targets.js; <symbols> names the functions of <file>: the same library with symbols, or for a
Windows library the linker's map. Prints the object that check.js calls an Image, as JSON.
"""

import json
import pathlib
import re
import sys

import capstone as cs
import lief

MACHINES = {
    "x64": (cs.CS_ARCH_X86, cs.CS_MODE_64),
    "ia32": (cs.CS_ARCH_X86, cs.CS_MODE_32),
    "arm64": (cs.CS_ARCH_AARCH64, cs.CS_MODE_ARM),
    "arm": (cs.CS_ARCH_ARM, cs.CS_MODE_ARM),
    "riscv64": (cs.CS_ARCH_RISCV, cs.CS_MODE_RISCV64 | cs.CS_MODE_RISCV_C | cs.CS_MODE_RISCV_FD | cs.CS_MODE_RISCV_A),
    "ppc64le": (cs.CS_ARCH_PPC, cs.CS_MODE_64 | cs.CS_MODE_LITTLE_ENDIAN | cs.CS_MODE_PWR8),
    "s390x": (cs.CS_ARCH_SYSTEMZ, cs.CS_MODE_BIG_ENDIAN | cs.CS_MODE_SYSTEMZ_ARCH11),
    "loong64": (cs.CS_ARCH_LOONGARCH, cs.CS_MODE_LOONGARCH64),
}

# The processor and the flags of its calling convention, such as which registers hold
# floating-point arguments.
ELF_MACHINES = {
    ("X86_64", 0): "x64",
    ("I386", 0): "ia32",
    ("AARCH64", 0): "arm64",
    ("ARM", 0x5000400): "arm",  # EABI 5, hard float
    ("RISCV", 0x5): "riscv64",  # compressed instructions, doubles in registers
    ("PPC64", 0x2): "ppc64le",  # ELF version 2
    ("S390", 0): "s390x",
    ("LOONGARCH", 0x43): "loong64",  # doubles in registers
}
MACHO_MACHINES = {"X86_64": "x64", "ARM64": "arm64"}
PE_MACHINES = {"AMD64": "x64", "I386": "ia32", "ARM64": "arm64"}

# Sections that the linker writes, in part data: the jumps to functions of other files.
LINKER_CODE = re.compile(r"\.(i?plt|glink)")
OLDEST_MACOS = [11, 0, 0]
MACHO_DEBUG_SYMBOL = 0xE0  # N_STAB


def split_at_data(section, symbols):
    """ARM keeps constants between functions; symbols mark where they begin ($d) and where code goes on ($a)."""
    start = section.virtual_address
    end = start + section.size
    content = bytes(section.content)
    marks = sorted((symbol.value, symbol.name[:2]) for symbol in symbols if symbol.name[:2] in ("$a", "$d"))
    starts = [(start, "$a"), *(mark for mark in marks if start < mark[0] < end), (end, None)]
    return [
        (address, content[address - start : following - start], mark == "$a")
        for (address, mark), (following, _) in zip(starts, starts[1:])
    ]


def read_elf(path):
    config = lief.ELF.ParserConfig()
    config.count_mtd = lief.ELF.ParserConfig.DYNSYM_COUNT.SECTION
    elf = lief.ELF.parse(path, config)
    machine = (elf.header.machine_type.name, elf.header.processor_flag)
    flags = lief.ELF.Segment.FLAGS
    loads = [segment for segment in elf.segments if segment.type == lief.ELF.Segment.TYPE.LOAD]
    stacks = [segment for segment in elf.segments if segment.type == lief.ELF.Segment.TYPE.GNU_STACK]
    imports = [symbol for symbol in list(elf.dynamic_symbols)[1:] if symbol.shndx == 0]
    exports = [symbol for symbol in elf.dynamic_symbols if symbol.shndx != 0]
    code = [
        section
        for section in elf.sections
        if section.has(lief.ELF.Section.FLAGS.EXECINSTR) and not LINKER_CODE.match(section.name)
    ]
    wrong = {
        "not a shared library": elf.header.file_type != lief.ELF.Header.FILE_TYPE.DYN,
        "no dynamic segment": not any(segment.type == lief.ELF.Segment.TYPE.DYNAMIC for segment in elf.segments),
        "writable code": any(segment.has(flags.X) and segment.has(flags.W) for segment in loads),
        "relocations in code": elf.has(lief.ELF.DynamicEntry.TAG.TEXTREL),
        "an executable stack": not stacks or any(segment.has(flags.X) for segment in stacks),
        "misaligned segments": any(
            (segment.virtual_address - segment.file_offset) % segment.alignment for segment in loads
        ),
        # musl has no versions: a versioned symbol ties the file to one C library.
        "versioned symbols": elf.has(lief.ELF.Section.TYPE.GNU_VERNEED),
    }
    return {
        "machine": ELF_MACHINES.get(machine, str(machine)),
        "imports": [symbol.name for symbol in imports],
        "exports": [symbol.name for symbol in exports],
        "libraries": list(elf.libraries),
        "alignment": min(segment.alignment for segment in loads),
        "faults": [fault for fault, found in wrong.items() if found],
        "code": [region for section in code for region in split_at_data(section, elf.symtab_symbols)],
        "functions": [
            (symbol.value, symbol.name) for symbol in elf.symtab_symbols if symbol.is_function and symbol.shndx != 0
        ],
    }


def read_macho(path):
    universal = lief.MachO.parse(path)
    macho = universal.at(0)
    command = lief.MachO.LoadCommand.TYPE
    commands = [entry.command for entry in macho.commands]
    machine = MACHO_MACHINES.get(macho.header.cpu_type.name, macho.header.cpu_type.name)
    # A name of C begins with an underscore here.
    symbols = [
        (symbol.name.removeprefix("_"), symbol)
        for symbol in macho.symbols
        if symbol.origin == lief.MachO.Symbol.ORIGIN.SYMTAB and not symbol.raw_type & MACHO_DEBUG_SYMBOL
    ]
    defined = [(name, symbol) for name, symbol in symbols if symbol.type == lief.MachO.Symbol.TYPE.SECTION]
    sections = list(macho.sections)
    code = [section for section in sections if section.has(lief.MachO.Section.FLAGS.PURE_INSTRUCTIONS)]
    code_numbers = [number for number, section in enumerate(sections, 1) if section in code]
    version = macho.build_version
    wrong = {
        "a universal file": universal.size != 1,
        "not a shared library": macho.header.file_type != lief.MachO.Header.FILE_TYPE.DYLIB,
        # dyld looks up no symbols for a file that says that it needs none.
        "MH_NOUNDEFS": macho.header.has(lief.MachO.Header.FLAGS.NOUNDEFS),
        # macOS 15 and later kill a process that loads a file without one.
        "no LC_UUID": commands.count(command.UUID) != 1,
        "no LC_ID_DYLIB": commands.count(command.ID_DYLIB) != 1,
        "no signature": machine == "arm64" and commands.count(command.CODE_SIGNATURE) != 1,
        "for a later macOS than 11": version is None or list(version.minos) > OLDEST_MACOS,
    }
    return {
        "machine": machine,
        "imports": [name for name, symbol in symbols if symbol.type != lief.MachO.Symbol.TYPE.SECTION],
        # The names that the linker adds for dyld begin with two underscores.
        "exports": [
            name
            for name, symbol in defined
            if symbol.category == lief.MachO.Symbol.CATEGORY.EXTERNAL and not name.startswith("_")
        ],
        "libraries": [library.name for library in macho.libraries if library.command != command.ID_DYLIB],
        "alignment": min(largest_power_of_two(segment.virtual_address) for segment in macho.segments),
        "faults": [fault for fault, found in wrong.items() if found],
        "code": [(section.virtual_address, bytes(section.content), True) for section in code],
        "functions": [(symbol.value, name) for name, symbol in defined if symbol.numberof_sections in code_numbers],
    }


def largest_power_of_two(address):
    """The largest page, up to 64 KiB, on which an address can begin."""
    return min(address & -address or 65536, 65536)


def read_pe(path, linker_map):
    pe = lief.PE.parse(path)
    section_flags = lief.PE.Section.CHARACTERISTICS
    dll_flags = lief.PE.OptionalHeader.DLL_CHARACTERISTICS
    sections = list(pe.sections)
    # Lines such as `0001:00002060 00000153H .text$<name> CODE`: section, offset in it, length.
    symbols = re.findall(r"^ (\d{4}):([0-9a-f]{8}) [0-9a-f]{8}H \.text\$(\S+) +CODE$", linker_map, re.MULTILINE)
    wrong = {
        "not a shared library": not pe.header.has_characteristic(lief.PE.Header.CHARACTERISTICS.DLL),
        "a fixed address": not pe.optional_header.has(dll_flags.DYNAMIC_BASE),
        "executable data": not pe.optional_header.has(dll_flags.NX_COMPAT),
        "delayed imports": pe.delay_dir.rva != 0,
        "writable code": any(
            section.has_characteristic(section_flags.MEM_WRITE) and section.has_characteristic(section_flags.MEM_EXECUTE)
            for section in sections
        ),
    }
    return {
        "machine": PE_MACHINES.get(pe.header.machine.name, pe.header.machine.name),
        # Without an entry in the lookup table, LIEF takes one of the address table, which Windows
        # does not read.
        "imports": [
            entry.name or f"#{entry.ordinal}"
            for library in pe.imports
            for entry in library.entries
            if entry.ilt_value != 0
        ],
        "exports": [entry.name for entry in pe.get_export().entries] if pe.has_exports else [],
        "libraries": [library.name for library in pe.imports],
        "alignment": pe.optional_header.section_alignment,
        "faults": [fault for fault, found in wrong.items() if found],
        "code": [
            (section.virtual_address, bytes(section.content)[: section.virtual_size], True)
            for section in sections
            if section.has_characteristic(section_flags.CNT_CODE)
        ],
        "functions": [
            (sections[int(number, 16) - 1].virtual_address + int(offset, 16), name) for number, offset, name in symbols
        ],
    }


def content_of(code):
    return b"".join(content for _, content, _ in code)


def read(path, symbols_path):
    """Returns an Image with its code, as regions of (address, bytes, whether they are instructions)."""
    if lief.is_pe(path):
        return read_pe(path, pathlib.Path(symbols_path).read_text())
    if not lief.is_elf(path) and not lief.is_macho(path):
        sys.exit(f"{path} is not an ELF, Mach-O or PE file")
    read_format = read_elf if lief.is_elf(path) else read_macho
    image = read_format(path)
    named = read_format(symbols_path)
    if content_of(image["code"]) != content_of(named["code"]):
        image["faults"].append("other code than the file with symbols")
    return {**image, "code": named["code"], "functions": named["functions"]}


def disassemble(machine, regions):
    engine = cs.Cs(*MACHINES[machine])
    engine.detail = True
    engine.skipdata = True
    for address, content in regions:
        for instruction in engine.disasm(content, address):
            # Bytes that are no instruction have no groups, and asking for them is an error.
            groups = [] if instruction.id == 0 else [instruction.group_name(group) for group in instruction.groups]
            yield {
                "address": instruction.address,
                "mnemonic": instruction.mnemonic,
                "operands": instruction.op_str,
                "bytes": instruction.bytes.hex(),
                "groups": groups,
            }


def main():
    machine, path, symbols_path = sys.argv[1:]
    # LIEF prints what is unusual in a file. What matters is checked here and in check.js.
    lief.logging.disable()
    image = read(path, symbols_path)
    regions = [(address, content) for address, content, is_code in image.pop("code") if is_code]
    image["instructions"] = list(disassemble(machine, regions))
    json.dump(image, sys.stdout)


main()
