// Which objects of demonstrations have been applied once. One of them that is not there any more was deleted by the user, and is
// not created again.
import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface DemoRecord {
  has(id: string): boolean;
  add(id: string): Promise<void>;
}

/** Kept in the data folder, one line for each object: an entry survives a crash. */
export async function openDemoRecord(data: string): Promise<DemoRecord> {
  const file = join(data, 'demo', 'applied');
  const text = await readFile(file, 'utf8').catch(() => '');
  const applied = new Set(text.split('\n').filter((line) => line !== ''));
  return {
    has: (id) => applied.has(id),
    async add(id) {
      if (applied.has(id)) return;
      applied.add(id);
      await mkdir(dirname(file), { recursive: true });
      await appendFile(file, `${id}\n`);
    },
  };
}
