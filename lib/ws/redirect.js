'use strict';

// Decides which `ws` of a program framemask/ws replaces. It also runs in the thread in which
// Node.js before 22.15 resolves imports, so it loads neither ws nor the codec.

const { fs, path, url } = require('../shared/node-modules');
const { noteCopy } = require('./copies');
const { SUPPORTED, isSupported } = require('./load-ws');

const ROOT = path.join(__dirname, '../..');
const COMMONJS = path.join(ROOT, 'ws.js');
const MODULE = url.pathToFileURL(path.join(ROOT, 'ws.mjs')).href;

/** The entries of ws, by whatever path they are required. */
const ENTRY = /[\\/]ws[\\/](index\.js|wrapper\.mjs)$/;

/** What both load. */
const LOADED = /[\\/]ws[\\/]lib[\\/]websocket\.js$/;

/** Modules of tracers. They ask for the path of ws, by which they know it when it is loaded. */
const TRACER = /[\\/](require-in-the-middle|import-in-the-middle|dd-trace[\\/]packages)[\\/]/;

const LOADED_BEFORE = 'it was loaded before framemask/ws/register';
const UNSUPPORTED =
	`framemask/ws works on ${SUPPORTED}; "overrides" in package.json ("pnpm.overrides" with pnpm, "resolutions" with ` +
	'Yarn) gives packages another';
/** Such as next/dist/compiled/ws, whose package.json lacks a version. */
const COMPILED = 'it is a part of another package';

/** The package.json of a folder; empty if none can be read. */
function packageIn(folder) {
	try {
		return JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
	} catch {
		return {};
	}
}

/**
 * Notes the ws in a folder, if there is one.
 *
 * @param {string | null} stays the reason why it stays, whatever its version
 * @returns {boolean} whether framemask/ws takes its place
 */
function noteWs(folder, stays) {
	const { name, version = '' } = packageIn(folder);
	if (name !== 'ws') return false;
	const reason = stays ?? (version === '' ? COMPILED : isSupported(version) ? null : UNSUPPORTED);
	const replaced = reason === null;
	noteCopy({ path: folder, version, replaced, reason });
	return replaced;
}

/** Whether a module is the one in which a framemask, this or another, requires ws. */
function requiresForFramemask(file) {
	return path.basename(file) === 'load-ws.js' && packageIn(path.join(path.dirname(file), '../..')).name === 'framemask';
}

/** @returns {string} the file to load where a parent's request resolves to a file */
function redirectFile(request, file, parent) {
	if (request !== 'ws' && !ENTRY.test(file)) return file;
	// A module that wraps another, such as a tracer's, has its path.
	const isLeftTo = (from) => from === file || TRACER.test(from) || requiresForFramemask(from);
	return isLeftTo(parent ?? '') || !noteWs(path.dirname(file), null) ? file : COMMONJS;
}

/** The end of a `resolve` hook of Node.js. `resolved` is the next hook's result. */
function redirectUrl(specifier, { conditions, parentURL = '' }, resolved) {
	// Each module of the program comes here, and few are of ws.
	const mayBeWs = specifier === 'ws' || resolved.url.includes('/ws/');
	if (!mayBeWs || !resolved.url.startsWith('file:')) return resolved;
	const file = url.fileURLToPath(resolved.url);
	const parent = parentURL.startsWith('file:') ? url.fileURLToPath(parentURL) : '';
	if (redirectFile(specifier, file, parent) === file) return resolved;
	return conditions.includes('import')
		? { url: MODULE, format: 'module', shortCircuit: true }
		: { url: url.pathToFileURL(COMMONJS).href, format: 'commonjs', shortCircuit: true };
}

/** Notes each ws among the files that the program has loaded before: it stays. */
function noteLoaded(files) {
	// framemask/ws loads one itself.
	if (files.includes(COMMONJS)) return;
	for (const file of files) if (LOADED.test(file)) noteWs(path.join(file, '../..'), LOADED_BEFORE);
}

module.exports = { noteLoaded, redirectFile, redirectUrl };
