import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { findCondition, type KindOf } from '@capstan/kube';
import { createStage, objectOf, planOf, type Stage } from '@capstan/testing';
import { eventually } from './eventually.test-support.ts';
import checks, { answer, check, HttpCheck } from './external-fact.ts';

type HttpCheck = KindOf<typeof HttpCheck>;
const ref = { namespace: 'default', name: 'home' };
const home = (url: string) => objectOf<HttpCheck>(HttpCheck, { metadata: ref, spec: { url } });
const reachableOf = async ({ client }: Stage) =>
  findCondition((await client.get(HttpCheck, ref)).status?.conditions, 'Reachable');

/** A server on loopback that counts its requests. */
async function served(
  run: (server: { url: string; asked: number; code: number; stop(): Promise<void> }) => Promise<void>,
) {
  const http = createServer((_request, response) => {
    served.asked++;
    response.writeHead(served.code, { connection: 'close' }).end();
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const stop = async () => {
    if (!http.listening) return;
    http.close();
    await once(http, 'close');
  };
  const served = { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/`, asked: 0, code: 200, stop };
  try {
    await run(served);
  } finally {
    await stop();
  }
}

describe('the example of an external fact', () => {
  test('shows the answer, and asks again after a minute', () =>
    served(async (server) => {
      const stage = await createStage({
        operators: [checks],
        given: async (client) => void (await client.create(HttpCheck, home(server.url))),
      });
      try {
        await eventually(stage, async () => (await reachableOf(stage))?.status === 'True', 'the address answers');
        assert.equal((await stage.client.get(HttpCheck, ref)).status?.code, 200);
        await stage.clock.advance(59_000);
        assert.equal(server.asked, 1);
        server.code = 503;
        await stage.clock.advance(1_000);
        await eventually(stage, async () => (await reachableOf(stage))?.reason === 'ServerError', 'it answers 503');
        assert.equal(server.asked, 2);
      } finally {
        await stage.end();
      }
    }));

  test('keeps the last answer when the address is away, and tries again with back-off', () =>
    served(async (server) => {
      const stage = await createStage({
        operators: [checks],
        given: async (client) => void (await client.create(HttpCheck, home(server.url))),
      });
      try {
        await eventually(stage, async () => (await reachableOf(stage))?.status === 'True', 'the address answers');
        await server.stop();
        await stage.clock.advance(60_000);
        await eventually(stage, async () => (await reachableOf(stage))?.reason === 'Unreachable', 'it is away');
        assert.equal((await stage.client.get(HttpCheck, ref)).status?.code, 200);
      } finally {
        await stage.end();
      }
    }));

  test('is a pure function of the fact: no server is needed to test what it plans', () => {
    const url = 'http://example.invalid/';
    const plannedFor = (state: { value?: { code: number }; error?: { code: string; message: string } }) =>
      planOf(check, [home(url)], {
        facts: [{ fact: answer, key: url, state: { value: state.value, error: state.error } }],
      }).conditions[0];
    assert.equal(plannedFor({ value: { code: 204 } })?.reason, 'Answers');
    assert.equal(plannedFor({ value: { code: 500 } })?.reason, 'ServerError');
    assert.equal(plannedFor({ error: { code: 'Unreachable', message: 'no route' } })?.reason, 'Unreachable');
    assert.throws(() => planOf(check, [home(url)]), /waits for/);
  });
});
