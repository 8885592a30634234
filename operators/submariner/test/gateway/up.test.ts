// `capstan up --cables real`: clusters of one machine with real cables between namespaces, and nothing left at the end.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { startClusterProcess } from '@capstan/testing/tutorial';
import type { Connection } from '../../src/kinds/index.ts';
import { skip } from '../cables/underlay.ts';
import { until } from './set.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const program = (file: string) => ['--disable-warning=ExperimentalWarning', join(ROOT, 'apps/capstan/src', file)];
const namespaces = () => spawnSync('ip', ['netns', 'list'], { encoding: 'utf8' }).stdout.split('\n').filter(Boolean);

test('capstan up connects its clusters by real cables, and removes them', { skip, timeout: 180_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'submariner-up-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const before = namespaces();
  const kubeconfig = join(folder, 'kubeconfig');
  const up = ['up', '--operators', 'submariner', '--clusters', 'broker,east,west', '--cables', 'real'];
  const places = ['--data', join(folder, 'data'), '--kubeconfig-out', kubeconfig, '--listen', '127.0.0.1:0'];
  const stop = await startClusterProcess(process.execPath, [...program('main.ts'), ...up, ...places], { cwd: ROOT });
  t.after(stop);
  const subctl = async (...args: string[]) => {
    const env = { ...process.env, KUBECONFIG: kubeconfig };
    const { stdout } = await promisify(execFile)(process.execPath, [...program('programs/subctl.ts'), ...args], {
      env,
    });
    return stdout;
  };
  const info = join(folder, 'broker-info.subm');
  await subctl('deploy-broker', '--context', 'broker', '--cable-driver', 'ipsec', '--broker-info', info);
  for (const [index, member] of ['east', 'west'].entries())
    await subctl('join', info, '--context', member, '--clustercidr', `10.${11 + index}.0.0/16`);
  const connections = async () => {
    const text = await subctl('show', 'connections', '--context', 'east', '-o', 'json').catch(() => '[]');
    return JSON.parse(text) as Connection[];
  };
  await until(
    'packets pass',
    100_000,
    async () =>
      (await connections()).some(
        ({ status, latencyRTT }) => status === 'connected' && latencyRTT?.average !== undefined,
      ),
    connections,
  );
  assert.deepEqual(
    (await connections()).map(({ endpoint, usingCableDriver }) => `${endpoint.cluster_id} ${usingCableDriver}`),
    ['west ipsec'],
  );
  // Other tests may have namespaces of their own meanwhile.
  const made = namespaces().filter((name) => !before.includes(name));
  assert.ok(made.length >= 4, made.join());
  await stop();
  const left = () => namespaces().filter((name) => made.includes(name));
  await until(
    'the namespaces are gone',
    90_000,
    () => Promise.resolve(left().length === 0),
    () => Promise.resolve(left()),
  );
});
