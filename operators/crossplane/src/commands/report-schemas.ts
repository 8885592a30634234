// The schemas of the output with -o json and -o yaml. Fields are only ever added.
import { anyObject, array, enumOf, integer, object, type Schema, string } from '@capstan/kube';

const optional = { optional: true } as const;

export const REPORT_SCHEMAS = {
  'crossplane beta trace': object({
    object: anyObject({ description: 'The object as the server has it.' }),
    error: string({ ...optional, description: 'Why it could not be read.' }),
    children: array(anyObject(), { ...optional, description: 'What belongs to it, each of the same form.' }),
  }),
  'crossplane xpkg inspect': object({
    image: string(),
    digest: string(),
    size: integer({ description: 'Of all layers, in bytes, as they are stored.' }),
    platform: string({ description: 'OS/ARCHITECTURE' }),
    layers: array(
      object({ digest: string(), size: integer(), mark: string({ ...optional, description: 'base or upbound.' }) }),
    ),
    foundBy: enumOf(['annotation', 'label', 'file system'], { description: 'How the package was found in the image.' }),
    meta: anyObject({ description: 'What the package declares: type, name, dependsOn, crossplaneVersion, …' }),
    objects: array(anyObject(), { description: 'What it installs.' }),
    inputs: array(anyObject(), { description: 'Of a Function: what describes its input.' }),
    description: anyObject({ description: 'The meta object as it is in the package.' }),
  }),
} as const satisfies Record<string, Schema>;
