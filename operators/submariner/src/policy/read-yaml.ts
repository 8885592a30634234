// Files with policies and ConfigMaps, as people write them. `env: !production` is a YAML tag on an empty value: what the
// person meant is recovered, with a warning, instead of an error that speaks of tags.
import { isJsonObject, type JsonObject } from '@capstan/kube';
import { isScalar, parseAllDocuments, visit } from 'yaml';
import { CablePolicies } from '../kinds/index.ts';

export interface FileContent {
  readonly objects: readonly JsonObject[];
  /** What was not as Kubernetes has it, and how it was understood. */
  readonly warnings: readonly string[];
  /** What cannot be read at all, with its line. */
  readonly problems: readonly string[];
}

export function readYaml(text: string, file: string): FileContent {
  const objects: JsonObject[] = [];
  const warnings: string[] = [];
  const problems: string[] = [];
  const lineOf = (offset: number) => text.slice(0, offset).split('\n').length;
  for (const document of parseAllDocuments(text)) {
    visit(document, {
      Scalar(_, node) {
        const { tag, range } = node;
        if (tag === undefined || !/^![^!]/.test(tag) || !isScalar(node)) return;
        const meant = node.value === null || node.value === '' ? tag : `${tag} ${JSON.stringify(node.value)}`;
        warnings.push(
          `${file}:${lineOf(range?.[0] ?? 0)}: ${tag} is a YAML tag, read as "${meant}"; write it in quotes`,
        );
        node.tag = undefined;
        node.value = decodeURIComponent(meant);
      },
    });
    for (const { message, pos } of document.errors) {
      const [first = message] = message.split('\n');
      problems.push(`${file}:${lineOf(pos[0])}: ${first}; correct the YAML`);
    }
    if (document.errors.length > 0) continue;
    const value: unknown = document.toJS();
    if (value === null || value === undefined) continue;
    if (isJsonObject(value)) objects.push(corrected(value, file, warnings));
    else problems.push(`${file}: holds something that is not an object; write one object a document`);
  }
  return { objects, warnings, problems };
}

/** What the design's examples leave out or write as no server takes it. */
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
