import { closeSync, fdatasyncSync, openSync, unlinkSync, writeSync } from 'node:fs';

/**
 * Records a second that the disk itself takes: appended and synced in groups, nothing else done. No server that
 * acknowledges what is on disk can be faster, group for group.
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
