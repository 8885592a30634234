// The pages of discovery: weights of routes before maintenance, now and after a return, also for a maintenance that is only considered.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemClock } from '@capstan/kube';
import { askReport, askReportAfter, withReports } from '@capstan/reconcile';
import { DiscoveryBackend } from '../../src/index.ts';
import { createGimbal } from '../../src/operator.ts';
import type { BackendReport } from '../../src/reports/discovery-report.ts';
import { backend, type Played, played, proxy } from './fixtures.ts';

const operator = withReports(createGimbal());
const scene = { objects: [proxy('shared', { 'x-a': 80, 'y-a': 20 }), proxy('alone', { 'x-b': '_' })], operator };

async function pageOf({ program }: Played, name = 'x'): Promise<BackendReport> {
  const body = await askReport(program.runtime, 'gimbal', 'discovery', name);
  assert.equal(body.state, 'value', JSON.stringify(body));
  return body.value as BackendReport;
}

const shown = ({ routes }: BackendReport) =>
  routes.map(({ key, rule, state, reason = '', services }) => [
    `${key} ${rule} ${state} ${reason}`.trim(),
    ...services.map(({ service, before, now, after }) => `${service} ${before} ${now} ${after}`),
  ]);

describe('the page of a backend', () => {
  test('shows the weights before, during and after maintenance, and the routes that block it', () =>
    played(scene, async (stage) => {
      const before = [
        ['default/alone routes[0] untouched', 'default/x-b null null null'],
        ['default/shared routes[0] untouched', 'default/x-a 80 80 80', 'default/y-a 20 20 20'],
      ];
      assert.deepEqual(shown(await pageOf(stage)), before);
      await stage.setStatus('x', 'Maintenance');
      const during = await pageOf(stage);
      assert.deepEqual(shown(during), [
        ['default/alone routes[0] blocked NoCapacity', 'default/x-b null 0 null'],
        ['default/shared routes[0] drained', 'default/x-a 80 0 80', 'default/y-a 20 20 20'],
      ]);
      assert.deepEqual([during.wanted, during.drained, during.blocked], ['Maintenance', 1, 1]);
      const [source] = during.why?.cause.changes ?? [];
      assert.match(source?.object ?? '', /^DiscoveryBackend\.\S+ \S+\/x$/);
      assert.deepEqual(during.why?.routes.map((id) => id.split('/').at(-1)).toSorted(), ['alone', 'shared']);
      await stage.setStatus('x', 'Enabled');
      assert.deepEqual(shown(await pageOf(stage)), before);
    }));

  test('shows what a drain would do before it is asked for', () =>
    played(scene, async (stage) => {
      const asked = { operator: 'gimbal', name: 'discovery', key: 'x' };
      const changes = [{ kind: DiscoveryBackend, object: backend('x', { clusterStatus: 'Maintenance' }) }];
      const { signal } = new AbortController();
      const body = await askReportAfter(stage.program.runtime, asked, changes, { clock: systemClock, signal });
      assert.equal(body.state, 'value');
      assert.deepEqual(shown(body.value as BackendReport).at(-1), [
        'default/shared routes[0] drained',
        'default/x-a 80 0 80',
        'default/y-a 20 20 20',
      ]);
      assert.equal((await pageOf(stage)).routes.at(-1)?.services[0]?.now, 80);
    }));

  test('lists the backends, and has no page for one that does not exist', () =>
    played(scene, async ({ program }) => {
      const list = await askReport(program.runtime, 'gimbal', 'discovery', '');
      assert.equal(list.state, 'value');
      const { backends } = list.value as { backends: readonly { name: string; wanted: string }[] };
      assert.deepEqual(
        backends.map(({ name, wanted }) => [name, wanted]),
        [
          ['x', 'Enabled'],
          ['y', 'Enabled'],
          ['z', 'Enabled'],
        ],
      );
      assert.deepEqual(await askReport(program.runtime, 'gimbal', 'discovery', 'none'), { state: 'none' });
    }));
});
