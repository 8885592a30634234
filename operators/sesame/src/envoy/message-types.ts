// Types that the generated types of Envoy's messages are written with, and names for them.
import type { Fragment, FragmentChunk } from './encode.ts';
import type { Any, ExtensionName, Messages } from './gen/types.ts';

/** At most one of the fields is set. */
export type OneOf<Fields> = {
  [Name in keyof Fields]: {
    readonly [Each in keyof Fields]?: Each extends Name ? Fields[Each] | undefined : undefined;
  };
}[keyof Fields];

/** At most one of these fields of a message. */
export type Choice<Message, Names extends keyof Message> = OneOf<{ [Name in Names]-?: NonNullable<Message[Name]> }>;

/** The other fields of a message, with its oneofs. */
export type Without<Message, Names extends PropertyKey> = Message extends unknown ? Omit<Message, Names> : never;

export type Json = string | number | boolean | null | readonly Json[] | Struct;

export interface Struct {
  readonly [key: string]: Json;
}

/** A list whose items may be encoded already. */
export type Composed<Name extends MessageName> = readonly (Messages[Name] | Fragment<Name> | FragmentChunk<Name>)[];

export type MessageName = keyof Messages;

/** All messages that the codec knows: Envoy's own and some of protobuf. */
export interface AllMessages extends Messages {
  'google.protobuf.Any': Any | { readonly '@type': 'type.googleapis.com/google.protobuf.Empty' };
  'google.protobuf.Int32Value': number;
  'google.protobuf.UInt64Value': number;
}

/** A message in an Any. */
export type Typed<Name extends ExtensionName> = { readonly '@type': `type.googleapis.com/${Name}` } & Messages[Name];

/** Configurations of filters by the names of the filters. */
export type PerFilter = { readonly [filter: string]: Any };
