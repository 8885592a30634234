// The configuration of a gateway: the environment of the original without secrets, which are files, and a folder with the
// options of its drivers, which is optional.
import { join } from 'node:path';
import { catalogue } from '@capstan/kube';
import { BROKER_MOUNT, driversOf, PSK_MOUNT } from '../deployment/configuration.ts';
import { BROKER_NAMESPACE, MEMBER_NAMESPACE } from '../kinds/index.ts';
import type { DriverName } from '../policy/driver-names.ts';

export interface GatewayConfiguration {
  readonly clusterID: string;
  readonly namespace: string;
  readonly clusterCIDRs: readonly string[];
  readonly serviceCIDRs: readonly string[];
  readonly natEnabled: boolean;
  readonly drivers: readonly DriverName[];
  /** Options of the drivers from the environment; those of the folder win. */
  readonly options: Readonly<Record<string, string>>;
  /** Where the ConfigMap with options of the drivers is mounted. */
  readonly optionsFolder: string | undefined;
  readonly pskFile: string | undefined;
  readonly preferredServer: boolean;
  /** UDP port on which this gateway answers NAT discovery; 0 switches it off. */
  readonly discoveryPort: number;
  /** Port of /metrics; 0 serves none. */
  readonly metricsPort: number;
  readonly health: { readonly enabled: boolean; readonly intervalSeconds: number; readonly maxPacketLoss: number };
  readonly broker: {
    readonly server: string;
    readonly namespace: string;
    readonly folder: string | undefined;
    /** The Secret that is mounted there. */
    readonly secret: string | undefined;
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
      ...(port !== undefined && { 'ipsec.port': port }),
      ...(env['CE_IPSEC_FORCEENCAPS'] === 'true' && { forceEncaps: 'true' }),
    },
    optionsFolder,
    pskFile:
      psk === undefined || psk === ''
        ? undefined
        : join(env['CE_IPSEC_PSKSECRET_DIR'] ?? join(secrets ?? PSK_MOUNT, psk), 'psk'),
    preferredServer: env['CE_IPSEC_PREFERREDSERVER'] === 'true',
    discoveryPort: Number(env['SUBMARINER_NATTDISCOVERYPORT'] ?? DISCOVERY_PORT),
    metricsPort: Number(env['SUBMARINER_METRICSPORT'] ?? METRICS_PORT),
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
      secret: brokerSecret === '' ? undefined : brokerSecret,
      ca: env['BROKER_K8S_CA'],
      insecure: env['BROKER_K8S_INSECURE'] === 'true',
    },
    nodeName: env['NODE_NAME'] ?? 'gateway',
    publicIP: publicIPOf(env['SUBMARINER_PUBLICIP']),
  };
}

const DISCOVERY_PORT = 4490;
const METRICS_PORT = 32_780;

/** `ipv4:ADDRESS`, of the original’s resolvers the one that makes no request. */
function publicIPOf(text: string | undefined): string | undefined {
  return (text ?? '')
    .split(',')
    .map((each) => /^ipv4:(.+)$/.exec(each.trim())?.[1])
    .find((each) => each !== undefined);
}
