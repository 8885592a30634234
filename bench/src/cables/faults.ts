// Faults of encrypted cables under continuous traffic of both families. The underlay between the gateways is captured.
import {
  countWithoutBackstop,
  ENCRYPTED_DRIVERS,
  FAULTS,
  type FaultReport,
  injectFaults,
} from '@capstan/submariner/real-cables';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { lacksCables } from './lacks-cables.ts';

const SIZES = {
  full: { drivers: ENCRYPTED_DRIVERS, faults: FAULTS },
  tiny: { drivers: ENCRYPTED_DRIVERS.slice(0, 1), faults: FAULTS.slice(0, 1) },
};

export const faults: Part = {
  name: 'faults',
  summary: 'packets in clear while encrypted cables suffer faults',
  lacks: lacksCables,
  async measure(scale) {
    const { drivers, faults: events } = SIZES[scale];
    const seen = await countWithoutBackstop();
    const reports: FaultReport[] = [];
    for (const driver of drivers) reports.push(...(await injectFaults(driver, { faults: events })));
    const sum = (field: 'packets' | 'sent' | 'clear') => reports.reduce((total, each) => total + each[field], 0);
    return [
      result({
        name: `user packets in clear, over ${reports.length} fault events`,
        unit: 'packets',
        rounds: reports.map(({ clear }) => clear),
        exactly: 0,
        note: `a round is an event; ${sum('sent')} user packets were sent and ${sum('packets')} packets captured (${drivers.join(', ')})`,
      }),
      result({
        name: 'packets in clear that the same capture sees without a backstop',
        unit: 'packets',
        rounds: [seen],
        atLeast: 50,
        note: 'the control of the figure above',
      }),
    ];
  },
};
