'use strict';

// Links the addon for Windows in the place of the linker that node-gyp calls:
//
//   node link-windows.js MACHINE -o FILE ... OBJECT.o ...
//
// node-gyp's other arguments are for ELF. `zig c++` can't be used: it passes none of these options
// on.

const fs = require('node:fs');
const { zig } = require('./toolchain');

const [machine, ...args] = process.argv.slice(2);

async function main() {
  const stdcall = machine === 'ia32';
  const functions = stdcall ? ['GetModuleHandleA@4', 'GetProcAddress@8'] : ['GetModuleHandleA', 'GetProcAddress'];
  fs.writeFileSync('kernel32.def', ['LIBRARY KERNEL32.dll', 'EXPORTS', ...functions, ''].join('\n'));
  const dlltoolMachine = { x64: 'i386:x86-64', ia32: 'i386', arm64: 'arm64' }[machine];
  await zig(['dlltool', '-k', '-m', dlltoolMachine, '-d', 'kernel32.def', '-l', 'kernel32.lib']);
  await zig([
    'lld-link',
    '-lldmingw',
    `-machine:${machine.replace('ia32', 'x86')}`,
    '-dll',
    `-entry:DllMainCRTStartup${stdcall ? '@12' : ''}`,
    '-nologo',
    '-nodefaultlib',
    '-noimplib',
    '-opt:ref',
    // Each section is padded to 512 bytes.
    '-merge:.pdata=.rdata',
    '-merge:.buildid=.rdata',
    // A hash of the file in the place of the time.
    '-brepro',
    '-build-id:no',
    '-map:framemask.map',
    `-out:${args[args.indexOf('-o') + 1]}`,
    ...args.filter((arg) => arg.endsWith('.o')),
    'kernel32.lib'
  ]);
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
