#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
// The program `subctl`: brokers, members and cable policies from the command line.
import { writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { systemClock } from '@capstan/kube';
import { runSubctl } from '@capstan/submariner/commands';
import { processIo } from '../cli/process-io.ts';

const { io, flushed } = processIo(process);
const code = await runSubctl(process.argv.slice(2), {
  ...io,
  clock: io.clock ?? systemClock,
  files: { ...io.files, write: (path, text) => writeFile(path, text, { mode: 0o600 }) },
  ...(process.stdin.isTTY && {
    async confirm(question: string) {
      const terminal = createInterface({ input: process.stdin, output: process.stderr });
      const answer = await terminal.question(`${question} [y/N] `, { signal: io.signal });
      terminal.close();
      return /^y(es)?$/i.test(answer.trim());
    },
  }),
});
await flushed();
process.exit(code);
