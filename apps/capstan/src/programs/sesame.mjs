#!/usr/bin/env -S MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=65536 MALLOC_TRIM_THRESHOLD_=131072 node --disable-warning=ExperimentalWarning --max-semi-space-size=8
// The program `sesame`: the control plane, the commands of its operator, and all of Capstan's. Commands that are short (a migration,
// the hooks of a pod) load nothing of the operator: they end before it would have been loaded. It is plain JavaScript, so that a
// control plane whose modules are compiled already never loads the compiler of TypeScript, which would stay in its memory.
import { enableCompileCache } from 'node:module';

// Compiled code is kept between runs. Imports follow it.
enableCompileCache();
const { processIo } = await import('../cli/process-io.ts');
const { reported, runCommand } = await import('../cli.ts');
const { COMMANDS } = await import('@capstan/sesame/commands');

const { io, flushed } = processIo(process);
const argv = process.argv.slice(2);
const name = [2, 1].map((words) => argv.slice(0, words).join(' ')).find((words) => Object.hasOwn(COMMANDS, words));
const entry = name === undefined ? undefined : COMMANDS[name];

async function main() {
  if (name !== undefined && entry !== undefined)
    return reported(argv, io, async () => {
      const { default: command } = await entry.load();
      return runCommand('sesame', name, command, argv.slice(name.split(' ').length), io);
    });
  const { runProgram } = await import('../cli/program.ts');
  return runProgram({ name: 'sesame', load: () => import('@capstan/sesame') }, argv, io);
}

const code = await main();
await flushed();
process.exit(code);
