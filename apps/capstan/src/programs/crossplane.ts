#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
// The program `crossplane`: the package manager, its own commands, and all of Capstan's.
import { processIo } from '../cli/process-io.ts';
import { runCrossplane } from '../crossplane/run-crossplane.ts';

const { io, flushed } = processIo(process);
const code = await runCrossplane(process.argv.slice(2), io, process.stdin);
await flushed();
process.exit(code);
