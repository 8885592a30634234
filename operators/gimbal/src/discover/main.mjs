#!/usr/bin/env node
// A discoverer as a program of its own: `main.mjs kubernetes --backend-name …`. It loads less than the whole command line does,
// because a discoverer runs for every backend, all the time. It is plain JavaScript: what comes before the cache below is
// switched on is compiled at every start, and Node's compiler of TypeScript alone takes 17 MB.
import { enableCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';

// A discoverer waits most of the time and then does little: a young generation that stays as small as it is at the start (the
// flag for its largest size counts only on the command line) costs it nothing that can be measured.
setFlagsFromString('--semi-space-growth-factor=1');
setFlagsFromString('--optimize-for-size');
// WebAssembly (undici's parser of HTTP, and Node's of TypeScript) runs as its first compiler leaves it. The second one takes 25 MB
// for a single function of the parser, to make faster what takes no time here. Both flags: without the first it would begin at once.
setFlagsFromString('--no-wasm-tier-up');
setFlagsFromString('--no-wasm-dynamic-tiering');
enableCompileCache();
const { runProgram } = await import('./command/program.ts');
process.exit(await runProgram(process));
