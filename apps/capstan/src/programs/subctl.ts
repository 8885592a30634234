#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
// The program `subctl`: brokers, members and cable policies from the command line.
import { writeFile } from 'node:fs/promises';
import { systemClock } from '@capstan/kube';
import { runSubctl } from '@capstan/submariner/commands';
import { processIo } from '../cli/process-io.ts';

const { io, flushed } = processIo(process);
const code = await runSubctl(process.argv.slice(2), {
  ...io,
  clock: io.clock ?? systemClock,
  files: { ...io.files, write: (path, text) => writeFile(path, text, { mode: 0o600 }) },
});
await flushed();
process.exit(code);
