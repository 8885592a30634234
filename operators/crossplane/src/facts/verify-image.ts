import type { Ask, Reference, RegistryClient } from '../oci/index.ts';
import type { Authority, PackageFault } from './package-source.ts';

/** Whether one of the authorities has signed the image; the name of the first that has. */
export async function verifyImage(
  _client: RegistryClient,
  _reference: Reference,
  _authorities: readonly Authority[],
  _ask: Ask,
): Promise<string | PackageFault> {
  return { fault: 'signatures cannot be verified yet' };
}
