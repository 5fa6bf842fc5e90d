// Imported by .taprc into the process of each test file, after tap's own hooks. tap has each child
// process of a test load these hooks, too, and collect coverage, which triples the time that it
// takes to start. The child processes of these files alone run code that no test runs itself.

const COVERED = /[/\\]test[/\\](sockets[/\\]processes|ws[/\\](flushing|shared-reads|surface))\.js$/;

if (!COVERED.test(process.argv[1])) {
  globalThis[Symbol.for('process-on-spawn@*:singletonId')].listeners.length = 0;
  process.env.NODE_OPTIONS = process.env.NODE_OPTIONS?.replace(/"?--import=\S+processinfo\S+/, '') ?? '';
}

// Node.js would give them to processes that are forked.
process.execArgv = [];
// It has had its effect. tap would go on to set options of Node.js for child processes.
delete process.env.TAP_TYPE_STRIP_ONLY;
