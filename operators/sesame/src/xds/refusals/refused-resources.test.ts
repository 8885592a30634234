import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { type ResourceType, typeUrl } from '../../envoy/index.ts';
import type { Resource } from '../resource.ts';
import { cluster, createXdsStage, endpoints, put, remove } from '../xds.test-support.ts';
import { connectXds, type XdsResponse, type XdsStream } from '../xds-client.ts';
import type { Refused } from './client-refusals.ts';
import { RefusedResources } from './refused-resources.ts';

/** Reads responses as Envoy does: a response with one bad resource is refused as a whole, with a message that names none. */
class StrictClient {
  readonly has = new Map<string, string>();
  refusals = 0;
  /** Names that were missing from an accepted response of the whole type, although the client had them before. */
  readonly lost = new Set<string>();
  readonly #stream: XdsStream;
  readonly #type: ResourceType;
  readonly #mode: Mode;
  #version = '';

  constructor(stream: XdsStream, type: ResourceType, mode: Mode) {
    this.#stream = stream;
    this.#type = type;
    this.#mode = mode;
  }

  subscribe(names: readonly string[] = [], version = ''): void {
    this.#stream.request(
      this.#mode === 'delta'
        ? { type_url: typeUrl(this.#type), resource_names_subscribe: names }
        : { type_url: typeUrl(this.#type), resource_names: names, version_info: version },
    );
    void this.#run(names);
  }

  get version(): string {
    return this.#version;
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise((resolve) => setImmediate(resolve));
  }

  async #run(names: readonly string[]): Promise<void> {
    const next = () => this.#stream.next().catch(() => undefined);
    for (let response = await next(); response; response = await next()) this.#read(response, names);
  }

  #read(response: XdsResponse, names: readonly string[]): void {
    const contents = [...response.resources].map(([name, value]) => [name, JSON.stringify(value)] as const);
    const problem = contents.find(([name, text]) => name === '' || isBad(text));
    if (problem) {
      this.refusals += 1;
      const [name] = problem;
      // As Envoy does for a type that is not that of the response.
      const message = name === '' ? 'google.protobuf.Empty does not match the message-wide type URL' : 'it is negative';
      this.#stream.nack(response, message, names);
      return;
    }
    const isWhole = this.#mode === 'world' && (this.#type === 'cds' || this.#type === 'lds');
    if (isWhole) for (const name of this.has.keys()) if (!response.resources.has(name)) this.lost.add(name);
    if (isWhole) this.has.clear();
    for (const [name, text] of contents) this.has.set(name, text);
    for (const name of response.removed) this.has.delete(name);
    this.#version = response.version;
    this.#stream.ack(response, names);
  }
}

type Mode = 'world' | 'delta';
const MODES: readonly Mode[] = ['world', 'delta'];
const BAD = 666;

function isBad(text: string): boolean {
  return text.includes(`"${BAD}s"`) || text.includes(`"port_value":${BAD}`);
}

const good = (name: string, seconds = 2): Resource => cluster(name, seconds);
const bad = (name: string): Resource => cluster(name, BAD);
const names = (count: number) => Array.from({ length: count }, (_, at) => `c${at}`);

suite('a resource that is refused without being named', () => {
  for (const mode of MODES) {
    test(`${mode}: a client that has nothing gets all others, and the refused one is reported`, async (context) => {
      const { store, client, report } = await createXdsStage(context);
      put(store, ...names(20).map((name) => good(name)), bad('bad'));
      const strict = new StrictClient(client.open({ type: 'cds', isDelta: mode === 'delta' }), 'cds', mode);
      strict.subscribe();
      await strict.until(() => strict.has.size === 20);
      const { rejections } = await report(({ rejections: found }) => found.length > 0);
      assert.deepEqual(
        rejections.map(({ key, message }) => [key, message]),
        [['cds/bad', 'it is negative']],
      );
      // New ones arrive, and edits of others.
      put(store, good('later'), good('c3', 7));
      await strict.until(() => strict.has.has('later') && strict.has.get('c3')?.includes('"7s"') === true);
      put(store, good('bad'));
      await strict.until(() => strict.has.has('bad'));
      await report(({ rejections: found, acknowledged }) => found.length === 0 && acknowledged.cds !== undefined);
    });

    test(`${mode}: a client keeps the version that it accepted last`, async (context) => {
      const { store, client, report } = await createXdsStage(context);
      put(store, ...names(6).map((name) => good(name)));
      const strict = new StrictClient(client.open({ type: 'cds', isDelta: mode === 'delta' }), 'cds', mode);
      strict.subscribe();
      await strict.until(() => strict.has.size === 6);
      put(store, bad('c1'), good('c2', 9), good('new'));
      await strict.until(() => strict.has.size === 7 && strict.has.get('c2')?.includes('"9s"') === true);
      await strict.until(() => strict.refusals >= 2);
      await report(({ rejections: found }) => found.length === 1 && found[0]?.key === 'cds/c1');
      assert.match(strict.has.get('c1') ?? '', /"2s"/);
      assert.deepEqual([...strict.lost], []);
      remove(store, 'cds', 'c1');
      await strict.until(() => !strict.has.has('c1'));
      await report(({ rejections: found, acknowledged }) => found.length === 0 && acknowledged.cds !== undefined);
    });

    test(`${mode}: endpoints of many names on one stream are found in the same way`, async (context) => {
      const { store, client, report } = await createXdsStage(context);
      const all = names(9);
      put(store, ...all.map((name) => endpoints(name, name === 'c4' ? BAD : 1)));
      const strict = new StrictClient(client.open({ type: undefined, isDelta: mode === 'delta' }), 'eds', mode);
      strict.subscribe(all);
      await strict.until(() => strict.has.size === 8);
      const { rejections } = await report(({ rejections: found }) => found.length > 0);
      assert.deepEqual(
        rejections.map(({ key }) => key),
        ['eds/c4'],
      );
    });
  }

  for (const mode of MODES)
    test(`${mode}: a client that refuses everything costs another one response, and keeps nothing from it`, async (context) => {
      const { store, server, client, report } = await createXdsStage(context);
      put(store, ...names(300).map((name) => good(name)));
      const method = { type: 'cds', isDelta: mode === 'delta' } as const;
      const hostile = client.open(method);
      hostile.request({});
      let isOver = false;
      const refusing = (async () => {
        for (let response = await hostile.next(); !isOver; response = await hostile.next())
          hostile.nack(response, 'no');
      })().catch(() => undefined);
      await report(({ rejections }) => rejections.length === 300);
      const other = connectXds({ host: '127.0.0.1', port: server.port, nodeId: 'envoy-2' });
      context.after(() => other.close());
      const stream = other.open(method);
      stream.request({});
      let responses = 0;
      for (const has = new Set<string>(); has.size < 300; responses += 1) {
        const response = await stream.next();
        for (const name of response.resources.keys()) has.add(name);
        stream.ack(response);
      }
      assert.ok(responses <= 2, `${responses} responses`);
      isOver = true;
      await client.close();
      await refusing;
    });

  test('whatever changes: a client ends with every good version, and keeps the last of a bad one', async (context) => {
    const step = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom(1, 2, 3, BAD));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...MODES),
        fc.array(step, { minLength: 1, maxLength: 5 }),
        async (mode, steps) => {
          const { store, client } = await createXdsStage(context);
          put(store, good('always', 1));
          const strict = new StrictClient(client.open({ type: 'cds', isDelta: mode === 'delta' }), 'cds', mode);
          strict.subscribe();
          await strict.until(() => strict.has.size === 1);
          const expected = new Map<string, number>([['always', 1]]);
          let last = 1;
          for (const each of steps) {
            last += 10;
            const gone = [...expected.keys()].filter((name) => name !== 'always' && each[name] === undefined);
            store.take([
              ...gone.map((name) => [`cds/${name}`, undefined] as const),
              ...Object.entries(each).map(([name, seconds]) => [`cds/${name}`, cluster(name, seconds)] as const),
              ['cds/always', cluster('always', last)] as const,
            ]);
            for (const name of gone) expected.delete(name);
            for (const [name, seconds] of Object.entries(each)) if (seconds !== BAD) expected.set(name, seconds);
            expected.set('always', last);
            const holds = () =>
              strict.has.size === expected.size &&
              [...expected].every(([name, seconds]) => strict.has.get(name)?.includes(`"${seconds}s"`));
            await strict.until(holds);
          }
          assert.deepEqual([...strict.lost].includes('always'), false);
          await client.close();
        },
      ),
      { numRuns: 60 },
    );
  });
});

suite('after a restart of the server', () => {
  const bads = ['c3', 'c7'];
  const world = { type: 'cds', isDelta: false } as const;

  test('a client that comes back loses nothing while the refused resources are looked for', async (context) => {
    const first = await createXdsStage(context);
    put(first.store, ...names(16).map((name) => good(name)));
    const before = new StrictClient(first.client.open(world), 'cds', 'world');
    before.subscribe();
    await before.until(() => before.has.size === 16);
    // Two of them became bad while no server ran, and one is new.
    const second = await createXdsStage(context);
    put(second.store, ...names(16).map((name) => (bads.includes(name) ? bad(name) : good(name))), good('new'));
    const after = new StrictClient(second.client.open(world), 'cds', 'world');
    for (const [name, text] of before.has) after.has.set(name, text);
    after.subscribe([], before.version);
    await after.until(() => after.has.has('new'));
    const { rejections } = await second.report(({ rejections: found }) => found.length === 2);
    assert.deepEqual(rejections.map(({ key }) => key).sort(), ['cds/c3', 'cds/c7']);
    assert.deepEqual([...after.lost].sort(), bads, 'only the refused ones are left out');
    assert.equal(after.has.size, 15);
  });

  test('a remembered refusal is sent last and alone after a restart, and its last version stays in force', async (context) => {
    const kept = good('c3');
    const refused: Refused = {
      parts: new Map(),
      resources: new RefusedResources([{ key: 'cds/c3', version: 'x', message: 'it is negative', accepted: kept }]),
    };
    const { store, client, report } = await createXdsStage(context, { refused });
    put(store, ...names(6).map((name) => (name === 'c3' ? bad(name) : good(name))));
    const strict = new StrictClient(client.open(world), 'cds', 'world');
    strict.subscribe([], 'of the server before');
    await strict.until(() => strict.has.size === 6);
    assert.match(strict.has.get('c3') ?? '', /"2s"/);
    assert.equal(strict.refusals, 0);
    await strict.until(() => strict.refusals === 1);
    await report(({ rejections: found }) => found[0]?.key === 'cds/c3');
    put(store, good('c3', 5));
    await strict.until(() => strict.has.get('c3')?.includes('"5s"') === true);
    await client.roundTrip();
    assert.equal(refused.resources.size, 0);
  });
});
