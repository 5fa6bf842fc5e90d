'use strict';

// The cases of tools/: each tool has a small project, which runs with plain ws and with framemask.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { ROOT, run } = require('../../support/child');

const TOOLS = path.join(__dirname, 'tools');
const CACHE = path.join(ROOT, '.cache/programs');

/**
 * @typedef {object} Run what a project has noted, see tools/exchange.cjs
 * @property {any} result the same with ws and with framemask
 * @property {number} opened connections that framemask has opened
 * @property {string} [cell] for the table
 *
 * @typedef {object} Way
 * @property {string} name
 * @property {number} opened connections that framemask must open
 * @property {() => Promise<Run>} run
 *
 * @typedef {object} Case
 * @property {string} name
 * @property {Way[]} ways the first runs plain ws, and is compared with
 * @property {(run: Run, reference: Run) => string[]} [judge] further faults
 *
 * @typedef {object} Tool
 * @property {string} name
 * @property {Record<string, string>} packages npm packages with their versions
 * @property {Case[]} cases
 */

/**
 * Copies a tool's project, where it finds the packages.
 *
 * @param {string} tool
 * @param {string} [library] which the project names instead of ws
 * @returns {string} the folder
 */
function stage(tool, library = 'ws') {
  const folder = path.join(CACHE, 'tools', `${tool}-${library.replace('/', '-')}`);
  // Nothing of an earlier version of the project is run. What is installed there stays.
  for (const name of fs.existsSync(folder) ? fs.readdirSync(folder) : []) {
    if (!/^(node_modules|package\.json)$/.test(name)) fs.rmSync(path.join(folder, name), { recursive: true });
  }
  fs.mkdirSync(folder, { recursive: true });
  const names = fs.readdirSync(path.join(TOOLS, tool)).filter((name) => name !== 'index.js');
  const shared = ['client.cjs', 'exchange.cjs'].map((name) => path.join(TOOLS, name));
  const sources = [...shared, ...names.map((name) => path.join(TOOLS, tool, name))];
  for (const source of sources) {
    const text = fs.readFileSync(source, 'utf8').replace(/(require\(|Actual\(|mock\(|from )'ws'/g, `$1'${library}'`);
    fs.writeFileSync(path.join(folder, path.basename(source)), text);
  }
  return folder;
}

/**
 * Runs a program of Node.js, which must succeed, in the folder of a project.
 *
 * @param {string[]} args
 * @param {{ node?: string, env?: object }} [options]
 * @returns {Promise<Run & { stderr: string }>} what it has noted; `result` has the notes in order
 */
async function runNode(folder, args, { node = process.execPath, env = {} } = {}) {
  const file = path.join(folder, 'notes.jsonl');
  fs.rmSync(file, { force: true });
  const options = { cwd: folder, env: { ...env, FRAMEMASK_TEST_NOTES: file }, timeout: 120_000 };
  const { status, why, stdout, stderr } = await run([node, ...args], options);
  if (status !== 0) throw new Error(`${why}\n${`${stdout}${stderr}`.trim().split('\n').slice(-40).join('\n')}`);
  if (!fs.existsSync(file)) throw new Error(`it has noted nothing\n${stdout}${stderr}`);
  const lines = fs.readFileSync(file, 'utf8').trim().split('\n');
  const notes = lines.map((line) => JSON.parse(line));
  const opened = notes.reduce((sum, note) => sum + note.opened, 0);
  return { result: notes.map((note) => note.result), opened, stderr };
}

/** Runs a case in all ways, and adds the results. @param {string} tool @param {Case} one */
async function addCase(tool, { name, ways, judge = () => [] }, results) {
  /** @type {Run} */
  let reference;
  for (const way of ways) {
    await results.add(`${tool}, ${name}, ${way.name}`, async () => {
      const run = await way.run();
      if (way === ways[0]) reference = run;
      if (reference === undefined) throw new Error('nothing to compare with');
      const faults = judge(run, reference);
      if (run.opened !== way.opened) {
        faults.push(`framemask has opened ${run.opened} connections, not ${way.opened}`);
      }
      try {
        assert.deepStrictEqual(run.result, reference.result);
      } catch (error) {
        faults.push(error.message);
      }
      return { cells: [run.cell ?? ''], faults };
    });
  }
}

/** @returns {Tool[]} those of the folder tools/ */
function findTools() {
  const entries = fs.readdirSync(TOOLS, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => require(path.join(TOOLS, name)));
}

module.exports = { CACHE, addCase, findTools, runNode, stage };
