export { RegexpError, type RegexpErrorReason } from './errors.ts';
export { compileRegexp, type Regexp, type RegexpMatch } from './regexp.ts';
