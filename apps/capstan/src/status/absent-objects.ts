// Objects that are not there although the status of others names them: the root causes that no list of objects shows.
import {
  type Client,
  ConfigMap,
  isForbidden,
  isNotFound,
  type Kind,
  kindId,
  Secret,
  Service,
} from '@capstan/kube/cluster';
import type { Unhealthy } from './root-cause.ts';

export interface AbsentObject {
  /** `Kind.group` */
  readonly kind: string;
  /** `namespace/name`, or `name`. */
  readonly object: string;
  /** Indexes of the unhealthy objects whose messages name it. */
  readonly namedBy: readonly number[];
}

const OTHERS: readonly Kind[] = [Secret, ConfigMap, Service];
/** Each costs a request. */
const MAX_LOOKUPS = 50;
const NAME = '[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?';
const GONE = '(?:does not exist|is not there|is missing|was not found|not found|is absent)';

/** Asks the server about every object that a message reports as missing, and returns those that really are. */
export async function absentObjects(
  client: Client,
  unhealthy: readonly Unhealthy[],
  kinds: readonly Kind[],
  signal: AbortSignal,
): Promise<readonly AbsentObject[]> {
  const named = new Map<string, { kind: Kind; namespace: string | undefined; name: string; namedBy: number[] }>();
  for (const kind of [...OTHERS, ...kinds]) {
    const pattern = new RegExp(
      `\\b${kind.kind}(?:\\.[a-z0-9.-]+)?[ /]"?(?:(?<space>${NAME})/)?(?<name>${NAME})"?(?: in namespace "?(?<place>${NAME})"?)? ${GONE}`,
      'gi',
    );
    for (const [index, { message, object }] of unhealthy.entries()) {
      for (const { groups = {} } of message.matchAll(pattern)) {
        const { name = '', place, space } = groups;
        const namespace = kind.scope === 'Cluster' ? undefined : (space ?? place ?? object.metadata.namespace);
        const id = `${kindId(kind)} ${keyIn(namespace, name)}`;
        const one = named.get(id) ?? { kind, namespace, name, namedBy: [] };
        one.namedBy.push(index);
        named.set(id, one);
      }
    }
  }
  const found = await Promise.all(
    [...named.values()].slice(0, MAX_LOOKUPS).map(async ({ kind, namespace, name, namedBy }) => {
      const ref = namespace === undefined ? { name } : { namespace, name };
      if (!(await isAbsent(client, kind, ref, signal))) return [];
      return [{ kind: kindId(kind), object: keyIn(namespace, name), namedBy: [...new Set(namedBy)] }];
    }),
  );
  return found.flat();
}

async function isAbsent(
  client: Client,
  kind: Kind,
  ref: { namespace?: string; name: string },
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return (await client.find(kind, ref, { signal })) === undefined;
  } catch (error) {
    // An object that may not be read is not known to be absent.
    if (isForbidden(error) || isNotFound(error)) return false;
    throw error;
  }
}

function keyIn(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
