// The generated tables of Envoy's messages, read at the first use and compiled message by message.
import { readFileSync } from 'node:fs';
import type { ExtensionName, Messages } from './gen/types.ts';
import type { MessageName, Typed } from './message-types.ts';

export interface Field {
  readonly number: number;
  /** As in the .proto file: snake_case. */
  readonly name: string;
  /** A scalar, or the full name of a message or enum. */
  readonly type: string;
  readonly label: 'one' | 'list' | 'map';
  /** The type of a map's keys. */
  readonly keyType: string;
  /** Its value is written even when it is the default, because being set has a meaning. */
  readonly hasPresence: boolean;
  readonly oneof: string | undefined;
  readonly rules: Rules | undefined;
}

export interface MessageTable {
  readonly name: string;
  readonly byName: ReadonlyMap<string, Field>;
  readonly byNumber: ReadonlyMap<number, Field>;
  /** Oneofs of which one field must be set. */
  readonly required: readonly string[];
}

export interface EnumTable {
  readonly byName: ReadonlyMap<string, number>;
  readonly byNumber: ReadonlyMap<number, string>;
}

/** The constraints of protoc-gen-validate, by the kind of value that they are about. */
export type Rules = { readonly [kind: string]: RuleSet };
export type RuleSet = { readonly [rule: string]: unknown };

/** Undefined for scalars and for enums. */
export function messageTable(name: string): MessageTable | undefined {
  const known = messages.get(name);
  if (known) return known;
  const all = tables().messages;
  // Names come from clients, too: `constructor` is no message.
  const source = Object.hasOwn(all, name) ? all[name] : undefined;
  if (!source) return undefined;
  const fields = source.fields.map(readField);
  const table: MessageTable = {
    name,
    byName: new Map(fields.map((field) => [field.name, field])),
    byNumber: new Map(fields.map((field) => [field.number, field])),
    required: source.required ?? [],
  };
  messages.set(name, table);
  return table;
}

export function enumTable(name: string): EnumTable | undefined {
  const known = enums.get(name);
  // Every field of a message asks whether its type is an enum: that it is none is remembered too.
  if (known !== undefined) return known ?? undefined;
  const source = tables().enums[name];
  if (!source) {
    enums.set(name, null);
    return undefined;
  }
  const table: EnumTable = {
    byName: new Map(Object.entries(source)),
    byNumber: new Map(Object.entries(source).map(([value, number]) => [number, value])),
  };
  enums.set(name, table);
  return table;
}

export const TYPE_URL_PREFIX = 'type.googleapis.com/';

interface Tables {
  readonly messages: Record<string, { readonly fields: readonly FieldRow[]; readonly required?: readonly string[] }>;
  readonly enums: Record<string, Record<string, number>>;
}

type FieldRow = readonly [number: number, name: string, type: string, more?: FieldMore];

interface FieldMore {
  readonly list?: true;
  readonly key?: string;
  readonly oneof?: string;
  readonly optional?: true;
  readonly rules?: Rules;
}

// Compiled tables are a cache of a file that never changes.
const messages = new Map<string, MessageTable>();
const enums = new Map<string, EnumTable | null>();
let read: Tables | undefined;

function tables(): Tables {
  // Our own file, whose shape the generator gives.
  read ??= JSON.parse(readFileSync(new URL('./gen/messages.json', import.meta.url), 'utf8')) as Tables;
  return read;
}

function readField([number, name, type, more]: FieldRow): Field {
  return {
    number,
    name,
    type,
    label: more?.list === true ? 'list' : more?.key === undefined ? 'one' : 'map',
    keyType: more?.key ?? '',
    hasPresence: more?.oneof !== undefined || more?.optional === true || type.startsWith('google.protobuf.'),
    oneof: more?.oneof,
    rules: more?.rules,
  };
}

/** The short names by which the discovery services are known. */
export type ResourceType = 'cds' | 'eds' | 'lds' | 'rds' | 'vhds' | 'sds' | 'rtds';

/** The message of each type, in the order in which changes are sent: references before the resources that use them. */
export const RESOURCE_MESSAGES = {
  rtds: 'envoy.service.runtime.v3.Runtime',
  sds: 'envoy.extensions.transport_sockets.tls.v3.Secret',
  cds: 'envoy.config.cluster.v3.Cluster',
  eds: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
  lds: 'envoy.config.listener.v3.Listener',
  rds: 'envoy.config.route.v3.RouteConfiguration',
  vhds: 'envoy.config.route.v3.VirtualHost',
} as const satisfies Readonly<Record<ResourceType, MessageName>>;

/** The message of a resource of this type. */
export type ResourceMessage<Type extends ResourceType = ResourceType> = Messages[(typeof RESOURCE_MESSAGES)[Type]];

export const RESOURCE_TYPES = Object.keys(RESOURCE_MESSAGES) as ResourceType[];

export function typeUrl(type: ResourceType): string {
  return TYPE_URL_PREFIX + RESOURCE_MESSAGES[type];
}

const byUrl = new Map(RESOURCE_TYPES.map((type) => [typeUrl(type), type]));

export function typeOfUrl(url: string): ResourceType | undefined {
  return byUrl.get(url);
}

/** An extension's configuration: `typed('envoy.extensions.….Router', {})`. */
export function typed<Name extends ExtensionName>(type: Name, value?: Messages[Name]): Typed<Name> {
  let url = typeUrls.get(type);
  if (url === undefined) typeUrls.set(type, (url = TYPE_URL_PREFIX + type));
  return { '@type': url, ...(value as object | undefined) } as Typed<Name>;
}

// Thousands of messages have the same few types: one text for each.
const typeUrls = new Map<string, string>();
