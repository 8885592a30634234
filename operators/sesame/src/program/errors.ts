import { catalogue } from '@capstan/kube/cluster';

export const ServeErrors = catalogue('sesame', {
  InvalidFile: (path: string, problems: readonly string[]) => ({
    message: `the configuration file ${path} is not valid:\n${problems.join('\n')}`,
    remedy: 'correct it, or migrate it with sesame migrate config',
  }),
});
