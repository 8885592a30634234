// The schema of a kind as the cluster publishes it, for completion and hover in the editor of the console.
import type { SchemaAnswer } from '@capstan/console';
import { type Client, discover, isApiError } from '@capstan/kube';

type Json = Readonly<Record<string, unknown>>;

const REF = '#/components/schemas/';

/** `kind` is `KIND.GROUP`. Undefined where the cluster has no such kind, or publishes no schema of it. */
export async function schemaOf(client: Client, kind: string, signal: AbortSignal): Promise<SchemaAnswer | undefined> {
  const found = (await discover(client, { signal })).find(kind);
  if (found === undefined) return undefined;
  const { apiVersion, kind: name } = found;
  const path = apiVersion.includes('/') ? `/openapi/v3/apis/${apiVersion}` : `/openapi/v3/api/${apiVersion}`;
  const definitions = await definitionsAt(client, path, signal);
  const [version = '', group = ''] = apiVersion.split('/').toReversed();
  for (const definition of Object.values(definitions)) {
    const isOf = (one: Json) => one['kind'] === name && one['version'] === version && one['group'] === group;
    const named = (definition as Json)['x-kubernetes-group-version-kind'];
    if (!Array.isArray(named) || !(named as readonly Json[]).some(isOf)) continue;
    return { kind, apiVersion, schema: inlined(definition, definitions, []) as Json };
  }
  return undefined;
}

async function definitionsAt(client: Client, path: string, signal: AbortSignal): Promise<Json> {
  try {
    const { body } = await client.request({ method: 'GET', path, signal });
    const { components } = (body ?? {}) as { components?: { schemas?: Json } };
    return components?.schemas ?? {};
  } catch (error) {
    // A server may publish no schemas; the editor works without.
    if (isApiError(error)) return {};
    throw error;
  }
}

/** Puts each definition in the place of its reference. One that contains itself ends there. */
function inlined(value: unknown, definitions: Json, open: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => inlined(item, definitions, open));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref, allOf, ...rest } = value as Json;
  // Kubernetes wraps a reference that has a description or a default of its own.
  const [only] = Array.isArray(allOf) && allOf.length === 1 ? (allOf as readonly Json[]) : [];
  const reference = $ref ?? only?.['$ref'];
  const own = Object.fromEntries(Object.entries(rest).map(([key, item]) => [key, inlined(item, definitions, open)]));
  if (typeof reference !== 'string' || !reference.startsWith(REF))
    return allOf === undefined ? own : { ...own, allOf: inlined(allOf, definitions, open) };
  const name = reference.slice(REF.length);
  if (open.includes(name)) return own;
  return { ...(inlined(definitions[name] ?? {}, definitions, [...open, name]) as Json), ...own };
}
