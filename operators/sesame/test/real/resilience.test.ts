// Timeouts, retries, health checks, circuit breakers, slow start and internal redirects, as requests feel them.
// On the embedded server only: the backends are on loopback, which a real server refuses in endpoints.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { suite, test } from 'node:test';
import { missingEnvoy, waitFor } from './envoy.ts';
import { send } from './http-client.ts';
import { createIngressStage } from './ingress-stage.ts';

suite('resilience through a real Envoy', { skip: missingEnvoy() }, () => {
  test('slow, failing and overloaded services', async (context) => {
    const stage = await createIngressStage(context, 'grpc');
    const get = (host: string, path = '/', headers: Record<string, string> = {}) =>
      send({ port: stage.httpPort, host, path, headers });
    const reach = (host: string, path = '/') =>
      waitFor(async () => (await get(host, path)).status === 200, `${host}${path}; ${stage.refusals().join('\n')}`);
    await stage.backend('web', (_, response) => response.end('web'));
    // Never answered: each ends when Envoy gives up.
    await stage.backend('silent', () => undefined);
    await stage.backend('half', (_, response) => void response.write('half'));
    const web = { name: 'web', port: 80 };
    const silent = { name: 'silent', port: 80 };

    await context.test('timeouts of the whole answer, of idle streams and of one try', async () => {
      const tries = { first: 0 };
      await stage.backend('second-try', (_, response) => {
        tries.first += 1;
        if (tries.first > 1) response.end('second try');
      });
      await stage.proxy('timeouts', {
        virtualhost: { fqdn: 'timeouts.test' },
        routes: [
          { services: [web] },
          { conditions: [{ prefix: '/response' }], services: [silent], timeoutPolicy: { response: '200ms' } },
          {
            conditions: [{ prefix: '/idle' }],
            services: [silent],
            timeoutPolicy: { response: 'infinity', idle: '200ms' },
          },
          {
            conditions: [{ prefix: '/half' }],
            services: [{ name: 'half', port: 80 }],
            timeoutPolicy: { response: 'infinity', idle: '200ms' },
          },
          {
            conditions: [{ prefix: '/try' }],
            services: [{ name: 'second-try', port: 80 }],
            timeoutPolicy: { response: '30s' },
            retryPolicy: { count: 1, perTryTimeout: '500ms' },
          },
        ],
      });
      await reach('timeouts.test');
      assert.deepEqual(statusAndBody(await get('timeouts.test', '/response')), [504, 'upstream request timeout']);
      assert.deepEqual(statusAndBody(await get('timeouts.test', '/idle')), [504, 'stream timeout']);
      // The answer has begun: the client sees that it is not complete.
      assert.equal((await get('timeouts.test', '/half')).status, 0);
      assert.deepEqual(statusAndBody(await get('timeouts.test', '/try')), [200, 'second try']);
      assert.equal(tries.first, 2);
    });

    await context.test('retries: by status, as often as configured, and not at all', async () => {
      const counts: Record<string, number> = {};
      const failing = (name: string, status: number, failures: number) =>
        stage.backend(name, (_, response) => {
          counts[name] = (counts[name] ?? 0) + 1;
          response.statusCode = (counts[name] ?? 0) <= failures ? status : 200;
          response.end(name);
        });
      await failing('conflicts', 409, 1);
      await failing('broken', 500, 3);
      await failing('no-retry', 503, 1);
      await stage.proxy('retries', {
        virtualhost: { fqdn: 'retries.test' },
        routes: [
          { services: [web] },
          {
            conditions: [{ prefix: '/conflicts' }],
            services: [{ name: 'conflicts', port: 80 }],
            retryPolicy: { count: 1, retryOn: ['retriable-status-codes'], retriableStatusCodes: [409] },
          },
          {
            conditions: [{ prefix: '/broken' }],
            services: [{ name: 'broken', port: 80 }],
            retryPolicy: { count: 2 },
          },
          {
            conditions: [{ prefix: '/no-retry' }],
            services: [{ name: 'no-retry', port: 80 }],
            retryPolicy: { count: -1 },
          },
        ],
      });
      await reach('retries.test');
      assert.equal((await get('retries.test', '/conflicts')).status, 200);
      assert.equal((await get('retries.test', '/broken')).status, 500);
      assert.equal((await get('retries.test', '/no-retry')).status, 503);
      assert.deepEqual(counts, { conflicts: 2, broken: 3, 'no-retry': 1 });
    });

    await context.test('health checks: an endpoint that fails them gets nothing until it passes', async () => {
      const [well, sick] = ['127.64.7.2', '127.64.7.3'] as const;
      let isSick = true;
      const hosts = new Set<string>();
      await stage.pool('checked', [well, sick], (address, request, response) => {
        if (request.url === '/healthz') {
          hosts.add(request.headers.host ?? '');
          response.statusCode = address === sick && isSick ? 500 : 200;
        }
        response.end(address);
      });
      await stage.proxy('checked', {
        virtualhost: { fqdn: 'checked.test' },
        routes: [
          {
            services: [{ name: 'checked', port: 80 }],
            healthCheckPolicy: {
              path: '/healthz',
              host: 'probe.test',
              intervalSeconds: 1,
              timeoutSeconds: 1,
              unhealthyThresholdCount: 1,
              healthyThresholdCount: 1,
            },
          },
        ],
      });
      await reach('checked.test');
      const answers = async () => {
        const found = new Set<string>();
        for (let index = 0; index < 10; index += 1) found.add((await get('checked.test')).body);
        return [...found].sort();
      };
      assert.deepEqual(await answers(), [well]);
      assert.deepEqual([...hosts], ['probe.test']);
      isSick = false;
      await waitFor(async () => (await answers()).length === 2, 'the endpoint that is well again');
      isSick = true;
      await waitFor(async () => (await answers()).join() === well, 'the endpoint to be left out');
    });

    await context.test('circuit breakers: what is above the limit of a Service is refused at once', async () => {
      const waiting: ServerResponse[] = [];
      const annotations = { 'projectsesame.io/max-connections': '1', 'projectsesame.io/max-pending-requests': '1' };
      await stage.pool('narrow', ['127.64.7.4'], (_, __, response) => void waiting.push(response), { annotations });
      await stage.proxy('narrow', {
        virtualhost: { fqdn: 'narrow.test' },
        routes: [
          { services: [{ name: 'narrow', port: 80 }], timeoutPolicy: { response: 'infinity' } },
          { conditions: [{ prefix: '/ready' }], services: [web] },
        ],
      });
      await reach('narrow.test', '/ready');
      const first = get('narrow.test');
      await waitFor(() => waiting.length === 1, 'the first request');
      const others = Array.from({ length: 5 }, () => get('narrow.test'));
      const refused = await Promise.all([1, 2, 3, 4].map((count) => nth(others, count)));
      assert.deepEqual(
        refused.map(({ status, headers }) => [status, headers['x-envoy-overloaded']]),
        refused.map(() => [503, 'true']),
      );
      // The two within the limit: one is with the service, one waits for its connection.
      waiting[0]?.end('done');
      await waitFor(() => waiting.length === 2, 'the second request');
      waiting[1]?.end('done');
      const all = await Promise.all([first, ...others]);
      assert.equal(all.filter(({ status }) => status === 200).length, 2);
    });

    await context.test('slow start: a new endpoint gets its share step by step', async () => {
      const [old, added] = ['127.64.7.5', '127.64.7.6'] as const;
      const windowMs = 4_000;
      await stage.pool('warm', [old, added], (address, _, response) => response.end(address), { addresses: [old] });
      const begin = Date.now();
      await stage.proxy('warm', {
        virtualhost: { fqdn: 'warm.test' },
        routes: [{ services: [{ name: 'warm', port: 80, slowStartPolicy: { window: `${windowMs}ms` } }] }],
      });
      await reach('warm.test');
      const share = async (count: number) => {
        let found = 0;
        for (let index = 0; index < count; index += 1) if ((await get('warm.test')).body === added) found += 1;
        return found / count;
      };
      // The first endpoint has to be out of its own window before the other one comes.
      await waitFor(async () => (await share(1)) === 0 && Date.now() - begin > windowMs + 2_000, 'the window to pass');
      await stage.endpoints('warm', [old, added]);
      await waitFor(async () => (await share(1)) > 0, 'the first request at the new endpoint');
      const first = await share(20);
      assert.ok(first < 0.45, `the new endpoint got ${first} at once`);
      await waitFor(async () => (await share(20)) === 0.5, 'the full share');
    });

    await context.test('internal redirects are followed by Envoy, others reach the client', async () => {
      await stage.backend('moved', (request, response) => {
        if (request.url === '/there') response.end('there');
        else response.writeHead(302, { location: 'http://moved.test/there' }).end();
      });
      const services = [{ name: 'moved', port: 80 }];
      await stage.proxy('moved', {
        virtualhost: { fqdn: 'moved.test' },
        routes: [
          { services, internalRedirectPolicy: { maxInternalRedirects: 1, redirectResponseCodes: [302] } },
          { conditions: [{ prefix: '/there' }], services },
          { conditions: [{ prefix: '/client' }], services },
        ],
      });
      await reach('moved.test', '/there');
      assert.deepEqual(statusAndBody(await get('moved.test', '/follow')), [200, 'there']);
      const { status, headers } = await get('moved.test', '/client');
      assert.deepEqual([status, headers.location], [302, 'http://moved.test/there']);
    });
  });
});

function statusAndBody({ status, body }: { status: number; body: string }): [number, string] {
  return [status, body];
}

/** The answer that comes as the count-th, whichever it is. */
function nth<T>(promises: readonly Promise<T>[], count: number): Promise<T> {
  let settled = 0;
  return new Promise((resolve, reject) => {
    for (const each of promises)
      each.then((value) => {
        settled += 1;
        if (settled === count) resolve(value);
      }, reject);
  });
}
