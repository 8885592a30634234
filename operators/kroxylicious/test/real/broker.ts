import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePorts } from '@capstan/testing';
import { java, type Program, until } from './programs.ts';

export interface Broker {
  readonly bootstrap: string;
  readonly program: Program;
}

/** Starts a Kafka of one node, broker and controller in one (KRaft), with its data in the folder. */
export async function startBroker(folder: string): Promise<Broker> {
  const [port = 0, controller = 0] = await freePorts(2);
  const bootstrap = `127.0.0.1:${port}`;
  const file = join(folder, 'server.properties');
  const settings = {
    'process.roles': 'broker,controller',
    'node.id': 0,
    'controller.quorum.voters': `0@127.0.0.1:${controller}`,
    listeners: `PLAINTEXT://${bootstrap},CONTROLLER://127.0.0.1:${controller}`,
    'advertised.listeners': `PLAINTEXT://${bootstrap}`,
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': join(folder, 'data'),
    'offsets.topic.replication.factor': 1,
    'offsets.topic.num.partitions': 1,
    'group.initial.rebalance.delay.ms': 0,
  };
  writeFileSync(
    file,
    Object.entries(settings)
      .map(([key, value]) => `${key}=${value}\n`)
      .join(''),
  );
  const id = randomBytes(16).toString('base64url');
  const format = java('kafka', ['kafka.tools.StorageTool', 'format', '-t', id, '-c', file]);
  if ((await format.ended) !== 0) throw new Error(`the broker's storage could not be formatted\n${format.errors()}`);
  const program = java('kafka', ['kafka.Kafka', file]);
  try {
    await until('the broker listens', () => answers(port), { instead: program.errors });
  } catch (error) {
    await program.stop();
    throw error;
  }
  return { bootstrap, program };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
