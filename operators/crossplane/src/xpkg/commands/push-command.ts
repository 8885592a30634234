import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fullNameOf, parseReference } from '../../oci/reference.ts';
import { XpkgErrors } from '../errors.ts';
import { type ImageFile, openImageFile } from '../image-file.ts';
import { inspectImage } from '../inspect.ts';
import { pushImages } from '../push.ts';
import type { XpkgCommand } from './command.ts';
import { clientFor, DEFAULT_REGISTRY, REGISTRY_FLAGS } from './registry-flags.ts';

export const pushCommand: XpkgCommand = {
  usage: 'push [-f FILE,…] REFERENCE',
  summary:
    'Pushes a package file to a registry. Several files are one package for several platforms. Credentials are those of\ndocker login.',
  positionals: [1, 1],
  flags: {
    'package-files': {
      type: 'string',
      short: 'f',
      list: true,
      value: 'FILES',
      help: 'Package files, separated by commas; default the only .xpkg file in the current folder.',
    },
    ...REGISTRY_FLAGS,
  },
  async run(args, io) {
    const reference = parseReference(args.positionals[0] ?? '', { defaultRegistry: DEFAULT_REGISTRY });
    const given = args.list('package-files');
    const paths = given.length > 0 ? given.map((file) => resolve(io.cwd, file)) : [await onlyPackageIn(io.cwd)];
    const images: ImageFile[] = [];
    const { client, ask } = await clientFor(args, io);
    try {
      for (const path of paths) {
        const image = await openImageFile(path);
        images.push(image);
        // An image that is not a package is not published as one.
        await inspectImage(image);
      }
      const { digest } = await pushImages(client, reference, images, ask);
      io.stdout(`${fullNameOf(reference)}@${digest}\n`);
      return 0;
    } finally {
      await Promise.all([client.close(), ...images.map((image) => image.close())]);
    }
  },
};

async function onlyPackageIn(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.xpkg'));
  const [only] = names;
  if (only === undefined || names.length > 1) throw XpkgErrors.NoPackageFile(folder, names.length);
  return join(folder, only);
}
