// Runs one target in a thread of its own: an input that never returns, or takes all memory, ends the thread.
import { parentPort, workerData } from 'node:worker_threads';
import { runTarget } from '@capstan/testing';
import { readCorpus, targetsIn } from './targets.ts';

export interface WorkerTask {
  readonly file: string;
  readonly name: string;
  readonly seed: number;
  readonly ms: number;
  readonly isGuided: boolean;
  /** This input alone; default: inputs of the target. */
  readonly only?: Uint8Array;
  /** See `inputIn`. */
  readonly current: SharedArrayBuffer;
}

export interface WorkerReply {
  readonly inputs: number;
  readonly refused: number;
  readonly discovered: readonly Uint8Array[];
  readonly slowest: { readonly ms: number; readonly bytes: number };
  readonly finding?: { readonly input: Uint8Array; readonly problem: string };
}

/** The input that is being read: a counter, its length, its bytes. */
export const CURRENT_BYTES = 8 * 1024 * 1024;
const HEADER = 8;

export const counterIn = (current: SharedArrayBuffer) => Atomics.load(new Int32Array(current, 0, 2), 0);

export function inputIn(current: SharedArrayBuffer): Buffer {
  const length = Atomics.load(new Int32Array(current, 0, 2), 1);
  return Buffer.from(Buffer.from(current, HEADER, length));
}

if (parentPort) {
  const { file, name, seed, ms, isGuided, only, current } = workerData as WorkerTask;
  const found = (await targetsIn(file)).find(({ target }) => target.name === name);
  if (!found) throw new Error(`${file} has no target ${name}`);
  const numbers = new Int32Array(current, 0, 2);
  const bytes = new Uint8Array(current, HEADER);
  const onInput = (input: Buffer) => {
    bytes.set(input.subarray(0, bytes.length));
    Atomics.store(numbers, 1, Math.min(input.length, bytes.length));
    Atomics.add(numbers, 0, 1);
  };
  const target = only === undefined ? found.target : { ...found.target, seeds: [only] };
  const options = only === undefined ? { seed, ms, corpus: readCorpus(name), isGuided } : { seed, inputs: 1 };
  const report = await runTarget(target, { ...options, onInput });
  await target.close?.();
  parentPort.postMessage(report satisfies WorkerReply, []);
}
