// Fields that another field manager has added to a child of ours, from the server's record of managers alone. Fields that no manager
// owns (defaults, additions of admission webhooks to our own requests) are never foreign, so that nothing is fought over that the
// server itself fills in.
import { equal, isRecord, type KubeObject, type ManagedFieldsEntry } from '@capstan/kube/cluster';
import { FIELD_MANAGER_PREFIX } from '../inventory.ts';
import { PREVIEWED_VERSION } from '../marks.ts';

type FieldSet = Readonly<Record<string, unknown>>;

/** A field that only other field managers have set. */
export interface ForeignField {
  /** As people read it: `spec.ports[port=8443,protocol=TCP]`. */
  readonly path: string;
  readonly manager: string;
  /** The steps of the server's record: `f:spec`, `f:ports`, `k:{…}`. */
  readonly steps: readonly string[];
}

/** Returns the foreign fields of a child, without those that belong to Kubernetes, to an autoscaler, or to `yields`. */
export function foreignFields(object: KubeObject, yields: readonly string[] = []): readonly ForeignField[] {
  const { managedFields = [], resourceVersion } = object.metadata;
  const others = managedFields.filter(isForeignEntry);
  if (others.length === 0) return NONE;
  const isPreviewed = resourceVersion === PREVIEWED_VERSION;
  const ours = managedFields.filter(isOwnEntry).flatMap(({ fieldsV1 }) => (isRecord(fieldsV1) ? [fieldsV1] : []));
  const kept = [...yields, ...KEPT, ...(KEPT_OF[object.kind] ?? [])];
  const found: ForeignField[] = [];
  for (const { manager = '', fieldsV1 } of others) {
    const add = (path: string, steps: readonly string[]) => {
      if (!found.some((known) => known.path === path)) found.push({ path, manager, steps });
    };
    // In a preview, entries of others contain only the fields beyond our own.
    if (isRecord(fieldsV1)) walk(fieldsV1, isPreviewed ? [] : ours, { path: '', steps: [] }, { kept, add });
  }
  return found;
}

const NONE: readonly ForeignField[] = [];

interface Place {
  readonly path: string;
  readonly steps: readonly string[];
}

interface Walk {
  readonly kept: readonly string[];
  add(path: string, steps: readonly string[]): void;
}

function walk(fields: FieldSet, ours: readonly FieldSet[], at: Place, state: Walk): void {
  // An entry with nothing below it owns everything at its place.
  if (at.steps.length > 0 && ours.some((set) => isLeaf(set))) return;
  for (const [step, below] of Object.entries(fields)) {
    if (step === '.' || step.startsWith('i:') || !isRecord(below)) continue;
    const place = { path: pathOf(at.path, step), steps: [...at.steps, step] };
    if (isKept(place.path, state.kept)) continue;
    const own = ours.flatMap((set) => (isRecord(set[step]) ? [set[step]] : []));
    const isWhole = own.length === 0 && (isLeaf(below) || '.' in below);
    if (!isWhole || (holdsKept(place.path, state.kept) && !isLeaf(below))) {
      if (own.length === 0 || !isLeaf(below)) walk(below, own, place, state);
    } else state.add(place.path, place.steps);
  }
}

/**
 * Fields that are never removed, wherever the child is: metadata (labels and annotations of other tools, `kubectl rollout restart`), the
 * status, and the counts that an autoscaler or `kubectl rollout pause` sets.
 */
const KEPT = ['metadata', 'status', 'spec.template.metadata', 'spec.replicas', 'spec.paused'];

/** Addresses that Kubernetes allocates or that fit a Service to its network, and the tokens and pull secrets of an account. */
const KEPT_OF: Readonly<Record<string, readonly string[]>> = {
  Service: [
    'spec.clusterIP',
    'spec.clusterIPs',
    'spec.ipFamilies',
    'spec.ipFamilyPolicy',
    'spec.healthCheckNodePort',
    'spec.ports[].nodePort',
    'spec.loadBalancerIP',
    'spec.loadBalancerClass',
    'spec.loadBalancerSourceRanges',
    'spec.externalTrafficPolicy',
    'spec.internalTrafficPolicy',
    'spec.allocateLoadBalancerNodePorts',
  ],
  ServiceAccount: ['secrets', 'imagePullSecrets'],
  PersistentVolumeClaim: ['spec.volumeName'],
};

function isKept(path: string, kept: readonly string[]): boolean {
  const plain = path.replace(/\[[^\]]*\]/g, '[]');
  return kept.some((one) => plain === one || plain.startsWith(`${one}.`) || plain.startsWith(`${one}[`));
}

/** Whether a kept field may lie below this one. An added item of a list goes as a whole. */
function holdsKept(path: string, kept: readonly string[]): boolean {
  return !path.endsWith(']') && kept.some((one) => one.startsWith(`${path}.`));
}

/** Managers of Kubernetes itself. The server names the last one for objects that had no record of managers. */
const KUBERNETES =
  /^(?:kube-(?:apiserver|controller-manager|scheduler)|kubelet|cloud-controller-manager|clusterrole-aggregation-controller|before-first-apply)$/;

/** Subresources (status, scale) have their own writers. */
function isForeignEntry(entry: ManagedFieldsEntry): boolean {
  return entry.subresource === undefined && !isOwnEntry(entry) && !KUBERNETES.test(entry.manager ?? '');
}

function isOwnEntry({ manager, subresource }: ManagedFieldsEntry): boolean {
  return subresource === undefined && manager?.startsWith(FIELD_MANAGER_PREFIX) === true;
}

function pathOf(above: string, step: string): string {
  if (step.startsWith('f:')) return above === '' ? step.slice(2) : `${above}.${step.slice(2)}`;
  const value: unknown = JSON.parse(step.slice(2));
  if (!isRecord(value)) return `${above}[${JSON.stringify(value)}]`;
  const keys = Object.entries(value).map(([name, key]) => `${name}=${String(key)}`);
  return `${above}[${keys.join(',')}]`;
}

function isLeaf(fields: FieldSet): boolean {
  for (const key in fields) if (key !== '.') return false;
  return true;
}

/** Returns the object without these fields, and without the claims of other managers to them. */
export function withoutForeign(object: KubeObject, fields: readonly ForeignField[]): KubeObject {
  let content: unknown = object;
  for (const { steps } of fields) content = without(content, steps);
  const { metadata } = content as KubeObject;
  const managedFields = metadata.managedFields?.flatMap((entry) => {
    if (!isForeignEntry(entry) || !isRecord(entry.fieldsV1)) return [entry];
    let left: FieldSet | undefined = entry.fieldsV1;
    for (const { steps } of fields) left = left && withoutClaim(left, steps);
    return left === undefined || isLeaf(left) ? [] : [{ ...entry, fieldsV1: left }];
  });
  return { ...(content as KubeObject), metadata: { ...metadata, ...(managedFields && { managedFields }) } };
}

function without(value: unknown, [step = '', ...rest]: readonly string[]): unknown {
  if (step.startsWith('f:')) {
    const name = step.slice(2);
    if (!isRecord(value) || !Object.hasOwn(value, name)) return value;
    if (rest.length > 0) return { ...value, [name]: without(value[name], rest) };
    const { [name]: _removed, ...others } = value;
    return others;
  }
  if (!Array.isArray(value)) return value;
  const items: readonly unknown[] = value;
  if (rest.length === 0) return items.filter((item) => !isNamedBy(step, item));
  return items.map((item) => (isNamedBy(step, item) ? without(item, rest) : item));
}

/** Whether a step of the record, `k:{"name":"main"}` or `v:"a"`, stands for this item. */
export function isNamedBy(step: string, item: unknown): boolean {
  const key: unknown = JSON.parse(step.slice(2));
  if (step.startsWith('v:')) return equal(key, item);
  return isRecord(key) && isRecord(item) && Object.entries(key).every(([name, value]) => equal(item[name], value));
}

function withoutClaim(fields: FieldSet, [step = '', ...rest]: readonly string[]): FieldSet | undefined {
  const below = fields[step];
  if (!isRecord(below)) return fields;
  const { [step]: _removed, ...others } = fields;
  const left = rest.length === 0 ? undefined : withoutClaim(below, rest);
  if (left !== undefined) return { ...others, [step]: left };
  return Object.keys(others).length === 0 ? undefined : others;
}

/** Returns the entries of others with the claims alone that lie beyond `body`, which is applied over them. */
export function claimsBeyond(entries: readonly ManagedFieldsEntry[], body: KubeObject): ManagedFieldsEntry[] {
  return entries.map((entry) => {
    if (!isForeignEntry(entry) || !isRecord(entry.fieldsV1)) return entry;
    return { ...entry, fieldsV1: { ...beyond(entry.fieldsV1, body) } };
  });
}

function beyond(fields: FieldSet, value: unknown): FieldSet | undefined {
  const left = Object.entries(fields).flatMap(([step, below]): [string, unknown][] => {
    const part = partOf(value, step);
    if (part === undefined) return step === '.' ? [] : [[step, below]];
    const rest = isRecord(below) && !isLeaf(below) ? beyond(below, part) : undefined;
    return rest === undefined ? [] : [[step, rest]];
  });
  return left.length === 0 ? undefined : Object.fromEntries(left);
}

function partOf(value: unknown, step: string): unknown {
  if (step.startsWith('f:')) return isRecord(value) ? value[step.slice(2)] : undefined;
  if (!Array.isArray(value) || step === '.') return undefined;
  const key: unknown = JSON.parse(step.slice(2));
  return value.find((item: unknown) => {
    if (!isRecord(key) || !isRecord(item)) return equal(key, item);
    // The server fills in defaults of keys, such as the protocol of a port.
    const given = Object.entries(key).filter(([name]) => item[name] !== undefined);
    return given.length > 0 && given.every(([name, one]) => equal(item[name], one));
  });
}
