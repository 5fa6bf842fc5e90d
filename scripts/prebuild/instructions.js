'use strict';

// Checks which instructions a file has, and in which functions. Two mistakes do not show in a test
// on the machine that built the file: a compiler flag that costs a kernel its vectors, and an
// instruction outside of the kernels that older processors lack.

/**
 * @typedef {object} Kernel
 * @property {RegExp} has matches at least one of its instructions
 * @property {RegExp} [extensions] instruction set extensions that it may use, besides those that
 *   all code may use
 */

// Groups in which Capstone tells an instruction's kind, not its extension.
const KINDS = /^(jump|call|ret|return|int|branch_relative|privilege|not64bitmode|mode64)$/;

const X86 = {
  // The first x86-64 processors have these, and V8 needs them on ia32.
  extensions: /^(sse1|sse2|cmov|fpu|mmx)$/,
  // Capstone names no extension for these.
  never: /^(popcnt|lzcnt|tzcnt|movbe|crc32|rd\w+|cmpxchg16b|endbr\d+)$/,
  // Only behind a check that the processor has it.
  guarded: /^xgetbv$/,
  kernels: {
    Scalar: { has: /^xor / },
    Sse2: { has: /^pxor xmm/ },
    Avx2: { has: /^vpxor ymm/, extensions: /^(avx|avx2|novlx)$/ },
    Avx512: { has: /^vpxorq? zmm|^vpxord zmm/, extensions: /^(avx|avx2|novlx|avx512|bwi|vlx)$/ }
  }
};

const ARM64 = {
  extensions: /^(HasFPARMv8|HasNEON)$/,
  kernels: { Scalar: { has: /^eor/ }, Neon: { has: /^eor v\d+\.16b/ } }
};

const ARMV6 = /^(IsARM|HasV4T|HasV5T|HasV5TE|HasV6|HasV6K|HasFPRegs|HasFPRegs64|HasVFP2|HasDPVFP)$/;
const ARMV7 = new RegExp(ARMV6.source.replace('IsARM', 'IsARM|HasV6T2|HasV7|HasVFP3'));

const SCALAR = { Scalar: { has: /^x/ } };

const RISCV = /^(IsRV64|HasStdExt(A|F|D|M|MOrZmmul|COrZca|COrZcd))$/;

const { Avx512: _, ...UP_TO_AVX2 } = X86.kernels;
const WITHOUT_AVX512 = { ...X86, kernels: UP_TO_AVX2 };

/** By a target's name or, without an entry for that, by its machine. */
const RULES = {
  x64: X86,
  // See FRAMEMASK_AVX512 in src/mask.h.
  ia32: WITHOUT_AVX512,
  'darwin-x64': WITHOUT_AVX512,
  arm64: ARM64,
  'linux-arm-armv7': {
    extensions: ARMV7,
    kernels: { Scalar: { has: /^eor/ }, Neon: { has: /^veor q/, extensions: /^HasNEON$/ } }
  },
  'linux-arm-armv6': { extensions: ARMV6, kernels: { Scalar: { has: /^eor/ } } },
  riscv64: { extensions: RISCV, kernels: SCALAR },
  // POWER8 lacks the vectors of ISA 3.0. Each function ends with a word of zeros, for debuggers.
  ppc64le: { extensions: /^HasFPU$/, padding: /^(00000000)+$/, kernels: SCALAR },
  // read_library.py tells Capstone that this is a z13, so later instructions are `.byte`.
  s390x: { extensions: /^Feature/, kernels: SCALAR },
  // Capstone names no extension for vector instructions, but only they begin with v or xv.
  loong64: { extensions: /^IsLA64$/, never: /^x?v/, kernels: SCALAR }
};

// A helper that is inlined into a kernel is part of it. One that is not inlined counts as other
// code, so its vector instructions are reported.
const KERNEL = /^_ZN9framemask\d+Mask([A-Z]\w*?)EPKhPh[jmy]j$/;
const DISPATCH = /^_ZN9framemask\d+Supports|^_ZN9framemask12_GLOBAL__N_1\d+(Xcr0|HasExtended)/;

/**
 * @param {import('./targets').Target} target
 * @param {import('./toolchain').Instruction[]} instructions by rising addresses
 * @param {import('./toolchain').Image['functions']} functions
 * @returns {{ faults: string[], kernels: string[] }} `kernels` has the count of vector instructions
 *   of each
 */
function checkInstructions(target, instructions, functions) {
  const rules = RULES[target.name] ?? RULES[target.machine];
  const faults = [];
  const found = new Map(Object.keys(rules.kernels).map((name) => [name, 0]));

  for (const { name, instruction } of withFunctions(instructions, functions)) {
    const kernel = KERNEL.exec(name)?.[1];
    const text = `${instruction.mnemonic} ${instruction.operands}`;
    const fault = faultOf(instruction, rules, rules.kernels[kernel]?.extensions, DISPATCH.test(name));
    if (fault) faults.push(`${fault} at 0x${instruction.address.toString(16)} in ${name}: ${text}`);
    if (rules.kernels[kernel]?.has.test(text)) found.set(kernel, found.get(kernel) + 1);
  }
  for (const [kernel, count] of found) {
    if (count === 0) faults.push(`Mask${kernel} has no instruction like ${rules.kernels[kernel].has.source}`);
  }
  return { faults, kernels: [...found].map(([kernel, count]) => `${kernel.toLowerCase()} ${count}`) };
}

/** @returns {string | undefined} why an instruction may not be where it is */
function faultOf({ mnemonic, bytes, groups }, rules, kernelExtensions, isDispatch) {
  if (mnemonic === '.byte') return rules.padding?.test(bytes) ? undefined : 'not an instruction';
  if (rules.never?.test(mnemonic)) return 'not in every processor';
  if (rules.guarded?.test(mnemonic) && !isDispatch) return 'only for the dispatch';
  const extension = groups.find(
    (group) => !KINDS.test(group) && !rules.extensions.test(group) && !kernelExtensions?.test(group)
  );
  return extension && `${extension} is not in every processor`;
}

/** Yields each instruction with the name of its function. */
function* withFunctions(instructions, functions) {
  const sorted = [...functions].sort(([a], [b]) => a - b);
  let i = -1;
  for (const instruction of instructions) {
    while (i + 1 < sorted.length && sorted[i + 1][0] <= instruction.address) i++;
    yield { name: sorted[i]?.[1] ?? '', instruction };
  }
}

module.exports = { checkInstructions };
