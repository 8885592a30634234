// From the resource back to the file, for rolling back: every field that the file has a key for; the others need flags.
import type { JsonObject } from '@capstan/kube/values';
import { givenLeaves, schemaAt, valueAt, withValueAt } from '../fields.ts';
import { SERVE_FLAGS } from '../serve-flags.ts';
import { FILE_XDS_ADDRESS } from './effective-file.ts';
import { FILE_KEYS, KEY_OF_FIELD } from './file-keys.ts';

export interface FileForm {
  readonly content: JsonObject;
  /** Flags that fields without a key need: `--xds-port=9001`. */
  readonly flags: readonly string[];
  /** Fields that neither has. */
  readonly lost: readonly string[];
}

/** The file that means the same in the same namespace; `spec` in its normal form. */
export function fileFormOf(spec: JsonObject): FileForm {
  let content: JsonObject = {};
  const covered: string[] = [];
  for (const [field, name] of KEY_OF_FIELD) {
    const value = valueAt(spec, field);
    if (value === undefined) continue;
    covered.push(field);
    const convert = FILE_KEYS[name]?.toFile;
    content = withValueAt(content, name, convert === undefined ? value : convert(value));
  }
  // A resource without it has another default than the file.
  if (valueAt(spec, 'envoy.timeouts.connectionIdleTimeout') === undefined)
    content = withValueAt(content, 'timeouts.connection-idle-timeout', '');
  const flags: string[] = [];
  const lost: string[] = [];
  const address = valueAt(spec, 'xdsServer.address') ?? schemaAt('xdsServer.address')?.default;
  if (address !== FILE_XDS_ADDRESS) flags.push(`--xds-address=${String(address)}`);
  for (const [path, value] of givenLeaves(spec)) {
    if (path === 'xdsServer.address') continue;
    if (covered.some((field) => path === field || path.startsWith(`${field}.`))) continue;
    const flag = flagOf(path, spec);
    if (flag === undefined) lost.push(path);
    else if (!flags.includes(`--${flag}=${textOf(value)}`)) flags.push(`--${flag}=${textOf(value)}`);
  }
  return { content, flags, lost };
}

/** The flag of a field, if it sets nothing else to another value. */
function flagOf(path: string, spec: JsonObject): string | undefined {
  const found = Object.entries(SERVE_FLAGS).find(([, { paths }]) => paths.includes(path));
  if (found === undefined) return undefined;
  const values = new Set(found[1].paths.map((each) => JSON.stringify(valueAt(spec, each))));
  return values.size === 1 ? found[0] : undefined;
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join(',') : String(value);
}
