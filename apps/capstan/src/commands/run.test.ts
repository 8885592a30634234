import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import {
  type ApiRequest,
  ConfigMap,
  Event,
  type KindOf,
  Lease,
  Namespace,
  Secret,
  systemClock,
  type Transport,
} from '@capstan/kube';
import { digestKeyName } from '@capstan/reconcile';
import { createRandom, createTestCluster, type TestCluster } from '@capstan/testing';
import { testIo } from '../cli/test-io.test-support.ts';
import { runCommandLine } from '../cli.ts';
import { Site, sites } from './sites.test-support.ts';

const modules = { '/home/user/sites.ts': { default: sites } };
const capstanSystem = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'capstan-system' } } as const;
const home = { namespace: 'default', name: 'home' };
const siteOf = (text: string, name = 'home') =>
  ({
    apiVersion: Site.apiVersion,
    kind: Site.kind,
    metadata: { namespace: 'default', name },
    spec: { text },
  }) as KindOf<typeof Site>;

describe('capstan run', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    await cluster?.close();
    cluster = await createTestCluster({ clock: systemClock, random: createRandom(1), operators: [sites] });
    await cluster.client.create(Namespace, capstanSystem);
  });
  after(() => cluster.close());

  /** Runs the command until `check` is done, then stops it as a signal would. */
  async function running(argv: string[], check: (run: Running) => Promise<void>, transport = cluster.transport) {
    const stopping = new AbortController();
    const { io, out, err } = testIo({ transport, modules, signal: stopping.signal });
    const ended = runCommandLine(['run', '--operator', 'sites.ts', '-o', 'json', ...argv], io);
    const events = () =>
      out()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Announced);
    try {
      await until(() => events().some(({ event }) => event === 'ready'), ended, err);
      await check({ started: events()[0] as Announced, log: err, until: (holds) => until(holds, ended, err) });
    } finally {
      stopping.abort();
    }
    const code = await ended;
    return { code, err: err(), events: events() };
  }

  test('makes what objects ask for, tells it in Events, and stops in order', async () => {
    await cluster.client.create(Site, siteOf('hello'));
    const { code, events } = await running([], async (run) => {
      await run.until(async () => (await cluster.client.find(ConfigMap, home))?.data?.['text'] === 'hello');
      await run.until(async () => (await cluster.client.list(Event, { namespace: 'default' })).items.length > 0);
      const lease = await cluster.client.get(Lease, { namespace: 'capstan-system', name: 'capstan-sites' });
      assert.equal(lease.spec?.holderIdentity, 'test');
    });
    assert.equal(code, 0);
    assert.deepEqual(
      events.map(({ event }) => event),
      ['started', 'ready', 'stopped'],
    );
    const lease = await cluster.client.get(Lease, { namespace: 'capstan-system', name: 'capstan-sites' });
    assert.equal(lease.spec?.holderIdentity ?? '', '', 'the lease is given back');
  });

  test('makes the key for digests of secrets once, and never prints it', async () => {
    const ref = { namespace: 'capstan-system', name: digestKeyName('sites') };
    const keyOf = async () => (await cluster.client.get(Secret, ref)).data?.['key'] ?? '';
    const first = await running(['--log-level', 'debug'], async () => {});
    const key = await keyOf();
    assert.equal(Buffer.from(key, 'base64').length, 32);
    const second = await running(['--log-level', 'debug'], async () => {});
    assert.equal(await keyOf(), key);
    for (const { err } of [first, second]) assert.ok(!err.includes(key));
  });

  test('serves probes and metrics while it runs', async () => {
    const flags = ['--health-address', '127.0.0.1:0', '--metrics-address', '127.0.0.1:0', '--leader-elect=false'];
    await cluster.client.create(Site, siteOf('hello'));
    let address = '';
    await running(flags, async ({ started, until }) => {
      address = started.health ?? '';
      assert.equal(await (await fetch(`http://${address}/readyz`)).text(), 'ok');
      assert.equal((await fetch(`http://${address}/healthz`)).status, 200);
      const metrics = async () => (await fetch(`http://${started.metrics}/metrics`)).text();
      await until(async () =>
        /controller_runtime_reconcile_total\{controller="sites.site",result="success"\} [1-9]/.test(await metrics()),
      );
      const text = await metrics();
      assert.match(
        text,
        /^capstan_writes_total\{operator="sites",reconciler="site",verb="apply",kind="ConfigMap"\} 1$/m,
      );
      assert.match(text, /^rest_client_requests_total\{code="200",method="GET",host="[^"]*"\} [1-9]/m);
      assert.match(text, /^workqueue_adds_total\{name="sites.site",controller="sites.site"\} [1-9]/m);
      assert.match(text, /^capstan_informer_staleness_seconds\{world="",kind="Site.example.capstan.dev"\} \d/m);
      assert.match(text, /^capstan_engine_nodes [1-9]/m);
    });
    await assert.rejects(fetch(`http://${address}/readyz`), 'the server has ended');
  });

  test('goes on with every other object when a reconciler throws', async () => {
    await cluster.client.create(Site, siteOf('bug', 'broken'));
    await cluster.client.create(Site, siteOf('hello'));
    const { err } = await running(['--log-format', 'json'], async ({ until }) => {
      await until(async () => (await cluster.client.find(ConfigMap, home)) !== undefined);
      const broken = { namespace: 'default', name: 'broken' };
      const types = async () =>
        (await cluster.client.get(Site, broken)).status?.conditions?.map(({ type }) => type) ?? [];
      await until(async () => (await types()).includes('ReconcileError'));
    });
    const line = err.split('\n').find((text) => text.includes('on purpose')) ?? '';
    assert.match(line, /"operator":"sites","reconciler":"site"/);
    assert.match(line, /sites\.test-support\.ts/, 'the stack is in the log');
  });

  test('says how to install CRDs that are missing, and installs them on request', async () => {
    const bare = await createTestCluster({ clock: systemClock, random: createRandom(1) });
    const { io, err } = testIo({ transport: bare.transport, modules });
    assert.equal(await runCommandLine(['run', '--operator', 'sites.ts'], io), 1);
    assert.equal(
      err(),
      'error: the cluster does not serve Site.example.capstan.dev; run again with --install-crds, or: capstan crds | kubectl apply --server-side -f -\n',
    );
    const { code } = await running(
      ['--install-crds'],
      async () => {
        await bare.client.create(Site, siteOf('hello'));
      },
      bare.transport,
    );
    assert.equal(code, 0);
    assert.ok(await bare.client.find(Namespace, { name: 'capstan-system' }), 'the namespace of its Lease is created');
    await bare.close();
  });

  test('says how to create the namespace of its Lease when it is missing', async () => {
    const bare = await createTestCluster({ clock: systemClock, random: createRandom(1), operators: [sites] });
    const { io, err } = testIo({ transport: bare.transport, modules });
    assert.equal(await runCommandLine(['run', '--operator', 'sites.ts'], io), 1);
    assert.equal(
      err(),
      'error: the namespace capstan-system does not exist, which holds the Leases and digest keys of operators; run again with --install-crds, or: kubectl create namespace capstan-system\n',
    );
    await bare.close();
  });

  test('looks into no other namespace than those that it is told to watch', async () => {
    const asked: string[] = [];
    const transport = () =>
      spying(cluster.transport(), ({ method, path }) => void (method === 'GET' && asked.push(path)));
    await running(['--watch-namespaces', 'default,kube-public'], async () => {}, transport);
    const lists = asked.filter((path) => /\/(?:sites|configmaps|secrets)$/.test(path));
    assert.ok(lists.length > 0);
    assert.deepEqual(
      lists.filter((path) => !/\/namespaces\/(?:default|kube-public)\//.test(path)),
      [],
    );
  });

  test('two replicas write under one lease: the second computes and waits', async () => {
    await cluster.client.create(Site, siteOf('hello'));
    await running([], async ({ until }) => {
      await until(async () => (await cluster.client.find(ConfigMap, home)) !== undefined);
      const writes: string[] = [];
      const transport = () =>
        spying(cluster.transport(), ({ method, path }) => void (method === 'GET' || writes.push(`${method} ${path}`)));
      const stopping = new AbortController();
      const printed = { out: '', err: '' };
      const second = runCommandLine(
        ['run', '--operator', 'sites.ts', '-o', 'json', '--health-address', '127.0.0.1:0'],
        {
          ...testIo({ transport, modules }).io,
          identity: 'other',
          signal: stopping.signal,
          stdout: (text) => void (printed.out += text),
          stderr: (text) => void (printed.err += text),
        },
      );
      await until(() => printed.out.includes('"ready"') && printed.err.includes('waiting for the lease'));
      assert.match(printed.err, /waiting for the lease, which another instance holds .*holder=test/);
      const [{ health = '' } = { health: '' }] = printed.out
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Announced);
      const readiness = await fetch(`http://${health}/readyz?verbose`);
      assert.equal(readiness.status, 200, 'a rollout could not replace the holder otherwise');
      assert.match(await readiness.text(), /^\[\+\]lease-sites ok: waiting, test holds the Lease$/m);
      await cluster.client.patch(Site, home, 'merge', { spec: { text: 'again' } });
      await until(async () => (await cluster.client.get(ConfigMap, home)).data?.['text'] === 'again');
      stopping.abort();
      assert.equal(await second, 0);
      assert.deepEqual(writes, []);
    });
  });
});

interface Announced {
  event: string;
  health?: string;
  metrics?: string;
}

interface Running {
  started: Announced;
  log(): string;
  until(holds: () => boolean | Promise<boolean>): Promise<void>;
}

/** Polls until it holds, the program has ended, or ten seconds have passed. */
async function until(
  holds: () => boolean | Promise<boolean>,
  ended: Promise<number>,
  err: () => string,
): Promise<void> {
  let code: number | undefined;
  void ended.then((ends) => (code = ends));
  const deadline = systemClock.now() + 10_000;
  while (!(await holds())) {
    assert.equal(code, undefined, `the program ended: ${err()}`);
    assert.ok(systemClock.now() < deadline, `it did not come true: ${err()}`);
    await new Promise((resolve) => systemClock.after(5, () => resolve(undefined)));
  }
}

function spying(transport: Transport, see: (request: ApiRequest) => void): Transport {
  return {
    ...transport,
    request(request) {
      see(request);
      return transport.request(request);
    },
    watch(request) {
      see(request);
      return transport.watch(request);
    },
  };
}
