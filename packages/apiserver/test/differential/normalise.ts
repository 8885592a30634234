// Replaces exactly the values that may differ between two servers: uids, times, resourceVersions, random names, allocated addresses and
// ports, tokens, names of Go types in messages. A uid or a resourceVersion becomes the number of its first appearance, so that "the same as
// before" is still compared. known-differences.ts holds the known differences.
import { withoutDescription, withoutKnown } from './known-differences.ts';

export interface Normaliser {
  /** An object, a list, a Status, a Table: a copy with everything replaced. */
  value(value: unknown): unknown;
  text(text: string): string;
  /** Returns a function that goes back: it forgets the values seen in between. */
  mark(): () => void;
}

type Json = Record<string, unknown>;

/** One for each server and sequence: it remembers the values that it has seen. `prefixes` are those of names that servers draw. */
export function createNormaliser(prefixes: readonly string[] = []): Normaliser {
  const uids = new Map<string, string>();
  const versions = new Map<string, string>();
  const names = new Map<string, string>();
  const numbered = (known: Map<string, string>, label: string, key: string) => {
    const present = known.get(key);
    if (present !== undefined) return present;
    const made = `<${label} ${known.size + 1}>`;
    known.set(key, made);
    return made;
  };

  function text(value: string): string {
    let result = value.replaceAll(UID, (uid) => numbered(uids, 'uid', uid));
    for (const [name, label] of names) result = result.replaceAll(name, label);
    for (const prefix of prefixes) {
      result = result.replaceAll(
        new RegExp(`${prefix}[bcdfghjklmnpqrstvwxz2456789]{5}(?![a-z0-9])`, 'g'),
        `${prefix}<random>`,
      );
    }
    return withoutKnown(result)
      .replaceAll(TIME, '<time>')
      .replaceAll(SERVICE_ADDRESS, '<service address>')
      .replaceAll(TOKEN, '<token>')
      .replaceAll(CERTIFICATE, '<certificate>')
      .replaceAll(/kube-api-access-[a-z0-9]{5}/g, 'kube-api-access-<random>')
      .replaceAll(/Go struct field [\w.]+ of type [\w.[\]*{}]+/g, 'Go struct field of type')
      .replaceAll(/Go value of type (struct \{.*\}|[\w.[\]*]+( \{\})?)/g, 'Go value of type')
      .replaceAll(/ \(\*[\w.]+\)/g, ' (<Go type>)')
      .replaceAll(/ResourceVersion in (the precondition|record) \(\d+\)/g, 'ResourceVersion in $1 (<version>)')
      .replaceAll(/:\d{5}\/(TCP|UDP)/g, ':<port>/$1')
      .replaceAll(/("resourceVersion\\?":\\?")\d+/g, '$1<version>')
      .replaceAll(/Duplicate value: 3\d{4}$/g, 'Duplicate value: <port>')
      .replaceAll(/too old resource version: \d+ \(\d+\)/g, 'too old resource version: <version>')
      .replaceAll(/Too large resource version: \d+, current: \d+/g, 'Too large resource version: <version>');
  }

  function value(given: unknown, key = ''): unknown {
    if (typeof given === 'string')
      return key === 'cells' && /^\d+[smh](\d+s)?$/.test(given) ? '<age>' : field(key, given);
    if (typeof given === 'number') return key === 'nodePort' || key === 'healthCheckNodePort' ? `<port>` : given;
    if (Array.isArray(given)) return ordered(key, given).map((one) => value(one, key));
    if (typeof given !== 'object' || given === null) return given;
    const object = given as Json;
    if (isMetadata(object)) {
      const generated = object['generateName'];
      const name = object['name'];
      if (typeof generated === 'string' && typeof name === 'string' && name.length === generated.length + 5) {
        if (!names.has(name)) names.set(name, `${generated}<random>`);
      }
    }
    if (key === 'columnDefinitions') return value(withoutDescription(object));
    if (Array.isArray((object['details'] as Json | undefined)?.['causes'])) return status(object);
    const isList = 'items' in object || 'rows' in object;
    const result: Json = {};
    for (const one of Object.keys(object).toSorted()) {
      // The version of a list counts every write of the whole server, controllers included.
      if (isList && one === 'metadata') result[one] = listMetadata(object[one] as Json);
      // Keys of managedFields hold uids.
      else result[one.startsWith('k:') ? text(one) : one] = value(object[one], one);
    }
    return result;
  }

  /**
   * Kubernetes reports an error that it checks twice also twice; the embedded server reports it once. Conflicts, and the causes of custom
   * resources and their definitions, come in any order there (Go's maps have none). The message is compared by its causes.
   */
  function status(given: Json): unknown {
    const { causes: listed, ...rest } = given['details'] as Json & { causes: Json[]; group?: string };
    const shown = [...new Set(listed.map((cause) => JSON.stringify(value({ ...cause }))))];
    const isBuiltIn = !/\.(?!k8s\.io$)/.test(rest.group ?? '') && rest.group !== 'apiextensions.k8s.io';
    const causes = (isBuiltIn && given['code'] !== 409 ? shown : shown.toSorted()).map(
      (cause) => JSON.parse(cause) as Json,
    );
    const message = text(String(given['message'])).replace(/ is invalid: .*$/s, ' is invalid: <causes>');
    return { ...(value({ ...given, details: rest }) as Json), details: { ...(value(rest) as Json), causes }, message };
  }

  function listMetadata(metadata: Json): Json {
    const { continue: token, ...rest } = metadata;
    return {
      ...rest,
      ...(rest['resourceVersion'] !== undefined && { resourceVersion: '<version>' }),
      ...(token !== undefined && token !== '' && { continue: '<continue>' }),
    };
  }

  function field(key: string, given: string): string {
    if (key === 'resourceVersion') return given === '' || given === '0' ? given : numbered(versions, 'version', given);
    if (key === 'continue') return given === '' ? '' : '<continue>';
    if (key === 'creationTimestamp' || key === 'time') return '<time>';
    return text(given);
  }

  function mark(): () => void {
    const kept = [uids, versions, names].map((known) => [known, [...known]] as const);
    return () => {
      for (const [known, entries] of kept) {
        known.clear();
        for (const [key, label] of entries) known.set(key, label);
      }
    };
  }

  return { value: (given) => value(given), text, mark };
}

const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
// The ranges of the two servers: 10.96.0.0/12 and 127.96.0.0/12.
const SERVICE_ADDRESS = /\b(?:10|127)\.(?:9[6-9]|10\d|11[01])\.\d{1,3}\.\d{1,3}\b/g;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*-----END CERTIFICATE-----\n?/g;
const TOKEN = /eyJ[\w-]+\.[\w-]+\.[\w-]+/g;

function isMetadata(object: Json): boolean {
  return typeof object['uid'] === 'string';
}

// Entries are sorted by their times, of which a second can pass between the two servers.
function ordered(key: string, list: readonly unknown[]): readonly unknown[] {
  if (key !== 'managedFields') return list;
  const rank = (entry: unknown) => {
    const { manager, operation, apiVersion, subresource } = entry as Json;
    return JSON.stringify([manager, operation, apiVersion, subresource]);
  };
  return list.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
}
