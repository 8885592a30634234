import { closeSync, fdatasyncSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { stopwatch } from '../measure/stopwatch.ts';

/**
 * Records a second that the disk itself takes: appended and synced in groups, nothing else done. A server that acknowledges only durable
 * writes cannot be faster with groups of the same size.
 */
export function diskFloor(path: string, records: readonly Buffer[], group: number): number {
  const file = openSync(path, 'w');
  try {
    const begun = performance.now();
    for (let at = 0; at < records.length; at += group) {
      writeSync(file, Buffer.concat(records.slice(at, at + group)));
      fdatasyncSync(file);
    }
    return (records.length / (performance.now() - begun)) * 1000;
  } finally {
    closeSync(file);
    unlinkSync(path);
  }
}

/** Milliseconds that each of some records took to be appended and synced, at a steady pace. */
export async function syncLatencies(path: string, record: Buffer, count: number, perSecond: number): Promise<number[]> {
  const file = openSync(path, 'w');
  try {
    const latencies: number[] = [];
    for (let index = 0; index < count; index++) {
      await sleep(1000 / perSecond);
      const elapsed = stopwatch();
      writeSync(file, record);
      fdatasyncSync(file);
      latencies.push(elapsed());
    }
    return latencies;
  } finally {
    closeSync(file);
    unlinkSync(path);
  }
}
