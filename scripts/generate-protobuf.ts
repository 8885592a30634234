// Writes packages/apiserver/src/protobuf/gen/messages.json: the numbers of the fields in the Kubernetes protobuf messages of the kinds that
// are served. It is run by hand (`npm run generate:protobuf`, needs Go to fetch the modules) and its output is committed. The
// `generated.proto` files give numbers and types. The tags in the Go types add the rest: the JSON name, whether a field is inlined, and
// whether its zero value is left out of the JSON.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { KINDS, RELEASE } from './builtin-selection.ts';

interface ProtoField {
  number: number;
  name: string;
  /** A scalar, or the full name of a message. */
  type: string;
  label: 'one' | 'list' | 'map';
}

interface GoField {
  jsonName: string;
  isInline: boolean;
  leavesOutZero: boolean;
}

/** The versions of the libraries that belong to a release: v1.36.3 is v0.36.3 there. */
const LIBRARY = RELEASE.replace(/^v1\./, 'v0.');
const API = 'k8s.io.api';
const EXTENSIONS = 'k8s.io.apiextensions-apiserver.pkg.apis.apiextensions.v1';
const AGGREGATOR = 'k8s.io.kube-aggregator.pkg.apis.apiregistration.v1';
const META = 'k8s.io.apimachinery.pkg.apis.meta.v1';

/** Messages that clients send besides the kinds that are served. */
const MORE_KINDS: [groupVersion: string, kind: string, message: string][] = [
  ['authentication.k8s.io/v1', 'TokenRequest', `${API}.authentication.v1.TokenRequest`],
  ['autoscaling/v1', 'Scale', `${API}.autoscaling.v1.Scale`],
  ['policy/v1', 'Eviction', `${API}.policy.v1.Eviction`],
  ['v1', 'Binding', `${API}.core.v1.Binding`],
  ['v1', 'DeleteOptions', `${META}.DeleteOptions`],
  ['v1', 'Status', `${META}.Status`],
  ['meta.k8s.io/v1', 'PartialObjectMetadata', `${META}.PartialObjectMetadata`],
  ['meta.k8s.io/v1', 'PartialObjectMetadataList', `${META}.PartialObjectMetadataList`],
];

/** Groups whose package is not named as they are. */
const PACKAGES: Record<string, string> = {
  '': 'core',
  'rbac.authorization.k8s.io': 'rbac',
  'events.k8s.io': 'events',
};

/** Messages that JSON shows as something else than an object of their fields; the decoder knows them. */
const SPECIAL = new Set([
  `${META}.Time`,
  `${META}.MicroTime`,
  `${META}.Duration`,
  `${META}.FieldsV1`,
  `${EXTENSIONS}.JSON`,
  'k8s.io.apimachinery.pkg.api.resource.Quantity',
  'k8s.io.apimachinery.pkg.util.intstr.IntOrString',
  'k8s.io.apimachinery.pkg.runtime.RawExtension',
]);

const root = dirname(import.meta.dirname);
const output = join(root, 'packages/apiserver/src/protobuf/gen');
const modules = {
  'k8s.io/api': moduleFolder('k8s.io/api'),
  'k8s.io/apiextensions-apiserver': moduleFolder('k8s.io/apiextensions-apiserver'),
  'k8s.io/apimachinery': moduleFolder('k8s.io/apimachinery'),
  'k8s.io/kube-aggregator': moduleFolder('k8s.io/kube-aggregator'),
};
const messages = new Map<string, ProtoField[]>();
/** By message and number: not every tag has the name. */
const goStructs = new Map<string, Map<number, GoField>>();
const loaded = new Set<string>();

const kinds = new Map<string, string>([
  ...KINDS.flatMap(([groupVersion, ...names]) =>
    names.map((kind): [string, string] => [`${groupVersion} ${kind}`, messageOf(groupVersion, kind)]),
  ),
  ...KINDS.flatMap(([groupVersion, ...names]) =>
    names
      .map((kind): [string, string] => [`${groupVersion} ${kind}List`, messageOf(groupVersion, `${kind}List`)])
      .filter(([, message]) => isMessage(message)),
  ),
  ...MORE_KINDS.map(([groupVersion, kind, message]): [string, string] => [`${groupVersion} ${kind}`, message]),
]);
const lines = reachable([...kinds.values()]).map((name) => `${JSON.stringify(shortName(name))}:${render(name)}`);
const mark = `"generated":"by scripts/generate-protobuf.ts from Kubernetes ${RELEASE}; do not edit"`;
const kindLines = [...kinds].map(([kind, message]) => `${JSON.stringify(kind)}:${JSON.stringify(shortName(message))}`);
mkdirSync(output, { recursive: true });
const text = `{${mark},\n"kinds":{\n${kindLines.join(',\n')}\n},\n"messages":{\n${lines.join(',\n')}\n}}\n`;
writeFileSync(join(output, 'messages.json'), text);
console.log(`${kinds.size} kinds, ${lines.length} messages of Kubernetes ${RELEASE} in ${output}`);

function moduleFolder(name: string): string {
  const result = spawnSync('go', ['mod', 'download', '-json', `${name}@${LIBRARY}`], {
    cwd: tmpdir(),
    encoding: 'utf8',
  });
  if (result.error || result.status !== 0) {
    throw new Error(
      `cannot fetch ${name}@${LIBRARY} with "go mod download": ${result.error?.message ?? result.stderr + result.stdout}; Go must be installed and its module proxy reachable`,
    );
  }
  return (JSON.parse(result.stdout) as { Dir: string }).Dir;
}

function messageOf(groupVersion: string, kind: string): string {
  const [version = '', group = ''] = groupVersion.split('/').reverse();
  if (group === 'apiextensions.k8s.io') return `${EXTENSIONS}.${kind}`;
  if (group === 'apiregistration.k8s.io') return `${AGGREGATOR}.${kind}`;
  return `${API}.${PACKAGES[group] ?? group.split('.')[0]}.${version}.${kind}`;
}

/** `k8s.io.api.core.v1` lies in `core/v1` of its module. */
function folderOf(protoPackage: string): string {
  for (const [name, folder] of Object.entries(modules)) {
    const prefix = `${name.replace('/', '.')}.`;
    if (protoPackage.startsWith(prefix)) return join(folder, ...protoPackage.slice(prefix.length).split('.'));
  }
  throw new Error(`the package ${protoPackage} is in none of the modules ${Object.keys(modules).join(', ')}`);
}

function load(protoPackage: string): void {
  if (loaded.has(protoPackage)) return;
  loaded.add(protoPackage);
  const folder = folderOf(protoPackage);
  readProto(protoPackage, readFileSync(join(folder, 'generated.proto'), 'utf8'));
  const sources = readdirSync(folder).filter((file) => /^(?!.*(_test|generated)).*\.go$/.test(file));
  for (const file of sources) readGo(protoPackage, readFileSync(join(folder, file), 'utf8'));
}

function readProto(protoPackage: string, text: string): void {
  let fields: ProtoField[] | undefined;
  for (const line of text.split('\n')) {
    const begins = /^message (\w+) \{/.exec(line);
    if (begins) {
      fields = [];
      messages.set(`${protoPackage}.${begins[1]}`, fields);
    }
    const map = /^ {2}map<string, ([\w.]+)> (\w+) = (\d+);/.exec(line);
    const field = /^ {2}(optional|repeated) ([\w.]+) (\w+) = (\d+);/.exec(line);
    if (map) fields?.push(protoField(protoPackage, 'map', map[1], map[2], map[3]));
    if (field) fields?.push(protoField(protoPackage, field[1] === 'repeated' ? 'list' : 'one', ...field.slice(2)));
  }
}

function protoField(protoPackage: string, label: ProtoField['label'], type = '', name = '', number = ''): ProtoField {
  const isScalar = /^[a-z]\w*$/.test(type);
  const full = type.startsWith('.') ? type.slice(1) : isScalar ? type : `${protoPackage}.${type}`;
  return { number: Number(number), name, type: full, label };
}

function readGo(protoPackage: string, text: string): void {
  let fields: Map<number, GoField> | undefined;
  for (const line of text.split('\n')) {
    const begins = /^type (\w+) struct \{/.exec(line);
    if (begins) {
      fields = new Map();
      goStructs.set(`${protoPackage}.${begins[1]}`, fields);
    }
    if (line.startsWith('}')) fields = undefined;
    const field = /^\t(?:\w+ +)?(\S+) +`(.*)`/.exec(line);
    const json = /json:"([^"]*)"/.exec(field?.[2] ?? '')?.[1]?.split(',');
    const proto = /protobuf:"\w+,(\d+),/.exec(field?.[2] ?? '')?.[1];
    if (!field || !json || proto === undefined) continue;
    fields?.set(Number(proto), {
      jsonName: json[0] ?? '',
      isInline: json.includes('inline') || json[0] === '',
      leavesOutZero: field[1]?.startsWith('*') !== true && (json.includes('omitempty') || json.includes('omitzero')),
    });
  }
}

function fieldsOf(message: string): ProtoField[] {
  load(message.slice(0, message.lastIndexOf('.')));
  const fields = messages.get(message);
  if (!fields) throw new Error(`the message ${message} is not in its generated.proto`);
  return fields;
}

/** Questions have no lists. */
function isMessage(name: string): boolean {
  load(name.slice(0, name.lastIndexOf('.')));
  return messages.has(name);
}

function reachable(roots: readonly string[]): string[] {
  const reached = new Set<string>();
  const pending = [...roots];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (reached.has(name) || SPECIAL.has(name)) continue;
    reached.add(name);
    pending.push(...fieldsOf(name).flatMap(({ type }) => (type.includes('.') ? [type] : [])));
  }
  return [...reached].sort();
}

/** `k8s.io.api.core.v1.Pod` is `core.v1.Pod`; those of the machinery keep their last three parts. */
function shortName(message: string): string {
  return message.split('.').slice(-3).join('.');
}

// A field is `number name type`: `[]` before the type for a list, `{}` for a map, `-` for the name of an inlined field, `@` for that of a
// list that is the whole message, and a question mark at the end where the zero value means that the field is not set.
function render(message: string): string {
  const structs = goStructs.get(message);
  const fields = fieldsOf(message).map(({ number, name, type, label }) => {
    const known = structs?.get(number);
    // A Go type that is a list (ExtraValue) has no struct: its only field is the list.
    const jsonName = !structs ? '@' : !known ? name : known.isInline ? '-' : known.jsonName;
    const mark = label === 'list' ? '[]' : label === 'map' ? '{}' : '';
    const short = type.includes('.') ? shortName(type) : type;
    return `${number} ${jsonName} ${mark}${short}${known?.leavesOutZero === true ? '?' : ''}`;
  });
  return JSON.stringify(fields);
}
