import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { stringify } from 'yaml';
import { parseReference } from '../../oci/reference.ts';
import { openImageFile } from '../image-file.ts';
import { remoteImage } from '../image-source.ts';
import { type Inspection, inspectImage } from '../inspect.ts';
import type { XpkgArgs, XpkgCommand, XpkgIo } from './command.ts';
import { clientFor, DEFAULT_REGISTRY, REGISTRY_FLAGS } from './registry-flags.ts';

export const inspectCommand: XpkgCommand = {
  usage: 'inspect [-o text|json|yaml] FILE|REFERENCE',
  summary:
    'Shows what a package is and holds: its description, its objects, digest and size. It is checked on the way.',
  positionals: [1, 1],
  flags: {
    output: { type: 'string', short: 'o', oneOf: ['text', 'json', 'yaml'], help: 'In which form; default text.' },
    ...REGISTRY_FLAGS,
  },
  async run(args, io) {
    const inspection = await inspect(args.positionals[0] ?? '', args, io);
    const output = args.text('output') ?? 'text';
    if (output === 'text') io.stdout(textOf(inspection));
    else {
      const { meta, ...rest } = inspection;
      const { object, ...described } = meta;
      const value = { ...rest, meta: described, description: object };
      io.stdout(output === 'json' ? `${JSON.stringify(value, undefined, 2)}\n` : stringify(value));
    }
    return 0;
  },
};

/** A path that is a file is one; everything else is a reference. */
async function inspect(target: string, args: XpkgArgs, io: XpkgIo): Promise<Inspection> {
  const path = resolve(io.cwd, target);
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => /\.xpkg$|^\.{0,2}\//.test(target),
  );
  if (isFile) {
    const image = await openImageFile(path);
    return inspectImage(image).finally(() => void image.close());
  }
  const { client, ask } = await clientFor(args, io);
  try {
    return await inspectImage(
      await remoteImage(client, parseReference(target, { defaultRegistry: DEFAULT_REGISTRY }), ask),
    );
  } finally {
    await client.close();
  }
}

function textOf({ image, digest, size, platform, layers, foundBy, meta, objects, inputs }: Inspection): string {
  const rows: [string, string][] = [
    ['Package', `${meta.type} ${meta.name}`],
    ['Image', image],
    ['Digest', digest],
    ['Size', `${size} bytes in ${layers.length} ${layers.length === 1 ? 'layer' : 'layers'}`],
    ['Platform', platform],
    ['Found by', foundBy],
    ['Crossplane', meta.crossplaneVersion ?? 'any version'],
  ];
  if (meta.image !== undefined) rows.push(['Runtime', meta.image]);
  const parts = [rows.map(([key, value]) => `${`${key}:`.padEnd(12)} ${value}`).join('\n')];
  if (meta.dependsOn.length > 0)
    parts.push(
      `Depends on:\n${meta.dependsOn.map((each) => `  ${each.kind} ${each.package} ${each.constraints}`).join('\n')}`,
    );
  const listed = (each: { kind: string; metadata: { name: string } }) => `  ${each.kind} ${each.metadata.name}`;
  if (objects.length > 0) parts.push(`Objects:\n${objects.map(listed).join('\n')}`);
  if (inputs.length > 0) parts.push(`Input (not installed):\n${inputs.map(listed).join('\n')}`);
  return `${parts.join('\n\n')}\n`;
}
