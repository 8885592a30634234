export { type Ask, type BlobToPush, createRegistryClient, type RegistryClient } from './client.ts';
export { digestOf } from './digest.ts';
export { ReferenceErrors, RegistryError, RegistryErrors, type RegistryFailure } from './errors.ts';
export {
  anonymous,
  type Credentials,
  firstOf,
  type Keychain,
  keychainOf,
  keychainOfDockerConfig,
  type PullSecret,
} from './keychain.ts';
export * from './reference.ts';
export type { TransportOptions } from './transport.ts';
