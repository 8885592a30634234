// Listeners, endpoints and secrets that break the constraints of Envoy's messages are not sent: an Envoy would refuse them, and sometimes
// others with them. Routes, hosts and clusters are checked where they are translated, so that the problem is on the field of their object.
import type { ResourceType, Violation } from '../../envoy/index.ts';
import type { Rejection, Resource } from '../../xds/index.ts';

export const CHECKED: ReadonlySet<ResourceType> = new Set(['lds', 'eds', 'sds']);

/** Secrets and listeners are part of many pieces. */
const checked = new WeakMap<Resource, readonly Violation[]>();

/** Returns the refusal of a resource that violates a constraint. */
export function refusalOf(resource: Resource): Rejection | undefined {
  const violations = checked.get(resource) ?? resource.violations();
  checked.set(resource, violations);
  const [first] = violations;
  if (!first) return undefined;
  const { key, origins } = resource;
  const message = `it would refuse ${key} (${first.path} ${first.problem}), which is not sent; correct the value that it comes from`;
  return { key, version: '', message, origins };
}
