import { isAlreadyExists, reasonOf, Secret } from '@capstan/kube/cluster';
import { stringify } from 'yaml';
import { DAY_MS, issueXdsCertificates } from '../certificates/issue.ts';
import { certificateFiles, certificateSecrets, type SecretsFormat } from '../certificates/secrets.ts';
import { CLUSTER_OPTIONS } from './arguments.ts';
import type { CommandIo, SesameCommand } from './command-io.ts';
import { CommandErrors, UsageErrors } from './errors.ts';
import { sesameNamespace } from './namespace.ts';

export const certgen: SesameCommand = {
  usage: 'certgen [FOLDER] [--kube|--yaml|--pem]',
  description:
    'Creates the certificates for the connection between Envoy and Sesame: as Secrets in the cluster, as manifests, or as files.',
  examples: ['sesame certgen --kube --incluster --overwrite --secrets-format=compact', 'sesame certgen --pem certs'],
  positionals: 1,
  options: {
    ...CLUSTER_OPTIONS,
    kube: { type: 'boolean', help: 'Creates Secrets in the cluster.' },
    yaml: { type: 'boolean', help: 'Writes manifests of Secrets.' },
    pem: { type: 'boolean', help: 'Writes files in PEM.' },
    overwrite: { type: 'boolean', help: 'Replaces what exists.' },
    'secrets-format': {
      type: 'string',
      oneOf: ['legacy', 'compact'],
      help: 'compact (default): ca.crt in both Secrets; legacy: in one of its own.',
    },
    'secrets-name-suffix': { type: 'string', value: 'TEXT', help: 'Added to the names of the Secrets.' },
    'certificate-lifetime': { type: 'integer', value: 'DAYS', help: 'How long certificates are valid; default 365.' },
    'key-type': { type: 'string', oneOf: ['ecdsa', 'rsa'], help: 'Kind of keys; default ecdsa.' },
  },
  async run(args, io) {
    const folder = args.positionals[0] ?? 'certs';
    const days = args.integer('certificate-lifetime') ?? 365;
    if (days < 1) throw UsageErrors.BadValue('--certificate-lifetime', String(days), 'use a number of days above zero');
    if (!['kube', 'yaml', 'pem'].some((output) => args.isSet(output)))
      throw UsageErrors.Missing('certgen', 'one of --kube, --yaml and --pem', 'sesame certgen --kube');
    const namespace = sesameNamespace(args.text('namespace'), io.env);
    const certificates = await issueXdsCertificates({
      namespace,
      sesameService: 'sesame',
      envoyService: 'envoy',
      now: io.clock.now(),
      lifeMs: days * DAY_MS,
      keyType: args.text('key-type') === 'rsa' ? 'rsa' : 'ecdsa',
    });
    const format: SecretsFormat = args.text('secrets-format') === 'legacy' ? 'legacy' : 'compact';
    const secrets = certificateSecrets(certificates, {
      namespace,
      format,
      suffix: args.text('secrets-name-suffix') ?? '',
    });
    const isOverwriting = args.isSet('overwrite');
    if (args.isSet('pem'))
      for (const [name, text, isSecret] of certificateFiles(certificates))
        await write(io, `${folder}/${name}`, text, isOverwriting, isSecret);
    if (args.isSet('yaml'))
      for (const secret of secrets)
        await write(io, `${folder}/${secret.metadata.name ?? ''}.yaml`, stringify(secret), isOverwriting, true);
    if (args.isSet('kube'))
      await apply(secrets, isOverwriting, { kubeconfig: args.text('kubeconfig'), context: args.text('context') }, io);
    return 0;
  },
};

async function write(
  io: CommandIo,
  path: string,
  text: string,
  isOverwriting: boolean,
  isSecret: boolean,
): Promise<void> {
  if (!isOverwriting && (await io.files.exists(path))) throw CommandErrors.Exists(`the file ${path}`);
  try {
    await io.files.write(path, text, isSecret ? 0o600 : 0o644);
  } catch (error) {
    throw CommandErrors.CannotWrite(path, reasonOf(error));
  }
  io.stdout(`${path} written\n`);
}

async function apply(
  secrets: readonly Secret[],
  isOverwriting: boolean,
  cluster: { kubeconfig?: string | undefined; context?: string | undefined },
  io: CommandIo,
): Promise<void> {
  const { client } = await io.openCluster(cluster);
  try {
    for (const secret of secrets) {
      const { namespace = '', name = '' } = secret.metadata;
      try {
        await client.create(Secret, secret, { signal: io.signal });
        io.stdout(`secret/${name} created\n`);
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
        if (!isOverwriting) throw CommandErrors.Exists(`Secret ${namespace}/${name}`);
        const { resourceVersion } = (await client.get(Secret, { namespace, name }, { signal: io.signal })).metadata;
        await client.update(
          Secret,
          { ...secret, metadata: { ...secret.metadata, ...(resourceVersion && { resourceVersion }) } },
          { signal: io.signal },
        );
        io.stdout(`secret/${name} replaced\n`);
      }
    }
  } finally {
    await client.close();
  }
}
