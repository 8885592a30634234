import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { connect, reasonOf } from '@capstan/kube/cluster';
import { runDiscover } from './discover.ts';

/** Runs a discoverer in a process of its own. The first signal asks to stop, the second does not ask. */
export async function runProgram(process: NodeJS.Process): Promise<number> {
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stopping.signal.aborted) process.exit(130);
      stopping.abort(new Error(`stopped by ${signal}`));
    });
  }
  try {
    return await runDiscover(process.argv.slice(2), {
      stdout: (text) => void process.stdout.write(text),
      stderr: (text) => void process.stderr.write(text),
      env: process.env,
      files: { read: (path) => readFile(path, 'utf8') },
      signal: stopping.signal,
      connect,
      identity: `${hostname()}_${process.pid}_${crypto.randomUUID().slice(0, 8)}`,
    });
  } catch (error) {
    process.stderr.write(`error: ${reasonOf(error)}\n`);
    return 2;
  }
}
