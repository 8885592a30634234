// Writes operators/sesame/src/envoy/gen/messages.json: fields, types and constraints of the Envoy messages that Sesame uses. It
// is run by hand (`npm run generate:envoy`) and its output is committed. The .proto files are those that @grpc/grpc-js-xds ships.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type OptionValue, type ProtoFile, type ProtoMessage, parseProto } from './envoy/parse-proto.ts';
import { ADDED_FIELDS, DROPPED_TYPES, ROOT_FILES, ROOT_MESSAGES } from './envoy/selection.ts';

const root = dirname(import.meta.dirname);
const client = join(root, 'node_modules/@grpc/grpc-js-xds');
const output = join(root, 'operators/sesame/src/envoy/gen');
const folders = ['envoy-api', 'xds', 'googleapis', 'protoc-gen-validate'].map((name) => join(client, 'deps', name));

const messages = new Map<string, ProtoMessage>();
const enums = new Map<string, ReadonlyMap<string, number>>();
const loaded = new Map<string, ProtoFile>();
/** Types of google.protobuf, which the codec knows itself. */
const WELL_KNOWN = /^google\.protobuf\./;

for (const file of ROOT_FILES) load(file);
const { reached, reachedEnums } = reachable(ROOT_MESSAGES);
const version = (JSON.parse(readFileSync(join(client, 'package.json'), 'utf8')) as { version: string }).version;
const text = [
  `{"generated":"by scripts/generate-envoy.ts from the files in @grpc/grpc-js-xds ${version}; do not edit",`,
  '"messages":{',
  [...reached].sort().map(renderMessage).join(',\n'),
  '},\n"enums":{',
  [...reachedEnums].sort().map(renderEnum).join(',\n'),
  '}}\n',
].join('\n');
mkdirSync(output, { recursive: true });
writeFileSync(join(output, 'messages.json'), text);
console.log(`${reached.size} messages, ${reachedEnums.size} enums, ${text.length} bytes in ${output}`);

function load(path: string): void {
  if (loaded.has(path)) return;
  const found = folders.map((folder) => join(folder, path)).find(existsSync);
  if (found === undefined) {
    if (path.startsWith('google/protobuf/')) return;
    throw new Error(`${path} is in none of ${folders.join(', ')}`);
  }
  const file = parseProto(readFileSync(found, 'utf8'));
  loaded.set(path, file);
  for (const [name, message] of file.messages) messages.set(name, message);
  for (const [name, values] of file.enums) enums.set(name, values);
  for (const each of file.imports) load(each);
}

function reachable(roots: readonly string[]) {
  const reached = new Set<string>();
  const reachedEnums = new Set<string>();
  const pending = [...roots];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (reached.has(name)) continue;
    reached.add(name);
    for (const { type } of fieldsOf(name)) {
      const full = resolve(name, type);
      if (enums.has(full)) reachedEnums.add(full);
      else if (messages.has(full)) pending.push(full);
    }
  }
  return { reached, reachedEnums };
}

function fieldsOf(name: string) {
  const message = messages.get(name);
  if (!message) throw new Error(`the message ${name} is in none of the files that are read`);
  return message.fields.filter(({ type, name: field, options }) => {
    if (options['deprecated'] === true || field.startsWith('hidden_envoy_deprecated')) return false;
    return !DROPPED_TYPES.some((dropped) => resolve(name, type).startsWith(dropped));
  });
}

/** A name is looked up in the message, then in what surrounds it, outwards. */
function resolve(scope: string, type: string): string {
  if (/^[a-z]+\d*$/.test(type) && !type.includes('.')) return type;
  if (type.startsWith('.')) return type.slice(1);
  for (let prefix = scope; prefix !== ''; prefix = prefix.slice(0, Math.max(prefix.lastIndexOf('.'), 0))) {
    const full = `${prefix}.${type}`;
    if (messages.has(full) || enums.has(full) || WELL_KNOWN.test(full)) return full;
  }
  if (messages.has(type) || enums.has(type) || WELL_KNOWN.test(type)) return type;
  throw new Error(`${scope}: the type ${type} is not known`);
}

// A field is [number, name, type, more]: more has `list`, `key` (of a map), `oneof` and `rules` where there are any.
function renderMessage(name: string): string {
  const fields = fieldsOf(name).map(({ number, name: field, type, label, keyType, oneof, options }) => {
    const rules = options['(validate.rules)'];
    const more = {
      ...(label === 'list' && { list: true }),
      ...(keyType !== undefined && { key: keyType }),
      ...(oneof !== undefined && { oneof }),
      ...(rules !== undefined && { rules }),
    };
    const row: OptionValue[] = [number, field, resolve(name, type)];
    return JSON.stringify(Object.keys(more).length > 0 ? [...row, more] : row);
  });
  for (const added of ADDED_FIELDS[name] ?? []) fields.push(JSON.stringify(added));
  const required = [...(messages.get(name)?.oneofs ?? [])]
    .filter(([, options]) => options['(validate.required)'] === true)
    .map(([oneof]) => oneof);
  const body = `"fields":[${fields.join(',')}]${required.length > 0 ? `,"required":${JSON.stringify(required)}` : ''}`;
  return `${JSON.stringify(name)}:{${body}}`;
}

function renderEnum(name: string): string {
  return `${JSON.stringify(name)}:${JSON.stringify(Object.fromEntries(enums.get(name) ?? []))}`;
}
