// Messages and enums of Envoy's API as the generator works with them, read from descriptors by protobufjs.
import protobuf from 'protobufjs';
import descriptor from 'protobufjs/ext/descriptor/index.js';
import type { GoDescriptors } from './go-descriptors.ts';

export interface Field {
  readonly number: number;
  readonly name: string;
  /** A scalar, or the full name of a message or enum. */
  readonly type: string;
  readonly label: 'one' | 'list' | 'map';
  /** The type of a map's key. */
  readonly key: string | undefined;
  readonly oneof: string | undefined;
  /** A scalar whose default is written too, because being set has a meaning. */
  readonly isOptional: boolean;
  readonly isDeprecated: boolean;
  readonly rules: Rules | undefined;
}

export type Rules = { readonly [kind: string]: unknown };

export interface Message {
  readonly name: string;
  readonly fields: readonly Field[];
  /** Oneofs of which one field must be set. */
  readonly required: readonly string[];
}

export type EnumValues = Readonly<Record<string, number>>;

export interface EnvoyApi {
  readonly messages: ReadonlyMap<string, Message>;
  readonly enums: ReadonlyMap<string, EnumValues>;
  /** A FileDescriptorSet of all files that were read. */
  readonly descriptors: Uint8Array;
}

/** Reads the files of some packages and everything that they import. */
export function readApi(packages: readonly string[], source: GoDescriptors): EnvoyApi {
  const files = new Map<string, Uint8Array>();
  const load = (path: string): void => {
    if (files.has(path)) return;
    const bytes = source.read(path);
    const { dependency = [] } = descriptor.FileDescriptorProto.decode(bytes) as unknown as FileDescriptor;
    for (const each of dependency) load(each);
    files.set(path, bytes);
  };
  for (const name of packages) for (const path of source.filesOf(name)) load(path);
  for (const path of RULES) load(path);
  const messages = new Map<string, Message>();
  const enums = new Map<string, EnumValues>();
  const type = fileType(files);
  const set = protobuf.Writer.create();
  for (const bytes of files.values()) {
    const file = type.toObject(type.decode(bytes), { enums: String, longs: Number }) as FileDescriptor;
    for (const each of file.message_type ?? []) addMessage(file.package ?? '', each, messages, enums);
    for (const each of file.enum_type ?? []) addEnum(file.package ?? '', each, enums);
    set.uint32(FILE_TAG).bytes(bytes);
  }
  return { messages, enums, descriptors: set.finish() };
}

/** The tag of the only field of a FileDescriptorSet. */
const FILE_TAG = 0x0a;

const RULES = [
  'google/protobuf/descriptor.proto',
  'google/protobuf/duration.proto',
  'google/protobuf/timestamp.proto',
  'validate/validate.proto',
];

/** The type of a file's descriptor with the options that validate.proto adds. */
function fileType(files: ReadonlyMap<string, Uint8Array>): protobuf.Type {
  const file = RULES.map((path) => descriptor.FileDescriptorProto.decode(files.get(path) ?? new Uint8Array()));
  const root = protobuf.Root as unknown as { fromDescriptor(set: unknown): protobuf.Root };
  return root
    .fromDescriptor(descriptor.FileDescriptorSet.create({ file }))
    .lookupType('google.protobuf.FileDescriptorProto');
}

interface FileDescriptor {
  readonly package?: string;
  readonly dependency?: readonly string[];
  readonly message_type?: readonly MessageDescriptor[];
  readonly enum_type?: readonly EnumDescriptor[];
}

interface MessageDescriptor {
  readonly name: string;
  readonly field?: readonly FieldDescriptor[];
  readonly nested_type?: readonly MessageDescriptor[];
  readonly enum_type?: readonly EnumDescriptor[];
  readonly oneof_decl?: readonly {
    readonly name: string;
    readonly options?: { readonly '.validate.required'?: boolean };
  }[];
  readonly options?: { readonly map_entry?: boolean };
}

interface FieldDescriptor {
  readonly name: string;
  readonly number: number;
  readonly label: string;
  readonly type: string;
  readonly type_name?: string;
  readonly oneof_index?: number;
  readonly proto3_optional?: boolean;
  readonly options?: { readonly deprecated?: boolean; readonly '.validate.rules'?: Rules };
}

interface EnumDescriptor {
  readonly name: string;
  readonly value?: readonly { readonly name: string; readonly number: number }[];
}

function addMessage(
  scope: string,
  message: MessageDescriptor,
  messages: Map<string, Message>,
  enums: Map<string, EnumValues>,
): void {
  const name = `${scope}.${message.name}`;
  const { nested_type: nested = [], oneof_decl: oneofs = [] } = message;
  const entries = new Map(
    nested.filter(({ options }) => options?.map_entry === true).map((entry) => [`.${name}.${entry.name}`, entry]),
  );
  const fields = (message.field ?? []).map((field): Field => {
    const [key, value] = entries.get(field.type_name ?? '')?.field ?? [];
    const isOptional = field.proto3_optional === true;
    return {
      number: field.number,
      name: field.name,
      type: typeOf(value ?? field),
      label: value ? 'map' : field.label === 'LABEL_REPEATED' ? 'list' : 'one',
      key: key && typeOf(key),
      // An optional scalar is in a oneof of its own, which the compiler of .proto files adds.
      oneof: field.oneof_index === undefined || isOptional ? undefined : oneofs[field.oneof_index]?.name,
      isOptional,
      isDeprecated: field.options?.deprecated === true || field.name.startsWith('hidden_envoy_deprecated'),
      rules: field.options?.['.validate.rules'],
    };
  });
  const required = oneofs.filter(({ options }) => options?.['.validate.required'] === true).map((oneof) => oneof.name);
  messages.set(name, { name, fields, required });
  for (const each of nested) if (!entries.has(`.${name}.${each.name}`)) addMessage(name, each, messages, enums);
  for (const each of message.enum_type ?? []) addEnum(name, each, enums);
}

function addEnum(scope: string, { name, value = [] }: EnumDescriptor, enums: Map<string, EnumValues>): void {
  enums.set(`${scope}.${name}`, Object.fromEntries(value.map((each) => [each.name, each.number])));
}

function typeOf({ type, type_name: name }: FieldDescriptor): string {
  return name === undefined ? type.slice('TYPE_'.length).toLowerCase() : name.slice(1);
}
