import assert from 'node:assert/strict';
import { request as plainRequest } from 'node:http';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { type Clock, systemClock } from '@capstan/kube';
import { ADMIN } from '../core.ts';
import type { Status } from '../errors.ts';
import { createProtobufDecoder } from '../protobuf/decode.ts';
import { CONFIG_MAPS, configMap, DEPLOYMENTS, deployment, testServer } from '../server.test-support.ts';
import { memoryStorage, type Storage } from '../store/storage.ts';
import { type HttpServerOptions, startHttpServer } from './http-server.ts';

const TOKEN = 'sesame';
const MEBIBYTE = 1024 * 1024;
const PODS = '/api/v1/namespaces/default/pods';
const NOT_SERVED = 'the server could not find the requested resource';

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  bytes: Buffer;
  text: string;
  json: Status & Record<string, unknown>;
}

interface Asked {
  method?: string;
  path: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
}

async function serve(options: Partial<HttpServerOptions> = {}, storage?: Storage) {
  const make = () =>
    testServer({
      authorization: 'RBAC',
      staticTokens: [{ token: TOKEN, user: ADMIN }],
      ...(storage && { storage }),
    });
  const [first, second] = [make(), make()];
  const clusters = [
    { name: 'one', server: first.server },
    { name: 'two', server: second.server },
  ];
  const http = await startHttpServer({ clusters, clock: systemClock, port: 0, ...options });
  const ask = ({ method = 'GET', path, headers = {}, body }: Asked) =>
    new Promise<Answer>((resolve, reject) => {
      const all = { authorization: `Bearer ${TOKEN}`, ...headers };
      const request = plainRequest({ host: http.host, port: http.port, path, method, headers: all }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const bytes = Buffer.concat(chunks);
          const text = bytes.toString();
          const isJson = (response.headers['content-type'] ?? '').includes('json') && text !== '';
          const unpacked = response.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes).toString() : text;
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            bytes,
            text,
            json: (isJson ? JSON.parse(unpacked) : {}) as Answer['json'],
          });
        });
      });
      request.on('error', reject);
      request.end(body);
    });
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    ask({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  return { http, first, second, ask, post };
}

type Served = Awaited<ReturnType<typeof serve>>;

describe('the HTTP server', () => {
  let served: Served;
  before(async () => {
    served = await serve();
  });
  after(() => served.http.close());

  it('keeps clusters apart by their path; the first is at the root too', async () => {
    assert.equal((await served.post(`/clusters/two${CONFIG_MAPS}`, configMap('here'))).status, 201);
    assert.equal((await served.ask({ path: `/clusters/two${CONFIG_MAPS}/here` })).status, 200);
    assert.equal((await served.ask({ path: `${CONFIG_MAPS}/here` })).status, 404);
    assert.equal((await served.post(CONFIG_MAPS, configMap('root'))).status, 201);
    assert.equal((await served.ask({ path: `/clusters/one${CONFIG_MAPS}/root` })).status, 200);
    const unknown = await served.ask({ path: '/clusters/three/api' });
    assert.deepEqual([unknown.status, unknown.json.reason], [404, 'NotFound']);
  });

  it('refuses requests without credentials, except for health and version', async () => {
    for (const authorization of ['', 'Bearer wrong', 'Basic YTpi']) {
      const { status, json } = await served.ask({ path: CONFIG_MAPS, headers: { authorization } });
      assert.deepEqual([status, json.reason, json.message], [401, 'Unauthorized', 'Unauthorized']);
    }
    const { status } = await served.ask({ path: '/version', headers: { authorization: 'Bearer wrong' } });
    assert.equal(status, 401);
    for (const path of ['/healthz', '/livez', '/readyz', '/version', '/clusters/two/readyz']) {
      assert.equal((await served.ask({ path, headers: { authorization: '' } })).status, 200, path);
    }
  });

  it('acts as whom the headers name', async () => {
    const { status, json } = await served.ask({ path: CONFIG_MAPS, headers: { 'impersonate-user': 'jane' } });
    assert.equal(status, 403);
    assert.match(json.message ?? '', /^configmaps is forbidden: User "jane" cannot list/);
    const who = await served.ask({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      headers: {
        'content-type': 'application/json',
        'impersonate-user': 'jane',
        'impersonate-group': ['a,b', 'c'],
        'impersonate-extra-reason%2fwhy': 'test',
      },
      body: '{"kind":"SelfSubjectReview"}',
    });
    assert.deepEqual(who.json['status'], {
      userInfo: {
        username: 'jane',
        groups: ['a,b', 'c', 'system:authenticated'],
        extra: { 'reason/why': ['test'] },
      },
    });
  });

  it('refuses an apply whose text has a key twice, when it is strict', async () => {
    const body = '\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: twice\ndata:\n  a: "1"\n  a: "2"\n';
    const headers = { 'content-type': 'application/apply-patch+yaml' };
    const path = `${CONFIG_MAPS}/twice?fieldManager=test&fieldValidation=Strict`;
    const { status, json } = await served.ask({ method: 'PATCH', path, headers, body });
    assert.equal(status, 400);
    assert.match(json.message ?? '', /^error strict decoding YAML: .*\n {2}line 8: key "a" already set in map$/);
    const lenient = await served.ask({ method: 'PATCH', path: path.replace('Strict', 'Warn'), headers, body });
    assert.equal(lenient.status, 201);
    assert.match(lenient.headers['warning']?.toString() ?? '', /already set in map/);
  });

  it('answers in protobuf where the kind has it, also in lists and refusals, and in JSON where it has not', async () => {
    const accept = 'application/vnd.kubernetes.protobuf,application/json';
    await served.post(CONFIG_MAPS, configMap('binary', { a: 'b' }));
    const decoder = createProtobufDecoder();
    for (const [path, status, kind] of [
      [`${CONFIG_MAPS}/binary`, 200, 'ConfigMap'],
      [CONFIG_MAPS, 200, 'ConfigMapList'],
      [`${CONFIG_MAPS}/missing`, 404, 'Status'],
    ] as const) {
      const answer = await served.ask({ path, headers: { accept } });
      assert.equal(answer.headers['content-type'], 'application/vnd.kubernetes.protobuf', path);
      assert.deepEqual([answer.status, decoder.decode(answer.bytes)['kind']], [status, kind]);
    }
    const table = `application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1;g=meta.k8s.io`;
    assert.equal((await served.ask({ path: CONFIG_MAPS, headers: { accept: table } })).json.kind, 'Table');
    const groups = await served.ask({ path: '/apis/example.com/v1/widgets', headers: { accept } });
    assert.equal(groups.status, 404);
    assert.doesNotMatch(String(groups.headers['content-type']), /protobuf/);
  });

  it('reads YAML and answers in YAML', async () => {
    const body = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  a: "1"\n';
    const headers = { 'content-type': 'application/yaml', accept: 'application/yaml' };
    const { status, text, headers: got } = await served.ask({ method: 'POST', path: CONFIG_MAPS, headers, body });
    assert.equal(status, 201, text);
    assert.equal(got['content-type'], 'application/yaml');
    assert.match(text, /^data:\n {2}a: "1"$/m);
  });

  const refusals: [what: string, asked: Partial<Asked>, status: number, reason: string, message: RegExp][] = [
    ['no JSON', { body: '{"kind":' }, 400, 'BadRequest', /json parse error/],
    ['no YAML', { body: 'a: [', headers: { 'content-type': 'application/yaml' } }, 400, 'BadRequest', /yaml/],
    ['no UTF-8', { body: Buffer.from([0x22, 0xff, 0x22]) }, 400, 'BadRequest', /UTF-8/],
    ['a very deep body', { body: '['.repeat(5000) + ']'.repeat(5000) }, 400, 'BadRequest', /levels deep/],
    [
      'a form',
      { body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      415,
      'UnsupportedMediaType',
      /accepted media types include: application\/json, application\/yaml/,
    ],
    [
      'only pictures accepted',
      { body: '{}', headers: { accept: 'image/png' } },
      406,
      'NotAcceptable',
      /Not Acceptable/,
    ],
    ['a method of its own', { method: 'OPTIONS' }, 405, 'MethodNotAllowed', /does not allow this method/],
    [
      'a method in the wrong place',
      { method: 'PUT', body: '{}' },
      405,
      'MethodNotAllowed',
      /does not allow this method/,
    ],
    [
      'an unknown patch',
      { method: 'PATCH', path: `${CONFIG_MAPS}/x`, body: '{}', headers: { 'content-type': 'text/plain' } },
      415,
      'UnsupportedMediaType',
      /Unsupported Media Type/,
    ],
    [
      'an unknown version',
      { method: 'GET', path: '/apis/apps/v9' },
      404,
      'NotFound',
      /could not find the requested resource/,
    ],
    ['a large body', { body: `"${'x'.repeat(4 * 1024 * 1024)}"` }, 413, 'RequestEntityTooLarge', /limit is 3145728/],
    [
      'a large body of unknown length',
      { body: `"${'x'.repeat(4 * 1024 * 1024)}"`, headers: { 'transfer-encoding': 'chunked' } },
      413,
      'RequestEntityTooLarge',
      /limit is 3145728/,
    ],
  ];
  for (const [what, asked, status, reason, message] of refusals) {
    it(`refuses ${what} with ${status} and a Status`, async () => {
      const headers = { 'content-type': 'application/json', ...asked.headers };
      const answer = await served.ask({ method: 'POST', path: CONFIG_MAPS, ...asked, headers });
      assert.equal(answer.status, status, answer.text);
      assert.deepEqual([answer.json.kind, answer.json.reason, answer.json.code], ['Status', reason, status]);
      assert.match(answer.json.message ?? '', message);
      assert.equal((await served.ask({ path: '/readyz' })).status, 200, 'and goes on');
    });
  }

  it('refuses a path with a malformed escape as Go does, and reads bytes that are no UTF-8', async () => {
    const malformed = await served.ask({ path: `${CONFIG_MAPS}/%zz` });
    assert.deepEqual([malformed.status, malformed.text], [400, '400 Bad Request']);
    for (const path of [`${CONFIG_MAPS}/%ff`, `${PODS}/%ff/log`, `${PODS}/%ff/proxy/x`, `${PODS}/%ff/status`]) {
      const { status, json } = await served.ask({ path });
      assert.deepEqual([status, json.details?.name], [404, '\ufffd'], path);
    }
    assert.equal((await served.ask({ path: '/api/v1/namespaces/%ff/configmaps' })).status, 200);
    assert.equal((await served.ask({ path: `${CONFIG_MAPS}/a%2fb` })).json.message, NOT_SERVED);
  });

  it('leaves out what is malformed in a query, and counts every value of a list', async () => {
    assert.equal((await served.ask({ path: `${CONFIG_MAPS}?limit=%zz` })).status, 200);
    assert.equal((await served.ask({ path: `${CONFIG_MAPS}?limit=x;` })).status, 200);
    const dryRun = async (query: string) =>
      (await served.post(`${CONFIG_MAPS}?${query}`, configMap('many'))).json.message ?? 'accepted';
    assert.equal(await dryRun('dryRun=All&dryRun=All'), 'accepted');
    assert.match(await dryRun('dryRun=All&dryRun='), /dryRun: Unsupported value: \["All",""\]/);
  });

  for (const [how, head] of [
    ['of known length', `content-length: ${64 * MEBIBYTE}`],
    ['in chunks', 'transfer-encoding: chunked'],
  ] as const) {
    it(`a client that is still writing a large body ${how} reads the refusal`, async () => {
      const socket = connect(served.http.port, served.http.host);
      const chunk = how === 'in chunks' ? `10000\r\n${'x'.repeat(65_536)}\r\n` : 'x'.repeat(65_536);
      const errors: string[] = [];
      let text = '';
      socket.on('error', (error) => errors.push(error.message)).on('data', (bytes) => (text += bytes.toString()));
      socket.write(
        `POST ${CONFIG_MAPS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\ncontent-type: application/json\r\n${head}\r\n\r\n`,
      );
      const isEnded = () => socket.readableEnded || socket.destroyed;
      while (!isEnded()) {
        await new Promise<void>((resolve) => socket.write(chunk, () => resolve()));
      }
      assert.match(text, /^HTTP\/1.1 413 [\s\S]*"reason":"RequestEntityTooLarge"[\s\S]*}\n$/);
      assert.deepEqual(errors, []);
      socket.destroy();
    });
  }

  it('takes headers and URLs as large as Go does', async () => {
    const labelSelector = `app in (${Array.from({ length: 9_000 }, (_, index) => `name-${index}`).join(',')})`;
    const path = `${CONFIG_MAPS}?labelSelector=${encodeURIComponent(labelSelector)}`;
    assert.ok(path.length > 100_000);
    assert.equal((await served.ask({ path })).status, 200);
    assert.equal((await served.ask({ path: CONFIG_MAPS, headers: { 'x-large': 'x'.repeat(1_000_000) } })).status, 200);
    assert.equal((await served.ask({ path: CONFIG_MAPS, headers: { 'x-large': 'x'.repeat(1_100_000) } })).status, 431);
  });

  it('writes nothing when the answer would not be acceptable', async () => {
    await served.post(CONFIG_MAPS, configMap('unseen'), { accept: 'image/png' });
    assert.equal((await served.ask({ path: `${CONFIG_MAPS}/unseen` })).status, 404);
  });

  it('reports fields that are there twice, as a refusal or as a warning', async () => {
    const body = JSON.stringify(deployment('twice')).replace('"replicas":1', '"replicas":1,"replicas":2,"more":3');
    const headers = { 'content-type': 'application/json' };
    const ask = (query: string) => served.ask({ method: 'POST', path: `${DEPLOYMENTS}?${query}`, headers, body });
    const strict = await ask('fieldValidation=Strict');
    assert.equal(strict.status, 400);
    assert.equal(
      strict.json.message,
      'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field "spec.more", duplicate field "spec.replicas"',
    );
    const warned = await ask('fieldValidation=Warn');
    assert.equal(warned.status, 201);
    assert.equal(
      warned.headers['warning'],
      '299 - "unknown field \\"spec.more\\"", 299 - "duplicate field \\"spec.replicas\\""',
    );
    const yaml = await served.ask({
      method: 'POST',
      path: `${CONFIG_MAPS}?fieldValidation=Strict`,
      headers: { 'content-type': 'application/yaml' },
      body: 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  name: y\n',
    });
    assert.match(yaml.json.message ?? '', /line 5: key "name" already set in map/);
  });

  it('answers HEAD without a body, and people in lines', async () => {
    const head = await served.ask({ method: 'HEAD', path: CONFIG_MAPS });
    assert.deepEqual([head.status, head.text], [200, '']);
    const read = await served.ask({ path: CONFIG_MAPS, headers: { 'user-agent': 'curl/8' } });
    assert.match(read.text, /^\{\n {2}"kind": "ConfigMapList"/);
  });

  it('writes long lists in pieces that are the same text, compressed when asked', async () => {
    for (let count = 0; count < 450; count += 1) {
      await served.first.ok(
        'POST',
        '/api/v1/namespaces/kube-public/configmaps',
        configMap(`c${count}`, { x: 'y'.repeat(500) }),
      );
    }
    const path = '/api/v1/namespaces/kube-public/configmaps';
    const plain = await served.ask({ path });
    assert.deepEqual(plain.json, await served.first.ok('GET', path));
    const packed = await served.ask({ path, headers: { 'accept-encoding': 'gzip' } });
    assert.equal(packed.headers['content-encoding'], 'gzip');
    assert.deepEqual(packed.json, plain.json);
    assert.ok(packed.bytes.length < plain.bytes.length / 4);
  });
});

describe('limits', () => {
  it('answers a request whose body does not arrive in time with 408', async (t) => {
    const { http } = await serve({ requestMs: 200 });
    t.after(() => http.close());
    const socket = connect(http.port, http.host);
    const head = `POST ${CONFIG_MAPS} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${TOKEN}\r\ncontent-type: application/json`;
    socket.write(`${head}\r\ncontent-length: 100\r\n\r\n{`);
    let text = '';
    for await (const chunk of socket) text += String(chunk);
    assert.match(text, /^HTTP\/1\.1 408 /);
  });

  it('turn a flood away with 429, when to come again, and room when it is over', async () => {
    let release: (() => void) | undefined;
    const slow: Storage = {
      ...memoryStorage(),
      flush: () =>
        new Promise((resolve) => {
          release = resolve;
        }),
    };
    const { http, ask } = await serve({ inFlight: { writes: 1, reads: 1 }, queueMs: 50 }, slow);
    const first = ask({ path: CONFIG_MAPS });
    while (!release) await new Promise((resolve) => setImmediate(resolve));
    const second = await ask({ path: CONFIG_MAPS });
    assert.deepEqual([second.status, second.json.reason, second.headers['retry-after']], [429, 'TooManyRequests', '1']);
    release();
    assert.equal((await first).status, 200);
    const third = ask({ path: CONFIG_MAPS });
    release = undefined;
    while (!release) await new Promise((resolve) => setImmediate(resolve));
    (release as () => void)();
    assert.equal((await third).status, 200);
    await http.close();
  });

  it('cut a watcher that does not read, and no other', async () => {
    const drainMs = 12_345;
    let giveUp: (() => void) | undefined;
    const clock: Clock = {
      ...systemClock,
      after(ms, call) {
        if (ms !== drainMs) return systemClock.after(ms, call);
        giveUp = call;
        return { cancel: () => {} };
      },
    };
    const served = await serve({ drainMs, clock });
    const { http, first } = served;
    const socket = connect(http.port, http.host);
    socket.write(`GET ${CONFIG_MAPS}?watch=1 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\n\r\n`);
    socket.pause();
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => {});
    const big = { x: 'y'.repeat(400_000) };
    // More than the buffers of both ends can take.
    for (let count = 0; count < 60; count += 1) await first.ok('POST', CONFIG_MAPS, configMap(`big${count}`, big));
    while (!giveUp) await new Promise((resolve) => setImmediate(resolve));
    giveUp();
    assert.equal((await served.ask({ path: '/readyz' })).status, 200);
    socket.resume();
    await closed;
    await http.close();
  });
});

describe('watches over HTTP', () => {
  it('send a line an event as it happens, and end when the server does', async () => {
    const { http, first } = await serve();
    const lines: string[] = [];
    let wake: (() => void) | undefined;
    const ended = new Promise<void>((resolve, reject) => {
      const path = `${CONFIG_MAPS}?watch=true`;
      const headers = { authorization: `Bearer ${TOKEN}` };
      plainRequest({ host: http.host, port: http.port, path, headers }, (response) => {
        assert.equal(response.headers['transfer-encoding'], 'chunked');
        response.setEncoding('utf8');
        response.on('data', (text: string) => {
          lines.push(...text.trim().split('\n'));
          wake?.();
        });
        response.on('end', resolve);
        response.on('error', reject);
        wake?.();
      })
        .on('error', reject)
        .end();
    });
    const next = () =>
      new Promise<void>((resolve) => {
        wake = resolve;
      });
    await next();
    const arrived = next();
    await first.ok('POST', CONFIG_MAPS, configMap('seen'));
    await arrived;
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as { type: string }).type),
      ['ADDED'],
    );
    await http.close();
    await ended;
  });
});

describe('a port', () => {
  it('a port that is in use is reported in one sentence', async () => {
    const { http } = await serve();
    await assert.rejects(startHttpServer({ clusters: [], clock: systemClock, port: http.port }), {
      message: `cannot listen on 127.0.0.1:${http.port}: the address is in use; stop the program that uses it, or choose another with --listen (port 0 takes any that is free)`,
    });
    await assert.rejects(startHttpServer({ clusters: [], clock: systemClock, host: '192.0.2.1', port: 0 }), {
      message: /^cannot listen on 192\.0\.2\.1:0: /,
    });
    await http.close();
  });
});
