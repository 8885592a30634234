import { catalogue, reasonOf } from '@capstan/kube/cluster';

/** The errors of Sesame's own sockets. */
export const SocketErrors = catalogue('sesame', {
  CannotListen: (address: string, port: number, cause: NodeJS.ErrnoException) => ({
    message:
      cause.code === 'EADDRINUSE'
        ? `${address}:${port}: the port is in use`
        : cause.code === 'EACCES'
          ? `${address}:${port}: not permitted`
          : `${address}:${port}: cannot listen (${reasonOf(cause)})`,
    remedy:
      cause.code === 'EADDRINUSE'
        ? 'choose another port in the SesameConfiguration, or stop what uses it'
        : 'choose an address of this machine and a port from 1024',
    cause,
  }),
  CannotRead: (file: string, reason: string) => ({
    message: `the file ${file} cannot be read: ${reason}`,
    remedy: 'check that the Secret is mounted and its keys exist',
  }),
  CertificateNotUsable: (file: string, reason: string) => ({
    message: `the certificate ${file} and its key cannot be used: ${reason}`,
    remedy: 'check that both are PEM and belong together',
  }),
});
