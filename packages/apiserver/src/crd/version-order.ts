/** The order in which versions are preferred: v2, v1, v1beta2, v1beta1, v1alpha1, then all others by name. */
export function compareVersions(a: string, b: string): number {
  const left = VERSION.exec(a);
  const right = VERSION.exec(b);
  if (!left || !right) {
    if (left || right) return left ? -1 : 1;
    return a < b ? -1 : Number(a > b);
  }
  const stage = (match: RegExpExecArray) => STAGES.indexOf(match[2] ?? '');
  const number = (match: RegExpExecArray, index: number) => Number(match[index] ?? 0);
  return stage(left) - stage(right) || number(right, 1) - number(left, 1) || number(right, 3) - number(left, 3);
}

const VERSION = /^v(\d+)(?:(alpha|beta)(\d+))?$/;
const STAGES = ['', 'beta', 'alpha'];
