import { formatReport, objectName, REPORT_FORMATS } from '@capstan/reconcile/command-line';
import { type Inspection, inspectImage } from '../inspect.ts';
import type { XpkgCommand } from './command.ts';
import { withPackage } from './package-target.ts';
import { REGISTRY_FLAGS } from './registry-flags.ts';

export const inspectCommand: XpkgCommand = {
  usage: 'inspect [-o FORMAT] FILE|REFERENCE',
  summary:
    'Shows what a package is and holds: its description, its objects, digest and size. It is checked on the way.',
  positionals: [1, 1],
  flags: {
    output: {
      type: 'string',
      short: 'o',
      oneOf: [...REPORT_FORMATS, 'text'],
      help: `${REPORT_FORMATS.join(', ')}; default table, which text is another name of.`,
    },
    ...REGISTRY_FLAGS,
  },
  async run(args, io) {
    const inspection = await withPackage(args.positionals[0] ?? '', args, io, inspectImage);
    const format = REPORT_FORMATS.find((each) => each === args.text('output')) ?? 'table';
    const { meta, ...rest } = inspection;
    const { object, ...described } = meta;
    io.stdout(
      await formatReport(format, {
        value: { ...rest, meta: described, description: object },
        text: (isWide) => textOf(inspection, isWide),
        names: () => inspection.objects.map(nameOf),
      }),
    );
    return 0;
  },
};

function nameOf({ apiVersion, kind, metadata }: Inspection['objects'][number]): string {
  const group = apiVersion.includes('/') ? `.${apiVersion.split('/')[0]}` : '';
  return objectName(`${kind}${group}`, metadata.name);
}

/** Wide: with the layers, and the API version of each object. */
function textOf(inspection: Inspection, isWide: boolean): string {
  const { image, digest, size, platform, layers, foundBy, meta, objects, inputs } = inspection;
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
  if (isWide)
    parts.push(
      `Layers:\n${layers.map((each) => `  ${each.digest} ${each.size} bytes${each.mark === undefined ? '' : ` (${each.mark})`}`).join('\n')}`,
    );
  const listed = ({ apiVersion, kind, metadata }: Inspection['objects'][number]) =>
    `  ${isWide ? `${apiVersion} ` : ''}${kind} ${metadata.name}`;
  if (objects.length > 0) parts.push(`Objects:\n${objects.map(listed).join('\n')}`);
  if (inputs.length > 0) parts.push(`Input (not installed):\n${inputs.map(listed).join('\n')}`);
  return `${parts.join('\n\n')}\n`;
}
