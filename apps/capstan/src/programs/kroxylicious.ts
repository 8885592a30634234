#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
// The program `kroxylicious`: the commands of its operator, and all of Capstan's.
import { processIo } from '../cli/process-io.ts';
import { runProgram } from '../cli/program.ts';

const { io, flushed } = processIo(process);
const program = { name: 'kroxylicious', load: () => import('@capstan/kroxylicious') };
const code = await runProgram(program, process.argv.slice(2), io);
await flushed();
process.exit(code);
