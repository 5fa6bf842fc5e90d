'use strict';

const modules = require('../shared/node-modules');

const { fs, path } = modules;

/**
 * The functions of one kernel, from src/addon.cc. They take and return numbers in `params`: an
 * argument costs about 6 ns, a param less than 1 ns.
 *
 * @typedef {object} Native
 * @property {Float64Array} params by the indexes in `Param`
 * @property {(source: Uint8Array, output: Uint8Array) => void} mask takes KEY, START, OFFSET and
 *   LENGTH, sets NON_ASCII
 * @property {(buffer: Uint8Array) => void} unmask takes KEY, START and LENGTH, sets NON_ASCII
 * @property {(buffer: Uint8Array) => string | undefined} unmaskText takes the same as unmask;
 *   returns the unmasked bytes as a string if all are ASCII
 * @property {(chunk: Uint8Array, table: Uint32Array) => void} scan takes START and MODE, sets COUNT
 */

/** The index of each param. src/addon.cc has the same list. */
const Param = { KEY: 0, START: 1, OFFSET: 2, LENGTH: 3, MODE: 4, COUNT: 5, NON_ASCII: 6 };

/** The usual reason: the file is not where the package has it. */
const HINT = ' (docs/bundling.md of the repository: bundles, single files, packages without prebuilds)';

/**
 * Loads the addon and chooses the kernel that FRAMEMASK_KERNEL names, or else the best one that
 * this machine supports. Without an addon `kernel` is 'js', `native` null and `nativeError` the
 * reason (null if 'js' was asked for).
 *
 * @throws {RangeError} if FRAMEMASK_KERNEL names a kernel that this machine can't run
 * @throws {Error} why the addon does not load, if FRAMEMASK_REQUIRE_NATIVE is 1
 */
function load(environment, loadAddon = findAddon) {
	const wanted = readVariable(environment, 'FRAMEMASK_KERNEL');
	if (wanted === 'js') return { kernel: 'js', native: null, nativeError: null };

	let kernel = 'js';
	let kernels = [];
	let native = null;
	let nativeError = null;
	try {
		const addon = loadAddon();
		// A file of that name without our exports counts as a failed load.
		const names = Array.from(addon.kernels);
		const chosen = names.includes(wanted) ? wanted : names[names.length - 1];
		native = bind(addon, chosen);
		kernel = chosen;
		kernels = names;
	} catch (error) {
		if (error instanceof Error) error.message += HINT;
		if (readVariable(environment, 'FRAMEMASK_REQUIRE_NATIVE') === '1') throw error;
		// Loaded for this line: a program that masks alone starts without it.
		const { log } = require('../shared/log');
		log('the addon does not load, so masking is JavaScript: %s', error.message);
		// JSON.stringify shows nothing else of an Error.
		nativeError = Object.defineProperty(error, 'toJSON', { value: errorToJson });
	}

	if (wanted && !kernels.includes(wanted)) throw unknownKernel(wanted, kernels, nativeError);
	return { kernel, native, nativeError };
}

function errorToJson() {
	const { name, message, code } = this;
	return { name, message, code };
}

/** An environment variable; undefined where Deno, without --allow-env, throws NotCapable. */
function readVariable(environment, name) {
	try {
		return environment[name];
	} catch {
		return undefined;
	}
}

/**
 * Params lie in shared memory: an ArrayBuffer could be transferred away from the addon's pointer.
 * Electron hides the constructor from its pages; an empty WebAssembly memory has it.
 */
function createParams() {
	const SharedMemory =
		globalThis.SharedArrayBuffer ?? new WebAssembly.Memory({ initial: 0, maximum: 0, shared: true }).buffer.constructor;
	return new Float64Array(new SharedMemory(Object.keys(Param).length * Float64Array.BYTES_PER_ELEMENT));
}

function bind(addon, kernel) {
	const params = createParams();
	return { params, ...addon.bind(kernel, params) };
}

function unknownKernel(wanted, kernels, cause) {
	const error = new RangeError(
		`FRAMEMASK_KERNEL is ${JSON.stringify(wanted)}, but this machine can run: ${['js', ...kernels].join(', ')}`,
		cause === null ? undefined : { cause }
	);
	error.code = 'FRAMEMASK_ERR_KERNEL';
	return error;
}

/** Variables by which node-gyp-build looks for another file. */
const ELSEWHERE = ['FRAMEMASK_PREBUILD', 'PREBUILDS_ONLY', 'npm_config_arch', 'npm_config_platform'];

let loadProvided = null;

/**
 * Sets the addon of an entry for one platform, such as `framemask/prebuilds/linux-x64`, before
 * index.js is loaded.
 */
function provideAddon(load) {
	loadProvided = load;
}

/**
 * Loads the addon: that of an entry for one platform, else by node-gyp-build's rules the one in
 * build/Release, compiled by the user, or else the one in prebuilds/. Throws if there is none, it
 * can't be loaded, or it is not framemask's.
 */
function findAddon() {
	if (loadProvided !== null) return unwrap(loadProvided());
	let file = null;
	try {
		// All of it in `try`: a bundle may lack node-gyp-build, a bundle of ES modules __dirname.
		file = resolveAddon(path.join(__dirname, '../..'));
	} catch {
		// The call below throws it.
	}
	if (file !== null) {
		checkOwner(file, path.join(__dirname, '../..'));
		return openAddon(file);
	}
	// @vercel/nft and ncc look for this expression, to copy the file that it needs. ncc puts that in
	//   its place, so it must run even if no file was found: it throws then.
	return require('node-gyp-build')(`${__dirname}/../..`);
}

/**
 * The file that node-gyp-build finds. Where it usually lies, it is found here: node-gyp-build would
 * take a fifth of the time of loading masking.
 */
function resolveAddon(root) {
	if (ELSEWHERE.every((name) => !process.env[name])) {
		const compiled = path.join(root, 'build/Release/framemask.node');
		if (fs.existsSync(compiled)) return compiled;
		const prebuilt = path.join(root, 'prebuilds', `${process.platform}-${process.arch}`, 'framemask.node');
		if (fs.existsSync(prebuilt) && !fs.existsSync(path.join(root, 'build/Debug'))) return prebuilt;
	}
	return require('node-gyp-build').resolve(root);
}

/**
 * Refuses a file that is not named for framemask or not below its folder. A bundle lies in the
 * folder of another package, whose build/Release/ may have an addon; and node-gyp-build also looks
 * beside the program.
 */
function checkOwner(file, root) {
	const inside = !path.relative(root, file).startsWith('..') && /^framemask\b.*\.node$/.test(path.basename(file));
	if (inside && readName(path.join(root, 'package.json')) === 'framemask') return;
	throw new Error(`${file} is not framemask's`);
}

function readName(file) {
	try {
		return JSON.parse(fs.readFileSync(file, 'utf8')).name;
	} catch {
		return undefined;
	}
}

/**
 * The exports of the addon in a bundle: those; or the file's path from the bundle, or its file:
 * URL; or an ES module whose default export is one of these.
 */
function unwrap(bundled) {
	const addon = bundled.default ?? bundled;
	if (typeof addon !== 'string') return addon;
	return openAddon(addon.startsWith('file:') ? modules.url.fileURLToPath(addon) : path.resolve(__dirname, addon));
}

function openAddon(file) {
	checkLength(file);
	// As `require` does. Bundlers would try to resolve a `require` when they build.
	const addon = { exports: {} };
	process.dlopen(addon, file);
	return addon.exports;
}

/** The first bytes of an ELF file. */
const ELF = [0x7f, 0x45, 0x4c, 0x46];

/**
 * Refuses an ELF file that was cut short, such as by a full disk: loading it would end the process
 * with SIGBUS. Other loaders check this.
 */
function checkLength(file) {
	const descriptor = fs.openSync(file, 'r');
	try {
		const header = new Uint8Array(HEADERS);
		if (fs.readSync(descriptor, header) < 64 || ELF.some((byte, i) => header[i] !== byte)) return;
		const length = elfLength(header);
		// Reading its last byte takes less time than fstat, which creates dates.
		if (fs.readSync(descriptor, header, 0, 1, length - 1) === 1) return;
		throw new Error(`${file} is cut short: it has ${fs.fstatSync(descriptor).size} bytes of ${length}`);
	} finally {
		fs.closeSync(descriptor);
	}
}

/** Room for the headers of an ELF file, which precede the rest. */
const HEADERS = 1024;

/** Where the last segment of an ELF file ends, by its program headers. */
function elfLength(header) {
	const view = new DataView(header.buffer);
	const little = header[5] === 1;
	const read = (at, size) => (size === 8 ? Number(view.getBigUint64(at, little)) : view.getUint32(at, little));
	// The fields of a program header: its size, and where its segment's offset and length are.
	const [word, size, offset, length, first, count] =
		header[4] === 2 ? [8, 56, 8, 32, 0x20, 0x38] : [4, 32, 4, 16, 0x1c, 0x2c];
	let at = read(first, word);
	let end = at + size * view.getUint16(count, little);
	for (const last = Math.min(end, HEADERS); at + size <= last; at += size) {
		end = Math.max(end, read(at + offset, word) + read(at + length, word));
	}
	// A damaged header may give more than readSync accepts.
	return Math.min(end, Number.MAX_SAFE_INTEGER);
}

module.exports = { HEADERS, Param, bind, checkLength, elfLength, findAddon, load, openAddon, provideAddon };
