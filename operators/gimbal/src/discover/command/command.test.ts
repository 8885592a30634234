import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runDiscover } from './discover.ts';
import { checkFlags, parseFlags } from './flags.ts';
import type { DiscoverIo } from './io.ts';
import { runRbac } from './rbac.ts';
import { parseYamlDocuments } from './yaml.test-support.ts';

function io(env: Record<string, string> = {}): DiscoverIo & { text: () => string } {
  let detail = '';
  return {
    stdout: (text) => void (detail += text),
    stderr: (text) => void (detail += text),
    text: () => detail,
    env,
    files: { read: () => Promise.reject(new Error('no files here')) },
    signal: new AbortController().signal,
    connect: () => Promise.reject(new Error('nothing to connect to')),
    identity: 'test',
  };
}

it('gimbal discover --help lists the types', async () => {
  const shown = io();
  assert.equal(await runDiscover(['--help'], shown), 0);
  assert.match(shown.text(), /gimbal discover kubernetes --help[^]*gimbal discover openstack --help/);
});

describe('the flags of a discoverer', () => {
  it('are those of Gimbal, with one or two hyphens', () => {
    const given = parseFlags('kubernetes', [
      '--backend-name=east',
      '--num-threads',
      '4',
      '-debug',
      '--resync-interval=10m',
      '--gimbal-client-qps=5',
      '--gimbal-client-burst=10',
      '--prometheus-listen-address=9090',
      '--gimbal-kubecfg-file=/local',
      '--discover-kubecfg-file=/remote',
    ]);
    assert.deepEqual(given, {
      'backend-name': 'east',
      'num-threads': 4,
      debug: true,
      'resync-interval': 600_000,
      'gimbal-client-qps': 5,
      'gimbal-client-burst': 10,
      'prometheus-listen-address': 9090,
      'gimbal-kubecfg-file': '/local',
      'discover-kubecfg-file': '/remote',
    });
    assert.deepEqual(parseFlags('kubernetes', ['--cluster-name', 'east']), { 'backend-name': 'east' });
    const cloud = ['--reconciliation-period=30s', '--http-client-timeout=5s', '--openstack-project-watchlist=a,b'];
    assert.deepEqual(parseFlags('openstack', cloud), {
      'reconciliation-period': 30_000,
      'http-client-timeout': 5_000,
      'openstack-project-watchlist': ['a', 'b'],
    });
  });

  it('take the numbers and durations that Gimbal takes', () => {
    const given = (...argv: string[]) => parseFlags('openstack', argv);
    assert.deepEqual(given('--gimbal-client-qps=0.5'), { 'gimbal-client-qps': 0.5 });
    assert.deepEqual(given('--gimbal-client-qps', '1e2'), { 'gimbal-client-qps': 100 });
    assert.deepEqual(given('--reconciliation-period=500ms', '--resync-interval=0'), {
      'reconciliation-period': 500,
      'resync-interval': 0,
    });
    assert.deepEqual(given('--http-client-timeout=0s'), { 'http-client-timeout': 0 });
    assert.throws(() => given('--gimbal-client-qps=fast'), /cannot be "fast"; use a number such as 5 or 0\.5/);
    assert.throws(() => given('--resync-interval=-1s'), /use a duration such as 30s, 500ms or 0/);
  });

  it('the flags of a discoverer that cannot be parsed are reported with what to do', () => {
    const flags = (...argv: string[]) => checkFlags('kubernetes', parseFlags('kubernetes', argv));
    assert.throws(() => flags('--nonsense'), /has no flag --nonsense; see gimbal discover kubernetes --help/);
    assert.throws(() => flags('--reconciliation-period=30s'), /has no flag --reconciliation-period/);
    assert.throws(() => flags('--num-threads=many'), /cannot be "many"; use a whole number/);
    assert.throws(() => flags('--credentials-dir=/x'), /the name of the backend is missing/);
    assert.throws(() => flags('--backend-name=East', '--credentials-dir=/x'), /cannot be called "East"/);
    assert.throws(() => flags('--backend-name=east'), /--credentials-dir/);
    const both = ['--backend-name=east', '--credentials-dir=/x', '--discover-kubecfg-file=/y'];
    assert.throws(() => flags(...both), /give one of them/);
    assert.throws(() => flags('--backend-name=east', '--credentials-dir=/x', '--endpoint=here'), /https:\/\/HOST:PORT/);
  });

  it('do not include passwords, and the environment is no place for them either', async () => {
    const argv = ['openstack', '--backend-name=stack', '--credentials-dir=/x'];
    await assert.rejects(runDiscover(argv, io({ OS_PASSWORD: 's3cr3t' })), (error: Error) => {
      assert.match(error.message, /OS_PASSWORD is set/);
      assert.doesNotMatch(error.message, /s3cr3t/);
      return true;
    });
  });

  it('help and version need nothing else', async () => {
    for (const [argv, pattern] of [
      [['kubernetes', '--help'], /--backend-name NAME .*Also --cluster-name/],
      [['openstack', '--help'], /--openstack-project-watchlist/],
      [['kubernetes', '--version'], /^gimbal discover kubernetes \d/],
    ] as const) {
      const out = io();
      assert.equal(await runDiscover(argv, out), 0);
      assert.match(out.text(), pattern);
    }
    await assert.rejects(runDiscover(['vmware'], io()), /use gimbal discover kubernetes or gimbal discover openstack/);
  });
});

describe('what the remote side has to grant', () => {
  it('is list and watch in a cluster, as manifests', async () => {
    const out = io();
    await runRbac(['remote', 'kubernetes', '--namespace=gimbal'], out);
    const documents = parseYamlDocuments(out.text());
    assert.deepEqual(
      documents.map(({ kind }) => kind),
      ['Namespace', 'ServiceAccount', 'Secret', 'ClusterRole', 'ClusterRoleBinding'],
    );
    const role = documents.find(({ kind }) => kind === 'ClusterRole') as unknown as { rules: { verbs: string[] }[] };
    assert.deepEqual([...new Set(role.rules.flatMap(({ verbs }) => verbs))].toSorted(), ['get', 'list', 'watch']);
  });

  it('is a role that reads load balancers in a cloud', async () => {
    const out = io();
    await runRbac(['remote', 'openstack'], out);
    assert.match(out.text(), /load-balancer_global_observer/);
    await assert.rejects(
      runRbac(['remote', 'vmware'], out),
      /there is no backend of type "vmware"; use gimbal rbac remote kubernetes or/,
    );
    const help = io();
    assert.equal(await runRbac(['remote', '--help'], help), 0);
    assert.match(help.text(), /^Usage: gimbal rbac remote /);
  });
});
