// The whole server over HTTP, on a program with Secrets of random content.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { conditions, defineKind, type KindOf, object, Secret, silentLogger, string, systemClock } from '@capstan/kube';
import { conditionType, operator, plan, reading, reconciler } from '@capstan/reconcile';
import { createRandom, createStage } from '@capstan/testing';
import type {
  ChangesAnswer,
  FindAnswer,
  ObjectAnswer,
  ObjectsAnswer,
  OverviewAnswer,
  TimelineAnswer,
  WaveDetailAnswer,
} from '../api-types.ts';
import { type ConsoleServer, startConsole } from './console-server.ts';
import type { ConsoleSource } from './source.ts';

const GROUP = 'console.capstan.dev';
const Page = defineKind({
  group: GROUP,
  version: 'v1',
  kind: 'Page',
  scope: 'Namespaced',
  spec: object({ secret: string() }),
  status: object({ conditions: conditions() }),
});
type Page = KindOf<typeof Page>;
const ready = conditionType<'Done' | 'Missing'>('Ready');
const pages = reconciler<Page>({
  name: 'page',
  resource: Page,
  reads: [reading(Secret, 'referenced')],
  reconcile({ object: { metadata, spec }, read }) {
    const secret = read.get(Secret, { namespace: metadata.namespace ?? '', name: spec.secret });
    const message = `Secret ${spec.secret} is not there; <img src=x onerror=alert(1)>`;
    return plan({ conditions: [secret === undefined ? ready.isFalse('Missing', message) : ready.isTrue('Done', '')] });
  },
});
const operators = [operator({ name: 'pages', kinds: [Page], reconcilers: [pages] })];
const at = (name: string) => ({ name, namespace: 'default' });
const random = createRandom(31);
/** Long enough that none is in an answer by chance. */
const VALUES = Array.from(
  { length: 40 },
  (_, index) => `v${index}-${Array.from({ length: 24 }, () => random.integer(0, 35).toString(36)).join('')}`,
);

const DOCUMENT = '<!doctype html><meta content="__CSP_NONCE__"><title>page</title>';
const withoutNonce = (text: string) => text.replace(/content="[\w-]{22}"/, 'content="__CSP_NONCE__"');

type Stage = Awaited<ReturnType<typeof createStage>>;
let stage: Stage;
let server: ConsoleServer;

before(async () => {
  stage = await createStage({
    operators,
    async given(client) {
      for (const [index, value] of VALUES.entries()) {
        const name = `token-${index}`;
        const annotations = {
          'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ stringData: { value } }),
        };
        const metadata = { ...at(name), annotations };
        await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { value } });
        await client.create(Page, {
          apiVersion: Page.apiVersion,
          kind: Page.kind,
          metadata: at(`page-${index}`),
          spec: { secret: name },
        });
      }
    },
  });
  await stage.settle();
  await stage.client.delete(Secret, at('token-7'));
  await stage.settle();
  const source: ConsoleSource = {
    runtime: stage.program.runtime,
    operators,
    writes: false,
    session: { context: 'test', version: '0' },
    healthOf(one) {
      const condition = (one as Page).status?.conditions?.[0];
      const { reason = '', message = '', lastTransitionTime: since } = condition ?? {};
      return { state: condition?.status === 'True' ? 'ready' : 'broken', reason, message, ...(since && { since }) };
    },
    fetch: (id, kind, signal) => {
      const [namespace = '', name = ''] = id.key.split('/');
      return stage.client.find(kind, { namespace, name }, { signal });
    },
  };
  const loadFiles = () =>
    Promise.resolve(new Map([['/index.html', { path: '/index.html', bytes: Buffer.from(DOCUMENT) }]]));
  server = await startConsole({
    source: () => source,
    clock: systemClock,
    logger: silentLogger,
    host: '127.0.0.1',
    port: 0,
    loadFiles,
  });
});

after(async () => {
  await server.close();
  await stage.end();
});

interface Reply {
  readonly status: number;
  readonly text: string;
  readonly headers: NodeJS.Dict<string | string[]>;
}

/** `fetch` sets Host and Origin itself, and cleans paths: this function sends its arguments unchanged. */
function send(
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Reply> {
  const { method = 'GET', headers = {}, body } = options;
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: server.port, path, method, headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }));
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

const JSON_TYPE = { 'content-type': 'application/json' };
const exchange = (code: string) =>
  send('/api/login', { method: 'POST', headers: JSON_TYPE, body: JSON.stringify({ code }) });

async function login(): Promise<Record<string, string>> {
  const reply = await exchange(server.createCode());
  assert.equal(reply.status, 200, reply.text);
  return { 'capstan-token': (JSON.parse(reply.text) as { token: string }).token };
}

async function get<T>(path: string): Promise<T> {
  const reply = await send(path, { headers: await login() });
  assert.equal(reply.status, 200, `${path}: ${reply.text}`);
  return JSON.parse(reply.text) as T;
}

const PATHS = [
  '/api/session',
  '/api/overview',
  '/api/objects',
  '/api/objects?q=is:unready',
  '/api/objects?q=reads:Secret/default/token-1',
  '/api/changes',
  '/api/find?q=token',
  '/api/timeline',
  ...VALUES.flatMap((_, index) =>
    index === 7 ? [] : [`/api/object/-/Secret/default/token-${index}`, `/api/graph/-/Secret/default/token-${index}`],
  ),
  `/api/object/-/Page.${GROUP}/default/page-1`,
  `/api/graph/-/Page.${GROUP}/default/page-7?dir=reads`,
];

describe('the server of the console', () => {
  it('costs nothing before a page is open', () => assert.equal(server.isFollowing, false));

  it('refuses to listen where other machines reach it', async () => {
    const source = {} as ConsoleSource;
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.com'])
      await assert.rejects(
        startConsole({ source: () => source, clock: systemClock, logger: silentLogger, host, port: 0 }),
        /other machines/,
      );
  });

  it('exchanges a code once, and answers nothing without a token', async () => {
    const code = server.createCode();
    assert.equal((await exchange(code)).status, 200);
    assert.equal((await exchange(code)).status, 401);
    for (const path of PATHS.slice(0, 4)) assert.equal((await send(path)).status, 401);
    const rebound = await send('/api/overview', {
      headers: { ...(await login()), host: `rebound.example:${server.port}` },
    });
    assert.equal(rebound.status, 421);
    assert.equal(rebound.headers['access-control-allow-origin'], undefined);
  });

  it('the page has no path to other files', async () => {
    const headers = await login();
    const refused = ['//etc/passwd', '/api/object/-/..%2f/a/b', '/api/object/%', '/api/nothing'];
    for (const path of [...refused, '/assets/none.js'])
      assert.ok([400, 404].includes((await send(path, { headers })).status), path);
    for (const path of [
      '/',
      '/explore',
      '/api/../../etc/passwd',
      '/../package.json',
      '/%2e%2e/package.json',
      '/assets/../../package.json',
    ]) {
      const { status, text } = await send(path, {});
      assert.deepEqual([status, withoutNonce(text)], [200, DOCUMENT], path);
    }
  });

  it('gives the nonce of its policy to the document, another one each time', async () => {
    const replies = [await send('/'), await send('/explore')];
    const nonces = replies.map(({ text }) => /content="([\w-]+)"/.exec(text)?.[1] ?? '');
    assert.equal(new Set(nonces).size, 2);
    for (const [at, { headers }] of replies.entries())
      assert.ok(String(headers['content-security-policy']).includes(`'nonce-${nonces[at]}'`));
  });

  it('shows the absent Secret as the root cause', async () => {
    const { roots, rootCount } = await get<{
      roots: { id: string; state: string; affects: string[] }[];
      rootCount: number;
    }>('/api/overview');
    assert.equal(rootCount, 1);
    assert.deepEqual(
      roots.map(({ id, state, affects }) => ({ id, state, affects })),
      [{ id: 'Secret default/token-7', state: 'absent', affects: [`Page.${GROUP} default/page-7`] }],
    );
  });

  it('filters objects, by what they read too', async () => {
    type Found = { rows: { id: string }[]; total: number; facets: { state: Record<string, number> } };
    const unready = await get<Found>('/api/objects?q=is:unready');
    assert.deepEqual(
      unready.rows.map(({ id }) => id),
      [`Page.${GROUP} default/page-7`],
    );
    const readers = await get<Found>('/api/objects?q=reads:Secret/default/token-1');
    assert.deepEqual(
      readers.rows.map(({ id }) => id),
      [`Page.${GROUP} default/page-1`],
    );
    const first = await get<Found>('/api/objects?q=kind:page&limit=10');
    assert.deepEqual([first.total, first.rows.length, first.facets.state['broken']], [40, 10, 1]);
    const second = await get<Found>(
      `/api/objects?q=kind:page&limit=10&after=${encodeURIComponent(first.rows.at(-1)?.id ?? '')}`,
    );
    assert.equal(new Set([...first.rows, ...second.rows].map(({ id }) => id)).size, 20);
  });

  it('shows the overview of one namespace: its objects, and the roots that are in it or affect it', async () => {
    const all = await get<OverviewAnswer>('/api/overview');
    assert.deepEqual(all.namespaces, [{ name: 'default', objects: 40, unready: 1 }]);
    const own = await get<OverviewAnswer>('/api/overview?ns=default');
    assert.deepEqual([own.rootCount, own.operators[0]?.objects], [1, 40]);
    const other = await get<OverviewAnswer>('/api/overview?ns=other');
    assert.deepEqual([other.rootCount, other.operators[0]?.objects, other.namespaces.length], [0, 0, 1]);
    const { facets } = await get<ObjectsAnswer>('/api/objects?q=kind:page');
    assert.deepEqual([facets.operator, facets.namespace], [{ pages: 40 }, { default: 40 }]);
  });

  it('draws an absent object as absent', async () => {
    const { nodes } = await get<{ nodes: { id: string; state: string }[] }>(
      `/api/graph/-/Page.${GROUP}/default/page-7?dir=reads`,
    );
    assert.deepEqual(
      nodes.map(({ id, state }) => [id, state]),
      [
        [`Page.${GROUP} default/page-7`, 'broken'],
        ['Secret default/token-7', 'absent'],
      ],
    );
  });

  it('shows of an object why it is so, what its plan read, and what is absent', async () => {
    const answer = await get<ObjectAnswer>(`/api/object/-/Page.${GROUP}/default/page-7`);
    assert.deepEqual(
      answer.reads.map(({ id, presence }) => [id, presence]),
      [['Secret default/token-7', 'absent']],
    );
    assert.deepEqual([answer.readCount, answer.deliveries], [1, []]);
    assert.deepEqual(
      answer.conditions.map(({ type, status, reason }) => [type, status, reason]),
      [['Ready', 'False', 'Missing']],
    );
    assert.match(answer.why, /^Page default\/page-7 is not healthy \(Missing: Secret token-7 is not there/);
    assert.match(answer.why, /It depends on Secret default\/token-7, which does not exist\./);
    assert.match(answer.why, /Its plan read 1 object, 1 absent\./);
    const secret = await get<ObjectAnswer>('/api/object/-/Secret/default/token-1');
    assert.deepEqual([secret.reads, secret.conditions], [[], []]);
    const { roots } = await get<OverviewAnswer>('/api/overview');
    assert.deepEqual(
      roots.map(({ chain, chainLeft }) => [chain, chainLeft]),
      [[['Secret default/token-7', `Page.${GROUP} default/page-7`], 0]],
    );
  });

  it('finds objects, and absent ones that an object reads', async () => {
    const found = await get<FindAnswer>('/api/find?q=token-7');
    assert.deepEqual(found.absent, [{ world: '', kind: 'Secret', key: 'default/token-7' }]);
    assert.deepEqual(
      found.objects.map(({ id }) => id),
      [`Page.${GROUP} default/page-7`],
    );
  });

  it('has a time line of states and writes, with their waves', async () => {
    const page = { namespace: 'default', name: 'page-9' };
    await get('/api/overview');
    const secret = await stage.client.get(Secret, at('token-9'));
    await stage.client.delete(Secret, at('token-9'));
    await stage.settle();
    const { metadata, ...content } = secret;
    const { annotations } = metadata;
    await stage.client.create(Secret, {
      ...content,
      metadata: { ...at('token-9'), ...(annotations && { annotations }) },
    });
    await stage.settle();
    const { lanes, waves } = await get<TimelineAnswer>(`/api/timeline?object=-/Page.${GROUP}/default/${page.name}`);
    const lane = lanes.find(({ id }) => id.endsWith('default/page-9'));
    assert.deepEqual(
      lane?.spans.map(({ state }) => state),
      ['ready', 'broken', 'ready'],
    );
    assert.deepEqual(
      lane?.spans.map(({ to }) => to !== undefined),
      [true, true, false],
    );
    const { changes } = await get<ChangesAnswer>(`/api/changes?object=-/Page.${GROUP}/default/${page.name}`);
    assert.deepEqual(
      changes.map(({ conditions }) => conditions?.map(({ type, before, after }) => [type, before, after])),
      [[['Ready', 'False', 'True']], [['Ready', 'True', 'False']]],
    );
    const wave = await get<WaveDetailAnswer>(`/api/wave/${changes[0]?.wave}`);
    assert.ok(wave.list.some(({ key }) => key === 'default/page-9'));
    assert.ok(waves.some(({ wave: number }) => number === wave.wave));
  });

  it('streams a change, and no value of a Secret leaves the process in any byte', async () => {
    const headers = await login();
    const streamed = await new Promise<string>((resolve, reject) => {
      const sent = request(
        { host: '127.0.0.1', port: server.port, path: '/api/events', headers, agent: false },
        (response) => {
          let text = '';
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => {
            const isFirst = text === '';
            text += chunk;
            if (isFirst) {
              void stage.client
                .patch(Secret, at('token-1'), 'merge', { stringData: { value: VALUES[2] ?? '' } })
                .then(() => stage.client.delete(Secret, at('token-3')))
                .then(() => stage.settle())
                .catch(reject);
            }
            if (!text.includes('event: roots')) return;
            resolve(text);
            sent.destroy();
          });
        },
      );
      sent.once('error', reject);
      sent.end();
    });
    assert.match(streamed, /event: objects/);
    assert.match(streamed, /"key":"default\/token-3".*"verb":"deleted"/);
    const replies = await Promise.all(PATHS.map(async (path) => send(path, { headers })));
    const all = [streamed, ...replies.map(({ text }) => text)].join('\n');
    for (const value of VALUES) {
      for (const form of [
        value,
        Buffer.from(value).toString('base64'),
        Buffer.from(value).toString('hex'),
        encodeURIComponent(value),
      ])
        assert.ok(!all.includes(form), 'an answer has a value of a Secret');
    }
    assert.ok(all.includes('"keys":[{"name":"value"'));
    assert.ok(all.includes('last-applied-configuration'));
  });

  it('changes nothing by any GET', async () => {
    const headers = await login();
    const revision = async () => (await stage.client.list(Secret, {})).resourceVersion;
    const writes = stage.transport.writes.length;
    const start = await revision();
    for (const path of PATHS) await send(path, { headers });
    for (const path of PATHS) assert.ok((await send(path, { headers, method: 'DELETE' })).status === 405);
    assert.equal(await revision(), start);
    assert.equal(stage.transport.writes.length, writes);
  });

  it('blocks after ten wrong tokens, also for the right one', async () => {
    const headers = await login();
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 11; attempt++)
      statuses.push((await send('/api/session', { headers: { 'capstan-token': `wrong-${attempt}` } })).status);
    assert.deepEqual([statuses[0], statuses.at(-1)], [401, 429]);
    assert.equal((await send('/api/session', { headers })).status, 429);
  });
});
