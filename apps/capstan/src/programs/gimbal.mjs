#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
// The program `gimbal`: discoverers, the commands of its operator, and all of Capstan's. A discoverer loads nothing else:
// there is one for every backend, all the time. That is also why this file is plain JavaScript (see the discoverer's main.mjs).
const [, , command] = process.argv;
if (command === 'discover') {
  process.argv.splice(2, 1);
  await import('@capstan/gimbal/discover/main');
} else {
  const { runProgram } = await import('../cli/program.ts');
  const { processIo } = await import('../cli/process-io.ts');
  const { io, flushed } = processIo(process);
  const besides = { discover: { arguments: 'TYPE', summary: 'Run a discoverer: kubernetes or openstack' } };
  const program = { name: 'gimbal', load: () => import('@capstan/gimbal'), besides };
  const code = await runProgram(program, process.argv.slice(2), io);
  await flushed();
  process.exit(code);
}
