import { isAbsolute, relative } from 'node:path';

/** The kernel's limit, without the zero at the end. */
const MAX_BYTES = process.platform === 'linux' ? 107 : 103;

/**
 * The path of a unix socket in a form that fits. In a pod it always does. Where pods are processes, folders of volumes are deep,
 * and every container works in a folder of the same depth beside them: the relative path is short, and the same for all.
 */
export function socketPath(path: string, cwd: string): string {
  if (!isAbsolute(path) || Buffer.byteLength(path) <= MAX_BYTES) return path;
  const short = relative(cwd, path);
  return Buffer.byteLength(short) <= MAX_BYTES ? short : path;
}
