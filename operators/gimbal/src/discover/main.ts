#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
// A discoverer as a program of its own: `main.ts kubernetes --backend-name …`. It loads less than the whole command line does,
// because a discoverer runs for every backend, all the time.
import { enableCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';

// A discoverer waits most of the time and then does little: a small young generation costs it nothing that can be measured.
setFlagsFromString('--max-semi-space-size=1');
setFlagsFromString('--optimize-for-size');
// What is loaded is TypeScript: with the cache, its compiler (a third of the memory) is not loaded from the second start on.
enableCompileCache();
const { runProgram } = await import('./command/program.ts');
process.exit(await runProgram(process));
