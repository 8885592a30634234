export { DecodeError, decode } from './decode.ts';
export {
  CONFIG_SOURCE,
  type Delivery,
  EncodeError,
  encode,
  encodeAny,
  encodeAnyBuffers,
  Fragment,
  FragmentChunk,
  hasFields,
  hashAny,
  hexHash,
  plainItems,
  RenamedFragment,
  typed,
  VERSION_BYTES,
  withoutDelivery,
} from './encode.ts';
export type * as Envoy from './gen/types.ts';
export type { Choice, Composed, MessageName, PerFilter, Struct, Without } from './message-types.ts';
export { regexProblem } from './regex.ts';
export {
  RESOURCE_MESSAGES,
  RESOURCE_TYPES,
  type ResourceMessage,
  type ResourceType,
  TYPE_URL_PREFIX,
  typeOfUrl,
  typeUrl,
} from './tables.ts';
export { statusCode, type Violation, validate, validateAny } from './validate.ts';
