'use strict';

// A program that index.js forks: repeats an attack until its parent disconnects.
//
//     node run.js <name of the attack> <port>

const { Attacker } = require('../../support/attacks/attacker');
const { attackNamed } = require('../../support/attacks/attacks');

/** The most that a connection sends: a server that keeps all of it must not fill the machine. */
const BYTES = 32 * 1024 * 1024;

const [name, port] = process.argv.slice(2);
const attack = attackNamed(name);
const attacker = new Attacker({ port: Number(port), connections: attack.connections, bytes: BYTES, repeat: true });
process.on('disconnect', () => process.exit());
attacker.run(attack);
