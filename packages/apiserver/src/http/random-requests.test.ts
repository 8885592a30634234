// No request may cause an answer of 500 or end the process: requests with random methods, paths, queries, headers and bodies go through a
// real connection. RANDOM_REQUESTS=COUNT sends more of them, RANDOM_SEED=NUMBER others.
import assert from 'node:assert/strict';
import { type IncomingHttpHeaders, request as send } from 'node:http';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type LogFields, silentLogger, systemClock } from '@capstan/kube';
import { stringify } from 'yaml';
import { ADMIN } from '../core.ts';
import { encodeObject } from '../protobuf/encode.ts';
import {
  CONFIG_MAPS,
  CRDS,
  configMap,
  DEPLOYMENTS,
  definition,
  deployment,
  seeded,
  testServer,
  WIDGETS,
  widget,
} from '../server.test-support.ts';
import { startHttpServer } from './http-server.ts';

const COUNT = Number(process.env['RANDOM_REQUESTS'] ?? 1_500);
const SEED = Number(process.env['RANDOM_SEED'] ?? 1);

type Json = Record<string, unknown>;

/** Objects that are right, by their collections. Requests are made by changes of these. */
const OBJECTS: readonly [collection: string, object: Json][] = [
  [CONFIG_MAPS, configMap('a', { b: 'c' })],
  [DEPLOYMENTS, deployment('a')],
  [CRDS, definition({ even: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self % 2 == 0' }] } })],
  [WIDGETS, widget('a', { size: 2, items: [{ name: 'one', value: 'b' }], tags: ['x'], options: { a: 'b' } })],
  [
    '/api/v1/namespaces/default/services',
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'a' },
      spec: { type: 'NodePort', selector: { app: 'a' }, ports: [{ port: 80, nodePort: 30_080, targetPort: 'http' }] },
    },
  ],
  [
    '/api/v1/namespaces/default/pods',
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'a', labels: { app: 'a' } },
      spec: {
        containers: [
          {
            name: 'main',
            image: 'a',
            env: [{ name: 'A', value: 'b' }],
            ports: [{ name: 'http', containerPort: 80 }],
            resources: { requests: { cpu: '100m' }, limits: { memory: '1Gi' } },
            volumeMounts: [{ name: 'v', mountPath: '/v' }],
          },
        ],
        volumes: [{ name: 'v', projected: { sources: [{ configMap: { name: 'a' } }] } }],
        tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 }],
        schedulingGates: [{ name: 'example.com/gate' }],
      },
    },
  ],
  [
    '/apis/rbac.authorization.k8s.io/v1/clusterroles',
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'a' },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] },
    },
  ],
  [
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'a' },
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: ['nothing.dev'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }],
        },
        variables: [{ name: 'v', expression: 'object.metadata' }],
        validations: [{ expression: 'has(object.spec)', messageExpression: '"a"' }],
      },
    },
  ],
  [
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: 'a' },
      spec: { policyName: 'a', validationActions: ['Deny'] },
    },
  ],
  [
    '/apis/apiregistration.k8s.io/v1/apiservices',
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: 'v1.example.org' },
      spec: {
        group: 'example.org',
        version: 'v1',
        groupPriorityMinimum: 1,
        versionPriority: 1,
        service: { namespace: 'default', name: 'a' },
      },
    },
  ],
  [
    '/apis/batch/v1/namespaces/default/cronjobs',
    {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'a' },
      spec: {
        schedule: '*/5 * * * *',
        jobTemplate: {
          spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'a' }] } } },
        },
      },
    },
  ],
  [
    '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers',
    {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'a' },
      spec: {
        scaleTargetRef: { kind: 'Deployment', name: 'a', apiVersion: 'apps/v1' },
        maxReplicas: 3,
        metrics: [
          { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 5 } } },
        ],
      },
    },
  ],
  [
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      metadata: {},
      spec: { user: 'a', groups: ['b'], resourceAttributes: { verb: 'get', resource: 'pods' } },
    },
  ],
];

const METHODS = [
  'GET',
  'GET',
  'HEAD',
  'POST',
  'POST',
  'PUT',
  'PUT',
  'PATCH',
  'PATCH',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
];
const SUBRESOURCES = ['status', 'scale', 'log', 'eviction', 'binding', 'exec', 'proxy/x', 'finalize', 'token', 'x', ''];
const CONTENT_TYPES = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/json-patch+json',
  'application/apply-patch+yaml',
  'application/json;charset=latin1',
  'text/plain',
  '',
  ';',
];
const ACCEPTS = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  'application/json;as=Table;v=v9',
  '*/*;q=x',
  ',;',
];
const QUERY_NAMES =
  'dryRun fieldManager fieldValidation force limit continue resourceVersion resourceVersionMatch labelSelector fieldSelector watch pretty timeout timeoutSeconds sendInitialEvents allowWatchBookmarks gracePeriodSeconds propagationPolicy orphanDependents includeObject container tailLines sinceTime command ports'.split(
    ' ',
  );
const QUERY_VALUES = [
  ...'|true|false|1|0|-1|1e9|99999999999999999999|All|Strict|Warn|NotOlderThan|Exact|a=b|a in (b,c)|!a|a in|metadata.name=a'.split(
    '|',
  ),
  ...'metadata.name!=|a=b=c|\\|=|,|%ff|%00|é|🦆|Background|Foreground|Orphan|Table|Object|None|1s|soon|eyJ2IjoibWV0YSJ9'.split(
    '|',
  ),
  'x'.repeat(300),
];
const ODD_VALUES = [
  ...(JSON.parse(
    '[null,0,-1,1,1.5,1e21,-0,2147483648,9007199254740992,true,false,[],{},[null],[[]],[{}]]',
  ) as unknown[]),
  ...(JSON.parse('[{"":null},{"a":{"b":[]}},"\\u0000","\\ud800"]') as unknown[]),
  ...'|x|%|🦆|__proto__|constructor|toString|*|1|-1|10.0.0.1|::1|5Mi|1e3k|2026-01-01T00:00:00Z'.split('|'),
  ...'self|self.x.y(|has(|size(self) > 0|^(|\\p{L}'.split('|'),
  'x'.repeat(400),
];
const ODD_KEYS = [
  '',
  'x',
  '__proto__',
  'constructor',
  'toString',
  'a.b/c',
  '$patch',
  '$retainKeys',
  '$setElementOrder/containers',
  '.',
  '-',
];

type Random = () => number;

const below = (random: Random, limit: number) => Math.floor(random() * limit);
const pick = <T>(random: Random, list: readonly T[]): T => list[below(random, list.length)] as T;

/** A copy of the value with changes in random places. */
function changed(value: unknown, random: Random, odds: number): unknown {
  if (random() < odds) return structuredClone(pick(random, ODD_VALUES));
  if (Array.isArray(value)) {
    const items = value.flatMap((item: unknown) => (random() < odds ? [] : [changed(item, random, odds)]));
    if (random() < odds) items.push(structuredClone(items[0] ?? pick(random, ODD_VALUES)));
    return items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).flatMap(([key, part]): [string, unknown][] => {
    if (random() < odds) return [];
    return [[random() < odds / 2 ? pick(random, ODD_KEYS) : key, changed(part, random, odds)]];
  });
  if (random() < odds) fields.push([pick(random, ODD_KEYS), pick(random, ODD_VALUES)]);
  return Object.fromEntries(fields);
}

function jsonPatch(object: Json, random: Random): unknown {
  const paths = [
    '',
    '/',
    '/metadata',
    '/metadata/labels/a',
    '/spec',
    '/spec/x/0',
    '/spec/containers/-',
    '/data/b',
    '/~2',
    'x',
  ];
  return Array.from({ length: below(random, 4) }, () =>
    changed(
      {
        op: pick(random, ['add', 'remove', 'replace', 'move', 'copy', 'test', 'x']),
        path: pick(random, paths),
        from: pick(random, paths),
        value: pick(random, [...ODD_VALUES, object]),
      },
      random,
      0.05,
    ),
  );
}

function bodyOf(object: Json, type: string, random: Random): Buffer {
  const odds = pick(random, [0, 0.02, 0.05, 0.2]);
  const value = type.includes('json-patch') ? jsonPatch(object, random) : changed(object, random, odds);
  const text = type.includes('yaml') && random() < 0.7 ? stringify(value) : (JSON.stringify(value) ?? '');
  const isProtobuf = type.includes('protobuf') && random() < 0.8;
  const bytes = Buffer.from((isProtobuf && encodeObject(object)) || text);
  switch (below(random, 10)) {
    case 0:
      return bytes.subarray(0, below(random, bytes.length + 1));
    case 1:
      for (let count = below(random, 4); count >= 0 && bytes.length > 0; count -= 1)
        bytes[below(random, bytes.length)] = below(random, 256);
      return bytes;
    case 2:
      return pick(random, [
        Buffer.alloc(0),
        Buffer.from('null'),
        Buffer.from('[]'),
        Buffer.from('"x"'),
        Buffer.from('k8s\0'),
      ]);
    default:
      return bytes;
  }
}

function pathOf(collection: string, object: Json, random: Random): string {
  const names = [
    (object['metadata'] as { name?: string }).name ?? 'a',
    'a',
    'missing',
    '%ff',
    '%00',
    '..',
    'A_B',
    '%2f',
    'x'.repeat(300),
  ];
  const name = pick(random, [names[0], names[0], names[0], ...names]) as string;
  const whole = random() < 0.4 ? collection : `${collection}/${name}`;
  const place = random() < 0.2 && whole !== collection ? `${whole}/${pick(random, SUBRESOURCES)}` : whole;
  const parts = place.split('/');
  if (random() < 0.08)
    parts[below(random, parts.length)] = pick(random, ['', '..', '%', '%ff', 'api', 'v1', 'default', '__proto__']);
  if (random() < 0.03) parts.length = below(random, parts.length + 1);
  const query = Array.from({ length: below(random, 3) }, () => {
    const value = pick(random, QUERY_VALUES);
    return `${pick(random, QUERY_NAMES)}=${value.startsWith('%') ? value : encodeURIComponent(value)}`;
  });
  return `/${parts.join('/').replace(/^\/+/, '')}${query.length === 0 ? '' : `?${query.join('&')}`}`;
}

interface Sent {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer;
}

function randomRequest(random: Random): Sent {
  const [collection, object] = pick(random, OBJECTS);
  const type = pick(random, CONTENT_TYPES);
  const method = pick(random, METHODS);
  return {
    method,
    path: pathOf(collection, object, random),
    headers: {
      authorization: 'Bearer admin',
      ...(type !== '' && { 'content-type': type }),
      ...(random() < 0.5 && { accept: pick(random, ACCEPTS) }),
      ...(random() < 0.03 && { 'impersonate-user': pick(random, ['a', '', 'system:serviceaccount:a:b']) }),
      ...(random() < 0.03 && { 'accept-encoding': 'gzip' }),
    },
    body: method === 'GET' || method === 'HEAD' || method === 'TRACE' ? Buffer.alloc(0) : bodyOf(object, type, random),
  };
}

async function serve(t: TestContext) {
  const problems: { message: string; fields: LogFields | undefined }[] = [];
  const logger = {
    ...silentLogger,
    error: (message: string, fields?: LogFields) => void problems.push({ message, fields }),
  };
  const { server, ok } = testServer({ staticTokens: [{ token: 'admin', user: ADMIN }], logger, clock: systemClock });
  const http = await startHttpServer({ clusters: [{ name: 'one', server }], clock: systemClock, port: 0, logger });
  t.after(async () => {
    await http.close();
    await server.close();
  });
  const exchange = ({
    method,
    path,
    headers,
    body,
  }: Sent): Promise<{ status: number; headers: IncomingHttpHeaders; text: string }> =>
    new Promise((resolve, reject) => {
      const asked = send({ host: '127.0.0.1', port: http.port, method, path, headers, agent: false, timeout: 20_000 });
      asked.on('timeout', () => asked.destroy(new Error('no answer')));
      asked.on('error', reject);
      asked.on('response', (answer) => {
        let text = '';
        const done = () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text });
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        answer.on('end', done);
        answer.on('error', done);
        // A watch does not end by itself.
        if (/[?&](watch|follow)=/.test(path) && answer.statusCode === 200) {
          done();
          asked.destroy();
        }
      });
      asked.end(body);
    });
  return { http, ok, problems, exchange };
}

test('no random request gets an answer of 500 or ends the server', { timeout: 600_000 }, async (t) => {
  const { ok, problems, exchange } = await serve(t);
  const random = seeded(SEED);
  for (const [collection, object] of OBJECTS) await ok('POST', collection, object);
  const statuses = new Map<number, number>();
  /** By the message, so that each is shown once. */
  const failures = new Map<string, string>();
  for (let count = 0; count < COUNT; count += 1) {
    const sent = randomRequest(random);
    const shown = () =>
      `request ${count}: ${sent.method} ${sent.path} ${JSON.stringify(sent.headers)} ${sent.body.toString()}`;
    const { status, text } = await exchange(sent).catch((error: unknown) => ({ status: 0, text: String(error) }));
    if (status === 500 || status === 0) failures.set(text, shown());
    for (const { message, fields } of problems.splice(0))
      failures.set(`${message} ${String(fields?.['error'])}`, shown());
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    // Objects that were deleted or spoiled come back, so that later requests meet something.
    if (count % 50 === 0) {
      for (const [collection, object] of OBJECTS) {
        const body = Buffer.from(JSON.stringify(object));
        const headers = { authorization: 'Bearer admin', 'content-type': 'application/json' };
        await exchange({ method: 'POST', path: collection, headers, body });
      }
    }
  }
  assert.deepEqual(Object.fromEntries(failures), {});
  // The requests are not refused for one reason alone.
  for (const status of [200, 201, 400, 404, 409, 415, 422])
    assert.ok(statuses.has(status), `none is answered with ${status}`);
});

test('bytes that are no request are refused, and the server goes on', async (t) => {
  const { http, problems, exchange } = await serve(t);
  const random = seeded(SEED);
  const beginnings = [
    '',
    'GET ',
    'GET / HTTP/1.1\r\n',
    'POST /api HTTP/1.1\r\ncontent-length: 5\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  ];
  await Promise.all(
    Array.from(
      { length: 200 },
      () =>
        new Promise<void>((resolve) => {
          const socket = connect(http.port, '127.0.0.1');
          const garbage = Buffer.from(Array.from({ length: below(random, 200) }, () => below(random, 256)));
          socket.on('error', () => {});
          socket.on('close', () => resolve());
          socket.resume();
          socket.end(Buffer.concat([Buffer.from(pick(random, beginnings)), garbage]));
        }),
    ),
  );
  assert.deepEqual(problems, []);
  const { status } = await exchange({ method: 'GET', path: '/version', headers: {}, body: Buffer.alloc(0) });
  assert.equal(status, 200);
});
