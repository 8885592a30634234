#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
// The program `crossplane`: the package manager, its own commands, and all of Capstan's.
import { convertCommand, requestOf, systemFiles, xpkgCommand } from '@capstan/crossplane';
import { runCommandLine } from '../cli/cli.ts';
import { processIo } from '../cli/process-io.ts';
import { runCrossplaneInit } from '../crossplane/init.ts';
import { runCrossplaneStart } from '../crossplane/start.ts';

const { io, flushed } = processIo(process);
const request = requestOf(process.argv.slice(2));
const code = await run();
await flushed();
process.exit(code);

async function run(): Promise<number> {
  switch (request.what) {
    case 'start':
      return runCrossplaneStart(request.argv, io);
    case 'init':
      return runCrossplaneInit(request.argv, io);
    case 'xpkg':
      return xpkgCommand(request.argv, io);
    case 'convert':
      return convertCommand(request.argv, { ...io, files: systemFiles(process.stdin) });
    default:
      return runCommandLine(request.argv, io);
  }
}
