// The effective configuration of a file. Its defaults differ from the resource's in two places, and a pair may be given in part.
import type { JsonObject } from '@capstan/kube/values';
import type { ConfigurationSpec } from '../../kinds/configuration-spec.ts';
import { type Effective, effectiveConfiguration, type FlagValue } from '../effective.ts';
import { valueAt, withValueAt } from '../fields.ts';
import type { FileProblem } from './file-problem.ts';
import type { FileContent, Place } from './read-file.ts';

/** Defaults of the file, where they are not those of the resource. */
export const FILE_XDS_ADDRESS = '127.0.0.1';
const FILE_DEFAULTS: ConfigurationSpec = {
  // As with Contour, other machines reach xDS only where a flag allows it.
  xdsServer: { address: FILE_XDS_ADDRESS },
  envoy: { timeouts: { connectionIdleTimeout: '60s' } },
};

export interface EffectiveFileOptions {
  /** The name of the file, for origins. */
  readonly path: string;
  /** Where Sesame runs. */
  readonly namespace: string;
  readonly flags?: ReadonlyMap<string, FlagValue>;
  readonly watchNamespaces?: readonly string[] | undefined;
}

export interface EffectiveFile {
  readonly effective: Effective;
  /** Problems of the file and of its values, each at its place. */
  readonly problems: readonly FileProblem[];
}

export function effectiveOfFile(content: FileContent, options: EffectiveFileOptions): EffectiveFile {
  const { path, namespace, flags, watchNamespaces } = options;
  const effective = effectiveConfiguration({
    given: completed(content.spec, namespace),
    source: { from: 'file', path },
    namespace,
    defaults: FILE_DEFAULTS,
    watchNamespaces,
    ...(flags && { flags }),
  });
  const ofValues = [...effective.errors, ...effective.warnings].map(
    ({ severity, path: field, message }): FileProblem => {
      const place = placeOf(field, content.places);
      // The value of a flag has no place in the file.
      const subject = place === undefined ? `${field}: ` : '';
      return {
        severity,
        line: place?.line ?? 1,
        column: place?.column ?? 1,
        key: place?.key ?? '',
        message: `${subject}${message}`,
      };
    },
  );
  return { effective, problems: [...content.problems, ...ofValues] };
}

/** A name alone is enough in the file: the other half is the default. */
export function completed(spec: JsonObject, namespace: string): JsonObject {
  let result = spec;
  for (const [path, name] of [
    ['envoy.service', 'envoy'],
    ['leaderElection.configmap', 'leader-elect'],
  ] as const) {
    if (valueAt(result, path) === undefined) continue;
    if (((valueAt(result, `${path}.name`) as string | undefined) ?? '') === '')
      result = withValueAt(result, `${path}.name`, name);
    if (((valueAt(result, `${path}.namespace`) as string | undefined) ?? '') === '')
      result = withValueAt(result, `${path}.namespace`, namespace);
  }
  return result;
}

/** The place of a field, or of the field that contains it. */
function placeOf(field: string, places: ReadonlyMap<string, Place>): Place | undefined {
  const plain = field.replace(/\[.*$/s, '');
  for (let path = plain; path !== ''; path = path.includes('.') ? path.slice(0, path.lastIndexOf('.')) : '') {
    const place = places.get(path) ?? [...places].find(([name]) => name.startsWith(`${path}.`))?.[1];
    if (place !== undefined) return place;
  }
  return undefined;
}
