import { catalogue } from '@capstan/kube/cluster';

export const KeptErrors = catalogue('sesame', {
  NotPrivate: (path: string, mode: number) => ({
    message: `the kept snapshot ${path} is not private (mode ${mode.toString(8)})`,
    remedy: 'remove it, and let only Sesame write to its folder',
  }),
  TooLarge: (path: string, size: number) => ({
    message: `the kept snapshot ${path} is too large (${size} bytes)`,
    remedy: 'remove it',
  }),
  Shortened: (path: string, size: number, length: number) => ({
    message: `the kept snapshot ${path} was shortened (to ${size} of ${length} bytes)`,
    remedy: 'let only Sesame write to its folder',
  }),
  Damaged: (path: string, problem: string) => ({
    message: `the kept snapshot ${path} is damaged: ${problem}`,
    remedy: 'let only Sesame write to its folder',
  }),
});
