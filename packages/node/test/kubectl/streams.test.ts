// exec, cp, attach, port-forward and logs -f, with the real kubectl, on pods that run as processes and on simulated ones. kubectl asks
// over WebSocket first; KUBECTL_REMOTE_COMMAND_WEBSOCKETS and KUBECTL_PORT_FORWARD_WEBSOCKETS make it speak SPDY, as older clients do.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type Cluster, startCluster, writeKubeconfig } from '@capstan/apiserver';
import {
  type Client,
  ClusterRole,
  ConfigMap,
  createClient,
  Pod,
  RoleBinding,
  Service,
  ServiceAccount,
  silentLogger,
  systemClock,
} from '@capstan/kube';
import { findBinaries } from '@capstan/testing';
import { createControllers, createNode, type LocalNode } from '../../src/index.ts';

const found = findBinaries();
const kubectl = 'missing' in found ? '' : (found.path('kubectl') ?? '');
const skip =
  'missing' in found
    ? found.missing
    : process.platform === 'linux'
      ? false
      : 'needs the loopback addresses 127.64.0.0/11: run it on Linux';

const SERVER = `
  const { createServer } = require('node:http');
  console.log('begin');
  let count = 0;
  createServer((request, response) => {
    console.log('request', ++count, request.url);
    let body = '';
    request.setEncoding('utf8').on('data', (chunk) => { body += chunk; });
    request.on('end', () => {
      if (request.url.startsWith('/status/')) response.statusCode = Number(request.url.slice(8));
      if (request.url.startsWith('/echo')) response.end(JSON.stringify([request.method, request.url, body, request.headers.authorization ?? 'none']));
      else response.end('hello from ' + process.env.POD_NAME + '\\n');
    });
  }).listen(8080, process.env.POD_IP);
`;

const NAMESPACE = 'default';
const started: ChildProcess[] = [];
const stopping = new AbortController();
let folder = '';
let cluster: Cluster;
let client: Client;
let running: Promise<unknown> = Promise.resolve();

before(async () => {
  if (skip !== false) return;
  folder = await mkdtemp(join(tmpdir(), 'capstan-streams-'));
  let node: LocalNode | undefined;
  const theNode = () => node ?? assert.fail('the node is not there yet');
  cluster = await startCluster({
    clock: systemClock,
    random: Math.random,
    port: 0,
    readLogs:
      () =>
      (...asked) =>
        theNode().logs(...asked),
    podStreams: () => ({
      exec: (...asked) => theNode().streams.exec(...asked),
      attach: (...asked) => theNode().streams.attach(...asked),
      portForward: (...asked) => theNode().streams.portForward(...asked),
    }),
  });
  await writeKubeconfig(join(folder, 'kubeconfig'), cluster.kubeconfig);
  const [first] = cluster.clusters;
  assert.ok(first);
  client = createClient({ transport: first.server.transport(), clock: systemClock, logger: silentLogger });
  const common = { client, clock: systemClock, random: Math.random, logger: silentLogger };
  const images = [
    { match: 'test/server', entrypoint: [process.execPath, '-e', SERVER] },
    { match: 'test/shell', entrypoint: ['/bin/sh'] },
  ];
  node = createNode({ ...common, images, dataDir: join(folder, 'node'), apiServer: first.endpoint });
  running = Promise.all([createControllers(common).run(stopping.signal), node.run(stopping.signal)]);
  const config: ConfigMap = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'words', namespace: NAMESPACE },
    data: { greeting: 'good day' },
  };
  await client.create(ConfigMap, config);
  await client.create(Pod, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'server', namespace: NAMESPACE, labels: { app: 'server' } },
    spec: {
      containers: [
        {
          name: 'main',
          image: 'test/server:1',
          ports: [{ containerPort: 8080 }],
          env: [{ name: 'COLOUR', value: 'green' }],
          readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
          volumeMounts: [
            { name: 'words', mountPath: '/etc/words' },
            { name: 'scratch', mountPath: '/scratch' },
          ],
        },
      ],
      volumes: [
        { name: 'words', configMap: { name: 'words' } },
        { name: 'scratch', emptyDir: {} },
      ],
    },
  });
  await client.create(Pod, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'unknown', namespace: NAMESPACE },
    spec: { containers: [{ name: 'main', image: 'example.com/unknown:1' }] },
  });
  await client.create(Pod, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'shell', namespace: NAMESPACE },
    spec: {
      containers: [
        {
          name: 'main',
          image: 'test/shell',
          command: ['sh', '-c', 'while read line; do echo "read $line"; done'],
          stdin: true,
        },
        { name: 'once', image: 'test/shell', command: ['sh', '-c', 'wc -c; sleep 1000'], stdin: true, stdinOnce: true },
        { name: 'terminal', image: 'test/shell', command: ['sh'], stdin: true, tty: true },
      ],
    },
  });
  for (const [name, selector] of [
    ['web', { app: 'server' }],
    ['empty', { app: 'nothing' }],
  ] as const) {
    await client.create(Service, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: NAMESPACE },
      spec: { selector, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
    });
  }
  for (const name of ['server', 'unknown', 'shell']) {
    await until(async () => {
      const found = await client.find(Pod, { namespace: NAMESPACE, name });
      return found?.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
    });
  }
});

after(async () => {
  for (const child of started) child.kill('SIGKILL');
  stopping.abort();
  await running;
  if (skip === false) await client.close();
  await cluster?.close();
  if (folder !== '') await rm(folder, { recursive: true, force: true });
});

async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  for (const began = Date.now(); Date.now() - began < 30_000; ) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error('it was not reached in time');
}

const SPDY = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' };

const SCRIPT = '/usr/bin/script';

function start(args: readonly string[], env: Record<string, string> = {}, program = kubectl) {
  const given = program === kubectl ? ['--kubeconfig', join(folder, 'kubeconfig')] : [];
  const child = spawn(program, [...given, ...args], {
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...env },
  });
  started.push(child);
  const detail = { out: '', error: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    detail.out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    detail.error += chunk.toString();
  });
  return { child, detail };
}

async function run(
  args: readonly string[],
  { input, env = {} }: { input?: string; env?: Record<string, string> } = {},
) {
  const { child, detail } = start(args, env);
  child.stdin.end(input ?? '');
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...detail };
}

for (const [protocol, env] of [
  ['WebSocket', {}],
  ['SPDY', SPDY],
] as const) {
  test(`exec over ${protocol}: output, errors, input and the exit code are the command's`, { skip }, async () => {
    const both = await run(['exec', 'server', '--', 'sh', '-c', 'echo $COLOUR; echo oops >&2; exit 3'], { env });
    assert.equal(both.out, 'green\n');
    assert.match(both.error, /^oops\n/);
    assert.match(both.error, /command terminated with exit code 3/);
    assert.equal(both.code, 3);
    const input = 'x'.repeat(200_000);
    const counted = await run(['exec', '-i', 'server', '--', 'wc', '-c'], { input, env });
    assert.equal(counted.out.trim(), '200000', counted.error);
    const echoed = await run(['exec', '-i', 'server', '--', 'cat'], { input, env });
    assert.equal(echoed.out, input);
    assert.equal(echoed.code, 0);
  });

  test(`cp over ${protocol}: files go into the pod's volumes and come back`, { skip }, async () => {
    const file = join(folder, `sent-${protocol}`);
    await writeFile(file, 'some text\n'.repeat(10_000));
    const there = await run(['cp', file, 'server:/scratch/received'], { env });
    assert.equal(there.code, 0, there.error);
    const back = await run(['cp', 'server:/scratch/received', `${file}-back`], { env });
    assert.equal(back.code, 0, back.error);
    assert.equal(await readFile(`${file}-back`, 'utf8'), await readFile(file, 'utf8'));
    const folderBack = await run(['cp', 'server:/scratch', `${file}-folder`], { env });
    assert.equal(folderBack.code, 0, folderBack.error);
    assert.equal(await readFile(join(`${file}-folder`, 'received'), 'utf8'), await readFile(file, 'utf8'));
    const read = await run(['exec', 'server', '--', 'cat', '/etc/words/greeting'], { env });
    assert.equal(read.out, 'good day');
  });

  test(`port-forward over ${protocol}: connections reach the pod's port`, { skip }, async () => {
    const { child, detail } = start(['port-forward', 'pod/server', ':8080'], env);
    await until(() => /Forwarding from 127\.0\.0\.1:\d+/.test(detail.out) || child.exitCode !== null);
    const port = /127\.0\.0\.1:(\d+)/.exec(detail.out)?.[1];
    assert.ok(port !== undefined, detail.error);
    for (let count = 0; count < 5; count += 1) {
      const answer = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } });
      assert.equal(await answer.text(), 'hello from server\n');
    }
    const many = await Promise.all(Array.from({ length: 10 }, () => fetch(`http://127.0.0.1:${port}/many`)));
    assert.ok(many.every(({ ok }) => ok));
    child.kill();
    await once(child, 'close');
    const closed = start(['port-forward', 'pod/server', ':9'], env);
    await until(() => /127\.0\.0\.1:\d+/.test(closed.detail.out) || closed.child.exitCode !== null);
    const nothing = /127\.0\.0\.1:(\d+)/.exec(closed.detail.out)?.[1];
    await assert.rejects(fetch(`http://127.0.0.1:${nothing}/`));
    await until(() => /error forwarding port 9 to pod server/.test(closed.detail.error));
    closed.child.kill();
    await once(closed.child, 'close');
  });
}

test('exec -it gives the command a terminal of the size of the client', {
  skip: skip || (existsSync(SCRIPT) ? false : 'needs script of util-linux, which opens terminals'),
}, async () => {
  const command = `until [ "$(stty size)" = "30 100" ]; do sleep 0.05; done; test -t 1 && echo sized; read line; echo "got $line"; exit 4`;
  const line = `stty cols 100 rows 30; ${kubectl} --kubeconfig ${join(folder, 'kubeconfig')} exec -it server -- sh -c '${command}'`;
  const { child, detail } = start(['-qec', line, '/dev/null'], { SHELL: '/bin/sh' }, SCRIPT);
  await until(() => /sized\r?\n/.test(detail.out) || child.exitCode !== null);
  child.stdin.write('a line\n');
  const [code] = (await once(child, 'close')) as [number | null];
  assert.match(detail.out, /got a line/);
  assert.equal(code, 4);
});

test('attach and logs -f show what the program writes from then on', { skip }, async () => {
  const following = start(['logs', '-f', '--tail=1', 'server']);
  const attached = start(['attach', 'server']);
  const address = (await client.get(Pod, { namespace: NAMESPACE, name: 'server' })).status?.podIP;
  await until(async () => {
    await (await fetch(`http://${address}:8080/now`)).text();
    return /\/now\n/.test(following.detail.out) && /\/now\n/.test(attached.detail.out);
  });
  assert.doesNotMatch(attached.detail.out, /begin/);
  for (const { child } of [following, attached]) {
    child.kill();
    await once(child, 'close');
  }
});

for (const [protocol, env] of [
  ['WebSocket', {}],
  ['SPDY', SPDY],
] as const) {
  test(`attach -i over ${protocol}: the program reads what the client writes, and goes on when the client has gone`, {
    skip,
  }, async () => {
    for (const word of ['first', 'second']) {
      const { child, detail } = start(['attach', '-i', 'shell', '-c', 'main'], env);
      await until(() => {
        if (!detail.out.includes(`read ${word}`)) child.stdin.write(`${word}\n`);
        return detail.out.includes(`read ${word}`) || child.exitCode !== null;
      });
      assert.match(detail.out, new RegExp(`read ${word}`), detail.error);
      child.kill();
      await once(child, 'close');
    }
    const { status } = await client.get(Pod, { namespace: NAMESPACE, name: 'shell' });
    assert.deepEqual(
      status?.containerStatuses?.map(({ restartCount }) => restartCount),
      [0, 0, 0],
    );
  });
}

test('an input that is to be opened once ends with its client', { skip }, async () => {
  const { child, detail } = start(['attach', '-i', 'shell', '-c', 'once']);
  child.stdin.end('12345');
  await until(() => /5/.test(detail.out) || child.exitCode !== null);
  assert.match(detail.out, /^5\n/m, detail.error);
  child.kill();
  await once(child, 'close');
});

test('attach -it talks to a program in a terminal', {
  skip: skip || (existsSync(SCRIPT) ? false : 'needs script of util-linux, which opens terminals'),
}, async () => {
  const line = `stty cols 90 rows 20; ${kubectl} --kubeconfig ${join(folder, 'kubeconfig')} attach -it shell -c terminal`;
  const { child, detail } = start(['-qec', line, '/dev/null'], { SHELL: '/bin/sh' }, SCRIPT);
  const question = 'test -t 0 && echo "size $(stty size)"\n';
  await until(() => {
    if (!detail.out.includes('size 20 90')) child.stdin.write(question);
    return detail.out.includes('size 20 90') || child.exitCode !== null;
  });
  assert.match(detail.out, /size 20 90/);
  child.kill();
  await once(child, 'close');
});

test('attach -i to a program without input is refused', { skip }, async () => {
  const { code, error } = await run(['attach', '-i', 'server']);
  assert.match(error, /container "main" in pod "server" has no input; set stdin: true in its specification/);
  assert.notEqual(code, 0);
});

test('the proxy of pods and Services passes requests on', { skip }, async () => {
  const raw = async (path: string) => run(['get', '--raw', `/api/v1/namespaces/default/${path}`]);
  for (const path of ['pods/server:8080/proxy/', 'pods/server/proxy/a/b?c=d', 'pods/http:server:8080/proxy/']) {
    assert.equal((await raw(path)).out, 'hello from server\n', path);
  }
  await until(async () => (await raw('services/web/proxy/')).code === 0);
  for (const path of ['services/web:80/proxy/', 'services/web:http/proxy/', 'services/http:web:80/proxy/']) {
    assert.equal((await raw(path)).out, 'hello from server\n', path);
  }
  const file = join(folder, 'posted');
  await writeFile(file, '"some text"');
  const posted = await run(['create', '--raw', '/api/v1/namespaces/default/pods/server/proxy/echo?x=y', '-f', file]);
  assert.deepEqual(JSON.parse(posted.out), ['POST', '/echo?x=y', '"some text"', 'none']);
  const cases: [path: string, message: RegExp][] = [
    ['pods/server/proxy/status/418', /hello from server|I'm a teapot|418/],
    ['pods/server:9/proxy/', /error trying to reach service: .*ECONNREFUSED/],
    ['pods/nowhere/proxy/', /pods "nowhere" not found/],
    ['pods/server:x/proxy/', /unable to parse "x" as a port/],
    ['pods/unknown/proxy/', /pod "unknown" is simulated, nothing of it runs/],
    ['services/nowhere/proxy/', /services "nowhere" not found/],
    ['services/web:other/proxy/', /no service port "other" found for service "web"/],
    ['services/empty/proxy/', /no endpoints available for service "empty"/],
  ];
  for (const [path, message] of cases) {
    const { code, error } = await raw(path);
    assert.match(error, message, path);
    assert.notEqual(code, 0);
  }
});

test('kubectl proxy reaches a Service of the cluster, and a path without its slash is redirected', {
  skip,
}, async () => {
  const { child, detail } = start(['proxy', '--port=0']);
  await until(() => /127\.0\.0\.1:\d+/.test(detail.out) || child.exitCode !== null);
  const base = `http://${/127\.0\.0\.1:\d+/.exec(detail.out)?.[0]}/api/v1/namespaces/default/services/web/proxy`;
  assert.equal(await (await fetch(`${base}/`)).text(), 'hello from server\n');
  const redirect = await fetch(`${base}?a=b`, { redirect: 'manual' });
  assert.equal(redirect.status, 301);
  assert.equal(redirect.headers.get('location'), '/api/v1/namespaces/default/services/web/proxy/?a=b');
  const large = 'x'.repeat(5_000_000);
  const echoed = (await (await fetch(`${base}/echo`, { method: 'PUT', body: large })).json()) as string[];
  assert.equal(echoed[2]?.length, large.length);
  child.kill();
  await once(child, 'close');
});

test('a simulated pod says so to exec, cp, attach, port-forward and logs', { skip }, async () => {
  const file = join(folder, 'some-file');
  await writeFile(file, '');
  for (const args of [
    ['exec', 'unknown', '--', 'ls'],
    ['cp', file, 'unknown:/tmp/x'],
    ['attach', 'unknown'],
    ['port-forward', 'pod/unknown', ':80'],
  ]) {
    const { code, error } = await run(args);
    assert.match(error, /pod "unknown" is simulated, nothing of it runs \(.*example\.com\/unknown:1\)/, args.join(' '));
    assert.notEqual(code, 0);
  }
  const logs = await run(['logs', 'unknown']);
  assert.match(logs.out, /^pod unknown is simulated and has no log \(.*example\.com\/unknown:1\)\n$/);
});

test('a command that cannot be run is refused with its reason', { skip }, async () => {
  const cases: [args: string[], message: RegExp][] = [
    [['exec', 'nowhere', '--', 'ls'], /pods "nowhere" not found/],
    [['exec', 'server', '-c', 'other', '--', 'ls'], /container other is not valid for pod server/],
    [['exec', 'server', '--', '/no/such/program'], /could not be started: .*ENOENT/],
  ];
  for (const [args, message] of cases) {
    const { code, error } = await run(args);
    assert.match(error, message);
    assert.notEqual(code, 0);
  }
});

test('a user who may only read pods/exec may not run commands, over any protocol', { skip }, async () => {
  const account: ServiceAccount = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'reader', namespace: NAMESPACE },
  };
  await client.create(ServiceAccount, account);
  await client.create(ClusterRole, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'reader' },
    rules: [{ apiGroups: [''], resources: ['pods', 'pods/exec'], verbs: ['get'] }],
  });
  await client.create(RoleBinding, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'reader', namespace: NAMESPACE },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' },
    subjects: [{ kind: 'ServiceAccount', name: 'reader', namespace: NAMESPACE }],
  });
  const proxied = ['get', '--as=system:serviceaccount:default:reader', '--raw'];
  const { error: refused } = await run([...proxied, '/api/v1/namespaces/default/pods/server:8080/proxy/']);
  assert.match(refused, /cannot get resource "pods\/proxy" in API group "" in the namespace "default"/);
  for (const env of [{}, SPDY]) {
    const { error } = await run(['exec', '--as=system:serviceaccount:default:reader', 'server', '--', 'ls'], { env });
    assert.match(error, /cannot create resource "pods\/exec" in API group "" in the namespace "default"/);
  }
});
