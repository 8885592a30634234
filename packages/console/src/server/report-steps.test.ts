import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import { createReportSteps } from './report-steps.ts';
import type { ConsoleReport } from './source.ts';

interface Body {
  readonly hash: string;
  readonly other?: number;
}

function stepsOf(start: Body) {
  const clock = createVirtualClock();
  let body = start;
  const report = {
    name: 'kafka',
    stepKeys: () => ['default/p'],
    stepOf: ({ hash }: Body) => hash,
    body: async (key: string) => ({ state: 'value', value: key === '' ? {} : body }),
  } as unknown as ConsoleReport;
  const steps = createReportSteps(clock, () => [report]);
  return {
    steps,
    async become(next: Body) {
      body = next;
      steps.changed();
      await clock.advance(1000);
    },
    shown: (at?: string) => steps.answer({ report, key: 'default/p' }, body, at) as Record<string, unknown>,
  };
}

describe('time steps of a report', () => {
  it('are the changes of the part that the report names, also from before the first request', async () => {
    const { become, shown } = stepsOf({ hash: 'a' });
    await become({ hash: 'a' });
    await become({ hash: 'b' });
    await become({ hash: 'b', other: 1 });
    const { steps, step, before, hash, other } = shown();
    assert.equal((steps as readonly string[]).length, 2);
    assert.deepEqual([step, hash, other], [(steps as readonly string[])[1], 'b', 1]);
    assert.deepEqual(before, { hash: 'a' });
  });

  it('show an earlier body without the present one', async () => {
    const { become, shown } = stepsOf({ hash: 'a' });
    await become({ hash: 'a' });
    await become({ hash: 'b' });
    const [first = ''] = shown()['steps'] as readonly string[];
    const { hash, before, step } = shown(first);
    assert.deepEqual([hash, before, step], ['a', undefined, first]);
  });

  it('are the last twenty', async () => {
    const { become, shown } = stepsOf({ hash: '0' });
    for (let index = 1; index <= 30; index++) await become({ hash: String(index) });
    assert.equal((shown()['steps'] as readonly string[]).length, 20);
  });
});
