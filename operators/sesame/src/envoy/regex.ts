import { compileRegexp } from '@capstan/kube';

/** Why Envoy would refuse a regular expression; undefined when it takes it. It reads them as RE2 does, byte by byte. */
export function regexProblem(regex: string): string | undefined {
  try {
    compileRegexp(regex);
  } catch (error) {
    return (error as Error).message;
  }
  for (const [escape, digits] of regex.matchAll(/\\Q[\s\S]*?(?:\\E|$)|\\x\{([0-9a-fA-F]+)\}|\\[\s\S]/g))
    if (digits !== undefined && Number.parseInt(digits, 16) > 0xff)
      return `${escape} is more than a byte, write the character itself: \`${escape}\``;
  return undefined;
}
