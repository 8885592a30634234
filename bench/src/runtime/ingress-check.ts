import { isDeepStrictEqual } from 'node:util';
import type { Engine } from '@capstan/reconcile';
import type { IngressGraph } from '../ingress-graph.ts';
import { type IngressObjects, ingressObjects, type ObjectOptions } from '../ingress-objects.ts';
import { rebuildIngress } from '../ingress-rebuild.ts';

/** The objects that are in the graph's tables now. */
export function currentObjects(graph: IngressGraph, options: ObjectOptions = {}): IngressObjects {
  const first = ingressObjects(graph.size, options);
  const now = <V>(objects: ReadonlyMap<string, V>, peek: (key: string) => V | undefined) =>
    new Map(
      [...objects.keys()].flatMap((key): [string, V][] => {
        const object = peek(key);
        return object === undefined ? [] : [[key, object]];
      }),
    );
  return {
    proxies: now(first.proxies, (key) => graph.proxies.peek(key)),
    services: now(first.services, (key) => graph.services.peek(key)),
    slices: now(first.slices, (key) => graph.slices.peek(key)),
    secrets: now(first.secrets, (key) => graph.secrets.peek(key)),
  };
}

/** Figures of a graph that came to something else than a rebuild would mean nothing: throws if it did. */
export function checkOutputs(engine: Engine, graph: IngressGraph, options: ObjectOptions = {}): void {
  const plain = rebuildIngress(currentObjects(graph, options));
  for (const name of ['endpoints', 'cluster', 'certificate', 'host', 'status'] as const) {
    for (const [key, expected] of plain[name]) {
      const settled = engine.valueOf<unknown>(graph.outputs[name], key);
      if (settled?.state !== 'value' || !isDeepStrictEqual(settled.value, expected)) {
        throw new Error(`the graph and the rebuild do not agree on ${name}(${key})`);
      }
    }
  }
  const listener = engine.valueOf<unknown>(graph.outputs.listener, '');
  const chains = listener?.state === 'value' ? (listener.value as { secret: string }[][]).flat() : [];
  const bySecret = (a: { secret: string }, b: { secret: string }) => (a.secret < b.secret ? -1 : 1);
  if (!isDeepStrictEqual(chains.toSorted(bySecret), plain.listener.toSorted(bySecret))) {
    throw new Error('the graph and the rebuild do not agree on the listener');
  }
}
