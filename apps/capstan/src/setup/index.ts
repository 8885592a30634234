// For the script that fetches the peers of tests, which is `npm run setup:real`.
export * from './debian.ts';
export * from './peer.ts';
export { RUN_TIME_PEERS } from './run-time-peers.ts';
export * from './set-up.ts';
