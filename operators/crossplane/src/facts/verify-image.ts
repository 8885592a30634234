import { verifySignatures } from '../cosign/index.ts';
import type { Ask, Reference, RegistryClient } from '../oci/index.ts';
import type { Authority, PackageFault } from './package-source.ts';

/** Whether one of the authorities has signed the image; the name of the first that has. Throws while nobody has signed it. */
export async function verifyImage(
  client: RegistryClient,
  reference: Reference,
  authorities: readonly Authority[],
  ask: Ask,
): Promise<string | PackageFault> {
  const verdict = await verifySignatures(client, reference, authorities, ask);
  return 'authority' in verdict ? verdict.authority : { fault: verdict.problems.join('; ') };
}
