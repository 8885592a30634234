// Writes the tables and types of Envoy's API for Sesame, from the descriptors in the Go module of Envoy's control plane: the tables of its
// codec with the constraints (messages.json), the types of messages (types.ts), and the descriptors themselves, which the tests read with a
// second implementation. It is run by hand (`npm run generate:envoy`, needs Go to fetch the modules) and its output is committed.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { downloadDescriptors, ENVOY_MODULE, ENVOY_VERSION } from './envoy/go-descriptors.ts';
import { type Field, type Message, readApi } from './envoy/messages.ts';
import { renderTypes } from './envoy/render-types.ts';
import { COMPOSED_FIELDS, DROPPED_TYPES, KEPT_FIELDS, ROOT_MESSAGES } from './envoy/selection.ts';

const sesame = join(dirname(import.meta.dirname), 'operators/sesame');
const generated = `by scripts/generate-envoy.ts from ${ENVOY_MODULE} ${ENVOY_VERSION}; do not edit`;
const packages = [...new Set(ROOT_MESSAGES.map((name) => name.slice(0, name.search(/\.[A-Z]/))))];
const api = readApi([...packages, 'envoy.service.discovery.v3'], downloadDescriptors());
const { messages, enums } = reachable(ROOT_MESSAGES);

const tables = [
  `{"generated":"${generated}",`,
  '"messages":{',
  messages.map(renderMessage).join(',\n'),
  '},\n"enums":{',
  enums.map((name) => `${JSON.stringify(name)}:${JSON.stringify(api.enums.get(name))}`).join(',\n'),
  '}}\n',
].join('\n');
const types = renderTypes({
  generated,
  messages,
  enums: new Map(enums.map((name) => [name, Object.keys(api.enums.get(name) ?? {})])),
  extensions: ROOT_MESSAGES,
  composed: COMPOSED_FIELDS,
});
write('src/envoy/gen/messages.json', tables);
write('src/envoy/gen/types.ts', types);
write('test/envoy/gen/descriptors.binpb', api.descriptors);
console.log(`${messages.length} messages and ${enums.length} enums of Envoy ${ENVOY_VERSION}`);

function write(path: string, content: string | Uint8Array): void {
  const file = join(sesame, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  console.log(`${file}: ${content.length} bytes`);
}

/** The messages that the roots need, without the fields that are left out, and their enums; in the order of their names. */
function reachable(roots: readonly string[]): { messages: Message[]; enums: string[] } {
  const found = new Map<string, Message>();
  const foundEnums = new Set<string>();
  const pending = [...roots];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (found.has(name)) continue;
    const message = api.messages.get(name);
    if (!message) throw new Error(`the message ${name} is in none of the files that are read`);
    const fields = message.fields.filter((field) => isKept(message.name, field));
    found.set(name, { ...message, fields });
    for (const { type } of fields) {
      if (api.enums.has(type)) foundEnums.add(type);
      // The codec knows the types of google.protobuf itself.
      else if (type.includes('.') && !type.startsWith('google.protobuf.')) pending.push(type);
    }
  }
  const byName = [...found].sort(([left], [right]) => (left < right ? -1 : 1));
  return { messages: byName.map(([, message]) => message), enums: [...foundEnums].sort() };
}

function isKept(message: string, { name, type, isDeprecated }: Field): boolean {
  if (KEPT_FIELDS.has(`${message}.${name}`)) return true;
  // Matchers reach each other and the keys that they are found by.
  const isDropped =
    !message.startsWith('xds.type.matcher.') && DROPPED_TYPES.some((dropped) => type.startsWith(dropped));
  return !isDeprecated && !isDropped;
}

// A field is [number, name, type, more]: more has `list`, `key` (of a map), `oneof`, `optional` and `rules` where there are any.
function renderMessage({ name, fields, required }: Message): string {
  const rows = fields.map(({ number, name: field, type, label, key, oneof, isOptional, rules }) => {
    const more = {
      ...(label === 'list' && { list: true }),
      ...(key !== undefined && { key }),
      ...(oneof !== undefined && { oneof }),
      ...(isOptional && { optional: true }),
      ...(rules !== undefined && { rules }),
    };
    return JSON.stringify(Object.keys(more).length > 0 ? [number, field, type, more] : [number, field, type]);
  });
  const needed = required.length > 0 ? `,"required":${JSON.stringify(required)}` : '';
  return `${JSON.stringify(name)}:{"fields":[${rows.join(',')}]${needed}}`;
}
