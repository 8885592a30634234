// The process of datagrams.ts in another network namespace: UDP on one side, JSON lines on the other. It ends with its input.
import { createInterface } from 'node:readline';
import { openHere, type RelayLine } from './datagrams.ts';

const write = (line: object) => void process.stdout.write(`${JSON.stringify(line)}\n`);
const datagrams = await openHere(Number(process.argv[2]), (data, from) =>
  write({ ...from, data: data.toString('base64') }),
);
write({ listening: datagrams.port });
const input = createInterface({ input: process.stdin });
input.on('line', (line) => {
  const { ip, port, data } = JSON.parse(line) as RelayLine;
  datagrams.send(Buffer.from(data, 'base64'), { ip, port });
});
input.once('close', () => datagrams.close());
