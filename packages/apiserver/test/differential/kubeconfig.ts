import { parse } from 'yaml';

/** The server and the login of a kubeconfig with one user; both servers write such ones. */
export function loadKubeconfigText(text: string): { server: string; ca: string; cert: string; key: string } {
  const config = parse(text) as {
    clusters: { cluster: Record<string, string> }[];
    users: { user: Record<string, string> }[];
  };
  const decoded = (value: string | undefined) => Buffer.from(value ?? '', 'base64').toString();
  const cluster = config.clusters[0]?.cluster ?? {};
  const user = config.users[0]?.user ?? {};
  return {
    server: cluster['server'] ?? '',
    ca: decoded(cluster['certificate-authority-data']),
    cert: decoded(user['client-certificate-data']),
    key: decoded(user['client-key-data']),
  };
}
