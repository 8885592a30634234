// A cluster moves from the real Contour to Sesame under traffic: Sesame beside it, then the traffic, then Contour gone. No manifest is edited,
// no request is lost, and no status changes back and forth.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '@capstan/kube';
import { eventually } from '../end-to-end/world.ts';
import { startLoad } from '../load/load-client.ts';
import { missingEnvoy } from '../real/envoy.ts';
import { type RequestOptions, send } from '../real/http-client.ts';
import { KINDS, kindOf, missingContour, nameOf, statusIn } from './contour.ts';
import {
  type EnvoyPorts,
  recordStatuses,
  type StatusChange,
  shownAnswer,
  type TakeOverStage,
  takeOverStage,
} from './take-over-stage.ts';

const REQUESTS_PER_SECOND = 25;

/** The requests whose answers are compared; `isSecure` ones with TLS. */
const REQUESTS: readonly (Omit<RequestOptions, 'port' | 'tls'> & { readonly isSecure?: boolean })[] = [
  { host: 'shop.test', path: '/' },
  { host: 'shop.test', path: '/', isSecure: true },
  { host: 'shop.test', path: '/split' },
  { host: 'shop.test', path: '/secure/a?b=c' },
  { host: 'shop.test', path: '/secure/a', isSecure: true },
  { host: 'shop.test', path: '/old/a' },
  { host: 'shop.test', path: '/header' },
  { host: 'shop.test', path: '/header', headers: { 'x-beta': 'yes' } },
  { host: 'shop.test', path: '/', method: 'POST', body: 'text' },
  { host: 'shop.test', path: '//double//slash' },
  { host: 'root.test', path: '/' },
  { host: 'root.test', path: '/hello' },
  { host: 'root.test', path: '/moved/a' },
  { host: 'root.test', path: '/denied' },
  { host: 'root.test', path: '/team' },
  { host: 'root.test', path: '/team/deep' },
  { host: 'root.test', path: '/teams' },
  { host: 'a.wild.test', path: '/' },
  { host: 'a.wild.test', path: '/', isSecure: true },
  { host: 'a.b.wild.test', path: '/' },
  { host: 'broken.test', path: '/' },
  { host: 'classic.test', path: '/' },
  { host: 'classic.test', path: '/two/a' },
  { host: 'classic.test', path: '/exact' },
  { host: 'classic.test', path: '/exact/a' },
  { host: 'forced.test', path: '/' },
  { host: 'forced.test', path: '/', isSecure: true },
  { host: 'unknown.test', path: '/' },
];

/** Answers that differ by intent: the entry of docs/sesame-and-contour.md. */
const DIFFERENT: ReadonlyMap<string, string> = new Map();

suite('a take-over from Contour', { skip: missingContour() || missingEnvoy(), concurrency: 1 }, () => {
  for (const [signal, title] of [
    ['SIGTERM', 'ends in order'],
    ['SIGKILL', 'crashes'],
  ] as const)
    test(`loses no request and flips no status when Contour ${title}`, { timeout: 240_000 }, async (t) => {
      const stage = await takeOverStage();
      const watching = new AbortController();
      const ends: (() => Promise<unknown> | void)[] = [() => stage.end(), () => watching.abort()];
      try {
        const old = await stage.startContour();
        await serves(stage, old);
        await allReported(stage);
        const changes = await recordStatuses(stage.client, watching.signal);
        let during = 'Contour alone';
        const load = startLoad({
          requestsPerSecond: REQUESTS_PER_SECOND,
          host: 'shop.test',
          httpPort: old.http,
          httpsPort: old.https,
          ca: stage.ca,
          patienceMs: 60_000,
          during: () => during,
        });
        ends.push(() => load.stop());
        await moreRequests(load);

        during = 'Sesame beside Contour';
        const next = await stage.startSesame();
        await serves(stage, next);
        assert.deepEqual(await differences(stage, old, next), []);
        await moreRequests(load);
        assert.deepEqual(await statusWriters(stage), ['contour']);

        during = 'the move of traffic';
        load.moveTo({ httpPort: next.http, httpsPort: next.https });
        await moreRequests(load);

        during = 'the end of Contour';
        await stage.endContour(signal);
        await addHost(stage, next);
        await moreRequests(load);
        const { requests, failed, firstFailed, repeated, stallMs } = await load.stop();
        assert.deepEqual(failed, [], `${firstFailed.join('\n')}\nthe longest stall was ${stallMs} ms`);
        assert.deepEqual(flips(changes), []);
        assert.deepEqual(await editedObjects(stage), []);
        t.diagnostic(
          `${requests} requests, 0 lost, ${repeated} sent again on a connection that was closed; ` +
            `${changes.length} statuses, written by ${(await statusWriters(stage)).join(' and ')}`,
        );
      } finally {
        for (const end of ends.toReversed()) await end();
      }
    });
});

async function moreRequests({ sent }: { sent(): number }): Promise<void> {
  const from = sent();
  await eventually(
    () => Promise.resolve(sent()),
    (now) => now >= from + REQUESTS_PER_SECOND,
    'requests',
  );
}

/** Waits until the Envoy answers for the hosts of HTTPProxies and of Ingresses, with and without TLS. */
async function serves(stage: TakeOverStage, { http, https }: EnvoyPorts): Promise<void> {
  const tls = { ca: stage.ca };
  const all: readonly RequestOptions[] = [
    { port: http, host: 'shop.test' },
    { port: https, host: 'shop.test', tls },
    { port: http, host: 'root.test', path: '/team' },
    { port: http, host: 'classic.test' },
    { port: https, host: 'forced.test', tls },
  ];
  for (const each of all)
    await eventually(
      async () => (await send(each)).status,
      (status) => status === 200,
      `the first answer of ${each.host}`,
      stage.log,
    );
}

async function differences(stage: TakeOverStage, old: EnvoyPorts, next: EnvoyPorts): Promise<string[]> {
  const found: string[] = [];
  for (const { isSecure = false, ...request } of REQUESTS) {
    const through = async ({ http, https }: EnvoyPorts) => {
      const answer = await send({
        ...request,
        port: isSecure ? https : http,
        ...(isSecure && { tls: { ca: stage.ca } }),
      });
      return JSON.stringify(shownAnswer(answer)).replaceAll(`:${isSecure ? https : http}`, '');
    };
    const name = `${isSecure ? 'https' : 'http'}://${request.host}${request.path ?? '/'}`;
    const [theirs, ours] = [await through(old), await through(next)];
    if (theirs !== ours && !DIFFERENT.has(name)) found.push(`${name}\n  Contour: ${theirs}\n  Sesame:  ${ours}`);
  }
  return found;
}

/** Waits for the statuses of Contour. It writes none of delegations, and sometimes none of Ingresses that were there before it. */
async function allReported(stage: TakeOverStage): Promise<void> {
  await eventually(
    async () => {
      const missing: string[] = [];
      for (const object of stage.objects.filter(({ kind }) => kind === 'HTTPProxy' || kind === 'ExtensionService')) {
        const found = await stage.client.get(kindOf(object), refOf(object));
        if (statusIn(found).conditions === undefined) missing.push(nameOf(object));
      }
      return missing;
    },
    (objects) => objects.length === 0,
    'the statuses of Contour',
    stage.log,
  );
}

/** The field managers of the statuses of all HTTPProxies. */
async function statusWriters({ client }: TakeOverStage): Promise<string[]> {
  const kind = KINDS.find(({ kind: name }) => name === 'HTTPProxy');
  const { items } = kind ? await client.list(kind) : { items: [] };
  const entries = items.flatMap(({ metadata }) => metadata.managedFields ?? []);
  const writers = entries.filter(({ subresource }) => subresource === 'status').map(({ manager }) => manager ?? '');
  return [...new Set(writers)].toSorted();
}

/** An HTTPProxy of Contour that is created after it: Sesame serves it, and writes its status. */
async function addHost(stage: TakeOverStage, { http }: EnvoyPorts): Promise<void> {
  const late: KubeObject & { readonly spec: object } = {
    apiVersion: 'projectcontour.io/v1',
    kind: 'HTTPProxy',
    metadata: { name: 'late', namespace: 'default' },
    spec: { virtualhost: { fqdn: 'late.test' }, routes: [{ services: [{ name: 'one', port: 80 }] }] },
  };
  await stage.client.create(kindOf(late), late);
  await eventually(
    async () => statusIn(await stage.client.get(kindOf(late), refOf(late))).currentStatus,
    (status) => status === 'valid',
    'the status of Sesame',
    stage.log,
  );
  await eventually(
    async () => (await send({ port: http, host: 'late.test' })).status,
    (status) => status === 200,
    'the host that is new',
    stage.log,
  );
}

const refOf = ({ metadata }: KubeObject) => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name ?? '',
});

/** The status without the text and the times of its conditions. */
function shown({ object, status }: StatusChange): string {
  const { conditions = [], ...rest } = (status ?? {}) as { readonly conditions?: readonly Condition[] };
  const known = conditions.map(({ type, status: is, errors = [], warnings = [] }) => [
    type,
    is,
    [...errors, ...warnings].map((each) => `${each.type}/${each.reason}`),
  ]);
  const { description: _, ...others } = rest as { readonly description?: string };
  return `${object} ${JSON.stringify({ ...others, known })}`;
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly errors?: readonly { readonly type: string; readonly reason: string }[];
  readonly warnings?: readonly { readonly type: string; readonly reason: string }[];
}

/** Objects whose status came back to an earlier one, or whose verdict changed at all. */
function flips(changes: readonly StatusChange[]): string[] {
  // A status that no controller has written is the default of the definition.
  const written = changes.filter(({ status }) => JSON.stringify(status ?? {}).includes('conditions'));
  const of = Map.groupBy(written, ({ object }) => object);
  return [...of].flatMap(([object, all]) => {
    const distinct = all.map(shown).filter((each, at, list) => each !== list[at - 1]);
    const verdicts = new Set(
      all.map(({ status }) => (status as { currentStatus?: string } | undefined)?.currentStatus),
    );
    const isBack = new Set(distinct).size < distinct.length;
    return isBack || verdicts.size > 1 ? [`${object}: ${distinct.join('\n  ')}`] : [];
  });
}

/** Objects whose manifest differs from the one that was created. */
async function editedObjects(stage: TakeOverStage): Promise<string[]> {
  const manifest = ({ metadata, ...rest }: KubeObject & { readonly spec?: unknown }) => ({
    labels: metadata.labels,
    annotations: metadata.annotations,
    finalizers: metadata.finalizers,
    owners: metadata.ownerReferences,
    spec: rest.spec,
  });
  const found: string[] = [];
  for (const object of stage.objects) {
    const [now, created] = [manifest(await stage.client.get(kindOf(object), refOf(object))), manifest(object)];
    if (!isDeepStrictEqual(now, created))
      found.push(`${nameOf(object)} is ${JSON.stringify(now)}, and was ${JSON.stringify(created)}`);
  }
  return found;
}
