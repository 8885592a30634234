import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { reasonOf } from '@capstan/kube';
import { parseReference } from '../../oci/reference.ts';
import { buildPackage } from '../build.ts';
import { XpkgErrors } from '../errors.ts';
import { imageFileBytes, openImageFile } from '../image-file.ts';
import { type ImageSource, remoteImage } from '../image-source.ts';
import { friendlyId } from '../names.ts';
import { type XpkgArgs, type XpkgCommand, type XpkgIo, XpkgUsageErrors } from './command.ts';
import { clientFor, REGISTRY_FLAGS } from './registry-flags.ts';
import { isFolder, yamlFilesIn } from './source-files.ts';

export const buildCommand: XpkgCommand = {
  usage: 'build [-f FOLDER] [-o FILE]',
  summary:
    'Builds a package file from a folder of YAML files, one of which describes the package (crossplane.yaml). No Docker is\nneeded. The same files give the same bytes.',
  positionals: [0, 0],
  flags: {
    'package-root': {
      type: 'string',
      short: 'f',
      value: 'FOLDER',
      help: 'The folder of the package; default the current one.',
    },
    'package-file': {
      type: 'string',
      short: 'o',
      value: 'FILE',
      help: 'Where to write it; default NAME-DIGEST.xpkg in the folder of the package.',
    },
    name: { type: 'string', value: 'NAME', help: 'Writes NAME.xpkg in the folder of the package.' },
    'examples-root': {
      type: 'string',
      short: 'e',
      value: 'FOLDER',
      help: 'Examples to put in; default examples in the folder of the package, or in the current one.',
    },
    ignore: {
      type: 'string',
      list: true,
      value: 'PATHS',
      help: 'Files to leave out, relative to the folder, with * and ?, separated by commas.',
    },
    'embed-runtime-image-tarball': {
      type: 'string',
      value: 'FILE',
      help: 'The runtime: an image as docker save writes it, or an OCI layout in an archive.',
    },
    'embed-runtime-image': { type: 'string', value: 'REFERENCE', help: 'The runtime, from its registry.' },
    ...REGISTRY_FLAGS,
  },
  async run(args, io) {
    const root = resolve(io.cwd, args.text('package-root') ?? '.');
    if (!(await isFolder(root))) throw XpkgErrors.Unreadable(root, 'it is not a folder');
    const examplesRoot = await examplesFolder(args, io, root);
    const files = await yamlFilesIn(root, { ignore: args.list('ignore'), without: examplesRoot });
    const examples = examplesRoot === undefined ? [] : await yamlFilesIn(examplesRoot, {});
    const { runtime, close } = await openRuntime(args, io);
    try {
      const built = await buildPackage({ files, examples, ...(runtime !== undefined && { runtime }) });
      const path = outputPath(args, io, root, built.package.meta.name, built.image.digest);
      await writeWhole(path, imageFileBytes(built.image), io.signal);
      const { meta, objects, inputs } = built.package;
      io.stdout(`${shortest(io.cwd, path)}\n`);
      io.stderr(`${meta.type} ${meta.name}: ${objects.length + inputs.length} objects, ${built.image.digest}\n`);
      return 0;
    } finally {
      await close();
    }
  },
};

async function examplesFolder(args: XpkgArgs, io: XpkgIo, root: string): Promise<string | undefined> {
  const given = args.text('examples-root');
  if (given !== undefined) {
    const path = resolve(io.cwd, given);
    if (await isFolder(path)) return path;
    throw XpkgErrors.Unreadable(path, 'it is not a folder');
  }
  for (const path of [join(root, 'examples'), resolve(io.cwd, 'examples')]) if (await isFolder(path)) return path;
  return undefined;
}

async function openRuntime(args: XpkgArgs, io: XpkgIo): Promise<{ runtime?: ImageSource; close(): Promise<void> }> {
  const tarball = args.text('embed-runtime-image-tarball');
  const image = args.text('embed-runtime-image');
  if (tarball !== undefined && image !== undefined)
    throw XpkgUsageErrors.Together('--embed-runtime-image-tarball', '--embed-runtime-image');
  if (tarball !== undefined) {
    const runtime = await openImageFile(resolve(io.cwd, tarball));
    return { runtime, close: runtime.close };
  }
  if (image === undefined) return { close: async () => {} };
  const { client, ask } = await clientFor(args, io);
  try {
    return { runtime: await remoteImage(client, parseReference(image), ask), close: () => client.close() };
  } catch (error) {
    await client.close();
    throw error;
  }
}

function outputPath(args: XpkgArgs, io: XpkgIo, root: string, name: string, digest: string): string {
  const file = args.text('package-file');
  const given = args.text('name');
  if (file !== undefined && given !== undefined) throw XpkgUsageErrors.Together('--package-file', '--name');
  if (file !== undefined) return resolve(io.cwd, file);
  return join(root, `${given ?? friendlyId(name, digest.slice('sha256:'.length))}.xpkg`);
}

/** From here, unless it lies elsewhere. */
function shortest(cwd: string, path: string): string {
  const from = relative(cwd, path);
  return from.startsWith('..') ? path : from;
}

/** The file is whole or not there. */
async function writeWhole(path: string, bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
  const temporary = join(dirname(path), `.${process.pid}.xpkg.tmp`);
  try {
    await pipeline(bytes, createWriteStream(temporary), { signal });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    signal.throwIfAborted();
    if (error instanceof Error && 'syscall' in error) throw XpkgErrors.Unwritable(path, reasonOf(error));
    throw error;
  }
}
