// The resources that containers and pods request.
import {
  canonicalQuantity,
  compareQuantities,
  parseQuantity,
  type ResourceRequirements,
  validateDns1123Label,
  validateQualifiedName,
} from '@capstan/kube';
import { fieldForbidden, fieldInvalid, fieldNotSupported, fieldRequired } from '../errors.ts';
import { type Errors, fieldDuplicate, fieldNotFound, named } from './rules.ts';

const COMPUTE = new Set(['cpu', 'memory']);
const OF_CONTAINERS = new Set([...COMPUTE, 'ephemeral-storage']);
/** Resources that quotas count are also known without a domain. */
const STANDARD = new Set([
  ...OF_CONTAINERS,
  ...['requests.', 'limits.'].flatMap((part) => [...OF_CONTAINERS].map((name) => part + name)),
  'requests.storage',
  'storage',
  'pods',
  'resourcequotas',
  'services',
  'services.nodeports',
  'services.loadbalancers',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
]);

const isHuge = (name: string) => name.startsWith('hugepages-');
const isNative = (name: string) => !name.includes('/') || name.includes('kubernetes.io/');
const mayOvercommit = (name: string) => isNative(name) && !isHuge(name);

/** `claims` are the names of the pod's resource claims. */
export function resources(
  errors: Errors,
  path: string,
  given: ResourceRequirements | undefined,
  claims: ReadonlySet<string>,
  resourceName: typeof containerResourceName = containerResourceName,
): void {
  const { limits = {}, requests = {} } = given ?? {};
  for (const [name, quantity] of Object.entries(limits)) {
    const at = `${path}.limits[${name}]`;
    resourceName(errors, at, name);
    resourceQuantity(errors, at, name, quantity);
  }
  for (const [name, quantity] of Object.entries(requests)) {
    const at = `${path}.requests[${name}]`;
    resourceName(errors, at, name);
    resourceQuantity(errors, at, name, quantity);
    const limit = limits[name];
    if (limit === undefined) {
      const detail = 'Limit must be set for non overcommitable resources';
      if (!mayOvercommit(name)) errors.push(fieldRequired(`${path}.limits`, detail));
      continue;
    }
    const order = compareQuantities(quantity, limit);
    const relation = mayOvercommit(name) ? 'less than or equal' : 'equal';
    if (mayOvercommit(name) ? order <= 0 : order === 0) continue;
    const detail = `must be ${relation} to ${name} limit of ${canonicalQuantity(limit)}`;
    errors.push(fieldInvalid(`${path}.requests`, canonicalQuantity(quantity), detail));
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHuge) && !names.some((name) => COMPUTE.has(name))) {
    errors.push(fieldForbidden(path, 'HugePages require cpu or memory'));
  }
  resourceClaims(errors, `${path}.claims`, given?.claims ?? [], claims);
}

function standardName(errors: Errors, at: string, name: string): boolean {
  const problems = validateQualifiedName(name);
  named(errors, at, name, problems);
  if (problems.length > 0) return false;
  if (name.includes('/') || STANDARD.has(name) || isHuge(name)) return true;
  errors.push(fieldInvalid(at, name, 'must be a standard resource type or fully qualified'));
  return false;
}

function containerResourceName(errors: Errors, at: string, name: string): void {
  standardName(errors, at, name);
  if (!name.includes('/')) {
    if (OF_CONTAINERS.has(name) || isHuge(name)) return;
    errors.push(fieldInvalid(at, name, 'must be a standard resource for containers'));
  } else if (
    !isNative(name) &&
    (name.startsWith('requests.') || validateQualifiedName(`requests.${name}`).length > 0)
  ) {
    errors.push(fieldInvalid(at, name, "doesn't follow extended resource name standard"));
  }
}

/** Checks a resource of a pod as a whole. */
export function podResourceName(errors: Errors, at: string, name: string): void {
  if (!standardName(errors, at, name) || COMPUTE.has(name) || isHuge(name)) return;
  errors.push(fieldNotSupported(at, name, ['cpu', 'hugepages-', 'memory']));
}

function resourceQuantity(errors: Errors, at: string, name: string, quantity: string): void {
  const { nanos } = parseQuantity(quantity);
  const text = canonicalQuantity(quantity);
  if (nanos < 0n) errors.push(fieldInvalid(at, text, 'must be greater than or equal to 0'));
  if (!isNative(name) && nanos % NANO !== 0n) errors.push(fieldInvalid(at, text, 'must be an integer'));
  if (!isHuge(name) || isMultiple(nanos, name.slice('hugepages-'.length))) return;
  errors.push(fieldInvalid(at, text, `${text} is not positive integer multiple of ${name}`));
}

const NANO = 1_000_000_000n;

function isMultiple(nanos: bigint, size: string): boolean {
  try {
    const page = parseQuantity(size).nanos;
    return page > 0n && nanos >= 0n && nanos % page === 0n;
  } catch {
    return false;
  }
}

function resourceClaims(
  errors: Errors,
  path: string,
  list: readonly { name: string; request?: string }[],
  claims: ReadonlySet<string>,
): void {
  const seen = new Set<string>();
  for (const [index, { name, request = '' }] of list.entries()) {
    const at = `${path}[${index}]`;
    if (!name) {
      errors.push(fieldRequired(at));
      continue;
    }
    const id = request === '' ? name : `${name}/${request}`;
    if (request !== '') named(errors, `${at}.request`, request, validateDns1123Label(request));
    if (seen.has(name) || seen.has(id)) errors.push(fieldDuplicate(at, seen.has(name) ? name : id));
    seen.add(id);
    if (claims.has(name)) continue;
    const known = [...claims].toSorted().join(', ');
    const why = 'must be one of the names in pod.spec.resourceClaims';
    const detail = known === '' ? `${why} which is empty` : `${why}: ${known}`;
    errors.push(fieldNotFound(at, name, detail));
  }
}
