import { createWriteStream } from 'node:fs';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { inspectImage } from '../inspect.ts';
import { packageStream } from '../package-stream.ts';
import { type XpkgCommand, XpkgUsageErrors } from './command.ts';
import { withPackage } from './package-target.ts';
import { REGISTRY_FLAGS } from './registry-flags.ts';

export const extractCommand: XpkgCommand = {
  usage: 'extract [-o FILE] FILE|REFERENCE',
  summary:
    'Writes the objects of a package as compressed YAML, the form in which Crossplane keeps packages in its cache. It is\nchecked on the way.',
  positionals: [0, 1],
  flags: {
    output: { type: 'string', short: 'o', value: 'FILE', help: 'Where to; default out.gz.' },
    'from-xpkg': { type: 'string', value: 'FILE', help: 'The package file, instead of a reference.' },
    ...REGISTRY_FLAGS,
  },
  async run(args, io) {
    const file = args.text('from-xpkg');
    const [given] = args.positionals;
    if (file !== undefined && given !== undefined) throw XpkgUsageErrors.Together('--from-xpkg', given);
    const target = file ?? given;
    if (target === undefined) throw XpkgUsageErrors.Arguments('extract', extractCommand.usage);
    const path = resolve(io.cwd, args.text('output') ?? 'out.gz');
    await withPackage(target, args, io, async (image) => {
      await inspectImage(image);
      await pipeline(Readable.from(packageStream(image)), createGzip(), createWriteStream(path), { signal: io.signal });
    });
    io.stdout(`${path}\n`);
    return 0;
  },
};
