// The spec of the resource with the same meaning as a file with flags: only the differences from the resource's defaults, so that a later
// change of a default takes effect, and every field where a default of the file differs.
import { equal, type JsonObject } from '@capstan/kube/values';
import { type EffectiveConfiguration, effectiveConfiguration } from '../configuration/effective.ts';
import { LEAVES, valueAt, withValueAt } from '../configuration/fields.ts';

/** Groups that are given as a whole or not at all. */
const TOGETHER = ['xdsServer.tls', 'envoy.service', 'leaderElection.configmap'];

/** The smallest spec with this effective value in the namespace; with `isFull` every value. */
export function resourceSpecOf(value: EffectiveConfiguration, namespace: string, isFull = false): JsonObject {
  // The default of a leaf depends on whether its group is there at all.
  const defaults = effectiveConfiguration({ given: groupsOf(value), namespace }).value;
  let spec: JsonObject = {};
  for (const path of LEAVES) {
    const leaf = valueAt(value, path);
    if (leaf === undefined) continue;
    const together = TOGETHER.find((group) => path.startsWith(`${group}.`)) ?? path;
    if (!isFull && equal(valueAt(value, together), valueAt(defaults, together))) continue;
    spec = withValueAt(spec, path, leaf);
  }
  return { ...groupsOf(value, spec), ...spec };
}

/** Optional groups that are there, empty: their presence alone has a meaning. */
const OPTIONAL_GROUPS = ['rateLimitService', 'tracing', 'globalExtAuth'];

function groupsOf(value: EffectiveConfiguration, beside: JsonObject = {}): JsonObject {
  return Object.fromEntries(
    OPTIONAL_GROUPS.filter((group) => valueAt(value, group) !== undefined && beside[group] === undefined).map(
      (group) => [group, {}],
    ),
  );
}
