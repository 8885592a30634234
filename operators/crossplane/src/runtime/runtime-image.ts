import { fullNameOf, parseReference } from '../oci/reference.ts';

export interface RuntimeImageInput {
  /** The image in the package's metadata (`spec.controller.image` of a Provider, `spec.image` of a Function). */
  readonly metaImage?: string | undefined;
  /** The package's own reference, after ImageConfigs rewrote it: in new packages it is the runtime's image too. */
  readonly packageImage: string;
  /** For references without a registry. */
  readonly defaultRegistry: string;
}

/** The image that a package runs, with its registry; throws BadReference. */
export function runtimeImage({ metaImage, packageImage, defaultRegistry }: RuntimeImageInput): string {
  const image = metaImage === undefined || metaImage === '' ? packageImage : metaImage;
  return fullNameOf(parseReference(image, { defaultRegistry }));
}
