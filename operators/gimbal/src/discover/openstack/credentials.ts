// The credentials of a cloud, from a mounted Secret. Several spellings of each key are in use; all are read.
import { withoutTrailing } from '@capstan/kube/cluster';
import { DiscoverErrors } from '../errors.ts';
import { type CredentialFiles, readKey } from '../kubernetes/connect.ts';

export interface CloudCredentials {
  /** The address of Keystone, with `/v3`. */
  readonly authUrl: string;
  readonly login: PasswordLogin | ApplicationLogin;
  readonly region: string | undefined;
  /** PEM of the cloud's authority. */
  readonly ca: string | undefined;
}

export interface PasswordLogin {
  readonly username: string;
  readonly password: string;
  readonly userDomain: string;
  readonly project: string;
  readonly projectDomain: string;
}

export interface ApplicationLogin {
  readonly id: string;
  readonly secret: string;
}

/** The keys of the Secret by their meaning. The first that exists counts. */
export const CLOUD_KEYS = {
  username: ['username', 'OS_USERNAME'],
  password: ['password', 'OS_PASSWORD'],
  authUrl: ['auth-url', 'keystoneUrl', 'OS_AUTH_URL'],
  project: ['tenant-name', 'project-name', 'OS_TENANT_NAME', 'OS_PROJECT_NAME'],
  userDomain: ['user-domain-name', 'userDomain', 'OS_USER_DOMAIN_NAME'],
  projectDomain: ['project-domain-name', 'projectDomain', 'OS_PROJECT_DOMAIN_NAME'],
  region: ['region', 'OS_REGION_NAME'],
  ca: ['certificate-authority-data', 'certificateAuthorityData', 'ca.crt', 'ca.pem'],
  applicationId: ['application-credential-id', 'OS_APPLICATION_CREDENTIAL_ID'],
  applicationSecret: ['application-credential-secret', 'OS_APPLICATION_CREDENTIAL_SECRET'],
} as const;

export interface CredentialOptions {
  files: CredentialFiles;
  folder: string;
  /** Instead of the address in the Secret. */
  endpoint?: string | undefined;
  /** A file with the cloud's authority, instead of the one in the Secret. */
  caFile?: string | undefined;
  /** `OS_*` variables for settings that the Secret does not hold and that are not secret. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Keys that are never taken from the environment, which other processes and crash reports can see. */
const SECRET: ReadonlySet<keyof typeof CLOUD_KEYS> = new Set(['password', 'applicationSecret']);

export async function readCloudCredentials({
  files,
  folder,
  endpoint,
  caFile,
  env = {},
}: CredentialOptions): Promise<CloudCredentials> {
  const find = async (name: keyof typeof CLOUD_KEYS): Promise<string | undefined> => {
    for (const key of CLOUD_KEYS[name]) {
      // Values that people put into Secrets often end in a line break.
      const text = (await readKey(files, folder, key))?.trim();
      if (text) return text;
    }
    const variables = SECRET.has(name) ? [] : CLOUD_KEYS[name].filter((key) => key.startsWith('OS_'));
    return variables.map((variable) => env[variable]?.trim()).find((text) => text);
  };
  const need = async (name: keyof typeof CLOUD_KEYS): Promise<string> => {
    const text = await find(name);
    if (text === undefined) throw DiscoverErrors.KeyMissing(folder, CLOUD_KEYS[name]);
    return text;
  };
  const [id, secret] = [await find('applicationId'), await find('applicationSecret')];
  if ((id === undefined) !== (secret === undefined)) {
    throw DiscoverErrors.HalfCredential(
      folder,
      id === undefined ? CLOUD_KEYS.applicationId[0] : CLOUD_KEYS.applicationSecret[0],
    );
  }
  const userDomain = (await find('userDomain')) ?? 'Default';
  const login =
    id !== undefined && secret !== undefined
      ? { id, secret }
      : {
          username: await need('username'),
          password: await need('password'),
          userDomain,
          project: await need('project'),
          projectDomain: (await find('projectDomain')) ?? userDomain,
        };
  return {
    authUrl: keystoneUrl(endpoint ?? (await need('authUrl'))),
    login,
    region: await find('region'),
    ca: caFile === undefined ? ((await find('ca')) ?? (await caOf(files, env))) : await readCa(files, caFile),
  };
}

/** `OS_CACERT` names a file. */
async function caOf(files: CredentialFiles, env: NonNullable<CredentialOptions['env']>): Promise<string | undefined> {
  const file = env['OS_CACERT']?.trim();
  return file ? readCa(files, file) : undefined;
}

async function readCa(files: CredentialFiles, file: string): Promise<string> {
  try {
    return await files.read(file);
  } catch (cause) {
    throw DiscoverErrors.SecretMissing(file, cause);
  }
}

/** `http://cloud:5000`, with or without a version: always of version 3. */
export function keystoneUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw DiscoverErrors.BadKey('auth-url', 'it is not an address like https://cloud.example.com:5000/v3');
  }
  const path = withoutTrailing(url.pathname, '/').replace(/\/v\d+(\.\d+)?$/, '');
  return `${url.origin}${path}/v3`;
}
