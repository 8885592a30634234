import type { CredentialFiles } from '../discover/kubernetes/connect.ts';
import { decoded, type SecretData } from './secret-data.ts';

/** A Secret as the folder that a discoverer would find it in. */
export function memoryFiles(data: SecretData): CredentialFiles {
  return {
    async read(path) {
      const value = data[path.slice(path.lastIndexOf('/') + 1)];
      if (value === undefined) throw Object.assign(new Error(`there is no ${path}`), { code: 'ENOENT' });
      return decoded(value);
    },
  };
}
