// Certificates from files that are replaced while the server runs, as Kubernetes does with mounted Secrets.
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { type Clock, type Logger, reasonOf } from '@capstan/kube';
import { SocketErrors } from './errors.ts';

export interface CertificateFiles {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
}

export interface CertificateContents {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

export interface CertificateWatch {
  current(): CertificateContents;
  /** Returns the content of the files, if they have changed since the last call and fit together. */
  renewed(): CertificateContents | undefined;
}

/** The files are looked at when a connection begins, at most once in this time. */
const LOOK_EVERY = 200;

export function createCertificateWatch(files: CertificateFiles, clock: Clock, logger: Logger): CertificateWatch {
  const paths = [files.caFile, files.certFile, files.keyFile];
  const readable = <T>(path: string, read: (path: string) => T): T => {
    try {
      return read(path);
    } catch (error) {
      throw SocketErrors.CannotRead(path, reasonOf(error));
    }
  };
  const stampOf = () =>
    paths
      .map((path) => readable(path, (file) => statSync(file)))
      .map(({ mtimeMs, ino }) => `${mtimeMs}:${ino}`)
      .join(' ');
  const readAll = (): CertificateContents => {
    const [ca, cert, key] = [files.caFile, files.certFile, files.keyFile].map((path) =>
      readable(path, (file) => readFileSync(file)),
    ) as [Buffer, Buffer, Buffer];
    const contents = { ca, cert, key };
    try {
      // Throws when the key is not that of the certificate: one of the files may have been replaced before the other.
      createSecureContext(contents);
    } catch (error) {
      throw SocketErrors.CertificateNotUsable(files.certFile, reasonOf(error));
    }
    return contents;
  };
  let stamp = stampOf();
  let current = readAll();
  let lookedAt = clock.now();
  return {
    current: () => current,
    renewed() {
      if (clock.now() - lookedAt < LOOK_EVERY) return undefined;
      lookedAt = clock.now();
      try {
        const found = stampOf();
        if (found === stamp) return undefined;
        current = readAll();
        stamp = found;
        return current;
      } catch (error) {
        logger.warn('the certificates of the xDS server cannot be read again; the last ones stay in force', {
          files: paths,
          error: (error as Error).message,
        });
        return undefined;
      }
    },
  };
}
