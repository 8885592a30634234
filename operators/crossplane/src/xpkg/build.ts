// Building a package: YAML files become the stream package.yaml, the meta object first and the others in the order of
// their files' names, each document as it was written. It is checked by the same rules by which it will be installed. A
// runtime image, where one is given, lies below: its layers are taken as they are, and the package is one more on top.
import { isRecord } from '@capstan/kube';
import { tarFile, writeTar } from './archive/tar-writer.ts';
import { parseYaml, splitDocuments } from './documents/yaml-stream.ts';
import { PackageErrors } from './errors.ts';
import { type BuiltImage, buildImage, gzippedLayer, type Layer } from './image.ts';
import type { ImageSource } from './image-source.ts';
import { type ParsedPackage, parsePackage } from './package.ts';
import { configOf, EXAMPLES_LAYER, PACKAGE_FILE, PACKAGE_LAYER } from './package-stream.ts';

export interface SourceFile {
  /** For messages, and for the order. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

export interface BuildInput {
  readonly files: readonly SourceFile[];
  /** Put into a layer of their own, which Crossplane does not read. */
  readonly examples?: readonly SourceFile[];
  readonly runtime?: ImageSource;
}

export interface BuiltPackage {
  readonly image: BuiltImage;
  readonly package: ParsedPackage;
}

/** Builds a package; the same bytes for the same input. Throws PackageError. */
export async function buildPackage({ files, examples = [], runtime }: BuildInput): Promise<BuiltPackage> {
  const documents = await documentsOf(files);
  const parsed = parsePackage(
    documents.map(({ value }, index) => ({ line: index + 1, value })),
    (line) => {
      const document = documents[line - 1];
      return document === undefined ? `document ${line}` : `${document.file}, line ${document.line}`;
    },
  );
  const isMeta = ({ value }: Document) => value === parsed.meta.object;
  const ordered = [...documents.filter(isMeta), ...documents.filter((document) => !isMeta(document))];
  const added = [await fileLayer(PACKAGE_FILE, streamOf(ordered), PACKAGE_LAYER)];
  if (examples.length > 0)
    added.push(await fileLayer('.up/examples.yaml', streamOf(await documentsOf(examples)), EXAMPLES_LAYER));
  if (runtime !== undefined && parsed.meta.type === 'Configuration')
    throw PackageErrors.NotAPackage(['a Configuration has no runtime, so no image can be embedded in it']);
  const base = runtime === undefined ? undefined : await baseOf(runtime);
  return { image: buildImage(base, added), package: parsed };
}

interface Document {
  file: string;
  line: number;
  text: string;
  value: unknown;
}

async function documentsOf(files: readonly SourceFile[]): Promise<Document[]> {
  const documents: Document[] = [];
  for (const { name, bytes } of files.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)))
    for await (const { line, text } of splitDocuments(chunksOf(bytes), {}, name))
      documents.push({ file: name, line, text, value: parseYaml(text, `${name}, line ${line}`) });
  return documents;
}

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function streamOf(documents: readonly Document[]): string {
  return documents.map(({ text }) => `---\n${text.replace(/^\s*\n|\s+$/g, '')}\n`).join('');
}

function fileLayer(name: string, text: string, mark: string): Promise<Layer> {
  return gzippedLayer(() => writeTar([tarFile(name, text)]), mark);
}

// Layers that are compressed keep their digests; plain ones, as Docker saves them, are compressed now.
async function baseOf(runtime: ImageSource): Promise<{ config: Record<string, unknown>; layers: Layer[] }> {
  const config = await configOf(runtime);
  const rootfs = isRecord(config['rootfs']) ? config['rootfs'] : {};
  const diffIds: unknown[] = Array.isArray(rootfs['diff_ids']) ? rootfs['diff_ids'] : [];
  const layers: Layer[] = [];
  for (const [index, descriptor] of runtime.manifest.layers.entries()) {
    const { digest, size, mediaType } = descriptor;
    const diffId = diffIds[index];
    if (typeof diffId !== 'string')
      throw PackageErrors.NotAnImage(runtime.name, `its config has no digest of the unpacked layer ${index + 1}`);
    const open = () => runtime.blob(descriptor);
    layers.push(
      diffId === digest ? await gzippedLayer(open) : { digest, size, diffId, open, mediaType: layerType(mediaType) },
    );
  }
  return { config, layers };
}

/** OCI's name for a type of layer: manifests do not mix the two. */
function layerType(mediaType: string): string {
  if (mediaType.startsWith('application/vnd.oci.')) return mediaType;
  return mediaType.endsWith('zstd')
    ? 'application/vnd.oci.image.layer.v1.tar+zstd'
    : 'application/vnd.oci.image.layer.v1.tar+gzip';
}
