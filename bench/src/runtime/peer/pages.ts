// The objects of the measurement, written over plain connections: Pages of about 1.2 KB in the namespace of each side.
import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '@capstan/testing';
import { type Address, type Connection, openConnection, openSocket, requestBytes } from '../../apiserver/connection.ts';
import { createNamespace } from '../../apiserver/objects.ts';
import { Page } from './page-operator.ts';

const TEXT_LENGTH = 1000;
const WRITERS = 32;
const ESTABLISH_LIMIT_MS = 30_000;

export const pagesIn = (namespace: string) => `/apis/bench.capstan.dev/v1/namespaces/${namespace}/pages`;
export const configMapsIn = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`;
export const pageName = (index: number) => `page-${String(index).padStart(5, '0')}`;

/** Six digits, as the watcher of the bench searches for them. */
export const sequence = (number: number) => String(number).padStart(6, '0');

/** The kind, the namespaces, and in each of them as many Pages. */
export async function createPages(address: Address, namespaces: readonly string[], count: number): Promise<void> {
  const first = await openConnection(address);
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  await first.exchange(requestBytes('POST', definitions, Page.crd()));
  for (const namespace of namespaces) await first.exchange(createNamespace(namespace));
  await served(first, pagesIn(namespaces[0] ?? ''));
  first.close();
  const random = createRandom(7);
  const letters = Array.from({ length: TEXT_LENGTH * 2 }, () => random.integer(0, 35).toString(36)).join('');
  // The same Pages for each side, so that the children can be compared.
  const texts = Array.from({ length: count }, () => random.integer(0, TEXT_LENGTH));
  const requests = namespaces.flatMap((namespace) => texts.map((from, index) => ({ namespace, index, from })));
  const writers = await Promise.all(Array.from({ length: WRITERS }, () => openConnection(address)));
  await Promise.all(
    writers.map(async (writer) => {
      for (let next = requests.pop(); next !== undefined; next = requests.pop()) {
        const text = letters.slice(next.from, next.from + TEXT_LENGTH);
        const spec = { title: `Page ${next.index}`, text, seq: sequence(0) };
        const { apiVersion, kind } = Page;
        const body = { apiVersion, kind, metadata: { name: pageName(next.index) }, spec };
        await writer.exchange(requestBytes('POST', pagesIn(next.namespace), body));
      }
      writer.close();
    }),
  );
}

/** A new Page, whose ConfigMap carries the number. */
export function createRequest(namespace: string, index: number, number: number): Buffer {
  const { apiVersion, kind } = Page;
  const spec = { title: `Page ${index}`, text: 'new', seq: sequence(number) };
  return requestBytes('POST', pagesIn(namespace), { apiVersion, kind, metadata: { name: pageName(index) }, spec });
}

/** An edit of one Page. */
export function editRequest(namespace: string, index: number, number: number): Buffer {
  const path = `${pagesIn(namespace)}/${pageName(index)}`;
  return requestBytes('PATCH', path, { spec: { seq: sequence(number) } }, 'application/merge-patch+json');
}

/** How many objects a collection has, by a list of one. */
export async function countOf(connection: Connection, collection: string): Promise<number> {
  const { text, metadata } = await firstOf(connection, collection);
  const rest = metadata.remainingItemCount ?? 0;
  return rest + (text.includes('"items":[]') || text.includes('"items":null') ? 0 : 1);
}

/** Returns the content of every ConfigMap of a namespace that a side wrote. Those of the server itself are left out. */
export async function childrenOf(connection: Connection, namespace: string): Promise<ReadonlyMap<string, string>> {
  const { body } = await connection.exchange(requestBytes('GET', configMapsIn(namespace)));
  const { items } = JSON.parse(body.toString('utf8')) as {
    items: readonly {
      readonly metadata: { readonly name: string };
      readonly data?: Readonly<Record<string, string>>;
    }[];
  };
  return new Map(
    items
      .filter(({ metadata }) => metadata.name.startsWith('page-'))
      .map(({ metadata, data = {} }) => [
        metadata.name,
        JSON.stringify(Object.entries(data).toSorted(([a], [b]) => (a < b ? -1 : 1))),
      ]),
  );
}

/** Calls back with the number of every ConfigMap that is written from now on; returns a function that ends it. */
export async function watchSequences(
  address: Address,
  collection: string,
  seen: (number: number) => void,
): Promise<() => void> {
  const connection = await openConnection(address);
  const { resourceVersion = '' } = (await firstOf(connection, collection)).metadata;
  connection.close();
  const socket = await openSocket(address);
  const opened = new Promise<void>((resolve, reject) => {
    socket.once('data', () => resolve());
    socket.on('error', reject);
  });
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    const data = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let done = 0;
    for (let at = data.indexOf(MARK); at >= 0; at = data.indexOf(MARK, done)) {
      const start = at + MARK.length;
      if (start + DIGITS > data.length) break;
      done = start + DIGITS;
      seen(Number(data.toString('latin1', start, done)));
    }
    rest = data.subarray(Math.max(done, data.length - MARK.length - DIGITS + 1));
  });
  const query = `watch=true&timeoutSeconds=3600&resourceVersion=${resourceVersion}`;
  socket.write(requestBytes('GET', `${collection}?${query}`));
  await opened;
  return () => socket.destroy();
}

const MARK = Buffer.from('"seq":"');
const DIGITS = 6;

interface ListMetadata {
  resourceVersion?: string;
  remainingItemCount?: number;
}

async function firstOf(connection: Connection, collection: string) {
  const { body } = await connection.exchange(requestBytes('GET', `${collection}?limit=1`));
  const text = body.toString('utf8');
  const [, json = '{}'] = /"metadata":(\{[^{}]*\})/.exec(text) ?? [];
  return { text, metadata: JSON.parse(json) as ListMetadata };
}

async function served(connection: Connection, collection: string): Promise<void> {
  const deadline = performance.now() + ESTABLISH_LIMIT_MS;
  for (;;) {
    try {
      await connection.exchange(requestBytes('GET', `${collection}?limit=1`));
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(100);
    }
  }
}
