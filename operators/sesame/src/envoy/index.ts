export { type Decoded, DecodeError, decode } from './decode.ts';
export {
  CONFIG_SOURCE,
  type Delivery,
  EncodeError,
  encode,
  encodeAny,
  encodeAnyPieces,
  Fragment,
  FragmentChunk,
  hashAny,
  hexHash,
  type Message,
  RenamedFragment,
  typed,
  VERSION_BYTES,
  withoutDelivery,
} from './encode.ts';
export { regexProblem } from './regex.ts';
export * from './resource-type.ts';
export { TYPE_URL_PREFIX } from './tables.ts';
export { isEnumNumber, type Violation, validate } from './validate.ts';
