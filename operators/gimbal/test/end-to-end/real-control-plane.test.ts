// Gimbal as in production: real control planes, Gimbal installed as the documentation describes and under its own account, the controllers
// and the scheduler of Kubernetes. Only the node is Capstan's: it runs the discoverers as processes.
import { findBinaries } from '@capstan/testing';
import { startRealWorld } from './real-world.ts';
import { playWhole } from './whole.ts';

const binaries = findBinaries();
playWhole('gimbal on a real control plane', 'missing' in binaries ? binaries.missing : false, startRealWorld);
