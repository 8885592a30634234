// A cluster with an operator that reads Secrets, and recordings of it that the commands wrote.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ConfigMap,
  conditions,
  defineKind,
  type KindOf,
  Namespace,
  object,
  Secret,
  string,
  systemClock,
} from '@capstan/kube';
import { apply, conditionType, derivation, operator, plan, reconciler } from '@capstan/reconcile';
import { createRandom, createTestCluster, type TestCluster } from '@capstan/testing';
import { type Ran, runTest, testIo } from '../../src/cli/test-io.test-support.ts';
import { runCommandLine } from '../../src/cli.ts';

export const Site = defineKind({
  group: 'example.capstan.dev',
  version: 'v1',
  kind: 'Site',
  scope: 'Namespaced',
  spec: object({ text: string(), secret: string() }),
  status: object({ conditions: conditions() }),
});
export const ready = conditionType<'Written' | 'NoPassword'>('Ready');

const passwordOf = derivation<string>({
  name: 'password',
  compute({ key, read }) {
    const [namespace = '', name = ''] = key.split('/');
    const text = read.get(Secret, { namespace, name })?.data?.['password'];
    return text === undefined ? '' : `line with ${Buffer.from(text, 'base64').toString()}`;
  },
});
const site = reconciler({
  name: 'site',
  resource: Site,
  reads: [Secret],
  writes: [ConfigMap, Secret],
  reconcile({ object: { metadata, spec }, read }) {
    const { name = '', namespace = '' } = metadata;
    const password = read.derived(passwordOf, `${namespace}/${spec.secret}`);
    const rendered = apply(Secret, { metadata: { name: `${name}-rendered`, namespace }, stringData: { password } });
    return plan({
      children: [
        apply(ConfigMap, { metadata: { name, namespace }, data: { text: spec.text } }),
        ...(password ? [rendered] : []),
      ],
      conditions: [
        password ? ready.isTrue('Written', 'it is written') : ready.isFalse('NoPassword', 'there is no Secret'),
      ],
    });
  },
});
export const sites = operator({ name: 'sites', kinds: [Site], reconcilers: [site] });
export const modules = { '/home/user/s.ts': { default: sites } };
export const OPERATOR = ['--operator', 's.ts'];
export const PASSWORD = 'a-password-to-keep-secret';

export const siteOf = (name: string, text: string) =>
  ({
    apiVersion: Site.apiVersion,
    kind: Site.kind,
    metadata: { namespace: 'default', name },
    spec: { text, secret: 'access' },
  }) as KindOf<typeof Site>;

export const access = (): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: 'default', name: 'access' },
  data: { password: Buffer.from(PASSWORD).toString('base64') },
});

export interface RecordedSites {
  readonly cluster: TestCluster;
  /** A temporary folder. */
  readonly root: string;
  /** Runs a command that records while something is done, and ends it. */
  whileRunning(argv: readonly string[], act: () => Promise<void>): Promise<Ran>;
  /** The same for `capstan run --record FOLDER`. */
  recorded(folder: string, flags: readonly string[], act: () => Promise<void>): Promise<void>;
  /** Resolves when a site has this text. */
  textIs(name: string, text: string): Promise<void>;
  run(argv: readonly string[]): Promise<Ran>;
  end(): Promise<void>;
}

export async function recordedSites(): Promise<RecordedSites> {
  const root = await mkdtemp(join(tmpdir(), 'capstan-replay-'));
  const cluster = await createTestCluster({ clock: systemClock, random: createRandom(1), operators: [sites] });
  await cluster.client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'capstan-system' } });
  const whileRunning: RecordedSites['whileRunning'] = async (argv, act) => {
    const stopping = new AbortController();
    const { io, out, err } = testIo({ transport: cluster.transport, modules, signal: stopping.signal });
    const ended = runCommandLine([...argv, ...OPERATOR], io);
    try {
      await act();
    } finally {
      stopping.abort();
    }
    return { code: await ended, out: out(), err: err() };
  };
  return {
    cluster,
    root,
    whileRunning,
    async recorded(folder, flags, act) {
      const { code, err } = await whileRunning(['run', '--record', folder, ...flags], act);
      assert.equal(code, 0, err);
    },
    async textIs(name, text) {
      for (;;) {
        const found = await cluster.client.find(ConfigMap, { namespace: 'default', name });
        const status = await cluster.client.find(Site, { namespace: 'default', name });
        if (found?.data?.['text'] === text && status?.status?.conditions?.[0]?.reason === 'Written') return;
        await systemClock.yield();
      }
    },
    run: (argv) => runTest(argv, { modules }),
    async end() {
      await cluster.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}
