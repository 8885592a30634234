// Reads files with policies and ConfigMaps, as people write them. `env: !production` is a YAML tag on an empty value: the intended
// value is recovered, with a warning, instead of an error about tags.
import { isJsonObject, type JsonObject, reasonOf } from '@capstan/kube';
import { isScalar, LineCounter, parseAllDocuments, visit } from 'yaml';
import { CablePolicies } from '../kinds/index.ts';

export interface FileContent {
  readonly objects: readonly JsonObject[];
  /** Deviations from the form of Kubernetes, and how they were understood. */
  readonly warnings: readonly string[];
  /** Problems of parts that cannot be read at all, with their lines. */
  readonly problems: readonly string[];
}

export function readYaml(text: string, file: string): FileContent {
  const objects: JsonObject[] = [];
  const warnings: string[] = [];
  const problems: string[] = [];
  const lineCounter = new LineCounter();
  const lineOf = (offset: number) => lineCounter.linePos(offset).line;
  for (const document of parseAllDocuments(text, { lineCounter })) {
    visit(document, {
      Scalar(_, node) {
        const { tag, range } = node;
        if (tag === undefined || !/^![^!]/.test(tag) || !isScalar(node)) return;
        const meant = node.value === null || node.value === '' ? tag : `${tag} ${JSON.stringify(node.value)}`;
        warnings.push(
          `${file}:${lineOf(range?.[0] ?? 0)}: ${tag} is a YAML tag, read as "${meant}"; write it in quotes`,
        );
        node.tag = undefined;
        node.value = withoutEscapes(meant);
      },
    });
    for (const { message, pos } of document.errors) {
      const [first = message] = message.split('\n');
      problems.push(`${file}:${lineOf(pos[0])}: ${first}; correct the YAML`);
    }
    if (document.errors.length > 0) continue;
    let value: unknown;
    try {
      value = document.toJS();
    } catch (error) {
      // Aliases of aliases, which would fill the memory.
      problems.push(`${file}: ${reasonOf(error)}; write the values without aliases`);
      continue;
    }
    if (value === null || value === undefined) continue;
    if (isJsonObject(value)) objects.push(corrected(value, file, warnings));
    else problems.push(`${file}: holds something that is not an object; write one object a document`);
  }
  return { objects, warnings, problems };
}

/** A tag may have escapes as in an address. */
function withoutEscapes(tag: string): string {
  try {
    return decodeURIComponent(tag);
  } catch {
    return tag;
  }
}

/** Completes the fields that the design's examples leave out, and corrects those that no server accepts. */
function corrected(object: JsonObject, file: string, warnings: string[]): JsonObject {
  let result = object;
  if (object['kind'] === CablePolicies.kind && object['apiVersion'] === undefined)
    result = { apiVersion: CablePolicies.apiVersion, ...result };
  if (object['kind'] === 'ConfigMap') result = correctedConfigMap(result, file, warnings);
  return correctedNamespace(result, file, warnings);
}

function correctedConfigMap(object: JsonObject, file: string, warnings: string[]): JsonObject {
  const { data } = object;
  if (!isJsonObject(data)) return object;
  const isPlain = (value: unknown) => typeof value === 'number' || typeof value === 'boolean';
  const bare = Object.entries(data).filter(([, value]) => isPlain(value));
  if (bare.length === 0) return object;
  for (const [key, value] of bare)
    warnings.push(
      `${file}: data.${key} of a ConfigMap must be a string, read as "${String(value)}"; write it in quotes`,
    );
  return { ...object, data: { ...data, ...Object.fromEntries(bare.map(([key, value]) => [key, String(value)])) } };
}

function correctedNamespace(object: JsonObject, file: string, warnings: string[]): JsonObject {
  const { metadata } = object;
  const namespace = isJsonObject(metadata) ? metadata['namespace'] : undefined;
  if (!isJsonObject(metadata) || typeof namespace !== 'string' || namespace === namespace.toLowerCase()) return object;
  warnings.push(`${file}: namespace "${namespace}" is read as "${namespace.toLowerCase()}"; names are in lower case`);
  return { ...object, metadata: { ...metadata, namespace: namespace.toLowerCase() } };
}
