#!/usr/bin/env -S MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=65536 MALLOC_TRIM_THRESHOLD_=131072 node --disable-warning=ExperimentalWarning
import { enableCompileCache } from 'node:module';
// The program: the machine's side of the command line.
import { processIo } from './cli/process-io.ts';
import { runCommandLine } from './cli.ts';
import { showLoading } from './up/loading-lines.ts';
import { fixNewSpace } from './up/new-space.ts';

// Commands load TypeScript modules: with the cache, the start takes a third of the time.
enableCompileCache();
const argv = process.argv.slice(2);
const { io, flushed } = processIo(process);
const shown = showLoading(argv, io);
if (argv[0] === 'up') fixNewSpace();
const code = await runCommandLine(argv, shown);
// Not process.exitCode: a connection that is kept alive, or an operator's timer, must not hold the prompt back.
await flushed();
process.exit(code);
