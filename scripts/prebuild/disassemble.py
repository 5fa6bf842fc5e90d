"""Disassembles machine code with Capstone: JSON on stdin, JSON on stdout. For scripts/prebuild/toolchain.js.

In:  {"machine": "x64", "regions": [[address, hex], ...]}
Out: [{"address", "mnemonic", "operands", "bytes", "groups"}, ...]; bytes that are no instruction have the mnemonic ".byte"
"""

import json
import sys

import capstone as cs

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

request = json.load(sys.stdin)
engine = cs.Cs(*MACHINES[request["machine"]])
engine.detail = True
engine.skipdata = True
json.dump(
    [
        {
            "address": instruction.address,
            "mnemonic": instruction.mnemonic,
            "operands": instruction.op_str,
            "bytes": instruction.bytes.hex(),
            # Bytes that are no instruction have no groups, and asking for them is an error.
            "groups": [] if instruction.id == 0 else [instruction.group_name(group) for group in instruction.groups],
        }
        for address, code in request["regions"]
        for instruction in engine.disasm(bytes.fromhex(code), address)
    ],
    sys.stdout,
)
