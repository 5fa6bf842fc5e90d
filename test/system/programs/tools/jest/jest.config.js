'use strict';

module.exports = {
  rootDir: __dirname,
  testEnvironment: 'node',
  testSequencer: './sequencer.js',
  moduleNameMapper: process.env.MAP === '1' ? { '^ws$': 'framemask/ws' } : {}
};
