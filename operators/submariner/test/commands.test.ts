// subctl against a broker and a member, both embedded and over TLS.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Cluster as EmbeddedCluster, startCluster } from '@capstan/apiserver';
import { ConfigMap, connect, createClient, Secret, ServiceAccount, systemClock } from '@capstan/kube';
import { assertReport } from '@capstan/testing';
import { parse } from 'yaml';
import { COMMANDS, runSubctl } from '../src/commands/index.ts';
import { svgPicture } from '../src/commands/picture.ts';
import { REPORT_SCHEMAS } from '../src/commands/report-schemas.ts';
import { Broker, CablePolicies, Cluster, Endpoint, Gateway, Submariner } from '../src/kinds/index.ts';

const seed = JSON.parse(readFileSync(new URL('seed/flags.json', import.meta.url), 'utf8')) as Record<string, string[]>;

test('mistakes in the arguments are reported before a cluster is needed, with what was meant', async () => {
  const run = async (...argv: string[]) => {
    let stderr = '';
    const io = { stderr: (text: string) => void (stderr += text), env: {}, connect: () => assert.fail('it connects') };
    assert.equal(await runSubctl(argv, io as never), 1);
    return stderr;
  };
  assert.match(await run('show', 'conections'), /unknown command "show conections"; did you mean "show connections"\?/);
  assert.match(await run('cable-policy', 'add', '--nme', 'x'), /has no flag --nme; did you mean --name\?/);
  assert.match(await run('show', 'gateways', '-o', 'xml'), /"xml" is not a format; use one of table, wide/);
  assert.match(await run('join'), /the broker information file is missing: subctl join broker-info\.subm; see/);
  assert.match(await run('cable-policy', 'explain', 'a'), /two clusters must be named/);
});

test('subctl cable-policy has the flags of the design', () => {
  const known = ['kubeconfig', 'kubecontext', 'context', 'namespace'];
  for (const [name, flags] of Object.entries(seed)) {
    const own = [...Object.keys(COMMANDS[`cable-policy ${name}`]?.flags ?? {}), ...known];
    for (const flag of flags) assert.ok(own.includes(flag.slice(2)), `${name} ${flag}`);
  }
});

describe('subctl', () => {
  let cluster: EmbeddedCluster;
  let folder: string;
  const clientOf = (name: string) => {
    const found = cluster.clusters.find((each) => each.name === name);
    assert.ok(found);
    return createClient({ transport: found.server.transport() });
  };
  const subctl = async (...argv: string[]) => {
    let [stdout, stderr] = ['', ''];
    const code = await runSubctl(argv, {
      stdout: (text) => {
        stdout += text;
      },
      stderr: (text) => {
        stderr += text;
      },
      env: { KUBECONFIG: join(folder, 'kubeconfig') },
      cwd: folder,
      files: {
        read: async (path) => readFileSync(path, 'utf8'),
        write: (path, text) => writeFile(path, text, { mode: 0o600 }),
        stdin: () => Promise.resolve(''),
      },
      clock: systemClock,
      signal: AbortSignal.timeout(60_000),
      connect,
    });
    return { code, stdout, stderr };
  };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'subctl-'));
    cluster = await startCluster({ clock: systemClock, random: Math.random, port: 0, clusters: ['broker', 'east'] });
    writeFileSync(join(folder, 'kubeconfig'), cluster.kubeconfig, { mode: 0o600 });
  });
  after(async () => {
    await cluster?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('says what to do where nothing is installed', async () => {
    const { code, stderr } = await subctl('cable-policy', 'list', '--context', 'broker');
    assert.equal(code, 1);
    assert.match(stderr, /neither a broker nor joined to one; run "subctl deploy-broker"/);
  });

  test('deploy-broker creates kinds, accounts, the default policy and the file for members', async () => {
    writeFileSync(
      join(folder, 'policies.yaml'),
      'kind: CablePolicies\nmetadata: {name: first}\nspec: {leftClusterSelector: {env: !test}, name: wireguard}\n',
    );
    const { code, stderr } = await subctl(
      'deploy-broker',
      '--kubecontext',
      'broker',
      '--cable-driver',
      'vxlan',
      '--policies-file',
      join(folder, 'policies.yaml'),
    );
    assert.equal(code, 0, stderr);
    const broker = clientOf('broker');
    const ref = (name: string) => ({ namespace: 'submariner-k8s-broker', name });
    const policy = await broker.get(CablePolicies, ref('default'));
    assert.deepEqual(policy.spec, [{ cableDriver: { name: 'vxlan' } }]);
    assert.equal(policy.metadata.labels?.['submariner-io/clusterID'], 'submariner-broker');
    assert.ok(await broker.find(CablePolicies, ref('first')));
    assert.ok(await broker.find(Broker, ref('submariner-broker')));
    assert.equal(statSync(join(folder, 'broker-info.subm')).mode & 0o777, 0o600);
    const again = await subctl('deploy-broker', '--context', 'broker', '--cable-driver', 'ipsec');
    assert.match(again.stderr, /Kept cable policy "default"/);
    assert.deepEqual((await broker.get(CablePolicies, ref('default'))).spec, [{ cableDriver: { name: 'vxlan' } }]);
    await broker.close();
  });

  test('join refuses a bad label before it touches anything', async () => {
    const { code, stderr } = await subctl(
      'join',
      join(folder, 'broker-info.subm'),
      '--context',
      'east',
      '--label',
      'a b=c',
    );
    assert.equal(code, 1);
    assert.match(stderr, /invalid label "a b=c"/);
    const reserved = await subctl(
      'join',
      join(folder, 'broker-info.subm'),
      '--context',
      'east',
      '--label',
      'submariner.io/x=y',
    );
    assert.match(reserved.stderr, /its prefix is reserved/);
  });

  test('join refuses values that no cluster can have before it touches anything', async () => {
    const info = join(folder, 'broker-info.subm');
    const wrong = [
      '--nattport',
      'x',
      '--health-check-interval',
      '0',
      '--natt',
      'maybe',
      '--clustercidr',
      '10.0.0.0/33',
      '--health-check-max-packet-loss-count',
      '1.5',
      '--cable-drivers',
      'gre',
    ];
    const { code, stderr } = await subctl('join', info, '--context', 'east', ...wrong);
    assert.equal(code, 1);
    for (const part of [
      '--nattport: "x" is not a port',
      '--health-check-interval: "0" is not a number from 1 on',
      '--health-check-max-packet-loss-count: "1.5" is not',
      '--natt: "maybe" is not true or false',
      '--clustercidr: "10.0.0.0/33" is not a subnet',
      'cable driver "gre" is not known',
    ])
      assert.ok(stderr.includes(part), `${part} in ${stderr}`);
  });

  test('join creates an account with least rights, Secrets and the Submariner resource', async () => {
    const { code, stderr } = await subctl(
      'join',
      join(folder, 'broker-info.subm'),
      '--context',
      'east',
      '--label',
      'env=production,tier=1',
      '--cable-drivers',
      'vxlan,ipsec',
      '--clustercidr',
      '10.11.0.0/16',
    );
    assert.equal(code, 0, stderr);
    const east = clientOf('east');
    const { spec } = await east.get(Submariner, { namespace: 'submariner-operator', name: 'submariner' });
    assert.equal(spec.clusterID, 'east');
    assert.deepEqual(spec.clusterLabels, { env: 'production', tier: '1' });
    assert.deepEqual(spec.cableDrivers, ['vxlan', 'ipsec']);
    assert.equal(spec.ceIPSecPSK, undefined);
    assert.equal(spec.brokerK8sApiServerToken, undefined);
    const { data } = await east.get(Secret, { namespace: 'submariner-operator', name: 'submariner-broker-secret' });
    const token = Buffer.from(data?.['token'] ?? '', 'base64').toString('utf8');
    assert.ok(!stderr.includes(token) && token !== '');
    await east.close();
  });

  test('join refuses the id of a cluster that has joined, unless it is the same cluster or --force is given', async () => {
    const broker = clientOf('broker');
    const metadata = { namespace: 'submariner-k8s-broker', name: 'taken' };
    const spec = { cluster_id: 'taken', service_cidr: [], cluster_cidr: [], global_cidr: [] };
    await broker.create(Cluster, { apiVersion: Cluster.apiVersion, kind: 'Cluster', metadata, spec });
    const flags = ['join', join(folder, 'broker-info.subm'), '--context', 'east', '--clusterid', 'taken'];
    const refused = await subctl(...flags);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /cluster "taken": a cluster of this id has joined the broker; choose another id/);
    const east = clientOf('east');
    const here = () => east.get(Submariner, { namespace: 'submariner-operator', name: 'submariner' });
    assert.equal((await here()).spec.clusterID, 'east', 'nothing was changed');
    const forced = await subctl(...flags, '--force');
    assert.equal(forced.code, 0, forced.stderr);
    assert.equal(await broker.find(Cluster, metadata), undefined, 'what the earlier installation left is removed');
    assert.equal((await subctl(...flags)).code, 0, 'it is the same cluster');
    await subctl('join', join(folder, 'broker-info.subm'), '--context', 'east');
    await Promise.all([east.close(), broker.close()]);
  });

  test('join to another broker leaves the old one first, and takes its own policies along', async () => {
    const [broker, east] = [clientOf('broker'), clientOf('east')];
    const other = join(folder, 'other.subm');
    const deployed = await subctl(
      'deploy-broker',
      '--context',
      'broker',
      '--broker-namespace',
      'other-broker',
      '--broker-info',
      other,
    );
    assert.equal(deployed.code, 0, deployed.stderr);
    const namespace = 'submariner-operator';
    const copy = { 'submariner-io/clusterID': 'west' };
    const marks = { 'submariner.io/sync-base-uid': 'u', 'submariner.io/sync-base-digest': 'd' };
    for (const [name, labels] of [['own', {}] as const, ['copy', copy] as const])
      await east.create(CablePolicies, {
        apiVersion: CablePolicies.apiVersion,
        kind: CablePolicies.kind,
        metadata: { namespace, name, labels, annotations: marks, finalizers: ['submariner.io/sync'] },
        spec: [{ leftClusterSelector: { a: 'b' }, cableDriver: { name: 'ipsec' } }],
      });
    const account = (of: string) => broker.find(ServiceAccount, { namespace: of, name: 'cluster-east' });
    assert.ok(await account('submariner-k8s-broker'));
    const moved = await subctl('join', other, '--context', 'east');
    assert.equal(moved.code, 0, moved.stderr);
    assert.equal(await account('submariner-k8s-broker'), undefined, 'the account on the old broker is gone');
    assert.ok(await account('other-broker'));
    const { metadata } = await east.get(Submariner, { namespace, name: 'submariner' });
    assert.equal(metadata.annotations?.['submariner.io/leaving'], undefined);
    assert.equal(await east.find(CablePolicies, { namespace, name: 'copy' }), undefined);
    const own = await east.get(CablePolicies, { namespace, name: 'own' });
    assert.deepEqual([own.metadata.finalizers ?? [], own.metadata.annotations ?? {}], [[], {}]);
    await east.delete(CablePolicies, { namespace, name: 'own' });
    const back = await subctl('join', join(folder, 'broker-info.subm'), '--context', 'east');
    assert.equal(back.code, 0, back.stderr);
    await broker.delete(Broker, { namespace: 'other-broker', name: 'submariner-broker' });
    await Promise.all([east.close(), broker.close()]);
  });

  test('add shows which pairs change, list and explain say why', async () => {
    const broker = clientOf('broker');
    const namespace = 'submariner-k8s-broker';
    for (const [id, location] of [
      ['c1', 'cloud'],
      ['c2', 'on-premise'],
      ['c3', 'cloud'],
    ] as const) {
      const metadata = { namespace, name: id, labels: { location } };
      await broker.create(Cluster, {
        apiVersion: Cluster.apiVersion,
        kind: 'Cluster',
        metadata,
        spec: { cluster_id: id, service_cidr: [], cluster_cidr: [], global_cidr: [] },
      });
    }
    await subctl('cable-policy', 'delete', '--name', 'first', '--context', 'broker');
    const flags = [
      '--name',
      'on-prem',
      '--left-cluster-selector',
      'location: on-premise',
      '--right-cluster-selector',
      'location=cloud',
      '--cable-driver',
      'ipsec',
      '--context',
      'broker',
    ];
    const dry = await subctl('cable-policy', 'add', ...flags, '--dry-run');
    assert.equal(dry.code, 0, dry.stderr);
    assert.match(
      dry.stderr,
      /2 pairs change their cable driver:\n.*c1 - c2: vxlan -> ipsec\n.*c2 - c3: vxlan -> ipsec/,
    );
    assert.equal(await broker.find(CablePolicies, { namespace, name: 'on-prem' }), undefined);
    const added = await subctl('cable-policy', 'add', ...flags);
    assert.match(added.stderr, /✓ Created cable policy "on-prem"/);
    const twice = await subctl('cable-policy', 'add', ...flags);
    assert.equal(twice.code, 1);
    assert.match(twice.stderr, /policy "on-prem" already exists/);
    const list = await subctl('cable-policy', 'list', '--context', 'broker');
    assert.match(list.stdout, /^NAME +LEFT SELECTOR +RIGHT SELECTOR/);
    assert.match(
      list.stdout,
      /on-prem +location=on-premise +location=cloud +ipsec +0 +submariner-broker +2 +Accepted\n/,
    );
    const explained = await subctl('cable-policy', 'explain', 'c2', 'c1', '-o', 'json', '--context', 'broker');
    const { left, right, driver, policy, rule, reason, candidates, ambiguous } = JSON.parse(explained.stdout) as Record<
      string,
      unknown
    >;
    assert.deepEqual(
      [left, right, driver, policy, rule, reason, ambiguous],
      ['c1', 'c2', 'ipsec', 'on-prem', 0, 'Policy', false],
    );
    assert.equal((candidates as unknown[]).length, 1);
    const unknown = await subctl('cable-policy', 'explain', 'c1', 'x', '--context', 'broker');
    assert.match(unknown.stderr, /cluster "x" is not known; use one of c1, c2, c3/);
    const aside = await subctl('cable-policy', 'explain', 'c1', 'c3', '--context', 'broker');
    assert.match(aside.stdout, /^c1 - c3: vxlan\n {2}policy {3}default/);
    await broker.close();
  });

  test('add takes the design’s YAML, and names what is wrong with a policy', async () => {
    const file = join(folder, 'more.yaml');
    writeFileSync(
      file,
      'kind: CablePolicies\nmetadata: {name: file}\nspec:\n  leftClusterSelector:\n    location: !cloud\n  cableDriver:\n    name: gre\n',
    );
    const wrong = await subctl('cable-policy', 'add', '-f', file, '--context', 'broker');
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /!cloud is a YAML tag/);
    assert.match(wrong.stderr, /policy "file": spec\[0\]\.cableDriver\.name: Unsupported value: "gre"/);
  });

  test('add creates none of several policies when one cannot be created', async () => {
    const file = join(folder, 'several.yaml');
    const policy = (name: string) =>
      `kind: CablePolicies\nmetadata: {${name}}\nspec: {cableDriver: {name: vxlan}}\n---\n`;
    const cases = [
      [policy('name: one') + policy('name: one'), /policy "one": is given twice/],
      [policy('name: one') + policy('name: Bad_Name'), /policy "Bad_Name": metadata.name: Invalid value: "Bad_Name"/],
      [policy('name: one') + policy(''), /metadata.name: Required value/],
      ['# nothing\n', /several.yaml: holds no CablePolicies/],
    ] as const;
    for (const [text, message] of cases) {
      writeFileSync(file, text);
      const { code, stderr } = await subctl('cable-policy', 'add', '-f', file, '--context', 'broker');
      assert.equal(code, 1);
      assert.match(stderr, message);
    }
    const broker = clientOf('broker');
    assert.equal(await broker.find(CablePolicies, { namespace: 'submariner-k8s-broker', name: 'one' }), undefined);
    await broker.close();
  });

  test('add --overwrite is not compared with the policy that it replaces', async () => {
    const change = ['--name', 'on-prem', '--left-cluster-selector', 'location=on-premise', '--context', 'broker'];
    const { code, stderr } = await subctl(
      'cable-policy',
      'add',
      '--dry-run',
      '--overwrite',
      '--cable-driver',
      'wireguard',
      ...change,
    );
    assert.equal(code, 0, stderr);
    assert.match(stderr, /c1 - c2: ipsec -> wireguard/);
    assert.doesNotMatch(stderr, /contradict|decides no pair/);
  });

  test('policies of a member have its id as origin, and one that lost its name is not in force', async () => {
    const east = clientOf('east');
    const namespace = 'submariner-operator';
    const create = (name: string, driver: string, metadata: object = {}) =>
      east.create(CablePolicies, {
        apiVersion: CablePolicies.apiVersion,
        kind: 'CablePolicies',
        metadata: { namespace, name, ...metadata },
        spec: [{ cableDriver: { name: driver, options: { configMapRef: { name: 'absent' } } } }],
      });
    await create('mine', 'vxlan');
    const conditions = [
      {
        type: 'Synced',
        status: 'False',
        reason: 'NameConflict',
        message: 'lost',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
      {
        type: 'Accepted',
        status: 'False',
        reason: 'NameConflict',
        message: 'lost',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ];
    const lost = await create('both', 'vxlan');
    await east.patch(
      CablePolicies,
      { namespace, name: 'both' },
      'merge',
      { status: { conditions } },
      { subresource: 'status' },
    );
    await create('both.west', 'ipsec', {
      labels: { 'submariner-io/clusterID': 'west' },
      annotations: { 'submariner.io/policy-name': 'both', 'submariner.io/sync-base-uid': lost.metadata.uid ?? '' },
    });
    for (const id of ['c1', 'c2'])
      await east.create(Cluster, {
        apiVersion: Cluster.apiVersion,
        kind: 'Cluster',
        metadata: { namespace, name: id },
        spec: { cluster_id: id, service_cidr: [], cluster_cidr: [], global_cidr: [] },
      });
    const { stdout } = await subctl('cable-policy', 'list', '--context', 'east');
    assert.match(stdout, /both +\* +\* +vxlan +absent +0 +east +0 +NameConflict\n/);
    assert.match(stdout, /both +\* +\* +ipsec +absent +0 +west +1 +Accepted\n/);
    assert.match(stdout, /mine +\* +\* +vxlan +absent +0 +east +0 +Accepted\n/);
    await east.delete(CablePolicies, { namespace, name: 'mine' });
    const explained = await subctl('cable-policy', 'explain', 'c1', 'c2', '--context', 'east');
    assert.match(explained.stdout, /^c1 - c2: ipsec\n {2}policy {3}both \(Policy\)\n/);
    const diagnosed = await subctl('diagnose', 'cables', '--context', 'east');
    assert.match(diagnosed.stderr, /policy "both": lost/);
    await east.close();
  });

  test('delete refuses the default policy without --force, and what does not exist', async () => {
    const kept = await subctl('cable-policy', 'delete', '--name', 'default', '--context', 'broker');
    assert.deepEqual([kept.code, /cannot be deleted/.test(kept.stderr)], [1, true]);
    const none = await subctl('cable-policy', 'delete', '--name', 'nope', '--context', 'broker');
    assert.match(none.stderr, /policy "nope" not found/);
  });

  test('show cables draws clusters and drivers; diagnose names a driver that one end lacks', async () => {
    const svg = await subctl('show', 'cables', '--format', 'svg', '--context', 'broker');
    assert.match(svg.stdout, /^<svg /);
    assert.match(svg.stdout, /c1 - c2: ipsec \(planned\)/);
    const dot = await subctl('show', 'cables', '--format', 'dot', '--context', 'broker');
    assert.match(dot.stdout, /"c1" -- "c2" \[label="ipsec"/);
    const broker = clientOf('broker');
    for (const [id, backend] of [
      ['c1', 'vxlan'],
      ['c2', 'ipsec'],
    ] as const) {
      const spec = {
        cluster_id: id,
        cable_name: `submariner-cable-${id}`,
        hostname: id,
        subnets: [],
        private_ip: '10.0.0.1',
        public_ip: '',
        nat_enabled: false,
        backend,
      };
      await broker.create(Endpoint, {
        apiVersion: Endpoint.apiVersion,
        kind: 'Endpoint',
        metadata: { namespace: 'submariner-k8s-broker', name: id },
        spec,
      });
    }
    const found = await subctl('diagnose', 'cables', '--context', 'broker');
    assert.equal(found.code, 1);
    assert.match(
      found.stderr,
      /cable driver "ipsec" required by policy "on-prem" is not available in cluster "c1" \(available: vxlan\)/,
    );
    await broker.close();
  });

  test('prints every report in every format, by its documented schema', async () => {
    const east = clientOf('east');
    const endpoint = {
      cluster_id: 'c2',
      cable_name: 'submariner-cable-c2',
      hostname: 'c2',
      subnets: ['10.2.0.0/16'],
      private_ip: '10.0.0.2',
      public_ip: '',
      nat_enabled: false,
      backend: 'ipsec',
    };
    const connections = [
      {
        status: 'error' as const,
        statusMessage: 'the other end does not answer, and this text is longer than a column of the table',
        endpoint,
        usingCableDriver: 'ipsec',
        usingPolicy: 'on-prem',
      },
    ];
    await east.create(Gateway, {
      apiVersion: Gateway.apiVersion,
      kind: Gateway.kind,
      metadata: { namespace: 'submariner-operator', name: 'node-1' },
      status: { haStatus: 'active', localEndpoint: { ...endpoint, cluster_id: 'east' }, connections },
    });
    await east.close();
    const lines: Record<keyof typeof REPORT_SCHEMAS, [argv: string, code: number, name: RegExp]> = {
      'subctl cable-policy add': [
        '--name new --cable-driver ipsec --dry-run --context broker',
        0,
        /^cablepolicies\.submariner\.io\/new\n$/,
      ],
      'subctl cable-policy list': ['--context broker', 0, /^cablepolicies\.submariner\.io\/default$/m],
      'subctl cable-policy explain': ['c1 c2 --context broker', 0, /^cablepolicies\.submariner\.io\/on-prem\n$/],
      'subctl show connections': ['--context east', 0, /^gateway\.submariner\.io\/node-1\n$/],
      'subctl show endpoints': ['--context broker', 0, /^endpoint\.submariner\.io\/c1$/m],
      'subctl show gateways': ['--context east', 0, /^gateway\.submariner\.io\/node-1\n$/],
      'subctl show cables': ['--context broker', 0, /^cluster\.submariner\.io\/c3$/m],
      'subctl diagnose cables': ['--context broker', 1, /^cluster\.submariner\.io\/c1$/m],
    };
    for (const [name, schema] of Object.entries(REPORT_SCHEMAS)) {
      const [argv, code, names] = lines[name as keyof typeof REPORT_SCHEMAS];
      const run = (format: string) => subctl(...name.split(' ').slice(1), ...argv.split(' '), '-o', format);
      const json = await run('json');
      assert.equal(json.code, code, json.stderr);
      const report: unknown = JSON.parse(json.stdout);
      assertReport(schema, report, name);
      assert.ok(!/^\[?\]?$/.test(json.stdout.trim()), `${name} is empty`);
      assert.deepEqual(parse((await run('yaml')).stdout), report);
      assert.match((await run('name')).stdout, names);
      const [table, wide] = [await run('table'), await run('wide')];
      assert.deepEqual([table.code, wide.code], [code, code]);
      assert.ok(table.stdout.length <= wide.stdout.length);
      assert.match(
        (await run('xml')).stderr,
        /--output: "xml" is not a format; use one of table, wide, json, yaml, name/,
      );
    }
    const { stdout } = await subctl('show', 'connections', '--context', 'east', '-o', 'wide');
    assert.match(stdout, /this text is longer than a column of the table\n$/);
  });

  test('the picture holds long and many labels inside its edges', () => {
    const labels = Array.from(
      { length: 6 },
      (_, index) => `topology.kubernetes.io/a-long-label-${index}=value<${index}>`,
    );
    const clusters = ['a', 'b', 'c', 'd'].map((id) => ({
      id,
      labels: Object.fromEntries(labels.map((label) => label.split('=') as [string, string])),
    }));
    const svg = svgPicture({ clusters, cables: [{ left: 'a', right: 'c', driver: 'vxlan', state: 'connected' }] });
    const [, left = '', , wide = ''] = /viewBox="(\S+) (\S+) (\S+)/.exec(svg) ?? [];
    for (const [, x, width] of svg.matchAll(/<rect x="(\S+)" y="\S+" width="(\S+)"/g)) {
      assert.ok(Number(x) >= Number(left));
      assert.ok(Number(x) + Number(width) <= Number(left) + Number(wide));
    }
    assert.match(svg, />… 3 more</);
    assert.doesNotMatch(svg, /value<0/);
  });

  test('the picture of the design has no overlapping labels, and a legend with every line style', () => {
    const clusters = ['c1', 'c2', 'c3', 'c4'].map((id) => ({
      id,
      labels: { location: id === 'c2' ? 'on-premise' : 'cloud' },
    }));
    const pairs = clusters.flatMap((one, index) =>
      clusters.slice(index + 1).map((other) => [one.id, other.id] as const),
    );
    const cables = pairs.map(([left, right]) => ({
      left,
      right,
      driver: left === 'c2' || right === 'c2' ? 'ipsec' : 'vxlan',
      state: left === 'c1' ? ('connected' as const) : ('planned' as const),
    }));
    const svg = svgPicture({ clusters, cables });
    const boxes = [...svg.matchAll(/<rect x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)" rx/g)].map((match) =>
      match.slice(1).map(Number),
    );
    const texts = [...svg.matchAll(/<text x="(\S+)" y="(\S+)" font-size="11"[^>]*>([^<]+)</g)].map(
      ([, x = '', y = '', text = '']) => [Number(x) - text.length * 3.3, Number(y) - 11, text.length * 6.6, 14],
    );
    assert.deepEqual([boxes.length, texts.length], [4, 6], 'each cable has its label');
    const all = [...boxes, ...texts];
    const overlapping = all.flatMap(([x = 0, y = 0, w = 0, h = 0], index) =>
      all
        .slice(index + 1)
        .filter(([ox = 0, oy = 0, ow = 0, oh = 0]) => x < ox + ow && ox < x + w && y < oy + oh && oy < y + h),
    );
    assert.deepEqual(overlapping, []);
    for (const text of ['ipsec', 'vxlan', 'connected', 'planned, connecting or none', 'error or conflict'])
      assert.match(svg, new RegExp(`<line [^>]*/><text [^>]*>${text}</text>`), text);
  });

  test('the picture of more than 40 clusters is a matrix of moderate size', () => {
    const clusters = Array.from({ length: 302 }, (_, index) => ({ id: `cluster-${index}`, labels: {} }));
    const cables = clusters.flatMap(({ id: left }, index) =>
      clusters.slice(index + 1).map(({ id: right }, other) => ({
        left,
        right,
        driver: (index * 7 + other) % 5 === 0 ? 'ipsec' : 'vxlan',
        state: 'planned' as const,
      })),
    );
    const svg = svgPicture({ clusters, cables });
    assert.ok(svg.length < 1_000_000, `${svg.length} bytes`);
    assert.equal([...svg.matchAll(/<path /g)].length, 2, 'one path for each driver');
    assert.match(svg, />cluster-301</);
    assert.doesNotMatch(svgPicture({ clusters: clusters.slice(0, 40), cables: [] }), /<path /);
  });

  test('show cables lists each pair once, with its policy and options', async () => {
    const text = await subctl('show', 'cables', '--context', 'broker');
    const lines = text.stdout.split('\n').filter((line) => /^ {2}\S{3} /.test(line));
    const { stdout } = await subctl('show', 'cables', '--context', 'broker', '-o', 'json');
    const { clusters, cables } = JSON.parse(stdout) as {
      clusters: { id: string; labels: Record<string, string> }[];
      cables: { left: string; right: string; driver: string | null; policy: string; options: Record<string, string> }[];
    };
    assert.equal(lines.length, cables.length);
    const pairs = new Set(cables.map(({ left, right }) => [left, right].toSorted().join(' ')));
    assert.equal(pairs.size, cables.length);
    for (const { policy, options, driver } of cables) {
      assert.equal(typeof policy, 'string');
      assert.equal(typeof options, 'object');
      assert.ok(driver === null || typeof driver === 'string');
    }
    assert.ok(clusters.every(({ labels }) => typeof labels === 'object'));
  });

  test('add -f takes the ConfigMap of the design as it stands, and -o reports what was created', async () => {
    const file = new URL('seed/cable-driver-config.yaml', import.meta.url).pathname;
    const added = await subctl('cable-policy', 'add', '-f', file, '--context', 'east');
    assert.equal(added.code, 0, added.stderr);
    assert.match(added.stderr, /vxlanID of a ConfigMap must be a string/);
    assert.match(added.stderr, /Created ConfigMap "cable-driver-config"/);
    const east = clientOf('east');
    const ref = { namespace: 'submariner-operator', name: 'cable-driver-config' };
    assert.equal((await east.get(ConfigMap, ref)).data?.['vxlanID'], '100');
    const flags = ['--name', 'with-options', '--cable-driver', 'vxlan', '--cable-config', 'cable-driver-config'];
    const report = await subctl('cable-policy', 'add', ...flags, '-o', 'json', '--context', 'east');
    assert.equal(report.code, 0, report.stderr);
    assertReport(REPORT_SCHEMAS['subctl cable-policy add'], JSON.parse(report.stdout), 'add');
    assert.deepEqual((JSON.parse(report.stdout) as { policies: unknown }).policies, [
      { name: 'with-options', action: 'created' },
    ]);
    await east.patch(ConfigMap, ref, 'merge', { data: { vxlanID: '20x' } });
    const wrong = await subctl('cable-policy', 'add', ...flags.with(1, 'again'), '--context', 'east');
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /options\.data\[vxlanID\]: Invalid value: "20x": must be between 1 and 16777215/);
    writeFileSync(join(folder, 'bad.yaml'), 'kind: ConfigMap\nmetadata: {name: c}\ndata: {dpdDelay: 20x}\n');
    const bad = await subctl('cable-policy', 'add', '-f', join(folder, 'bad.yaml'), '--context', 'east');
    assert.match(bad.stderr, /ConfigMap "c": dpdDelay: Invalid value: "20x"/);
    await east.delete(CablePolicies, { ...ref, name: 'with-options' });
    await east.delete(ConfigMap, ref);
    await east.close();
  });

  test('delete --name default prints what follows and needs --force', async () => {
    const refused = await subctl('cable-policy', 'delete', '--name', 'default', '--context', 'broker');
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /policy "default" decides \d+ pairs? of clusters.*\(vxlan\)/);
    assert.match(refused.stderr, /creates it again as it last was valid \(vxlan\)/);
    assert.match(refused.stderr, /use --force/);
  });

  test('contexts that contradict each other are refused, and a missing broker-info file is explained', async () => {
    const both = await subctl('show', 'endpoints', '--kubecontext', 'broker', '--context', 'east');
    assert.equal(both.code, 1);
    assert.match(both.stderr, /--kubecontext broker and --context east contradict each other/);
    const same = await subctl('show', 'endpoints', '--kubecontext', 'broker', '--context', 'broker');
    assert.equal(same.code, 0, same.stderr);
    const missing = await subctl('join', join(folder, 'nowhere.subm'), '--context', 'east');
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /nowhere\.subm: the broker information file cannot be read \(it does not exist\)/);
    assert.match(missing.stderr, /"subctl deploy-broker --context BROKER" writes it/);
  });

  test('the table of Endpoints shows all drivers', () => {
    const column = Endpoint.crd().spec.versions[0]?.additionalPrinterColumns?.find(({ name }) => name === 'Drivers');
    // A server prints the first value of a path: all drivers must be one value.
    assert.equal(column?.jsonPath, '.spec.drivers');
  });

  test('merges several kubeconfig files, and prints usage for unknown flags', async () => {
    const empty = join(folder, 'empty');
    writeFileSync(empty, 'apiVersion: v1\nkind: Config\n');
    for (const paths of [`${empty},${join(folder, 'kubeconfig')}`, `${empty}:${join(folder, 'kubeconfig')}`])
      assert.equal((await subctl('cable-policy', 'list', '--kubeconfig', paths, '--context', 'broker')).code, 0);
    const wrong = await subctl('cable-policy', 'list', '--bogus');
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /subctl cable-policy list has no flag --bogus; see subctl cable-policy list --help/);
  });
});
