// Images as packages name them, and the facts that follow from the name.
import { identifierOf, parseReference, type Reference, repositoryNameOf, withDigest } from '../oci/reference.ts';

export interface PackageReference {
  readonly reference: Reference;
  /** The reference with its registry, and otherwise as the user wrote it. ImageConfigs are matched with it. */
  readonly qualified: string;
  /** Registry and repository. Dependencies are compared by it. */
  readonly source: string;
  /** Tag or digest; the tag where both are named, since versions are compared by it. */
  readonly version: string;
}

/** Reads a reference, or returns its problem. */
export function readReference(image: string, defaultRegistry: string): PackageReference | { problem: string } {
  try {
    const reference = parseReference(image, { defaultRegistry });
    const source = repositoryNameOf(reference);
    const hasRegistry = parseReference(image, { defaultRegistry: 'none.invalid' }).registry !== 'none.invalid';
    return {
      reference,
      qualified: hasRegistry ? image : `${defaultRegistry}/${image}`,
      source,
      version: tagBesideDigest(image) ?? identifierOf(reference),
    };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

/** `v1.0.0` of `host/name:v1.0.0@sha256:…`. */
function tagBesideDigest(image: string): string | undefined {
  return /:([^:/@]+)@/.exec(image)?.[1];
}

/** The same image by its digest. */
export function imageByDigest(reference: Reference, digest: string): string {
  return withDigest(reference, digest).original;
}
