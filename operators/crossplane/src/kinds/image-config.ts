import {
  array,
  boolean,
  defineKind,
  enumOf,
  type KindOf,
  localReference,
  object,
  objectName,
  string,
} from '@capstan/kube';
import { GROUP } from './group.ts';

const authority = object({
  name: string({ minLength: 1 }),
  key: object(
    {
      secretRef: object({ name: objectName(), key: string({ minLength: 1 }) }),
      hashAlgorithm: enumOf(['sha224', 'sha256', 'sha384', 'sha512'], { default: 'sha256' }),
    },
    { optional: true },
  ),
  keyless: object(
    {
      identities: array(
        object({
          issuer: string({ optional: true }),
          subject: string({ optional: true }),
          issuerRegExp: string({ optional: true }),
          subjectRegExp: string({ optional: true }),
        }),
      ),
      insecureIgnoreSCT: boolean({ optional: true }),
    },
    {
      optional: true,
      description: 'Identities that sign without a key; needs a trust root (--sigstore-trusted-root).',
    },
  ),
  attestations: array(object({ name: string(), predicateType: string() }), { optional: true }),
});

export const ImageConfig = defineKind({
  group: GROUP,
  version: 'v1beta1',
  kind: 'ImageConfig',
  scope: 'Cluster',
  categories: ['crossplane'],
  description:
    'Settings for all images with certain prefixes. For each purpose (rewriting, pull secret, verification, runtime) the longest prefix counts.',
  spec: object({
    matchImages: array(
      object({
        type: enumOf(['Prefix'], { default: 'Prefix' }),
        prefix: string({ minLength: 1, description: 'A plain prefix of the reference; it need not end at a slash.' }),
      }),
      { minItems: 1 },
    ),
    registry: object(
      { authentication: object({ pullSecretRef: localReference() }, { optional: true }) },
      { optional: true },
    ),
    rewriteImage: object(
      { prefix: string({ minLength: 1, description: 'Takes the place of the prefix that matched.' }) },
      { optional: true },
    ),
    verification: object(
      {
        provider: enumOf(['Cosign']),
        cosign: object(
          { authorities: array(authority, { minItems: 1 }) },
          { optional: true, description: 'One authority that vouches for the image is enough.' },
        ),
      },
      {
        optional: true,
        rules: [{ rule: 'has(self.cosign)', message: 'verification by Cosign needs cosign.authorities' }],
      },
    ),
    runtime: object(
      {
        configRef: object({
          apiVersion: string({ default: 'pkg.crossplane.io/v1beta1' }),
          kind: string({ default: 'DeploymentRuntimeConfig' }),
          name: objectName(),
        }),
      },
      {
        optional: true,
        description: 'The runtime configuration of packages that match; it overrides theirs.',
      },
    ),
  }),
});
export type ImageConfig = KindOf<typeof ImageConfig>;
