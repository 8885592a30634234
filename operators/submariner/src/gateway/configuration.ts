// What a gateway is told: the environment of the original without secrets, which are files, and a folder with the options of
// its drivers, which is optional.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalogue } from '@capstan/kube';
import { BROKER_MOUNT, driversOf, PSK_MOUNT } from '../deployment/configuration.ts';
import { BROKER_NAMESPACE, MEMBER_NAMESPACE } from '../kinds/index.ts';
import type { DriverName } from '../policy/driver-names.ts';
import { optionsOfConfigMap } from '../policy/rule-options.ts';

export interface GatewayConfiguration {
  readonly clusterID: string;
  readonly namespace: string;
  readonly clusterCIDRs: readonly string[];
  readonly serviceCIDRs: readonly string[];
  readonly natEnabled: boolean;
  readonly drivers: readonly DriverName[];
  /** Options of the drivers, from the mounted ConfigMap and the environment. */
  readonly options: Readonly<Record<string, string>>;
  readonly optionsFolder: string | undefined;
  readonly pskFile: string | undefined;
  readonly preferredServer: boolean;
  readonly health: { readonly enabled: boolean; readonly intervalSeconds: number; readonly maxPacketLoss: number };
  readonly broker: {
    readonly server: string;
    readonly namespace: string;
    readonly folder: string | undefined;
    readonly ca: string | undefined;
    readonly insecure: boolean;
  };
  readonly nodeName: string;
  readonly publicIP: string | undefined;
}

export const GatewayErrors = catalogue('submariner', {
  Missing: (variable: string) => ({
    message: `environment variable ${variable} is missing`,
    remedy: 'start gateways by a Submariner resource, or set it',
  }),
  SecretInEnvironment: (variable: string, instead: string) => ({
    message: `environment variable ${variable} holds a secret`,
    remedy: `mount it as a file and name it in ${instead}`,
  }),
  BadDrivers: (problems: readonly string[]) => ({
    message: problems.join('; '),
    remedy: 'correct SUBMARINER_CABLEDRIVER(S)',
  }),
  BadKey: (file: string, problem: string) => ({
    message: `${file}: ${problem}`,
    remedy: 'mount a Secret with at least 16 random bytes under psk',
  }),
});

type Env = Readonly<Record<string, string | undefined>>;

export function readConfiguration(env: Env): GatewayConfiguration {
  if (env['CE_IPSEC_PSK']) throw GatewayErrors.SecretInEnvironment('CE_IPSEC_PSK', 'CE_IPSEC_PSKSECRET');
  if (env['BROKER_K8S_APISERVERTOKEN'])
    throw GatewayErrors.SecretInEnvironment('BROKER_K8S_APISERVERTOKEN', 'BROKER_K8S_SECRET');
  const clusterID = env['SUBMARINER_CLUSTERID'];
  if (!clusterID) throw GatewayErrors.Missing('SUBMARINER_CLUSTERID');
  const list = (name: string) =>
    (env[name] ?? '')
      .split(',')
      .map((each) => each.trim())
      .filter((each) => each !== '');
  const problems: string[] = [];
  const drivers = driversOf(
    {
      ...(env['SUBMARINER_CABLEDRIVER'] !== undefined && { cableDriver: env['SUBMARINER_CABLEDRIVER'] }),
      cableDrivers: list('SUBMARINER_CABLEDRIVERS'),
      combinedCableDrivers: list('SUBMARINER_COMBINEDCABLEDRIVERS'),
    },
    problems,
  );
  if (problems.length > 0) throw GatewayErrors.BadDrivers(problems);
  const secrets = env['SUBMARINER_SECRETS_DIR'];
  const psk = env['CE_IPSEC_PSKSECRET'];
  const brokerSecret = env['BROKER_K8S_SECRET'];
  const optionsFolder = env['SUBMARINER_CABLEDRIVERCUSTOMCONFIGPATH'];
  const port = env['CE_IPSEC_NATTPORT'];
  return {
    clusterID,
    namespace: env['SUBMARINER_NAMESPACE'] ?? MEMBER_NAMESPACE,
    clusterCIDRs: list('SUBMARINER_CLUSTERCIDR'),
    serviceCIDRs: list('SUBMARINER_SERVICECIDR'),
    natEnabled: env['SUBMARINER_NATENABLED'] === 'true',
    drivers,
    options: {
      ...(port !== undefined && { ipsecPort: port }),
      ...(env['CE_IPSEC_FORCEENCAPS'] === 'true' && { forceEncaps: 'true' }),
      ...readOptionsFolder(optionsFolder),
    },
    optionsFolder,
    pskFile:
      psk === undefined || psk === ''
        ? undefined
        : join(env['CE_IPSEC_PSKSECRET_DIR'] ?? join(secrets ?? PSK_MOUNT, psk), 'psk'),
    preferredServer: env['CE_IPSEC_PREFERREDSERVER'] === 'true',
    health: {
      enabled: env['SUBMARINER_HEALTHCHECKENABLED'] !== 'false',
      intervalSeconds: Number(env['SUBMARINER_HEALTHCHECKINTERVAL'] ?? 1),
      maxPacketLoss: Number(env['SUBMARINER_HEALTHCHECKMAXPACKETLOSSCOUNT'] ?? 5),
    },
    broker: {
      server: env['BROKER_K8S_APISERVER'] ?? '',
      namespace: env['BROKER_K8S_REMOTENAMESPACE'] ?? BROKER_NAMESPACE,
      folder:
        brokerSecret === undefined || brokerSecret === ''
          ? undefined
          : (env['BROKER_K8S_SECRET_DIR'] ?? join(secrets ?? BROKER_MOUNT, brokerSecret)),
      ca: env['BROKER_K8S_CA'],
      insecure: env['BROKER_K8S_INSECURE'] === 'true',
    },
    nodeName: env['NODE_NAME'] ?? 'gateway',
    publicIP: publicIPOf(env['SUBMARINER_PUBLICIP']),
  };
}

/** The options in a mounted ConfigMap, one file a key; none where the ConfigMap is not there. */
export function readOptionsFolder(folder: string | undefined): Record<string, string> {
  if (folder === undefined || !existsSync(folder)) return {};
  const data: Record<string, string> = {};
  for (const name of readdirSync(folder))
    if (!name.startsWith('..')) data[name] = readFileSync(join(folder, name), 'utf8').trim();
  return optionsOfConfigMap(data).data;
}

/** The raw bytes of the pre-shared key; refused when it protects nothing. */
export function readPreSharedKey(file: string | undefined): Buffer | undefined {
  if (file === undefined) return undefined;
  if (!existsSync(file)) throw GatewayErrors.BadKey(file, 'does not exist');
  const key = readFileSync(file);
  if (key.toString('utf8').trim() === 'default psk') throw GatewayErrors.BadKey(file, 'is the well-known default');
  if (key.length < 16) throw GatewayErrors.BadKey(file, `has ${key.length} bytes`);
  return key;
}

/** `ipv4:ADDRESS`, of the original's resolvers the one that asks nobody. */
function publicIPOf(text: string | undefined): string | undefined {
  return (text ?? '')
    .split(',')
    .map((each) => /^ipv4:(.+)$/.exec(each.trim())?.[1])
    .find((each) => each !== undefined);
}
