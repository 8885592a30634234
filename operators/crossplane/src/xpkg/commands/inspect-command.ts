import { stringify } from 'yaml';
import { type Inspection, inspectImage } from '../inspect.ts';
import type { XpkgCommand } from './command.ts';
import { withPackage } from './package-target.ts';
import { REGISTRY_FLAGS } from './registry-flags.ts';

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
    const inspection = await withPackage(args.positionals[0] ?? '', args, io, inspectImage);
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
