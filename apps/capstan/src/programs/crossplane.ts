#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
// The program `crossplane`: the package manager, its own commands, and all of Capstan's.
import { processIo } from '../cli/process-io.ts';
import { runProgram } from '../cli/program.ts';

const { io, flushed } = processIo(process);
const program = { name: 'crossplane', load: () => import('@capstan/crossplane') };
const code = await runProgram(program, process.argv.slice(2), io);
await flushed();
process.exit(code);
