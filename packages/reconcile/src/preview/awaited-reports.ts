// Owners whose plans read what a sink reports: a preview delivers nothing, so that the report which follows the change is not known.
import type { Fork } from '../engine/index.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** Names of the sinks whose next report decides, by `Kind namespace/name` of the owner. */
export function awaitedReports(runtime: Runtime, fork: Fork): ReadonlyMap<string, readonly string[]> {
  if (runtime.sinks.length === 0) return new Map();
  const changes = fork.evaluate();
  const bindings = new Map<unknown, Runtime['bindings'][number]>(runtime.bindings.map((one) => [one.writes, one]));
  const sinks = new Map(runtime.sinks.map((one) => [one.reports.name, one]));
  const found = new Map<string, readonly string[]>();
  for (const { derivation, key, after } of changes) {
    const binding = bindings.get(derivation);
    if (binding === undefined || after === undefined) continue;
    const awaited = fork.notedBy(derivation, key).flatMap((read) => {
      const sink = sinks.get(read.table);
      if (sink === undefined) return [];
      const isDelivered = changes.some((one) => one.derivation === sink.derivation && one.key === read.key);
      return isDelivered || sink.reports.peek(read.key) === undefined ? [sink.sink.name] : [];
    });
    if (awaited.length > 0) found.set(`${binding.reconciler.resource.kind} ${key}`, [...new Set(awaited)]);
  }
  return found;
}
