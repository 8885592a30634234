// The pairs of clusters and the policy that holds for each: a bit set a cluster (which policies its labels match, left and
// right), and one matrix folded over them, which patches the row of the cluster that moved.
import { compileLabelSelector, type LabelSelector } from '@capstan/kube';

export interface Cluster {
  metadata: { name: string; labels: Record<string, string> };
}

export interface Policy {
  metadata: { name: string };
  spec: { left: LabelSelector; right: LabelSelector; driver: string };
}

export type Compiled = ReturnType<typeof compileLabelSelector>;

export interface CompiledPolicy {
  readonly left: Compiled;
  readonly right: Compiled;
}

export function compilePolicy({ left, right }: Pick<Policy['spec'], 'left' | 'right'>): CompiledPolicy {
  return { left: compileLabelSelector(left), right: compileLabelSelector(right) };
}

/** Which policies match a cluster: words of 32 bits, first of all left sides, then of all right ones. */
export function matchBits(labels: Readonly<Record<string, string>>, policies: readonly CompiledPolicy[]): number[] {
  const words = Math.ceil(policies.length / 32);
  const bits = Array.from({ length: words * 2 }, () => 0);
  for (const [index, { left, right }] of policies.entries()) {
    const word = index >> 5;
    const bit = 1 << (index & 31);
    if (left.matches(labels)) bits[word] = (bits[word] ?? 0) | bit;
    if (right.matches(labels)) bits[words + word] = (bits[words + word] ?? 0) | bit;
  }
  return bits;
}

export interface Matrix {
  /** Sorted; the place of a name is its row. */
  names: string[];
  bits: (readonly number[])[];
  /** The policy of each pair by its number, row by row below the diagonal; more space than used. */
  pairs: Uint8Array;
}

/** No policy has this number. */
export const NO_POLICY = 255;

export function emptyMatrix(): Matrix {
  return { names: [], bits: [], pairs: new Uint8Array(1024) };
}

export function pairCount(clusters: number): number {
  return (clusters * (clusters - 1)) / 2;
}

/** Sets the bits of a cluster and finds the policies of its pairs again. */
export function putCluster(matrix: Matrix, name: string, bits: readonly number[]): void {
  const at = place(matrix.names, name);
  if (matrix.names[at] === name) {
    matrix.bits[at] = bits;
    fillRow(matrix, at);
    return;
  }
  const isLast = at === matrix.names.length;
  matrix.names.splice(at, 0, name);
  matrix.bits.splice(at, 0, bits);
  makeRoom(matrix);
  if (isLast) fillRow(matrix, at);
  else for (let row = 1; row < matrix.names.length; row++) fillRow(matrix, row, row);
}

export function removeCluster(matrix: Matrix, name: string): void {
  const at = place(matrix.names, name);
  matrix.names.splice(at, 1);
  matrix.bits.splice(at, 1);
  for (let row = Math.max(at, 1); row < matrix.names.length; row++) fillRow(matrix, row, row);
}

/** The policies of the pairs of one cluster with those before `end`, by default with all. */
function fillRow({ bits, pairs }: Matrix, row: number, end = bits.length): void {
  const own = bits[row] ?? [];
  const start = pairCount(row);
  for (let other = 0; other < end; other++) {
    if (other === row) continue;
    const at = other < row ? start + other : pairCount(other) + row;
    pairs[at] = policyOf(own, bits[other] ?? []);
  }
}

/** The first policy that matches the two in either order. */
function policyOf(one: readonly number[], other: readonly number[]): number {
  const words = one.length >> 1;
  for (let word = 0; word < words; word++) {
    const both = ((one[word] ?? 0) & (other[words + word] ?? 0)) | ((one[words + word] ?? 0) & (other[word] ?? 0));
    if (both !== 0) return (word << 5) + (31 - Math.clz32(both & -both));
  }
  return NO_POLICY;
}

function makeRoom(matrix: Matrix): void {
  const needed = pairCount(matrix.names.length);
  if (needed <= matrix.pairs.length) return;
  const pairs = new Uint8Array(Math.max(needed, matrix.pairs.length * 2));
  pairs.set(matrix.pairs);
  matrix.pairs = pairs;
}

function place(names: readonly string[], name: string): number {
  let low = 0;
  let high = names.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((names[middle] ?? '') < name) low = middle + 1;
    else high = middle;
  }
  return low;
}

const REGIONS = 10;
const PROVIDERS = 4;
const SITES = 100;

export function cluster(index: number): Cluster {
  return {
    metadata: {
      name: clusterName(index),
      labels: {
        region: `region-${index % REGIONS}`,
        provider: `provider-${(index >> 2) % PROVIDERS}`,
        site: `site-${index % SITES}`,
        note: 'none',
      },
    },
  };
}

export function clusterName(index: number): string {
  return `cluster-${String(index).padStart(5, '0')}`;
}

/** All but the last name a site on one side, and a region or a provider on the other; the last matches everything. */
export function policy(index: number, policies: number): Policy {
  const metadata = { name: `policy-${String(index).padStart(3, '0')}` };
  const driver = DRIVERS[index % DRIVERS.length] ?? '';
  if (index === policies - 1) return { metadata, spec: { left: {}, right: {}, driver } };
  const left = { matchLabels: { site: `site-${index % SITES}` } };
  const right =
    index % 2 === 0
      ? { matchLabels: { region: `region-${index % REGIONS}` } }
      : { matchExpressions: [{ key: 'provider', operator: 'In', values: [`provider-${index % PROVIDERS}`] }] };
  return { metadata, spec: { left, right, driver } };
}

export const DRIVERS = ['libreswan', 'wireguard', 'vxlan'];
