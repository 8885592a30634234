import { catalogue } from '@capstan/kube/cluster';

export const ConsoleErrors = catalogue('console', {
  NotLoopback: (host: string) => ({
    message: `the console does not listen on ${host}, which other machines can reach`,
    remedy: 'use 127.0.0.1:PORT, [::1]:PORT or localhost:PORT, or give --listen-anywhere, which serves TLS',
  }),
  NoPage: (folder: string, reason: string) => ({
    message: `the page of the console is not in ${folder} and cannot be built: ${reason}`,
    remedy: 'run npm install in the checkout, or install the package again',
  }),
  TooLarge: (part: string, bytes: number, budget: number) => ({
    message: `${part} of the page has ${bytes} bytes compressed, more than ${budget}`,
    remedy: 'move parts into chunks that load later (shell/lazy.tsx), or remove code',
  }),
});
