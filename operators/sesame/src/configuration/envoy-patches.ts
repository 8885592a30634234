// Patches of generated resources: the rules that need no resource. A patch with a problem is left out, and everything else of the
// configuration takes effect: each problem is a warning, and never an error of the whole.
import { parsePointer } from '@capstan/kube/values';
import { type ProblemReason, shown } from './problem.ts';

/** One patch of a configuration. */
export interface EnvoyPatchSpec {
  readonly name: string;
  readonly type: string;
  readonly resource: string;
  readonly operations: readonly EnvoyPatchOperation[];
}

/** An operation of JSON Patch (RFC 6902). */
export interface EnvoyPatchOperation {
  readonly op: string;
  readonly path: string;
  readonly from?: string | undefined;
  readonly value?: unknown;
}

export const PATCHED_TYPES = ['Cluster', 'Listener', 'FilterChain', 'VirtualHost'] as const;

export type PatchedType = (typeof PATCHED_TYPES)[number];

export interface EnvoyPatchProblem {
  /** The place of the patch in the list. */
  readonly patch: number;
  /** After the path of the list: `[0].operations[1].path`. */
  readonly at: string;
  readonly reason: ProblemReason;
  readonly message: string;
}

const MAX_PATCHES = 100;
const MAX_OPERATIONS = 50;
const MAX_VALUE_BYTES = 32_768;
const OPS = ['add', 'remove', 'replace', 'move', 'copy', 'test'];
const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Returns the problems of the patches that can be seen without the resources, in order. */
export function envoyPatchProblems(patches: readonly Partial<EnvoyPatchSpec>[]): EnvoyPatchProblem[] {
  const owners = new Map<string, number>();
  return patches.flatMap((given, patch) => {
    const problems: EnvoyPatchProblem[] = [];
    const add = (field: string, reason: ProblemReason, message: string) =>
      problems.push({ patch, at: `[${patch}]${field === '' ? '' : `.${field}`}`, reason, message });
    const { name = '', type = '', resource = '', operations = [] } = given;
    if (patch >= MAX_PATCHES)
      add('', 'OutOfRange', `is left out: at most ${MAX_PATCHES} patches are allowed (${patches.length}); remove some`);
    const owner = owners.get(name);
    if (!NAME.test(name))
      add(
        'name',
        'InvalidValue',
        `must be a name of lower-case letters, digits and hyphens (${shown(name)}); correct it`,
      );
    else if (owner !== undefined)
      add('name', 'Duplicate', `is the name of patch [${owner}] already (${shown(name)}); choose another one`);
    else owners.set(name, patch);
    if (!PATCHED_TYPES.some((each) => each === type))
      add('type', 'NotSupported', `must be ${PATCHED_TYPES.join(', ')} (${shown(type)}); ${remedyOfType(type)}`);
    if (resource === '') add('resource', 'Required', 'must not be empty; name a resource as `sesame cli` prints it');
    if (operations.length === 0) add('operations', 'Required', 'must not be empty; add an operation');
    if (operations.length > MAX_OPERATIONS)
      add('operations', 'OutOfRange', `has ${operations.length} operations; at most ${MAX_OPERATIONS} are allowed`);
    for (const [index, operation] of operations.entries()) checkOperation(operation, `operations[${index}]`, add);
    return problems;
  });
}

function remedyOfType(type: string): string {
  const kind = type.toLowerCase();
  if (kind.includes('secret'))
    return 'secrets cannot be patched; use the fields of HTTPProxy and TLSCertificateDelegation';
  if (kind.includes('runtime')) return 'use envoy.runtimeSettings';
  if (kind.includes('route')) return 'patch the VirtualHost';
  return 'use one of these';
}

function checkOperation(
  { op = '', path, from, value }: Partial<EnvoyPatchOperation>,
  at: string,
  add: (field: string, reason: ProblemReason, message: string) => void,
): void {
  if (!OPS.includes(op)) {
    add(`${at}.op`, 'NotSupported', `must be ${OPS.join(', ')} (${shown(op)}); use one of these`);
    return;
  }
  for (const [field, pointer] of [
    ['path', path],
    ...(op === 'move' || op === 'copy' ? [['from', from]] : []),
  ] as const) {
    if (field === undefined) continue;
    if (pointer === undefined || pointer === '')
      add(`${at}.${field}`, 'Required', 'must not be empty; name a field, such as /connect_timeout');
    else if (parsePointer(pointer) === undefined)
      add(
        `${at}.${field}`,
        'InvalidValue',
        `must begin with a slash (${shown(pointer)}); write it as in /connect_timeout`,
      );
  }
  if ((op === 'add' || op === 'replace' || op === 'test') && value === undefined)
    add(`${at}.value`, 'Required', `must be given for ${op}; give it, or use remove`);
  else if (Buffer.byteLength(JSON.stringify(value) ?? '') > MAX_VALUE_BYTES)
    add(`${at}.value`, 'OutOfRange', `must have at most ${MAX_VALUE_BYTES} bytes; shorten it`);
}
