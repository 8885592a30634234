import { isAlreadyExists, Secret, systemClock } from '@capstan/kube/cluster';
import {
  type CLUSTER_OPTIONS,
  command,
  type FlagValues,
  type Io,
  UsageErrors,
  wholeNumber,
  withCluster,
} from '@capstan/reconcile/command-line';
import { stringify } from 'yaml';
import { DAY_MS, issueXdsCertificates } from '../certificates/issue.ts';
import { certificateFiles, certificateSecrets } from '../certificates/secrets.ts';
import { CommandErrors } from './errors.ts';
import { type MachineFiles, machineFiles } from './machine-files.ts';
import { SESAME_CLUSTER_OPTIONS, sesameNamespace } from './namespace.ts';

export default command({
  usage: 'certgen [FOLDER] [--kube|--yaml|--pem]',
  description:
    'Creates the certificates for the connection between Envoy and Sesame: as Secrets in the cluster, as manifests, or as files.',
  examples: ['sesame certgen --kube --incluster --overwrite --secrets-format=compact', 'sesame certgen --pem certs'],
  positionals: 1,
  options: {
    ...SESAME_CLUSTER_OPTIONS,
    kube: { type: 'boolean', help: 'Creates Secrets in the cluster.' },
    yaml: { type: 'boolean', help: 'Writes manifests of Secrets.' },
    pem: { type: 'boolean', help: 'Writes files in PEM.' },
    overwrite: { type: 'boolean', help: 'Replaces what exists.' },
    'secrets-format': {
      type: 'string',
      oneOf: ['legacy', 'compact'],
      default: 'compact',
      help: 'compact: ca.crt in both Secrets; legacy: in one of its own.',
    },
    'secrets-name-suffix': { type: 'string', value: 'TEXT', default: '', help: 'Added to the names of the Secrets.' },
    'certificate-lifetime': {
      type: 'string',
      value: 'DAYS',
      default: '365',
      parse: wholeNumber(1, 36_500),
      help: 'How long certificates are valid.',
    },
    'key-type': { type: 'string', oneOf: ['ecdsa', 'rsa'], default: 'ecdsa', help: 'Kind of keys.' },
  },
  async run({ command: name, flags, positionals: [folder = 'certs'] }, io) {
    if (!flags.kube && !flags.yaml && !flags.pem)
      throw UsageErrors.Missing(name, 'one of --kube, --yaml and --pem', 'sesame certgen --kube');
    const namespace = sesameNamespace(flags.namespace, io.env);
    const certificates = await issueXdsCertificates({
      namespace,
      sesameService: 'sesame',
      envoyService: 'envoy',
      now: (io.clock ?? systemClock).now(),
      lifeMs: flags['certificate-lifetime'] * DAY_MS,
      keyType: flags['key-type'],
    });
    const secrets = certificateSecrets(certificates, {
      namespace,
      format: flags['secrets-format'],
      suffix: flags['secrets-name-suffix'],
    });
    const isOverwriting = flags.overwrite === true;
    const write = async (path: string, text: string, isSecret: boolean) => {
      await writeNew(machineFiles(io), path, text, { isOverwriting, isSecret });
      io.stdout(`${path} written\n`);
    };
    if (flags.pem)
      for (const [file, text, isSecret] of certificateFiles(certificates))
        await write(`${folder}/${file}`, text, isSecret);
    if (flags.yaml)
      for (const secret of secrets)
        await write(`${folder}/${secret.metadata.name ?? ''}.yaml`, stringify(secret), true);
    if (flags.kube) await apply(secrets, isOverwriting, flags, io);
    return 0;
  },
});

async function writeNew(
  files: MachineFiles,
  path: string,
  text: string,
  { isOverwriting, isSecret }: { isOverwriting: boolean; isSecret: boolean },
): Promise<void> {
  if (!isOverwriting && (await files.exists(path))) throw CommandErrors.Exists(`the file ${path}`);
  await files.write(path, text, isSecret ? 0o600 : 0o644);
}

function apply(
  secrets: readonly Secret[],
  isOverwriting: boolean,
  flags: FlagValues<typeof CLUSTER_OPTIONS>,
  io: Io,
): Promise<void> {
  const { signal } = io;
  return withCluster(flags, io, async ({ client }) => {
    for (const secret of secrets) {
      const { namespace = '', name = '' } = secret.metadata;
      try {
        await client.create(Secret, secret, { signal });
        io.stdout(`secret/${name} created\n`);
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
        if (!isOverwriting) throw CommandErrors.Exists(`Secret ${namespace}/${name}`);
        const { resourceVersion } = (await client.get(Secret, { namespace, name }, { signal })).metadata;
        const metadata = { ...secret.metadata, ...(resourceVersion && { resourceVersion }) };
        await client.update(Secret, { ...secret, metadata }, { signal });
        io.stdout(`secret/${name} replaced\n`);
      }
    }
  });
}
