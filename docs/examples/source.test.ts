import assert from 'node:assert/strict';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { findCondition, type KindOf } from '@capstan/kube';
import { createStage, objectOf, type Stage } from '@capstan/testing';
import { eventually } from './eventually.test-support.ts';
import { createFileOperator, FileCheck } from './source.ts';

type FileCheck = KindOf<typeof FileCheck>;
const ref = { namespace: 'default', name: 'data' };

async function staged(check: (stage: Stage, directory: string) => Promise<void>): Promise<void> {
  const parent = await mkdtemp(join(tmpdir(), 'capstan-example-'));
  const directory = await mkdtemp(join(parent, 'files-'));
  const stage = await createStage({
    operators: [createFileOperator(directory)],
    given: async (client) =>
      void (await client.create(FileCheck, objectOf<FileCheck>(FileCheck, { metadata: ref, spec: { file: 'a.txt' } }))),
  });
  try {
    await check(stage, directory);
  } finally {
    await stage.end();
    await rm(parent, { recursive: true, force: true });
  }
}

const statusOf = async ({ client }: Stage) => (await client.get(FileCheck, ref)).status;
const untilReason = (stage: Stage, reason: string) =>
  eventually(
    stage,
    async () => findCondition((await statusOf(stage))?.conditions, 'Present')?.reason === reason,
    reason,
  );

describe('the example of a source', () => {
  test('shows a file that comes, grows and goes', () =>
    staged(async (stage, directory) => {
      await untilReason(stage, 'Missing');
      await writeFile(join(directory, 'a.txt'), '12345');
      await stage.clock.advance(5_000);
      await untilReason(stage, 'Present');
      assert.equal((await statusOf(stage))?.bytes, 5);
      await writeFile(join(directory, 'a.txt'), '1234567');
      await stage.clock.advance(5_000);
      await eventually(stage, async () => (await statusOf(stage))?.bytes === 7, 'the new size');
      await rm(join(directory, 'a.txt'));
      await stage.clock.advance(5_000);
      await untilReason(stage, 'Missing');
      assert.equal((await statusOf(stage))?.bytes, undefined);
    }));

  test('keeps the last rows as stale while the directory is away, and goes on when it is back', () =>
    staged(async (stage, directory) => {
      await untilReason(stage, 'Missing');
      await writeFile(join(directory, 'a.txt'), '12345');
      await stage.clock.advance(5_000);
      await untilReason(stage, 'Present');
      await rename(directory, `${directory}-away`);
      await stage.clock.advance(5_000);
      await untilReason(stage, 'Stale');
      assert.equal((await statusOf(stage))?.bytes, 5);
      await rename(`${directory}-away`, directory);
      await stage.clock.advance(60_000);
      await untilReason(stage, 'Present');
    }));
});
