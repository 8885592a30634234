// TypeScript types of messages as the codec takes and gives them: fields have the names of the .proto files, enums are the names of
// their values, of a oneof at most one field is set, and an Any is a message with its type's URL.
import type { Field, Message } from './messages.ts';
import { TYPE_NAMES } from './selection.ts';

export interface TypesInput {
  /** The origin of the types, for the head of the file. */
  readonly generated: string;
  readonly messages: readonly Message[];
  /** The names of the values by the full name of the enum. */
  readonly enums: ReadonlyMap<string, readonly string[]>;
  /** Messages that an Any may hold. */
  readonly extensions: readonly string[];
  /** Lists that may hold encoded parts. */
  readonly composed: ReadonlySet<string>;
}

export function renderTypes({ generated, messages, enums, extensions, composed }: TypesInput): string {
  const names = shortNames([...messages.map(({ name }) => name), ...enums.keys()]);
  const typeOf = (message: Message, field: Field): string => {
    const item = SCALARS[field.type] ?? names.get(field.type) ?? 'never';
    if (composed.has(`${message.name}.${field.name}`)) return `Composed<'${field.type}'>`;
    if (field.label === 'list') return `readonly ${item.includes('|') ? `(${item})` : item}[]`;
    return field.label === 'map' ? `{ readonly [key: string]: ${item} }` : item;
  };
  const rendered = messages.map((message) => renderMessage(message, names.get(message.name) ?? '', typeOf));
  return [
    `// Generated ${generated}.`,
    "import type { Composed, Json, OneOf, Struct } from '../message-types.ts';",
    '',
    ...rendered,
    ...[...enums].map(
      ([name, values]) => `export type ${names.get(name) ?? ''} = ${values.map((each) => `'${each}'`).join(' | ')};\n`,
    ),
    '/** Every message by its full name. */',
    'export interface Messages {',
    ...messages.map(({ name }) => `  '${name}': ${names.get(name) ?? ''};`),
    '}\n',
    '/** Messages that an Any may hold. */',
    `export type ExtensionName =\n${[...extensions]
      .sort()
      .map((name) => `  | '${name}'`)
      .join('\n')};\n`,
    'export type Any = {',
    "  [Name in ExtensionName]: { readonly '@type': `type.googleapis.com/${Name}` } & Messages[Name];",
    '}[ExtensionName];\n',
  ].join('\n');
}

function renderMessage(message: Message, name: string, typeOf: (message: Message, field: Field) => string): string {
  const plain = message.fields.filter(({ oneof }) => oneof === undefined);
  const fields = plain.map((field) => `  readonly ${field.name}?: ${typeOf(message, field)} | undefined;`);
  const oneofs = [...new Set(message.fields.flatMap(({ oneof }) => oneof ?? []))].map((oneof) => {
    const members = message.fields.filter((field) => field.oneof === oneof);
    return `OneOf<{\n${members.map((field) => `  ${field.name}: ${typeOf(message, field)};`).join('\n')}\n}>`;
  });
  const comment = `/** \`${message.name}\` */\n`;
  if (oneofs.length === 0)
    return fields.length === 0
      ? `${comment}export type ${name} = { readonly [field: string]: never };\n`
      : `${comment}export interface ${name} {\n${fields.join('\n')}\n}\n`;
  const parts = [...(fields.length > 0 ? [`{\n${fields.join('\n')}\n}`] : []), ...oneofs];
  return `${comment}export type ${name} = ${parts.join(' & ')};\n`;
}

const SCALARS: Readonly<Record<string, string>> = {
  string: 'string',
  bytes: 'Uint8Array | string',
  bool: 'boolean',
  double: 'number',
  float: 'number',
  int32: 'number',
  int64: 'number',
  uint32: 'number',
  uint64: 'number',
  'google.protobuf.Any': 'Any',
  'google.protobuf.BoolValue': 'boolean',
  'google.protobuf.BytesValue': 'Uint8Array | string',
  'google.protobuf.DoubleValue': 'number',
  'google.protobuf.Duration': 'string',
  'google.protobuf.Empty': '{ readonly [field: string]: never }',
  'google.protobuf.FloatValue': 'number',
  'google.protobuf.Int32Value': 'number',
  'google.protobuf.Int64Value': 'number',
  'google.protobuf.ListValue': 'readonly Json[]',
  'google.protobuf.StringValue': 'string',
  'google.protobuf.Struct': 'Struct',
  'google.protobuf.Timestamp': 'string',
  'google.protobuf.UInt32Value': 'number',
  'google.protobuf.UInt64Value': 'number',
  'google.protobuf.Value': 'Json',
};

/**
 * The name of a type is that of the message, with the messages around it before it. Where two would have the same name, both have
 * the last part of their package before it.
 */
function shortNames(all: readonly string[]): Map<string, string> {
  const plain = new Map(all.map((name) => [name, plainName(name)]));
  const counts = Map.groupBy(plain.values(), (name) => name);
  const names = new Map<string, string>();
  for (const [full, name] of plain) {
    const isShared = (counts.get(name)?.length ?? 0) > 1 || RESERVED.has(name);
    names.set(full, TYPE_NAMES[full] ?? (isShared ? packagePart(full) + name : name));
  }
  const used = [...names.values()];
  const twice = used.find((name, index) => used.indexOf(name) < index);
  if (twice !== undefined) throw new Error(`two types have the name ${twice}`);
  return names;
}

function plainName(full: string): string {
  const name = full.slice(full.search(/\.[A-Z]/) + 1).replaceAll('.', '');
  return full.startsWith('xds.') ? `Xds${name}` : name;
}

/** Names of types that the file has besides those of messages. */
const RESERVED: ReadonlySet<string> = new Set([
  'Any',
  'Composed',
  'ExtensionName',
  'Json',
  'Messages',
  'OneOf',
  'Struct',
]);

/** `envoy.extensions.filters.http.rbac.v3.RBAC` is of `Rbac`. */
function packagePart(full: string): string {
  const parts = full.slice(0, full.search(/\.[A-Z]/)).split('.');
  const part = parts.findLast((each) => !/^v\d/.test(each)) ?? '';
  return part
    .split('_')
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');
}
