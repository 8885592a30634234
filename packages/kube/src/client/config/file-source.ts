import { ConfigErrors, reasonOf } from '../../errors.ts';
import type { Edge } from './edge.ts';

/** A file whose content may change while we run. Tokens and certificates are replaced under the same name. */
export interface FileSource {
  /** Reads the file again if the last read is older than ten seconds, or if `isForced`. */
  read(isForced?: boolean): Promise<string>;
}

const MAX_AGE_MS = 10_000;

export function createFileSource(path: string, { readFile, clock, logger }: Edge): FileSource {
  let content: string | undefined;
  let readAt = 0;
  return {
    async read(isForced = false) {
      if (content !== undefined && !isForced && clock.now() - readAt < MAX_AGE_MS) return content;
      try {
        content = await readFile(path);
      } catch (cause) {
        // A rotation may be in progress, so keep the last content.
        if (content === undefined) throw ConfigErrors.Unreadable(path, cause);
        logger.warn('a file with credentials cannot be read again; its last content stays in use', {
          file: path,
          reason: reasonOf(cause),
        });
      }
      readAt = clock.now();
      return content;
    },
  };
}
