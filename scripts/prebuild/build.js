'use strict';

const { execFile } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { promisify } = require('node:util');
const { HEADERS, elfLength } = require('../../lib/masking/native');
const { ZIG, ZIG_ENV } = require('./toolchain');

const ROOT = path.join(__dirname, '../..');

const run = promisify(execFile);

/**
 * The largest pages that arm64 and ppc64 kernels use: a file laid out for smaller ones does not
 * load there.
 */
const ELF_PAGE = 65536;

/** Compiler flags beside those of binding.gyp. */
const COMPILE_FLAGS = [
  '-Werror',
  '-Wno-unused-command-line-argument',
  // Features that need a C++ runtime.
  '-fno-stack-protector',
  '-fno-sanitize=all',
  // Data for debuggers.
  '-fno-unwind-tables',
  '-fno-asynchronous-unwind-tables',
  '-g0',
  '-fno-ident'
];

/**
 * `compile` and `link` are flags for zig; `strip` is for the file that is shipped alone, not for
 * the one that names its functions. Windows is linked by link-windows.js.
 */
const FORMATS = {
  elf: {
    compile: ['-fPIC'],
    // Without a C library. The process that loads the addon has the few functions of it that the
    // addon calls, be it glibc or musl.
    link: [
      '-nostdlib',
      '-Wl,--gc-sections',
      `-Wl,-z,max-page-size=${ELF_PAGE}`,
      '-Wl,--hash-style=gnu',
      '-Wl,-z,relro',
      '-Wl,-z,now'
    ],
    strip: ['-s']
  },
  macho: {
    // Calls of Node-API without a jump, as by -fno-plt below, which clang's driver ignores here.
    compile: ['-fPIC', '-Xclang', '-fno-plt', '-mllvm', '-aarch64-macho-enable-nonlazybind'],
    link: [
      '-nostdlib++',
      '-s',
      '-Wl,-undefined,dynamic_lookup',
      '-Wl,-dead_strip',
      // zig reserves 4 KiB for a longer name; nobody renames a signed file.
      '-Wl,-headerpad,0x20',
      '-Wl,-install_name,@rpath/framemask.node'
    ],
    // The linker leaves the local symbols out. Stripping afterwards would break the signature that
    // arm64 asks for.
    strip: ['-Wl,-x']
  },
  pe: { compile: [], link: [], strip: [] }
};

/**
 * The compiler flags for one target. make evaluates the expressions for each source file (`$<`):
 * kernels are compiled for speed, without unrolling because they are unrolled by hand; the rest for
 * size, which saves 1 KB and costs no time.
 *
 * @param {import('./targets').Target} target
 * @returns {string}
 */
function compileFlags({ format, machine }) {
  const hasVectors = ['x64', 'ia32', 'arm64'].includes(machine);
  // -fno-plt exists for these processors alone: calls of Node-API without a jump, and 500 bytes
  // less.
  const plt = format === 'elf' && hasVectors ? ['-fno-plt'] : [];
  // Where there are vectors, the scalar kernel runs only if FRAMEMASK_KERNEL=scalar.
  const source = hasVectors ? '$(filter-out %/kernels/scalar.cc,$<)' : '$<';
  return [
    ...COMPILE_FLAGS,
    ...FORMATS[format].compile,
    ...plt,
    `$(if $(findstring /kernels/,${source}),-O3 -fno-unroll-loops,-Os)`,
    // windows.cc defines memmove, and the compiler would make a call of memmove of that.
    '$(if $(filter %/windows.cc,$<),-fno-builtin)'
  ].join(' ');
}

/**
 * Lays out what prebuildify builds: the sources, and a Node.js folder as node-gyp wants it, which
 * holds the headers and the default flags. The machine's own has other flags with each version;
 * this one has none, so that the bytes are the same everywhere. Its variable `prebuild` tells
 * binding.gyp the platform.
 */
function stage(folder, platform) {
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  fs.copyFileSync(path.join(ROOT, 'binding.gyp'), path.join(folder, 'binding.gyp'));
  fs.cpSync(path.join(ROOT, 'src'), path.join(folder, 'src'), { recursive: true });
  const headers = path.join(folder, 'node/include/node');
  fs.cpSync(require('node-api-headers').include_dir, headers, { recursive: true });
  const common = { variables: { prebuild: platform }, target_defaults: { configurations: { Release: {} } } };
  fs.writeFileSync(path.join(headers, 'common.gypi'), JSON.stringify(common));
  fs.writeFileSync(path.join(headers, 'config.gypi'), '{}');
}

/**
 * Builds one target: prebuildify runs node-gyp, and node-gyp compiles and links with zig.
 *
 * @param {import('./targets').Target} target
 * @param {string} folder for everything that is made
 * @returns {Promise<{ file: string, symbols: string }>} the file to ship, and one that names its
 *   functions: a linker's map for Windows, else the same file with symbols
 * @throws {Error} with the output, if anything fails or warns
 */
async function build(target, folder) {
  const { file, format, machine, triple, cpu } = target;
  const [platform, arch] = path.dirname(file).split('-');
  const [, tag] = /\.armv(\d)\./.exec(file) ?? [];
  stage(folder, platform);

  const compiler = (name) => [...ZIG, name, '-target', triple, `-mcpu=${cpu}`].join(' ');
  const linkWindows = [process.execPath, path.join(__dirname, 'link-windows.js'), machine].join(' ');
  const { link, strip } = FORMATS[format];
  const env = {
    ...process.env,
    ...ZIG_ENV,
    npm_config_nodedir: path.join(folder, 'node'),
    CC: compiler('cc'),
    CXX: compiler('c++'),
    // Not LINK, which lld-link takes for its own options.
    LINK_target: format === 'pe' ? linkWindows : compiler('c++'),
    CPPFLAGS: '',
    CXXFLAGS: compileFlags(target),
    LDFLAGS: [...link, ...strip].join(' ')
  };
  const cache = path.join(folder, 'cache');
  const options = ['--napi', '--name=framemask', `--platform=${platform}`, `--arch=${arch}`, `--cache=${cache}`];
  if (tag !== undefined) options.push(`--tag-armv=${tag}`);
  const prebuildify = require.resolve('prebuildify/bin.js');
  await runQuietly(process.execPath, [prebuildify, ...options], { cwd: folder, env });
  // A copy, because what prebuildify has moved may be a hard link of the file that is linked again
  // below.
  const built = path.join(folder, 'framemask.node');
  fs.copyFileSync(path.join(folder, 'prebuilds', file), built);
  if (format === 'pe') return { file: built, symbols: path.join(folder, 'build/framemask.map') };

  const relinked = { ...env, LDFLAGS: link.join(' ') };
  await runQuietly('make', ['BUILDTYPE=Release', '-C', 'build'], { cwd: folder, env: relinked });
  return { file: built, symbols: path.join(folder, 'build/Release/framemask.node') };
}

/** @throws {Error} with the lines that tell what went wrong */
async function runQuietly(program, args, options) {
  let output;
  try {
    const { stdout, stderr } = await run(program, args, { ...options, maxBuffer: 2 ** 26 });
    output = stdout + stderr;
  } catch (error) {
    output = `${error.stdout}${error.stderr}` || error.message;
    throw new Error(`${path.basename(args[0])} failed in ${options.cwd}:\n${output.split('\n').slice(-60).join('\n')}`);
  }
  const warnings = output.split('\n').filter((line) => /\bwarning\b/i.test(line));
  if (warnings.length > 0)
    throw new Error(`${path.basename(args[0])} warns in ${options.cwd}:\n${warnings.join('\n')}`);
}

/**
 * An ELF file without its section headers, which no loader reads: a kilobyte less. Segments come
 * first in a file, and what only sections name comes after them.
 */
function withoutSections(bytes) {
  if (bytes.readUInt32BE(0) !== 0x7f454c46) return bytes;
  const cut = Buffer.from(bytes.subarray(0, elfLength(new Uint8Array(bytes).subarray(0, HEADERS))));
  const isWide = cut[4] === 2;
  // e_shoff, e_shnum and e_shstrndx
  cut.fill(0, isWide ? 0x28 : 0x20, isWide ? 0x30 : 0x24);
  cut.fill(0, isWide ? 0x3c : 0x30, isWide ? 0x40 : 0x34);
  return cut;
}

module.exports = { ELF_PAGE, ROOT, build, withoutSections };
