import assert from 'node:assert/strict';
import { ConfigMap, type Kind, type KubeObject } from '@capstan/kube';
import { childWrite } from '../diff/child-diff.ts';
import { inputOf } from '../diff/diff.test-support.ts';
import { type ChildWrite, diff } from '../diff/index.ts';
import { INVENTORY_LABEL } from '../marks.ts';
import { type Child, plan } from '../plan/index.ts';
import { MANAGER, onCluster, ownershipOf, type Place } from './apply.test-support.ts';
import { type Performance } from './sending.ts';

export const at = (name: string) => ({ namespace: 'default', name });

export const configMap = (name: string, data: Record<string, string> = {}): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: at(name),
  data,
});

interface Stage extends Place {
  readonly met: string[];
  readonly performance: Performance;
  /** A child of the owner that the reconciler created. */
  own(name: string, metadata?: KubeObject['metadata']): Promise<ConfigMap>;
  /** Returns the remaining write for a child, given the existing objects. */
  writeFor(child: Child, objects?: readonly KubeObject[]): ChildWrite;
  /** Returns the remaining writes for a plan, given the existing objects. */
  writesFor(input: Parameters<typeof plan>[0], objects: readonly KubeObject[]): readonly ChildWrite[];
}

/** Everything is planned for a ConfigMap named owner. */
export function staged(check: (stage: Stage) => Promise<void>): Promise<void> {
  return onCluster(async (place) => {
    const ownership = ownershipOf(ConfigMap, await place.client.create(ConfigMap, configMap('owner')));
    const met: string[] = [];
    const performance: Performance = {
      target: place.target,
      manager: MANAGER,
      meetForeign: (kind: Kind, object) => met.push(`${kind.kind} ${object.metadata.name}`),
      mayWrite: () => true,
      cause: '{"why":"a test"}',
      clock: place.clock,
      signal: new AbortController().signal,
    };
    await check({
      ...place,
      met,
      performance,
      own: (name, metadata = {}) =>
        place.client.create(
          ConfigMap,
          {
            ...configMap(name),
            metadata: { ...at(name), ...metadata, labels: { [INVENTORY_LABEL]: ownership.inventory } },
          },
          { fieldManager: MANAGER },
        ),
      writeFor(child, objects = []) {
        const { write } = childWrite(child, inputOf({ ownership, objects }));
        assert.ok(write, 'there is something to write');
        return write;
      },
      writesFor: (input, objects) =>
        diff(inputOf({ ownership, objects, plan: plan(input) })).groups.flatMap(({ writes }) => writes),
    });
  });
}
