// Writes packages/apiserver/src/defaults/gen/go-fields.json: the output of Go's JSON encoder for unset and empty fields of the built-in
// types. The OpenAPI document lacks it: it knows neither pointers nor `omitempty`. It is run by hand (`npm run generate:go-fields`, needs
// Go to fetch the modules) and its output is committed.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { RELEASE } from './builtin-selection.ts';

/** The versions of the libraries that belong to a release: v1.36.3 is v0.36.3 there. */
const LIBRARY = RELEASE.replace(/^v1\./, 'v0.');
const MODULES: Record<string, string> = {
  'io.k8s.api.': moduleFolder('k8s.io/api'),
  'io.k8s.apimachinery.': moduleFolder('k8s.io/apimachinery'),
  'io.k8s.kube-aggregator.': moduleFolder('k8s.io/kube-aggregator'),
};

interface GoField {
  /** Empty for a struct whose fields are its parent's own. */
  name: string;
  type: string;
  omitsEmpty: boolean;
  omitsZero: boolean;
}

interface GoPackage {
  structs: Map<string, GoField[]>;
  /** The definition of a named type. */
  named: Map<string, string>;
  /** Folders of the packages that it imports, by the name under which it does. */
  imports: Map<string, string>;
}

/** Types with an encoder of their own: how their zero value is written. */
const SPECIAL: Record<string, Effect> = {
  'meta/v1.Time': 'null',
  'meta/v1.MicroTime': 'null',
  'meta/v1.Duration': 'keep',
  'meta/v1.FieldsV1': 'keep',
  'resource.Quantity': 'keep',
  'intstr.IntOrString': 'zero',
  'runtime.RawExtension': 'null',
  'meta/v1.ObjectMeta': 'struct',
  'meta/v1.ListMeta': 'struct',
};

// `zero`: always written, as its zero. `null`: always written, null when not set. `dropZero`: left out when zero. `dropEmpty`:
// left out when empty. `struct`: always written, {} at least. `keep`: left out when absent, and only then.
type Effect = 'zero' | 'null' | 'dropZero' | 'dropEmpty' | 'struct' | 'keep';

const packages = new Map<string, GoPackage>();
const root = dirname(import.meta.dirname);
const { definitions } = JSON.parse(readFileSync(join(root, 'packages/kube/src/builtin/gen/schemas.json'), 'utf8')) as {
  definitions: Record<string, { properties?: object }>;
};

const lines: string[] = [];
for (const [definition, { properties }] of Object.entries(definitions)) {
  if (properties === undefined) continue;
  const prefix = Object.keys(MODULES).find((one) => definition.startsWith(one));
  if (prefix === undefined) continue;
  const parts = definition.slice(prefix.length).split('.');
  const folder = join(MODULES[prefix] ?? '', ...parts.slice(0, -1));
  const effects = effectsOf(folder, parts.at(-1) ?? '');
  const byEffect: Partial<Record<Effect, string[]>> = {};
  for (const field of Object.keys(properties)) {
    const effect = effects.get(field);
    if (effect === undefined) throw new Error(`${definition} has no field ${field} in ${folder}`);
    // An empty list of them means something: a fresh start.
    if (field === 'managedFields') continue;
    if (effect !== 'keep') (byEffect[effect] ??= []).push(field);
  }
  if (Object.keys(byEffect).length > 0) lines.push(`${JSON.stringify(definition)}:${JSON.stringify(byEffect)}`);
}
const output = join(root, 'packages/apiserver/src/defaults/gen');
mkdirSync(output, { recursive: true });
const mark = `"generated":"by scripts/generate-go-fields.ts from Kubernetes ${RELEASE}; do not edit"`;
writeFileSync(join(output, 'go-fields.json'), `{${mark},\n"types":{\n${lines.join(',\n')}\n}}\n`);
console.log(`${lines.length} types of Kubernetes ${RELEASE} in ${output}`);

function effectsOf(folder: string, struct: string): Map<string, Effect> {
  const found = new Map<string, Effect>();
  const fields = load(folder).structs.get(struct);
  if (fields === undefined) throw new Error(`there is no struct ${struct} in ${folder}`);
  for (const { name, type, omitsEmpty, omitsZero } of fields) {
    if (name === '') {
      const [where, inner] = resolve(folder, type.replace('*', ''));
      // TypeMeta: apiVersion and kind are the server's own business.
      if (inner === 'TypeMeta') for (const one of ['apiVersion', 'kind']) found.set(one, 'keep');
      else for (const [key, effect] of effectsOf(where, inner)) found.set(key, effect);
    } else found.set(name, omitsZero ? 'keep' : effectOf(folder, type, omitsEmpty));
  }
  return found;
}

function effectOf(folder: string, type: string, omitsEmpty: boolean): Effect {
  if (type.startsWith('*')) return omitsEmpty ? 'keep' : 'null';
  if (type.startsWith('[]') || type.startsWith('map[')) return omitsEmpty ? 'dropEmpty' : 'null';
  if (/^(string|bool|u?int\d*|float\d+)$/.test(type)) return omitsEmpty ? 'dropZero' : 'zero';
  const [where, name] = resolve(folder, type);
  const special =
    SPECIAL[`${where.split('/').slice(-2).join('/')}.${name}`] ?? SPECIAL[`${where.split('/').at(-1)}.${name}`];
  if (special !== undefined) return special;
  const known = load(where);
  if (known.structs.has(name)) return 'struct';
  const created = known.named.get(name);
  if (created === undefined) throw new Error(`${type} in ${folder} is not known`);
  return effectOf(where, created, omitsEmpty);
}

/** The folder and the name of a type as a file of this folder calls it. */
function resolve(folder: string, type: string): [folder: string, name: string] {
  const [qualifier, name] = type.split('.');
  if (name === undefined) return [folder, type];
  const path = load(folder).imports.get(qualifier ?? '');
  if (path === undefined) throw new Error(`${folder} imports nothing as ${qualifier}`);
  return [path, name];
}

function load(folder: string): GoPackage {
  const known = packages.get(folder);
  if (known) return known;
  const created: GoPackage = { structs: new Map(), named: new Map(), imports: new Map() };
  packages.set(folder, created);
  const sources = readdirSync(folder).filter((file) => /^(?!.*(_test|generated)).*\.go$/.test(file));
  for (const file of sources) read(created, readFileSync(join(folder, file), 'utf8'));
  return created;
}

function read({ structs, named, imports }: GoPackage, text: string): void {
  let fields: GoField[] | undefined;
  for (const line of text.split('\n')) {
    const [, alias, path = ''] = /^(?:import)?\s+(?:(\w+) )?"(k8s\.io\/(?:api|apimachinery)\/[^"]+)"/.exec(line) ?? [];
    if (path !== '') imports.set(alias ?? path.split('/').at(-1) ?? '', importFolder(path));
    const begins = /^type (\w+) struct \{/.exec(line);
    if (begins) {
      fields = [];
      structs.set(begins[1] ?? '', fields);
      continue;
    }
    const [, name, created] = /^type (\w+) ([\w.[\]*]+)$/.exec(line) ?? [];
    if (name !== undefined && created !== undefined) named.set(name, created);
    if (line.startsWith('}')) fields = undefined;
    const field = /^\t(?:\w+\s+)?(\S+)\s+`(.*)`/.exec(line);
    const json = /json:"([^"]*)"/.exec(field?.[2] ?? '')?.[1]?.split(',');
    if (!field || !json || json[0] === '-') continue;
    const omitsEmpty = json.includes('omitempty');
    const omitsZero = json.includes('omitzero');
    fields?.push({ name: json[0] ?? '', type: field[1] ?? '', omitsEmpty, omitsZero });
  }
}

function importFolder(path: string): string {
  const prefix = path.startsWith('k8s.io/api/') ? 'io.k8s.api.' : 'io.k8s.apimachinery.';
  return join(MODULES[prefix] ?? '', ...path.split('/').slice(2));
}

function moduleFolder(name: string): string {
  const asked = ['mod', 'download', '-json', `${name}@${LIBRARY}`];
  const result = spawnSync('go', asked, { cwd: tmpdir(), encoding: 'utf8' });
  if (result.error || result.status !== 0) {
    throw new Error(
      `cannot fetch ${name}@${LIBRARY} with "go mod download": ${result.error?.message ?? result.stderr + result.stdout}; Go must be installed and its module proxy reachable`,
    );
  }
  return (JSON.parse(result.stdout) as { Dir: string }).Dir;
}
