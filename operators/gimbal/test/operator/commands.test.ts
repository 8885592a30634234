// Commands that wait, on a cluster with the operator: their output, and their end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Service } from '@capstan/kube';
import { type Io, parseFlags } from '@capstan/reconcile/command-line';
import { assertReport } from '@capstan/testing';
import { parse } from 'yaml';
import backends from '../../src/commands/program/backends.ts';
import { REPORT_SCHEMAS } from '../../src/commands/report-schemas.ts';
import {
  backendRows,
  backendTable,
  type CommandContext,
  drainBackend,
  findBackend,
  resumeBackend,
  rotateBackend,
} from '../../src/index.ts';
import { HTTPProxy, install, proxy } from '../maintenance/fixtures.ts';
import { mirror, type Played, played, SECOND } from './fixtures.ts';

/** `gimbal backends -o FORMAT`, as the program runs it. */
async function listed({ transport, clock }: Played, format: string): Promise<string> {
  let text = '';
  const io = {
    stdout: (part: string) => {
      text += part;
    },
    env: {},
    files: {},
    clock,
    signal: new AbortController().signal,
    connect: () =>
      Promise.resolve({ ...transport, close: () => Promise.resolve(), namespace: 'default', context: 'stage' }),
  };
  const flags = parseFlags(backends.options, { output: [format] });
  await backends.run({ command: 'gimbal backends', flags, positionals: [], operatorFlags: {} }, io as unknown as Io);
  return text;
}

async function given(client: Parameters<NonNullable<Parameters<typeof played>[0]['given']>>[0]): Promise<void> {
  await install(client, 'http-proxy');
  for (const one of [mirror('east-web'), mirror('west-web', true, 'west')]) await client.create(Service, one);
  await client.create(HTTPProxy, proxy('shop', { 'east-web': 60, 'west-web': 40 }));
  await client.create(HTTPProxy, proxy('only', { 'east-web': 1 }));
}

/** Runs a command while time passes. */
async function ran(stage: Played, command: (context: CommandContext) => Promise<number>) {
  const lines: string[] = [];
  const { client, clock } = stage;
  const { signal } = new AbortController();
  let code: number | undefined;
  const run = command({ client, clock, signal, report: (line) => void lines.push(line) }).then((end) => {
    code = end;
  });
  for (let turn = 0; code === undefined && turn < 400; turn++) await clock.advance(300);
  await run;
  return { code, lines };
}

const found = (stage: Played) => findBackend(stage.client, 'east');

test('a drain that is waited for ends when it is drained; the return when every weight is back', () =>
  played({ given }, async (stage) => {
    const east = await found(stage);
    await stage.client.delete(HTTPProxy, { namespace: 'default', name: 'only' });
    const drained = await ran(stage, (context) => drainBackend(east, context, { waitMs: 60_000 }));
    assert.equal(drained.code, 0);
    assert.match(drained.lines.at(-1) ?? '', /^east: drained; none of 1 routes/);
    const back = await ran(stage, (context) => resumeBackend(east, context, { waitMs: 60_000 }));
    assert.deepEqual([back.code, back.lines.at(-1)], [0, 'east: it takes traffic; every weight is as it was']);
  }));

for (const [onNoCapacity, what] of [
  ['Keep', /NoCapacity: .*they still go there/],
  // A sole service of Contour gets everything, whatever its weight is.
  ['Zero', /NoCapacity: .*the weight is 0, but Contour sends all of them there/],
] as const)
  test(`a drain that meets an obstacle names it and ends with another code (${onNoCapacity})`, () =>
    played({ given, spec: { maintenance: { onNoCapacity } } }, async (stage) => {
      const east = await found(stage);
      const { code, lines } = await ran(stage, (context) => drainBackend(east, context, { waitMs: 60_000 }));
      assert.equal(code, 3);
      assert.match(lines.at(-1) ?? '', /HTTPProxy default\/only routes\[0\]/);
      assert.match(lines.at(-1) ?? '', what);
    }));

test('a return that cannot restore a weight says so and ends with another code', () =>
  played({ given }, async (stage) => {
    const { client } = stage;
    await client.create(Service, mirror('east-new'));
    await stage.edit({ clusterStatus: 'Maintenance' });
    const ref = { namespace: 'default', name: 'shop' };
    const shop = structuredClone(await client.get(HTTPProxy, ref)) as unknown as {
      spec: { routes: { services: { name: string; port: number }[] }[] };
    };
    const [entry] = shop.spec.routes[0]?.services ?? [];
    // With another name and another port it may be anything.
    if (entry !== undefined) Object.assign(entry, { name: 'east-new', port: entry.port + 1 });
    await client.update(HTTPProxy, shop as never);
    const east = await found(stage);
    const { code, lines } = await ran(stage, (context) => resumeBackend(east, context, { waitMs: 60_000 }));
    assert.equal(code, 3);
    assert.match(lines.at(-1) ?? '', /HTTPProxy default\/shop: .* the weight before maintenance was 60, now it is 0/);
  }));

test('commands that do not wait end at once', () =>
  played({ given }, async (stage) => {
    const east = await found(stage);
    assert.equal((await ran(stage, (context) => drainBackend(east, context, { waitMs: undefined }))).code, 0);
    assert.equal((await ran(stage, (context) => resumeBackend(east, context, { waitMs: undefined }))).code, 0);
  }));

test('a timeout is reported, and the work goes on', () =>
  played({}, async (stage) => {
    const east = await found(stage);
    await stage.secret('next', SECOND);
    const options = { secret: 'next', isNow: false, waitMs: 5_000 };
    // No discoverer ever gets ready here.
    const { code, lines } = await ran(stage, (context) => rotateBackend(east, context, options));
    assert.equal(code, 1);
    assert.match(lines.at(-1) ?? '', /not finished within 5 s/);
  }));

test('credentials that are refused end a rotation with another code', () =>
  played({}, async (stage) => {
    const east = await found(stage);
    await stage.secret('next', 'A s3cr3t-wrong');
    const options = { secret: 'next', isNow: true, waitMs: 60_000 };
    const { code, lines } = await ran(stage, (context) => rotateBackend(east, context, options));
    assert.equal(code, 3);
    assert.match(lines.at(-1) ?? '', /not used: .*401.*continues with its current ones/);
    assert.ok(!lines.join().includes('s3cr3t'));
    assert.match((await stage.backend()).metadata.annotations?.['gimbal.heptio.com/rotate-now'] ?? '', /^\d{4}-/);
  }));

test('fields that are not accepted end a rotation at once, and say why', () =>
  played({}, async (stage) => {
    await stage.secret('next', SECOND);
    await stage.edit({ refreshInterval: 'soon' });
    const east = await found(stage);
    const options = { secret: 'next', isNow: true, waitMs: 60_000 };
    const { code, lines } = await ran(stage, (context) => rotateBackend(east, context, options));
    assert.equal(code, 3);
    assert.match(lines.at(-1) ?? '', /not accepted; spec.refreshInterval: "soon"/);
  }));

test('the list has a line for each backend, and an unknown name is reported with the existing names', () =>
  played({}, async (stage) => {
    await stage.rollOut();
    await stage.report({ lastSync: new Date(stage.clock.now() - 300_000).toISOString() });
    const rows = await backendRows(stage.client, stage.clock.now());
    assert.match(backendTable(rows, false), /^east +default +kubernetes +Running +2 +5m ago +-$/m);
    assert.match(backendTable(rows, true), /^east +default +DiscoveryBackend +kubernetes +Running +2 +- +5m ago +-$/m);
    for (const [format, expected] of [
      ['json', (text: string) => assertReport(REPORT_SCHEMAS['gimbal backends'], JSON.parse(text))],
      ['yaml', (text: string) => assert.deepEqual(parse(text), JSON.parse(JSON.stringify(rows)))],
      ['name', (text: string) => assert.equal(text, 'discoverybackend.gimbal.heptio.com/east\n')],
      ['table', (text: string) => assert.equal(text, backendTable(rows, false))],
      ['wide', (text: string) => assert.equal(text, backendTable(rows, true))],
    ] as const)
      expected(await listed(stage, format));
    await assert.rejects(findBackend(stage.client, 'est'), /no backend called "est"; there are east/);
  }));
