#!/usr/bin/env node
// A discoverer as a program of its own: `main.mjs kubernetes --backend-name …`. It loads less than the whole command line does. It is plain
// JavaScript: Node's compiler of TypeScript, once loaded, takes 17 MB for as long as the process lives. The compiled modules are therefore
// kept in Node's cache. Where the cache is empty (the first start on a machine or in a pod), another process fills it and ends.
import './engine.mjs';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { fileURLToPath } from 'node:url';

enableCompileCache();
const cache = getCompileCacheDir();
if (cache !== undefined && readdirSync(cache).length === 0) {
  // When it does not succeed, the import below does the same work here.
  const filler = fileURLToPath(new URL('./fill-cache.mjs', import.meta.url));
  spawnSync(process.execPath, [...process.execArgv, filler], { stdio: 'ignore' });
}
const { runProgram } = await import('./command/program.ts');
process.exit(await runProgram(process));
