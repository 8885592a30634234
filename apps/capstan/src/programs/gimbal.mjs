#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
// The program `gimbal`: discoverers, the commands of its operator, and all of Capstan's. A discoverer loads nothing else:
// there is one for every backend, all the time. That is also why this file is plain JavaScript (see the discoverer's main.mjs).
const [, , command] = process.argv;
if (command === 'discover') {
  process.argv.splice(2, 1);
  await import('@capstan/gimbal/discover/main');
} else {
  const { runGimbal } = await import('../gimbal/run-gimbal.ts');
  const { processIo } = await import('../cli/process-io.ts');
  const { io, flushed } = processIo(process);
  const code = await runGimbal(process.argv.slice(2), io);
  await flushed();
  process.exit(code);
}
