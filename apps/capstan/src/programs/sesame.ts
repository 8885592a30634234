#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
// The program `sesame`: the control plane, its own commands, and all of Capstan's.
import { enableCompileCache } from 'node:module';

// Compiled code is kept between runs: a command such as `migrate config` starts in half the time. Imports follow it.
enableCompileCache();
const { processIo } = await import('../cli/process-io.ts');
const { runSesame } = await import('../sesame/run-sesame.ts');

const { io, flushed } = processIo(process);
const code = await runSesame(process.argv.slice(2), io, process.stdin);
await flushed();
process.exit(code);
