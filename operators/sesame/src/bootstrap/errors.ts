import { catalogue } from '@capstan/kube/cluster';

export const BootstrapErrors = catalogue('sesame', {
  AdminAddress: (address: string) => ({
    message: `--admin-address cannot be a network address (${address})`,
    remedy: 'give the path of a unix socket, such as /admin/admin.sock',
  }),
  IncompleteTls: (missing: readonly string[]) => ({
    message: `TLS to the xDS server needs three files; missing: ${missing.join(', ')}`,
    remedy: 'give --envoy-cafile, --envoy-cert-file and --envoy-key-file, or none of them',
  }),
  Negative: (flag: string, value: number) => ({
    message: `${flag} cannot be negative (${value})`,
    remedy: 'give 0 for no limit',
  }),
  UnreadableFile: (flag: string, path: string, reason: string) => ({
    message: `the file ${path} of ${flag} cannot be used: ${reason}`,
    remedy: 'check that the certificate Secret is mounted',
  }),
});
