import type { ImageSource } from './image-source.ts';
import { type PackageMeta, type PackageObject, readPackage } from './package.ts';
import { ANNOTATION, configOf, markedLayer, packageStream } from './package-stream.ts';

export interface Inspection {
  readonly image: string;
  readonly digest: string;
  /** The size of all layers, as they are stored. */
  readonly size: number;
  readonly platform: string;
  readonly layers: readonly { readonly digest: string; readonly size: number; readonly mark?: string }[];
  /** How the package was found in the image. */
  readonly foundBy: 'annotation' | 'label' | 'file system';
  readonly meta: PackageMeta;
  readonly objects: readonly PackageObject[];
  /** The types that describe the input of a Function. */
  readonly inputs: readonly PackageObject[];
}

/** Returns the description of an image as a package. Throws PackageError if it is not a package. */
export async function inspectImage(image: ImageSource): Promise<Inspection> {
  const { layers } = image.manifest;
  const { meta, objects, inputs } = await readPackage(packageStream(image));
  const marked = await markedLayer(image);
  const { os, architecture } = await configOf(image);
  return {
    image: image.name,
    digest: image.digest,
    size: layers.reduce((sum, { size }) => sum + size, 0),
    platform: [os, architecture].filter((each) => typeof each === 'string' && each !== '').join('/'),
    layers: layers.map(({ digest, size, annotations }) => {
      const mark = annotations?.[ANNOTATION];
      return { digest, size, ...(mark !== undefined && { mark }) };
    }),
    foundBy:
      marked === undefined ? 'file system' : marked.annotations?.[ANNOTATION] === undefined ? 'label' : 'annotation',
    meta,
    objects,
    inputs,
  };
}
