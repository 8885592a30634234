// Patterns in schemas are RE2 expressions, because kube-apiserver is written in Go. A value that matches here also matches on a real
// server, and no pattern takes more than linear time.
import { compileRegexp, type Regexp, RegexpError } from '../../regexp/index.ts';
import { SchemaError } from '../errors.ts';

/** The pattern as Go's regexp package would read it; throws a SchemaError for a pattern that Go refuses. */
export function goRegExp(pattern: string): Regexp {
  try {
    return compileRegexp(pattern);
  } catch (error) {
    if (!(error instanceof RegexpError)) throw error;
    throw new SchemaError('InvalidPattern', error.message, { cause: error });
  }
}
