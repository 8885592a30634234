import { catalogue } from '@capstan/kube/cluster';

export const ConsoleErrors = catalogue('console', {
  NotLoopback: (host: string) => ({
    message: `the console does not listen on ${host}, which other machines can reach`,
    remedy: 'use 127.0.0.1:PORT, [::1]:PORT or localhost:PORT',
  }),
});
