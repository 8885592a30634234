// A package as a command names it: a file, or a reference to a registry.
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseReference } from '../../oci/reference.ts';
import { openImageFile } from '../image-file.ts';
import { type ImageSource, remoteImage } from '../image-source.ts';
import type { XpkgArgs, XpkgIo } from './command.ts';
import { clientFor, DEFAULT_REGISTRY } from './registry-flags.ts';

/** Opens it for the time of a use. A path that is a file is one; everything else is a reference. */
export async function withPackage<R>(
  target: string,
  args: XpkgArgs,
  io: XpkgIo,
  use: (image: ImageSource) => Promise<R>,
): Promise<R> {
  const path = resolve(io.cwd, target);
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => /\.xpkg$|^\.{0,2}\//.test(target),
  );
  if (isFile) {
    const image = await openImageFile(path);
    return use(image).finally(() => void image.close());
  }
  const { client, ask } = await clientFor(args, io);
  try {
    return await use(await remoteImage(client, parseReference(target, { defaultRegistry: DEFAULT_REGISTRY }), ask));
  } finally {
    await client.close();
  }
}
