// The TLS parts that KafkaService and VirtualKafkaCluster share.
import { array, enumOf, object, string, type TypeOf } from '@capstan/kube';

export const STORE_TYPES = ['PEM', 'JKS', 'PKCS12'] as const;
export type StoreType = (typeof STORE_TYPES)[number];

const name = () => string({ minLength: 1, maxLength: 253 });

export const certificateRef = () =>
  object(
    {
      name: name(),
      kind: string({ default: 'Secret', description: 'Secret, of type kubernetes.io/tls.' }),
      group: string({ default: '' }),
    },
    { optional: true, description: 'Certificate and private key, as tls.crt and tls.key.' },
  );

export const trustAnchorRef = () =>
  object(
    {
      name: name(),
      key: string({ minLength: 1, description: 'The key that holds the certificates.' }),
      kind: string({ default: 'ConfigMap', description: 'ConfigMap or Secret.' }),
      group: string({ default: '' }),
      storeType: enumOf(STORE_TYPES, { optional: true, description: 'By default from the suffix of the key.' }),
    },
    { optional: true, description: 'Whom to trust.' },
  );

export const allowDeny = (what: string) =>
  object(
    {
      allow: array(string(), { optional: true, description: `${what} to use, in order; all by default.` }),
      deny: array(string(), { default: [], description: `${what} not to use.` }),
    },
    { optional: true },
  );

export type CertificateRef = NonNullable<TypeOf<ReturnType<typeof certificateRef>>>;
export type TrustAnchorRef = NonNullable<TypeOf<ReturnType<typeof trustAnchorRef>>>;
export type AllowDeny = NonNullable<TypeOf<ReturnType<typeof allowDeny>>>;
