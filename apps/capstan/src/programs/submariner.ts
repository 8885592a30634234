#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
// The program `submariner`: gateways, the commands of its operator, and all of Capstan's.
import { programArguments } from '@capstan/submariner';
import { runCommandLine } from '../cli/cli.ts';
import { processIo } from '../cli/process-io.ts';

const { io, flushed } = processIo(process);
const code = await runCommandLine(programArguments(process.argv.slice(2)), io);
await flushed();
process.exit(code);
