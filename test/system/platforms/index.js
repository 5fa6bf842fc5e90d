'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { ROOT, run } = require('../../support/child');
const { CACHE, NotHere, installDebian, missing } = require('../../../scripts/support/fetch');
const { PLATFORMS, PLACE, SMOKE } = require('./platforms');

const PREBUILDS = path.join(ROOT, 'prebuilds');

/**
 * Lays out an installed framemask without a build of its own, and the test beside it: as smoke.cjs,
 * which every runtime takes for CommonJS.
 *
 * @returns {string} the folder
 */
function stage() {
  const folder = path.join(CACHE, 'app');
  const root = path.join(folder, PLACE);
  fs.rmSync(folder, { recursive: true, force: true });
  for (const name of ['package.json', 'lib'])
    fs.cpSync(path.join(ROOT, name), path.join(root, name), { recursive: true });
  fs.cpSync(PREBUILDS, path.join(root, 'prebuilds'), { recursive: true });
  const loader = path.dirname(require.resolve('node-gyp-build/package.json'));
  fs.cpSync(loader, path.join(root, 'node_modules/node-gyp-build'), { recursive: true });
  fs.copyFileSync(path.join(ROOT, 'test/platform/smoke.js'), path.join(folder, 'smoke.cjs'));
  return folder;
}

/** @returns {string[]} what ran @throws {Error} if the test failed */
function judge(platform, { status, stdout, stderr, why }) {
  if (status !== 0) {
    const lines = `${stdout}${stderr}`.trim().split('\n').filter(Boolean);
    const telling = lines.filter((line) => /Error|illegal|Illegal|panic/.test(line));
    throw new Error(`${why}: ${(telling.length > 0 ? telling : lines.slice(-3)).join(' ').slice(0, 400)}`);
  }
  const report = JSON.parse(stdout.slice(stdout.indexOf('{')));
  const [os, arch] = platform.prebuild.split('-');
  if (platform.kernel ? report.kernel !== platform.kernel : !/^(sse2|avx2|avx512|neon)$/.test(report.kernel)) {
    throw new Error(`the kernel is ${report.kernel}, not ${platform.kernel ?? 'one with vectors'}`);
  }
  if (report.arch !== arch || report.platform !== os) throw new Error(`ran on ${report.platform}-${report.arch}`);
  if (!(report.checks > 0)) throw new Error('nothing was checked');
  return [platform.prebuild, report.version, `${report.kernel} of ${report.kernels.join(' ')}`, platform.by];
}

/** @returns {Promise<{ cells: string[] }>} */
async function test(platform, app) {
  const absent = missing(platform.packages ?? []);
  if (absent.length > 0) throw new NotHere(`not installed: ${absent.join(' ')} (--install)`);
  const { command, args = ['--root', path.join(app, PLACE)], env } = await platform.prepare(app);
  // With another root folder, the command already names the test.
  const program = command.at(-1).endsWith('smoke.cjs') ? [] : [SMOKE(app)];
  const quick = platform.slow ? ['--quick'] : [];
  // Under Wine, writing to a pipe fails with EBADF.
  const options = { cwd: app, env, timeout: 300_000, toFiles: CACHE };
  return { cells: judge(platform, await run([...command, ...program, ...args, ...quick], options)) };
}

module.exports = {
  summary: 'prebuilds/ on every platform that can be run or emulated',
  details: `Loads the files of prebuilds/ (npm run build:prebuilds makes them), masks and scans with each kernel, and compares with
JavaScript: in Node.js, Bun and Deno, with other C libraries, on emulated processors and under Wine.`,
  linuxOnly: true,
  only: ['platform', PLATFORMS],
  options: {
    quick: { text: 'a shorter list' },
    install: { text: 'install missing Debian packages with apt-get' }
  },
  columns: ['file', 'version', 'kernel', 'run by'],

  async run({ quick, install }, { chosen, results, progress }) {
    const platforms = chosen.filter(({ ci }) => ci || !quick);
    if (!fs.existsSync(PREBUILDS)) throw new RangeError(`there is no ${PREBUILDS}: npm run build:prebuilds makes it`);
    if (install) installDebian([...new Set(platforms.flatMap(({ packages = [] }) => packages))], progress);
    const app = stage();
    for (const platform of platforms) await results.add(platform.name, () => test(platform, app));
  }
};
