import { CodedError, type ErrorText, errorMakers, reasonOf } from './coded-error.ts';

/** An error in the configuration of a connection. The message names the file and the remedy. */
export class ConfigError extends CodedError {
  /** The file at fault, where there is one. */
  readonly file: string | undefined;

  constructor(code: string, text: ConfigErrorText, options?: ErrorOptions) {
    super(code, text, options);
    this.name = 'ConfigError';
    this.file = text.file;
  }
}

interface ConfigErrorText extends ErrorText {
  file?: string;
}

/** Everything that can be wrong with the configuration of a connection. */
export const ConfigErrors = errorMakers(
  {
    Unreadable: (file: string, cause: unknown) => ({
      file,
      cause,
      message: `cannot read ${file}: ${reasonOf(cause)}`,
      remedy: 'check the path and its permissions',
    }),
    NotYaml: (file: string, line: number | undefined, problem: string) => ({
      file,
      message: `the kubeconfig ${at(file, line)} does not parse: ${problem}`,
      remedy: 'correct the file at that line',
    }),
    BadField: (file: string, line: number | undefined, path: string, problem: string) => ({
      file,
      message: `the kubeconfig ${at(file, line)} is not valid: ${path} ${problem}`,
      remedy: 'correct that field',
    }),
    NothingConfigured: (tried: string) => ({
      message: `no cluster is configured: ${tried}`,
      remedy: 'give --kubeconfig FILE or set KUBECONFIG',
    }),
    NotInCluster: () => ({
      message: 'this process does not run inside a cluster: KUBERNETES_SERVICE_HOST is not set',
      remedy: 'give --kubeconfig FILE or set KUBECONFIG',
    }),
    NoServiceAccount: (file: string, cause: unknown) => ({
      file,
      cause,
      message: `this pod has no usable service account: cannot read ${file}: ${reasonOf(cause)}`,
      remedy: 'set automountServiceAccountToken: true on the pod or its service account',
    }),
    NoCurrentContext: (file: string, names: readonly string[]) => ({
      file,
      message: `the kubeconfig ${file} has no current-context`,
      remedy:
        names.length === 0
          ? 'add a context to it'
          : `set it, or give --context NAME, one of ${[...names].toSorted().join(', ')}`,
    }),
    UnknownContext: (file: string, name: string, names: readonly string[]) => ({
      file,
      message: `the kubeconfig ${file} has no context "${name}"`,
      remedy:
        names.length === 0
          ? 'it has no contexts at all, so use another file'
          : `use one of ${[...names].toSorted().join(', ')}`,
    }),
    Dangling: (file: string, context: string, what: 'cluster' | 'user', name: string, names: readonly string[]) => ({
      file,
      message: `the context "${context}" in ${file} names the ${what} "${name}", which does not exist`,
      remedy: names.length === 0 ? `add it under ${what}s` : `correct it to one of ${[...names].toSorted().join(', ')}`,
    }),
    BadServer: (file: string, cluster: string, server: string) => ({
      file,
      message: `the cluster "${cluster}" in ${file} has the server ${JSON.stringify(server)}, which is not an address`,
      remedy: 'write it as https://HOST:PORT',
    }),
    BadProxy: (file: string, cluster: string) => ({
      file,
      message: `the proxy-url of the cluster "${cluster}" in ${file} is not the address of a proxy`,
      remedy: 'write it as http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT',
    }),
    BadCertificate: (what: string, place: string, problem: string) => ({
      file: place,
      message: `the ${what} in ${place} cannot be used: ${problem}`,
      remedy: 'replace it by PEM data (base64-encoded once in fields that end in -data)',
    }),
    CertificateExpired: (what: string, place: string, expired: Date) => ({
      file: place,
      message: `the ${what} in ${place} expired on ${day(expired)}`,
      remedy: 'get a new kubeconfig or certificate from the administrator of the cluster',
    }),
    CertificateNotYetValid: (what: string, place: string, from: Date) => ({
      file: place,
      message: `the ${what} in ${place} is valid only from ${day(from)} on`,
      remedy: 'check the clock of this machine',
    }),
    HalfCertificate: (place: string, user: string, missing: string) => ({
      file: place,
      message: `the user "${user}" in ${place} has a client certificate and key of which the ${missing} is missing`,
      remedy: 'give both client-certificate(-data) and client-key(-data)',
    }),
    KeyMismatch: (what: string, place: string, cause: unknown) => ({
      file: place,
      cause,
      message: `the ${what} in ${place} and its key cannot be used together: ${reasonOf(cause)}`,
      remedy: 'use the key that the certificate was issued for, unencrypted',
    }),
    AuthProvider: (file: string, user: string, name: string) => ({
      file,
      message: `the user "${user}" in ${file} uses the auth-provider "${name}", which Kubernetes removed in 1.26`,
      remedy:
        'use the exec plugin of your provider instead (kubelogin, gke-gcloud-auth-plugin, …), or, where programs are not allowed, a token or a client certificate',
    }),
    TwoLogins: (file: string, user: string, first: string, second: string) => ({
      file,
      message: `the user "${user}" in ${file} has both ${first} and ${second}`,
      remedy: 'keep one of them',
    }),
    NotSelfContained: (name: string, what: string) => ({
      file: name,
      message: `the kubeconfig ${name} refers to ${what}, which is not allowed for one that does not come from a file`,
      remedy: 'embed certificates and token as data in it',
    }),
    ExecVersion: (file: string, user: string, version: string) => ({
      file,
      message: `the exec plugin of the user "${user}" in ${file} has the apiVersion "${version}", which is not supported`,
      remedy: 'use client.authentication.k8s.io/v1 (update the plugin and its entry)',
    }),
    ExecMissing: (file: string, user: string, command: string, hint: string | undefined) => ({
      file,
      message: `the exec plugin "${command}" of the user "${user}" in ${file} is not installed`,
      remedy: hint ? hint.replace(/\s+/g, ' ').trim() : 'install it, or put its folder on the PATH',
    }),
    ExecFailed: (file: string, user: string, command: string, problem: string) => ({
      file,
      message: `the exec plugin "${command}" of the user "${user}" in ${file} gave no credentials: ${problem}`,
      remedy: 'run it by hand to see why, or log in again',
    }),
    ExecNeedsTerminal: (file: string, user: string, command: string) => ({
      file,
      message: `the exec plugin "${command}" of the user "${user}" in ${file} asks for input, and there is no terminal`,
      remedy: 'log in from a terminal first, or use credentials that need no questions',
    }),
  },
  (key, text: ConfigErrorText, options) => new ConfigError(`kube/${key}`, text, options),
);

function at(file: string, line: number | undefined): string {
  return line === undefined ? file : `${file}, line ${line},`;
}

function day(date: Date): string {
  return Number.isNaN(date.getTime()) ? 'an unknown date' : date.toISOString().slice(0, 10);
}
