// Manifests for the editor, from objects of the cluster.
import { nameOf, namespaceOf, type ObjectPlace } from '../logic/routes.ts';
import { yamlLines, yamlText } from './yaml-lines.ts';

/** Fields of metadata that the server writes. */
const SERVER_FIELDS = new Set([
  'creationTimestamp',
  'generation',
  'resourceVersion',
  'uid',
  'managedFields',
  'selfLink',
  'deletionTimestamp',
]);

/** The object without its status and without fields that the server writes. */
export function manifestOf(object: Readonly<Record<string, unknown>>): string {
  const { apiVersion, kind, metadata, status: _status, ...rest } = object;
  const kept = Object.fromEntries(
    Object.entries((metadata ?? {}) as Record<string, unknown>).filter(([name]) => !SERVER_FIELDS.has(name)),
  );
  return yamlText(yamlLines({ apiVersion, kind, metadata: kept, ...rest }));
}

/** The start of a manifest of an object that does not exist. */
export function skeletonOf({ kind, key }: ObjectPlace, apiVersion: string): string {
  const name = kind.includes('.') ? kind.slice(0, kind.indexOf('.')) : kind;
  const namespace = namespaceOf(key);
  const metadata = { name: nameOf(key), ...(namespace !== '' && { namespace }) };
  const head = yamlText(yamlLines({ apiVersion, kind: name, metadata }));
  if (kind === 'Secret') return `${head}stringData:\n  token: ""\n`;
  return kind === 'ConfigMap' ? `${head}data:\n` : `${head}spec:\n`;
}
