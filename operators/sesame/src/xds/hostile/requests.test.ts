// Requests that are well formed, and chosen to cost the server memory, time or lines of its log.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Logger, silentLogger } from '@capstan/kube';
import { encode, typeUrl } from '../../envoy/index.ts';
import { sharedParts } from '../../kept/kept.test-support.ts';
import { cluster, createXdsStage, put } from '../xds.test-support.ts';
import { assertServed, CLUSTERS, framed, open, sessionTo, stageWith, statusOf, WORLD } from './streams.test-support.ts';

const request = (fields: object) => framed(encode(WORLD, { node: { id: 'x' }, ...fields }));

suite('a client whose requests are well formed', () => {
  test('a client may have no id that is longer than a name', async (context) => {
    const stage = await stageWith(context);
    const stream = open(sessionTo(context, stage));
    const ended = statusOf(stream);
    stream.write(framed(encode(WORLD, { node: { id: 'n'.repeat(1 << 20) } })));
    assert.deepEqual(await ended, {
      status: '8',
      message: 'the id of the node has 1048576 characters; at most 4096 are taken',
    });
    assert.equal(stage.server.statistics().nodes, 0);
    await assertServed(stage);
  });

  test('a client has its waiting requests counted in bytes, on all its streams together', async (context) => {
    const stage = await createXdsStage(context, { limits: { incompleteBytes: 4 << 20 } });
    const session = sessionTo(context, stage);
    const [first, second] = [open(session), open(session)];
    const ended = statusOf(second);
    const large = request({ version_info: 'v'.repeat(3 << 20) });
    await new Promise((resolve) => first.write(large, resolve));
    await new Promise((resolve) => session.ping(resolve));
    second.write(large);
    assert.match((await ended).message, /waiting and incomplete requests/);
    const answer = new Promise((resolve) => first.once('data', resolve));
    put(stage.store, cluster('a'));
    await answer;
    // The bytes are free again.
    const third = open(session);
    const next = new Promise((resolve) => third.once('data', resolve));
    third.write(large);
    await next;
    await assertServed(stage);
  });

  test('a request that refuses with a message of megabytes costs no time, and the message is cut', async (context) => {
    const lines: object[] = [];
    const logger: Logger = { ...silentLogger, warn: (_text, fields) => void lines.push(fields ?? {}) };
    const { store, server, client } = await createXdsStage(context, { logger });
    put(store, ...Array.from({ length: 5_000 }, (_, at) => cluster(`c${at}`)));
    const stream = client.open(CLUSTERS);
    stream.request({});
    const response = await stream.next();
    const began = performance.now();
    const { nonce, typeUrl: type_url } = response;
    const message = 'c c1x '.repeat(4 << 20);
    for (let at = 0; at < 5; at += 1)
      stream.request({ type_url, response_nonce: nonce, error_detail: { code: 13, message } });
    while (lines.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const other = client.open(CLUSTERS);
    other.request({});
    await other.next();
    assert.ok(performance.now() - began < 20_000);
    assert.ok(JSON.stringify(server.reports()).length < 100_000);
    // One of them was awaited.
    assert.equal(lines.length, 1);
    assert.ok(JSON.stringify(lines).length < 10_000);
  });

  test('a client that refuses each part of a composed resource is searched for a bounded time', async (context) => {
    const { store, client } = await createXdsStage(context);
    const names = Array.from({ length: 1_000 }, (_, at) => `h${at}.example.com`);
    put(store, ...sharedParts(names).filter(({ type }) => type === 'rds'));
    for (const version_info of ['', 'of the server before']) {
      const stream = client.open({ type: 'rds', isDelta: false });
      stream.request({ resource_names: ['ingress_http'], version_info });
      let responses = 0;
      for (let response = await stream.next(); ; response = await stream.next()) {
        responses += 1;
        stream.nack(response, responses % 2 === 0 ? 'no' : 'sesame.marker.part', ['ingress_http']);
        await client.roundTrip();
        await client.roundTrip();
        if (stream.pending === 0) break;
      }
      assert.ok(responses < 5_000, `${responses} responses`);
      stream.close();
    }
  });

  test('a client that names a port for a listener of a very long name keeps its place', async (context) => {
    const stage = await stageWith(context);
    const stream = open(sessionTo(context, stage));
    const answer = new Promise((resolve) => stream.once('data', resolve));
    const metadata = { 'projectsesame.io/ports': { ['l'.repeat(1 << 20)]: 80 } };
    stream.write(framed(encode(WORLD, { node: { id: 'x', metadata }, type_url: typeUrl('cds') })));
    await answer;
    await assertServed(stage);
  });
});
