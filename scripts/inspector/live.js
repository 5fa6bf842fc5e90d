'use strict';

// Programs that run while the page is open.

const assert = require('node:assert/strict');
const { encode } = require('./frames');
const { FRAMES, runLive } = require('./programs');
const { withScreen } = require('./session');

/** The page has each frame once, with the records of both ends, and nothing of the inspector's own. */
async function checkFrames(screen) {
  await screen.waitForFrames(`${FRAMES} frames`);
  const ends = '[...document.querySelectorAll("#list .row:not([hidden]) .ends")].map((cell) => cell.textContent)';
  await screen.page.waitForFunction(`${ends}.length === ${FRAMES} && ${ends}.every((text) => text === "both")`);
}

async function live(screen, inspector) {
  const env = { FRAMEMASK_INSPECTOR: inspector.liveUrl };
  await runLive(env);
  await checkFrames(screen);
  const rows = await screen.rows();
  assert.ok(
    rows.every(({ preview }) => preview === ''),
    'no payload, unless it is asked for'
  );
  assert.ok(inspector.session.frames.every(({ beginning }) => beginning === null));
  assert.deepEqual(
    rows.filter(({ bracket }) => bracket !== '').map(({ opcode }) => opcode),
    ['text', 'ping', 'continuation']
  );
  await screen.screenshot('live');
  await screen.clear();
  await runLive({ ...env, FRAMEMASK_INSPECTOR_PAYLOAD: '8' }, true);
  await checkFrames(screen);
  const previews = (await screen.rows()).map(({ preview }) => preview);
  assert.ok(
    previews.includes('Hello') && previews.includes('two frag') && previews.includes('between'),
    previews.join()
  );
  assert.ok(inspector.session.frames.every(({ beginning }) => beginning.length <= 8));
  // What is opened stays, until it is cleared.
  await screen.paste(encode('client', (encoder) => encoder.text('opened')).toString('hex'));
  await screen.waitForFrames('1 frames');
  await runLive(env);
  await screen.page.waitForSelector('#notes:not([hidden])');
  assert.match(await screen.text('#notes'), /Clear the list/);
  await screen.waitForFrames('1 frames');
  return `${FRAMES} frames of one process, and of two`;
}

module.exports = [{ name: 'live', run: (browser) => withScreen(browser, live) }];
