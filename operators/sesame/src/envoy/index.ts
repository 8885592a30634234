export { encodeAnyBuffers, plainItems } from './composed.ts';
export { DecodeError, decode } from './decode.ts';
export { CONFIG_SOURCE, type Delivery, withoutDelivery } from './delivery.ts';
export {
  encode,
  encodeAny,
  Fragment,
  FragmentChunk,
  hasFields,
  hashAny,
  hexHash,
  RenamedFragment,
} from './encode.ts';
export { EncodeError } from './errors.ts';
export type * as Envoy from './gen/types.ts';
export type { Choice, Composed, MessageName, PerFilter, Struct, Without } from './message-types.ts';
export { regexProblem } from './regex.ts';
export {
  messageTable,
  RESOURCE_MESSAGES,
  RESOURCE_TYPES,
  type ResourceMessage,
  type ResourceType,
  TYPE_URL_PREFIX,
  typed,
  typeOfUrl,
  typeUrl,
} from './tables.ts';
export { type TypeProblem, typeProblem } from './type-problem.ts';
export { statusCode, type Violation, validate, validateAny } from './validate.ts';
