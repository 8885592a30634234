#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
// A discoverer as a program of its own: `main.ts kubernetes --backend-name …`. It loads less than the whole command line does,
// because a discoverer runs for every backend, all the time.
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { connect, reasonOf } from '@capstan/kube';
import { runDiscover } from './command/discover.ts';

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (stopping.signal.aborted) process.exit(130);
    stopping.abort(new Error(`stopped by ${signal}`));
  });
}

try {
  const code = await runDiscover(process.argv.slice(2), {
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
    env: process.env,
    files: { read: (path) => readFile(path, 'utf8') },
    signal: stopping.signal,
    connect,
    identity: `${hostname()}_${process.pid}_${crypto.randomUUID().slice(0, 8)}`,
  });
  process.exit(code);
} catch (error) {
  process.stderr.write(`error: ${reasonOf(error)}\n`);
  process.exit(2);
}
