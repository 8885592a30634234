import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError, ConfigMap, TransportError } from '@capstan/kube';
import { type ChildWrite } from '../../diff/index.ts';
import { granted } from '../../ownership/ownership.test-support.ts';
import { applying, body, group, ref, refused, stage, status } from './carry-out.test-support.ts';

describe('a write that fails', () => {
  const one = (sent: readonly string[]) =>
    sent.includes('done') ? {} : { groups: [group([applying('a'), applying('b')])] };
  const trying = async (error: Error) => {
    const all = stage(one);
    all.answer = (line) => (line === 'apply a' ? error : undefined);
    return { all, outcome: await all.run() };
  };

  test('a write that the server refuses is reported with its message, and tried again later', async () => {
    const { all, outcome } = await trying(refused(403));
    assert.equal(outcome.type, 'retry');
    assert.deepEqual(
      all.reports.map((report) => report?.reason),
      ['WriteRefused'],
    );
    assert.match(all.reports[0]?.message ?? '', /^ConfigMap default\/a: /);
  });

  test('does not keep the writes beside it from going out', async () => {
    const { all } = await trying(refused(403));
    assert.deepEqual(all.sent, ['apply a', 'apply b']);
  });

  test('a write that passes by itself is tried again, and not reported', async () => {
    for (const error of [refused(500), refused(503), refused(429), new TransportError('timeout', 'test')]) {
      const { all, outcome } = await trying(error);
      assert.deepEqual([outcome, all.reports], [{ type: 'retry', error }, []]);
    }
  });

  test('a write that fails with our finalizer is reported too, and shown at once', async () => {
    const all = stage((sent, { reports }) => ({
      finalizer: 'add',
      ...(reports.length > 0 && sent.length < 2 ? { status: status({ failure: true }) } : {}),
    }));
    all.answer = (line) => (line.startsWith('status') ? undefined : refused(403));
    assert.equal((await all.run()).type, 'retry');
    assert.equal(all.reports[0]?.reason, 'WriteRefused');
    assert.deepEqual(all.sent, ['finalizers capstan.dev/web', 'status {"failure":true}']);
  });

  test('is over when its writes have gone out', async () => {
    const all = stage((sent) => (sent.includes('apply b') ? {} : { groups: [group([applying('b')])] }));
    await all.run();
    assert.deepEqual(all.reports, [undefined]);
  });

  test('a write that was overcome does not count when the next one comes', async () => {
    let error: Error | undefined = refused(403);
    const all = stage((sent) => (sent.at(-1) === 'good' ? {} : { groups: [group([applying('a')])] }));
    all.answer = () => {
      if (error === undefined) all.sent.push('good');
      return error;
    };
    const failures = () => all.job.state.failed?.count;
    for (const expected of [1, 2]) {
      await all.run();
      assert.equal(failures(), expected);
      await all.clock.advance(60_000);
    }
    error = undefined;
    await all.run();
    assert.equal(failures(), undefined);
    all.sent.push('wanted again');
    error = refused(403);
    await all.run();
    assert.equal(failures(), 1);
  });

  test('stays reported while it waits to be tried again', async () => {
    const all = stage(() => ({ groups: [group([applying('a')], { quietMs: 1000 })] }));
    await all.run();
    assert.deepEqual(all.reports, []);
  });

  test('a write whose fields another client has is reported, and not tried again before the object changes', async () => {
    const sharing: ChildWrite = {
      verb: 'share',
      may: granted('update'),
      kind: ConfigMap,
      ref: ref('s'),
      body: body('s'),
      manager: 'm',
      seen: 'x',
    };
    const all = stage(() => ({ groups: [group([sharing])] }));
    const causes = [{ reason: 'FieldManagerConflict', message: 'conflict with "them" using v1', field: '.data.x' }];
    all.answer = () =>
      new ApiError({
        code: 409,
        status: { reason: 'Conflict', details: { causes } },
        method: 'PATCH',
        path: '/s',
        address: 'test',
      });
    const outcome = await all.run();
    assert.equal(outcome.type, 'terminal');
    assert.deepEqual(all.sent, ['apply s']);
    assert.equal(all.reports[0]?.reason, 'Conflict');
    assert.match(all.reports[0]?.message ?? '', /\.data\.x of them/);
  });

  test('a write that may pass counts more than one that does not', async () => {
    const sharing: ChildWrite = {
      verb: 'share',
      may: granted('update'),
      kind: ConfigMap,
      ref: ref('s'),
      body: body('s'),
      manager: 'm',
      seen: 'x',
    };
    const all = stage(() => ({ groups: [group([sharing, applying('a')])] }));
    const causes = [{ reason: 'FieldManagerConflict', message: 'conflict with "them" using v1', field: '.data.x' }];
    all.answer = (line) =>
      line === 'apply s'
        ? new ApiError({
            code: 409,
            status: { reason: 'Conflict', details: { causes } },
            method: 'PATCH',
            path: '/s',
            address: 'test',
          })
        : refused(500);
    assert.equal((await all.run()).type, 'retry');
  });
});
