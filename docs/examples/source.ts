// A source of your own: the files of a directory are rows that reconcilers read. A FileCheck shows the size of one of them.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { conditions, defineKind, integer, object, sleep, string } from '@capstan/kube';
import { conditionType, drop, type Operator, operator, plan, reconciler, source } from '@capstan/reconcile';

export const FileCheck = defineKind({
  group: 'example.capstan.dev',
  version: 'v1',
  kind: 'FileCheck',
  scope: 'Namespaced',
  spec: object({ file: string({ minLength: 1 }) }),
  status: object({ bytes: integer({ optional: true }), conditions: conditions() }),
});

interface File {
  readonly bytes: number;
}

const EVERY_MS = 5_000;
const present = conditionType<'Present' | 'Missing' | 'Stale'>('Present');
const bytesOf = ({ bytes }: File) => bytes;

export function createFileOperator(directory: string): Operator {
  const files = source<File>({
    name: 'files',
    async open({ table, signal, clock }) {
      let known = new Set<string>();
      for (;;) {
        const found = new Map<string, File>();
        // A directory that cannot be read throws: the rows stay, marked stale, and the source is opened again with back-off.
        for (const name of await readdir(directory)) {
          const details = await stat(join(directory, name)).catch(() => undefined);
          if (details?.isFile()) found.set(name, { bytes: details.size });
        }
        table.batch(() => {
          for (const [name, file] of found) table.put(name, file);
          for (const name of known) if (!found.has(name)) table.delete(name);
        });
        known = new Set(found.keys());
        // From now on a file that has no row is absent; before, reading it waits.
        table.complete();
        await sleep(clock, EVERY_MS, signal);
      }
    },
  });

  const fileCheck = reconciler({
    name: 'file-check',
    resource: FileCheck,
    reconcile({ object: { spec }, read }) {
      const bytes = read.source(files).get(spec.file, bytesOf);
      const { isStale, error } = read.source(files).state();
      if (isStale) {
        const message = `the directory cannot be read: ${error?.message}; what is shown may be out of date`;
        return plan({ conditions: [present.isUnknown('Stale', message)] });
      }
      return bytes === undefined
        ? plan({ status: { bytes: drop() }, conditions: [present.isFalse('Missing', `there is no file ${spec.file}`)] })
        : plan({ status: { bytes }, conditions: [present.isTrue('Present', `${spec.file} has ${bytes} bytes`)] });
    },
  });
  return operator({ name: 'file-checks', kinds: [FileCheck], reconcilers: [fileCheck] });
}

export default createFileOperator('.');
